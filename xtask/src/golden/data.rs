//! The data sets of the golden fits: files generated from fixed seeds.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The splitmix64 generator: one addition and three mixing steps per number.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), as a multiple of 2⁻⁵³.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Approximately standard normal: the sum of twelve uniform numbers minus 6.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }
}

/// A function that writes the rows of a data set.
type Writer = fn(&mut dyn Write) -> Result<()>;

/// The path of a generated data set, which is written on first use.
pub(super) fn generated(name: &str, folder: &Path) -> Result<PathBuf> {
    let (ending, write): (&str, Writer) = match name {
        "small" => ("csv", |out| table(out, 40, 3, Target::Classes(2), 1.0)),
        "dense" => ("csv", |out| table(out, 60_000, 12, Target::Classes(2), 1.0)),
        "classes" => ("csv", |out| table(out, 8_000, 10, Target::Classes(7), 1.0)),
        "regression" => ("csv", |out| table(out, 40_000, 15, Target::Real, 0.5)),
        "wide-regression" => ("svm", |out| sparse(out, 800, 5_000, 40, false)),
        "sparse" => ("svm", |out| sparse(out, 12_000, 6_000, 25, true)),
        "categories" => ("svm", categories),
        "large-dense" => ("csv", |out| table(out, 400_000, 20, Target::Classes(2), 1.0)),
        "large-regression" => ("csv", |out| table(out, 300_000, 30, Target::Real, 0.5)),
        "large-sparse" => ("svm", |out| sparse(out, 60_000, 20_000, 50, true)),
        _ => bail!("no generated data set is called {name}"),
    };
    let path = folder.join(format!("{name}.{ending}"));
    if !path.exists() {
        let part = folder.join(format!("{name}.part"));
        let mut out = BufWriter::new(File::create(&part).with_context(|| part.display().to_string())?);
        write(&mut out)?;
        out.flush()?;
        std::fs::rename(&part, &path)?;
    }
    Ok(path)
}

/// The kind of the last column of a table.
#[derive(Clone, Copy)]
enum Target {
    Real,
    Classes(usize),
}

/// Writes a CSV table of normal features, with a linear target plus noise.
fn table(out: &mut dyn Write, rows: usize, columns: usize, target: Target, noise: f64) -> Result<()> {
    let mut random = SplitMix(rows as u64 * 31 + columns as u64);
    let outputs = match target {
        Target::Classes(classes) => classes,
        Target::Real => 1,
    };
    let weights: Vec<f64> = (0..outputs * columns).map(|_| random.normal()).collect();
    let names: Vec<String> = (0..columns).map(|j| format!("x{j}")).collect();
    writeln!(out, "{},y", names.join(","))?;
    for _ in 0..rows {
        let x: Vec<f64> = (0..columns)
            .map(|_| (random.normal() * 1e4).round() / 1e4)
            .collect();
        for value in &x {
            write!(out, "{value},")?;
        }
        let score = |k: usize, random: &mut SplitMix| {
            let w = &weights[k * columns..(k + 1) * columns];
            w.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>() + noise * random.normal() * 2.0
        };
        let scores: Vec<f64> = (0..outputs).map(|k| score(k, &mut random)).collect();
        match target {
            Target::Real => writeln!(out, "{:.6}", scores[0])?,
            Target::Classes(2) => writeln!(out, "{}", if scores[0] > 0.3 { "yes" } else { "no" })?,
            Target::Classes(_) => {
                let best = (0..outputs).fold(0, |best, k| if scores[k] > scores[best] { k } else { best });
                writeln!(out, "c{best}")?;
            }
        }
    }
    Ok(())
}

/// Writes svmlight rows with at most `entries` features each; small feature indices are more likely than large ones.
fn sparse(out: &mut dyn Write, rows: usize, columns: usize, entries: usize, classes: bool) -> Result<()> {
    let mut random = SplitMix(rows as u64 + 7 * columns as u64);
    let weights: Vec<f64> = (0..columns)
        .map(|j| if j % 7 == 0 { random.normal() } else { 0.0 })
        .collect();
    for _ in 0..rows {
        let mut indices: Vec<usize> = (0..entries)
            .map(|_| {
                let u = random.uniform();
                ((u * u * columns as f64) as usize).min(columns - 1)
            })
            .collect();
        indices.sort_unstable();
        indices.dedup();
        let row: Vec<(usize, f64)> = indices
            .into_iter()
            .map(|j| (j, ((0.2 + random.uniform()) * 1e4).round() / 1e4))
            .collect();
        let score = row.iter().map(|&(j, x)| weights[j] * x).sum::<f64>() + random.normal();
        if classes {
            write!(out, "{}", if score > 0.0 { "+1" } else { "-1" })?;
        } else {
            write!(out, "{score:.6}")?;
        }
        for (j, x) in row {
            write!(out, " {}:{x}", j + 1)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes svmlight rows of five one-hot encoded categories each, so that many rows are equal.
fn categories(out: &mut dyn Write) -> Result<()> {
    /// The number of levels of each category.
    const LEVELS: [usize; 5] = [12, 7, 30, 20, 5];
    let mut random = SplitMix(99);
    let effects: Vec<f64> = (0..LEVELS.iter().sum()).map(|_| random.normal()).collect();
    for _ in 0..50_000 {
        let mut offset = 0;
        let mut score = 0.0;
        let mut row = String::new();
        for levels in LEVELS {
            let j = offset + random.below(levels);
            score += effects[j];
            row += &format!(" {}:1", j + 1);
            offset += levels;
        }
        let label = if score + random.normal() > 1.0 { "+1" } else { "-1" };
        writeln!(out, "{label}{row}")?;
    }
    Ok(())
}

//! Claims of exact geometry: separability, largest margins and least errors, against brute force and by hand.

mod dyadic_numbers;
mod least_errors;
mod margin_bounds;
mod proof_files;

use crate::check::check;
use crate::dyadic::{Dyadic, dependence};
use crate::model::Model;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::{Options, Verdict};

/// Rows with classes 0 and 1, and sample weights.
#[derive(Debug, Clone)]
pub(super) struct Set {
    pub(super) rows: Vec<Vec<f64>>,
    pub(super) classes: Vec<usize>,
    pub(super) weights: Vec<f64>,
    pub(super) intercept: bool,
}

pub(super) fn set(rows: &[(&[f64], usize)], intercept: bool) -> Set {
    Set {
        rows: rows.iter().map(|(row, _)| row.to_vec()).collect(),
        classes: rows.iter().map(|(_, class)| *class).collect(),
        weights: vec![1.0; rows.len()],
        intercept,
    }
}

impl Set {
    pub(super) fn features(&self) -> usize {
        self.rows[0].len()
    }

    pub(super) fn training_rows(&self) -> TrainingRows {
        let mut rows = TrainingRows::new(self.features());
        for (i, row) in self.rows.iter().enumerate() {
            row.iter()
                .enumerate()
                .for_each(|(j, &value)| rows.design.put(j, value, false));
            rows.end_row(self.classes[i] as f64, Some(self.weights[i]));
        }
        rows.checked().unwrap()
    }

    pub(super) fn schema(&self) -> String {
        format!(
            r#"{{"origin":{{"indexed":{{"base":0}}}},"features":{},"columns":[],"target":null,"positive":null,"sample_weight":null,"scaling":null}}"#,
            self.features()
        )
    }

    /// aᵢ = yᵢ(xᵢ, 1), exactly.
    pub(super) fn points(&self) -> Vec<Vec<Dyadic>> {
        let point = |(row, class): (&Vec<f64>, &usize)| {
            let sign = if *class == 1 { 1.0 } else { -1.0 };
            let one = self.intercept.then_some(1.0);
            let entries = row.iter().copied().chain(one);
            entries.map(|x| Dyadic::double(sign * x)).collect()
        };
        self.rows.iter().zip(&self.classes).map(point).collect()
    }

    pub(super) fn check(&self, document: &str) -> Reading<Verdict> {
        let model = Model::read(document.as_bytes(), "test")?;
        check(&model, &self.training_rows(), Options::default())
    }

    /// A random set of one of several degenerate kinds.
    pub(super) fn random(random: &mut SplitMix, features: usize, most: u64) -> Set {
        let n = 1 + random.below(most) as usize;
        let kind = random.below(7);
        let reach = 1 + random.below(3) as i64;
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for _ in 0..n {
            let entry = |_| {
                let whole = (random.below(2 * reach as u64 + 1) as i64 - reach) as f64;
                match kind {
                    0 => whole + 9007199254740000.0,
                    1 => whole * 0.1,
                    2 => whole * 1e100,
                    3 => 2f64.powi(-40) * whole + 1.0,
                    _ => whole,
                }
            };
            rows.push((0..features).map(entry).collect());
        }
        if kind == 4 {
            rows.iter_mut().for_each(|row| row[0] = 0.0);
        }
        if kind == 5 {
            let first = rows[0].clone();
            for (i, row) in rows.iter_mut().enumerate() {
                row.iter_mut().zip(&first).for_each(|(x, f)| *x = f * i as f64);
            }
        }
        let weighted = random.below(3) == 0;
        let weight = |random: &mut SplitMix| match weighted {
            true => [0.1, 0.2, 0.3, 1.0, 0.0][random.below(5) as usize],
            false => 1.0,
        };
        let mut weights: Vec<f64> = (0..n).map(|_| weight(random)).collect();
        weights[0] = 1.0;
        Set {
            classes: (0..n).map(|_| random.below(2) as usize).collect(),
            weights,
            intercept: random.below(4) > 0,
            rows,
        }
    }
}

/// Pseudo-random integers (splitmix64).
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// All subsets of `all` with `size` elements.
pub(super) fn subsets(all: &[usize], size: usize) -> Vec<Vec<usize>> {
    let Some((first, rest)) = all.split_first() else {
        return if size == 0 { vec![Vec::new()] } else { Vec::new() };
    };
    let mut found = subsets(rest, size);
    if size > 0 {
        for mut tail in subsets(rest, size - 1) {
            tail.insert(0, *first);
            found.push(tail);
        }
    }
    found
}

/// The minimal sets of vectors with Σλᵢaᵢ = 0 and λ > 0, with their λ.
pub(super) fn circuits(points: &[Vec<Dyadic>], among: &[usize]) -> Vec<Vec<(usize, Dyadic)>> {
    let width = points.first().map_or(0, Vec::len);
    let mut found = Vec::new();
    for size in 1..=width + 1 {
        for members in subsets(among, size) {
            let vectors: Vec<Vec<Dyadic>> = members.iter().map(|&i| points[i].clone()).collect();
            let Some(mut lambda) = dependence(&vectors) else {
                continue;
            };
            if lambda.iter().all(|value| !value.is_positive()) {
                lambda = lambda.into_iter().map(|value| -value).collect();
            }
            if lambda.iter().all(Dyadic::is_positive) {
                found.push(members.into_iter().zip(lambda).collect());
            }
        }
    }
    found
}

/// Σ aⱼbⱼ.
pub(super) fn dot(a: &[Dyadic], b: &[Dyadic]) -> Dyadic {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Whether the statements about this are proved.
pub(super) fn proves(verdict: &Verdict, about: &str) -> bool {
    let mut all = verdict
        .statements
        .iter()
        .filter(|statement| statement.about == about);
    all.all(|statement| statement.proved == Some(true))
}

//! Random samples of the rows: stratified by position, or with all rows of rare columns.

use std::borrow::Cow;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::rows::{Rows, Weights};
use wstar_data::{Design, Row};

/// A sample of the rows.
#[derive(Debug, Clone)]
pub struct Sample {
    design: Design,
    targets: Vec<f64>,
    weights: Weights<'static>,
}

impl Sample {
    /// One random row from each of `size` segments of equal length. The order of the rows may be meaningful, so every part
    /// of it is represented. The weights are those of the sampled rows, not scaled up.
    pub fn of(rows: &Rows<'_>, size: usize, random: &mut ChaCha8Rng) -> Self {
        let picked: Vec<usize> = (0..size)
            .map(|k| random.random_range(k * rows.len() / size..(k + 1) * rows.len() / size))
            .collect();
        Sample {
            design: rows.design.select_compressed(&picked),
            targets: picked.iter().map(|&i| rows.targets[i]).collect(),
            weights: match &rows.weights {
                Weights::Same(weight) => Weights::Same(*weight),
                Weights::Each(weights) => Weights::Each(picked.iter().map(|&i| weights[i]).collect()),
            },
        }
    }

    /// Bernoulli sampling of sparse rows with importance weights.
    ///
    /// A row is taken with probability p = max(`share`, max over its columns j of `each`/`counts[j]`), at most 1, so that
    /// about `each` sampled rows have an entry in every column. A uniform sample could miss rare columns entirely. A sampled
    /// row has the weight cᵢ/p, so that sums over the sample are unbiased.
    pub fn of_columns(rows: &Rows<'_>, counts: &[usize], share: f64, each: f64, seed: u64) -> Self {
        /// Rows per task. Heuristic: scheduling overhead against load balance; not measured yet.
        const BLOCK: usize = 1 << 12;
        let probability = |&count: &usize| (each / count.max(1) as f64).clamp(share.min(1.0), 1.0);
        let probabilities: Vec<f64> = counts.iter().map(probability).collect();
        let probability = |i: usize| match rows.design.row(i) {
            Row::Sparse32(columns, _) | Row::Sparse64(columns, _) => largest(share, columns, &probabilities),
            _ => share,
        };
        let picked: Vec<(usize, f64)> = (0..rows.len().div_ceil(BLOCK))
            .into_par_iter()
            .flat_map_iter(|block| {
                let end = ((block + 1) * BLOCK).min(rows.len());
                (block * BLOCK..end).filter_map(|i| {
                    let probability = probability(i);
                    (uniform(seed, i) < probability).then(|| (i, rows.weights.get(i) / probability))
                })
            })
            .collect();
        let (picked, weights): (Vec<usize>, Vec<f64>) = picked.into_iter().unzip();
        Sample {
            design: rows.design.select(&picked),
            targets: picked.iter().map(|&i| rows.targets[i]).collect(),
            weights: Weights::Each(weights.into()),
        }
    }

    /// The rows of the sample.
    pub fn rows(&self) -> Rows<'_> {
        Rows {
            design: &self.design,
            targets: Cow::Borrowed(&self.targets),
            weights: match &self.weights {
                Weights::Same(weight) => Weights::Same(*weight),
                Weights::Each(weights) => Weights::Each(Cow::Borrowed(weights)),
            },
        }
    }
}

/// An estimate of the number of stored entries in each column of a sparse design; empty for a dense one.
pub fn column_counts(design: &Design) -> Vec<usize> {
    /// One row in this many is counted; they are chosen at random because the order of the rows may have a pattern.
    /// Heuristic: accuracy of the counts against time; not measured yet.
    const ONE_IN: usize = 8;
    /// Segments of the rows that are counted in parallel, each with its own counts. Heuristic: parallelism against
    /// memory; not measured yet.
    const LANES: usize = 8;
    if !design.is_sparse() {
        return Vec::new();
    }
    let counted = |i: &usize| uniform(0, *i) * (ONE_IN as f64) < 1.0;
    let lanes: Vec<Vec<usize>> = (0..LANES)
        .into_par_iter()
        .map(|lane| {
            let mut counts = vec![0; design.features()];
            let rows = design.rows() * lane / LANES..design.rows() * (lane + 1) / LANES;
            for i in rows.filter(counted) {
                design.row(i).for_each(|j, _| counts[j] += ONE_IN);
            }
            counts
        })
        .collect();
    let mut counts = vec![0; design.features()];
    for lane in lanes {
        (counts.iter_mut().zip(lane)).for_each(|(sum, own)| *sum += own);
    }
    counts
}

/// The largest probability of these columns, at least `share`.
fn largest(share: f64, columns: &[u32], probabilities: &[f64]) -> f64 {
    // Four independent maxima: a single one would be a chain of dependent comparisons.
    let mut most = [share; 4];
    for columns in columns.chunks(most.len()) {
        for (most, &j) in most.iter_mut().zip(columns) {
            let probability = probabilities[j as usize];
            *most = if probability > *most { probability } else { *most };
        }
    }
    most.into_iter().fold(share, f64::max)
}

/// A pseudorandom number in [0, 1] for each row, by SplitMix64 (G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom
/// number generators, OOPSLA 2014).
fn uniform(seed: u64, row: usize) -> f64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = seed.wrapping_add((row as u64 + 1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / 2f64.powi(64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_data::Csr;

    #[test]
    fn sample_covers_rare_columns_and_keeps_the_total_weight() {
        // Column 0 is in every row, column 1 in one row of 500.
        let n = 40_000;
        let (mut starts, mut indices) = (vec![0], Vec::new());
        for i in 0..n {
            indices.push(0);
            if i % 500 == 7 {
                indices.push(1);
            }
            starts.push(indices.len());
        }
        let values = vec![1.0f64; indices.len()];
        let design = Design::Sparse64(Csr::new(starts, indices, values, 2).unwrap());
        let rows = Rows {
            design: &design,
            targets: vec![1.0; n].into(),
            weights: Weights::Same(2.0),
        };
        let sample = Sample::of_columns(&rows, &column_counts(&design), 0.01, 200.0, 3);
        let few = sample.rows();
        let mut weights = [0.0; 2];
        let mut counts = [0; 2];
        for i in 0..few.len() {
            few.design.row(i).for_each(|j, _| {
                counts[j] += 1;
                weights[j] += few.weights.get(i);
            });
        }
        // All rows of the rare column, and a share of the others with larger weights: within five standard deviations.
        assert_eq!((counts[1], weights[1]), (80, 160.0));
        assert!((300..600).contains(&counts[0]), "{counts:?}");
        assert!((weights[0] / (2.0 * n as f64) - 1.0).abs() < 0.25, "{weights:?}");
    }
}

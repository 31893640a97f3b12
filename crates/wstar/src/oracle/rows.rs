//! Labelled and weighted rows: what a sum over rows runs over.

use std::borrow::Cow;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::data::{Design, Row};
use crate::error::Result;

/// How much each row counts; C and the class weights are already in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights<'a> {
    /// All the same.
    Same(f64),
    /// Each its own.
    Each(Cow<'a, [f64]>),
}

impl Weights<'_> {
    /// The weight of row `i`.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Weights::Same(weight) => *weight,
            Weights::Each(weights) => weights[i],
        }
    }
}

/// A design with a target and a weight for every row.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// The rows.
    pub design: &'a Design,
    /// −1 or +1, a real target, or for softmax the number of the class.
    pub targets: Cow<'a, [f64]>,
    /// C·cᵢ.
    pub weights: Weights<'a>,
}

impl Rows<'_> {
    /// The same rows, borrowed.
    pub fn borrowed(&self) -> Rows<'_> {
        Rows {
            design: self.design,
            targets: Cow::Borrowed(&self.targets),
            weights: match &self.weights {
                Weights::Same(weight) => Weights::Same(*weight),
                Weights::Each(weights) => Weights::Each(Cow::Borrowed(weights)),
            },
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.design.rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sum of all weights.
    pub fn total_weight(&self) -> f64 {
        match &self.weights {
            Weights::Same(weight) => weight * self.len() as f64,
            Weights::Each(weights) => weights.iter().sum(),
        }
    }
}

/// A few rows that stand for all.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    design: Design,
    targets: Vec<f64>,
    weights: Weights<'static>,
}

impl Sample {
    /// One row at random from each of `size` equal parts: the order of the rows may mean something.
    pub(crate) fn of(rows: &Rows<'_>, size: usize, random: &mut ChaCha8Rng) -> Self {
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

    /// Each row with the chance `share`, or with so much more that about `each` rows have an entry in each of its columns:
    /// where entries are rare, by the columns' counts, rows at random would tell nothing of one. A row counts for all that it
    /// stands for.
    pub(crate) fn of_columns(rows: &Rows<'_>, counts: &[usize], share: f64, each: f64, seed: u64) -> Self {
        /// Rows that one task looks at.
        const BLOCK: usize = 1 << 12;
        let chance = |&count: &usize| (each / count.max(1) as f64).clamp(share.min(1.0), 1.0);
        let chances: Vec<f64> = counts.iter().map(chance).collect();
        let chance = |i: usize| match rows.design.row(i) {
            Row::Sparse32(columns, _) | Row::Sparse64(columns, _) => largest(share, columns, &chances),
            _ => share,
        };
        let picked: Vec<(usize, f64)> = (0..rows.len().div_ceil(BLOCK))
            .into_par_iter()
            .flat_map_iter(|block| {
                let end = ((block + 1) * BLOCK).min(rows.len());
                (block * BLOCK..end).filter_map(|i| {
                    let chance = chance(i);
                    (uniform(seed, i) < chance).then(|| (i, rows.weights.get(i) / chance))
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
    pub(crate) fn rows(&self) -> Rows<'_> {
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

/// About how many rows have an entry in each column of sparse rows; nothing of dense ones, where all have.
pub(crate) fn column_counts(design: &Design) -> Vec<usize> {
    /// Entries are counted in one row of so many, at random: data may have patterns.
    const ONE_IN: usize = 8;
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

/// The largest of the chances of these columns, if any is larger than the share.
fn largest(share: f64, columns: &[u32], chances: &[f64]) -> f64 {
    // Several at a time: each would wait for the one before it.
    let mut most = [share; 4];
    for columns in columns.chunks(most.len()) {
        for (most, &j) in most.iter_mut().zip(columns) {
            let chance = chances[j as usize];
            *most = if chance > *most { chance } else { *most };
        }
    }
    most.into_iter().fold(share, f64::max)
}

/// A number from 0 to 1 that is as good as random for each row (G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom
/// number generators, OOPSLA 2014).
fn uniform(seed: u64, row: usize) -> f64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = seed.wrapping_add((row as u64 + 1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / 2f64.powi(64)
}

/// Rows that can be passed over again and again, a block at a time: all at once from memory, in chunks from a file.
pub trait Blocks {
    /// Shows every block in order.
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()>;
}

/// Rows in memory are one block.
impl Blocks for Rows<'_> {
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
        visit(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Csr;

    #[test]
    fn a_sample_has_rows_of_every_column_and_counts_for_all() {
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
        // All of the rare rows, and a few of the others, which stand for the rest: within five deviations of that.
        assert_eq!((counts[1], weights[1]), (80, 160.0));
        assert!((300..600).contains(&counts[0]), "{counts:?}");
        assert!((weights[0] / (2.0 * n as f64) - 1.0).abs() < 0.25, "{weights:?}");
    }
}

//! What estimated densities become for prediction: for each class the logarithm of p(x, k), up to a term
//! that all classes share and that no decision depends on.

use std::ops::Range;

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::data::{Design, Row};
use crate::kernel::dense;

/// Rows scored by one task.
const BLOCK: usize = 256;

/// One linear function a class.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// The weights of each class.
    pub weights: Vec<Vec<f64>>,
    /// The intercept of each class.
    pub intercepts: Vec<f64>,
    /// If given, the functions are linear not in x but in the indicators of xⱼ > threshold.
    pub threshold: Option<f64>,
}

impl Linear {
    /// With two classes: the hyperplane `w·x + b = 0` between them, positive on the side of the last class.
    pub fn hyperplane(&self) -> Option<(Vec<f64>, f64)> {
        match (self.weights.as_slice(), self.intercepts.as_slice()) {
            ([u, v], [a, b]) => Some((v.iter().zip(u).map(|(v, u)| v - u).collect(), b - a)),
            _ => None,
        }
    }

    /// Writes the scores of a range of rows, by whole columns where those lie together.
    fn log_joints_in(&self, design: &Design, rows: Range<usize>, scores: &mut [f64]) {
        let classes = self.intercepts.len();
        match (design, self.threshold) {
            (Design::Columns64(columns), None) => {
                self.by_columns(columns.values(), columns.rows(), rows, scores);
            }
            (Design::Columns32(columns), None) => {
                self.by_columns(columns.values(), columns.rows(), rows, scores);
            }
            (Design::Dense64(matrix), None) if classes > 2 && rows.len() > 1 => {
                // Turned around once, a column serves all classes.
                let (count, features) = (rows.len(), matrix.features());
                let mut columns = vec![0.0; count * features];
                for (i, row) in rows.enumerate() {
                    let cells = columns[i..].iter_mut().step_by(count);
                    cells
                        .zip(matrix.row(row))
                        .for_each(|(cell, &value)| *cell = value);
                }
                self.by_columns(&columns, count, 0..count, scores);
            }
            (_, None) if classes == 1 => {
                design.scores(rows, &self.weights[0], scores);
                scores.iter_mut().for_each(|score| *score += self.intercepts[0]);
            }
            _ => {
                for (row, scores) in rows.zip(scores.chunks_exact_mut(classes)) {
                    for (k, score) in scores.iter_mut().enumerate() {
                        *score = self.log_joint(design.row(row), k);
                    }
                }
            }
        }
    }

    /// The scores of some rows of a matrix whose columns are `height` values long.
    fn by_columns<T: Copy + Into<f64>>(
        &self,
        values: &[T],
        height: usize,
        rows: Range<usize>,
        scores: &mut [f64],
    ) {
        let classes = self.intercepts.len();
        let mut sums = vec![0.0; rows.len()];
        for (k, (weights, &intercept)) in self.weights.iter().zip(&self.intercepts).enumerate() {
            sums.fill(intercept);
            for (column, &weight) in values.chunks_exact(height.max(1)).zip(weights) {
                dense::axpy(weight, &column[rows.clone()], &mut sums);
            }
            let cells = scores[k..].iter_mut().step_by(classes);
            cells.zip(&sums).for_each(|(score, sum)| *score = *sum);
        }
    }

    fn log_joint(&self, row: Row<'_>, k: usize) -> f64 {
        let weights = &self.weights[k];
        let product = match self.threshold {
            None => row.dot(weights),
            Some(threshold) => above(row, threshold, weights),
        };
        self.intercepts[k] + product
    }
}

/// One Gaussian a class: constant − ½‖L⁻¹(x − μ)‖², with LLᵀ the covariance.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadratic {
    pub(crate) constants: Vec<f64>,
    pub(crate) means: Vec<Vec<f64>>,
    /// Cholesky factors, column by column; one for each class, or a single one for all.
    pub(crate) factors: Vec<Vec<f64>>,
}

/// One Gaussian of independent features a class: constant − ½ Σ (xⱼ − μⱼ)² / σⱼ².
#[derive(Debug, Clone, PartialEq)]
pub struct Diagonal {
    constants: Vec<f64>,
    means: Vec<Vec<f64>>,
    /// 1 / (2σ²).
    halves: Vec<Vec<f64>>,
    /// The value at x = 0, from which a sparse row departs only where it has entries.
    at_zero: Vec<f64>,
}

impl Diagonal {
    /// From the relative weight of each class, its means and its variances.
    pub fn new(priors: &[f64], means: &[Vec<f64>], variances: &[Vec<f64>]) -> Self {
        let halves: Vec<Vec<f64>> = variances
            .iter()
            .map(|row| row.iter().map(|v| 0.5 / v).collect())
            .collect();
        let constants: Vec<f64> = priors
            .iter()
            .zip(variances)
            .map(|(prior, row)| {
                prior.ln() - 0.5 * row.iter().map(|v| (std::f64::consts::TAU * v).ln()).sum::<f64>()
            })
            .collect();
        let at_zero = (0..priors.len())
            .map(|k| {
                constants[k]
                    - means[k]
                        .iter()
                        .zip(&halves[k])
                        .map(|(m, h)| m * m * h)
                        .sum::<f64>()
            })
            .collect();
        Diagonal {
            constants,
            means: means.to_vec(),
            halves,
            at_zero,
        }
    }

    fn log_joint(&self, row: Row<'_>, k: usize) -> f64 {
        let (means, halves) = (&self.means[k], &self.halves[k]);
        let features = means.len();
        let mut sum = 0.0;
        if row.is_sparse() {
            row.for_each(|j, v| {
                if j < features {
                    sum += v * (2.0 * means[j] - v) * halves[j];
                }
            });
            return self.at_zero[k] + sum;
        }
        match row {
            Row::Dense64(x) => return self.constants[k] - squares(x, means, halves),
            Row::Dense32(x) => return self.constants[k] - squares(x, means, halves),
            _ => row.for_each(|j, v| {
                if j < features {
                    sum -= (v - means[j]) * (v - means[j]) * halves[j];
                }
            }),
        }
        self.constants[k] + sum
    }
}

/// Σ (xⱼ − μⱼ)² hⱼ in a few lanes, which the compiler can keep side by side.
fn squares<T: Copy + Into<f64>>(x: &[T], means: &[f64], halves: &[f64]) -> f64 {
    const LANES: usize = 4;
    let features = x.len().min(means.len()).min(halves.len());
    let mut lanes = [0.0; LANES];
    for start in (0..features).step_by(LANES) {
        let end = features.min(start + LANES);
        let (x, means, halves) = (&x[start..end], &means[start..end], &halves[start..end]);
        for (((lane, &x), mean), half) in lanes.iter_mut().zip(x).zip(means).zip(halves) {
            let from_mean = x.into() - mean;
            *lane += from_mean * from_mean * half;
        }
    }
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
}

/// The score functions of an estimate, ready to be applied to rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Scorer {
    /// Linear in x (shared covariance, minimax) or in its indicators (Bernoulli, multinomial).
    Linear(Linear),
    /// A full covariance for each class.
    Quadratic(Quadratic),
    /// Independent features with a variance each.
    Diagonal(Diagonal),
}

impl Scorer {
    /// The number of classes.
    pub fn classes(&self) -> usize {
        match self {
            Scorer::Linear(linear) => linear.intercepts.len(),
            Scorer::Quadratic(quadratic) => quadratic.constants.len(),
            Scorer::Diagonal(diagonal) => diagonal.constants.len(),
        }
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        let rows = match self {
            Scorer::Linear(linear) => &linear.weights,
            Scorer::Quadratic(quadratic) => &quadratic.means,
            Scorer::Diagonal(diagonal) => &diagonal.means,
        };
        rows.first().map_or(0, Vec::len)
    }

    /// The linear functions, where the scores are linear.
    pub fn linear(&self) -> Option<&Linear> {
        match self {
            Scorer::Linear(linear) => Some(linear),
            _ => None,
        }
    }

    /// Writes ln p(x, k), up to a term that all classes share, for each class of `out`.
    pub fn log_joint(&self, row: Row<'_>, out: &mut [f64]) {
        match self {
            Scorer::Linear(linear) => {
                for (k, out) in out.iter_mut().enumerate().take(linear.intercepts.len()) {
                    *out = linear.log_joint(row, k);
                }
            }
            Scorer::Quadratic(quadratic) => {
                for (k, out) in out.iter_mut().enumerate().take(quadratic.constants.len()) {
                    quadratic
                        .block(&[row], k)
                        .into_iter()
                        .for_each(|score| *out = score);
                }
            }
            Scorer::Diagonal(diagonal) => {
                for (k, out) in out.iter_mut().enumerate().take(diagonal.constants.len()) {
                    *out = diagonal.log_joint(row, k);
                }
            }
        }
    }

    /// Writes p(k | x) for each class of `out`.
    pub fn posterior(&self, row: Row<'_>, out: &mut [f64]) {
        self.log_joint(row, out);
        normalize(out);
    }

    /// The log joint densities of every row: `classes` numbers a row, row by row. With full covariances
    /// rows are taken in blocks, which may round otherwise than [`Scorer::log_joint`].
    pub fn log_joints(&self, design: &Design) -> Vec<f64> {
        let classes = self.classes().max(1);
        let mut scores = vec![0.0; design.rows() * classes];
        scores
            .par_chunks_mut(BLOCK * classes)
            .enumerate()
            .for_each(|(block, scores)| {
                let first = block * BLOCK;
                self.log_joints_in(design, first..first + scores.len() / classes, scores);
            });
        scores
    }

    /// Writes the log joint densities of a range of rows, and tells whether all of them are finite; they are not if
    /// a row holds a value that is not.
    pub fn log_joints_in(&self, design: &Design, rows: Range<usize>, scores: &mut [f64]) -> bool {
        let classes = self.classes().max(1);
        if let Scorer::Quadratic(quadratic) = self {
            let rows: Vec<Row<'_>> = rows.map(|i| design.row(i)).collect();
            for k in 0..classes {
                let of_class = quadratic.block(&rows, k);
                let cells = scores[k..].iter_mut().step_by(classes);
                cells.zip(of_class).for_each(|(cell, score)| *cell = score);
            }
            return scores.iter().all(|score| score.is_finite());
        }
        match self {
            Scorer::Linear(linear) => linear.log_joints_in(design, rows.clone(), scores),
            _ => {
                for (row, out) in rows.clone().zip(scores.chunks_mut(classes)) {
                    self.log_joint(design.row(row), out);
                }
            }
        }
        // Above or below a threshold is where values that are not finite lie, too.
        let by_threshold = self.linear().is_some_and(|linear| linear.threshold.is_some());
        let whole = !by_threshold
            || rows.into_iter().all(|row| {
                let mut finite = true;
                design.row(row).for_each(|_, value| finite &= value.is_finite());
                finite
            });
        whole && scores.iter().all(|score| score.is_finite())
    }

    /// The log joint densities of some rows with one class.
    pub fn log_joints_of(&self, design: &Design, rows: &[usize], class: usize) -> Vec<f64> {
        rows.par_chunks(BLOCK)
            .flat_map_iter(|rows| {
                let rows: Vec<Row<'_>> = rows.iter().map(|&i| design.row(i)).collect();
                match self {
                    Scorer::Linear(linear) => rows.iter().map(|row| linear.log_joint(*row, class)).collect(),
                    Scorer::Quadratic(quadratic) => quadratic.block(&rows, class),
                    Scorer::Diagonal(diagonal) => rows
                        .iter()
                        .map(|row| diagonal.log_joint(*row, class))
                        .collect::<Vec<_>>(),
                }
            })
            .collect()
    }

    /// The posterior probabilities of every row: `classes` numbers a row, row by row.
    pub fn posteriors(&self, design: &Design) -> Vec<f64> {
        let classes = self.classes();
        let mut scores = self.log_joints(design);
        scores.chunks_mut(classes.max(1)).for_each(normalize);
        scores
    }
}

impl Quadratic {
    /// The scores of some rows with class `k`, all at once.
    fn block(&self, rows: &[Row<'_>], k: usize) -> Vec<f64> {
        let mean = &self.means[k];
        let features = mean.len();
        let mut z = vec![0.0; features * rows.len()];
        for (row, z) in rows.iter().zip(z.chunks_mut(features)) {
            row.for_each(|j, v| {
                if let Some(z) = z.get_mut(j) {
                    *z = v;
                }
            });
            z.iter_mut().zip(mean).for_each(|(z, mean)| *z -= mean);
        }
        let factor = &self.factors[if self.factors.len() > 1 { k } else { 0 }];
        solve_lower_triangular_in_place(
            MatRef::from_column_major_slice(factor, features, features),
            MatMut::from_column_major_slice_mut(&mut z, features, rows.len()),
            Par::Seq,
        );
        z.chunks(features)
            .map(|z| self.constants[k] - 0.5 * dense::squared_norm(z))
            .collect()
    }
}

fn above(row: Row<'_>, threshold: f64, weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    row.for_each(|j, v| {
        if v > threshold && j < weights.len() {
            sum += weights[j];
        }
    });
    sum
}

/// Turns log joint densities into posterior probabilities, by the log-sum-exp rule: whatever the size of
/// the logarithms, the largest class gets a finite probability and the sum is 1. Where the logarithms left
/// the range of numbers, the classes at the top share alike.
pub fn normalize(scores: &mut [f64]) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = if largest.is_finite() {
            (*score - largest).exp()
        } else {
            f64::from(u8::from(*score == largest))
        };
        // A score that is not a number, an overflow on both sides, says nothing for its class.
        if score.is_nan() {
            *score = 0.0;
        }
        total += *score;
    }
    let equal = 1.0 / scores.len() as f64;
    for score in scores.iter_mut() {
        *score = if total > 0.0 { *score / total } else { equal };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posteriors_survive_any_size_of_the_logarithms() {
        let mut scores = [-1e6, -1e6 + 3f64.ln()];
        normalize(&mut scores);
        assert!((scores[0] - 0.25).abs() < 1e-9 && (scores[1] - 0.75).abs() < 1e-9);
        let mut far = [1e300, -1e300];
        normalize(&mut far);
        assert_eq!(far, [1.0, 0.0]);
        for (mut scores, expected) in [
            ([f64::NEG_INFINITY; 2], [0.5, 0.5]),
            ([f64::INFINITY, 3.0], [1.0, 0.0]),
            ([f64::NAN, 3.0], [0.0, 1.0]),
            ([f64::NAN; 2], [0.5, 0.5]),
        ] {
            normalize(&mut scores);
            assert_eq!(scores, expected);
        }
    }
}

//! Linear score functions: w_k·x + b_k for each class, in the features or in the indicators of xⱼ > threshold.

use std::ops::Range;

use wstar_data::{Design, Row};
use wstar_numeric::dense;

/// One linear function per class, or a single one.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// The weights of each class.
    pub(crate) weights: Vec<Vec<f64>>,
    /// The intercept of each class.
    pub(crate) intercepts: Vec<f64>,
    /// If given, the functions are linear in the indicators of xⱼ > threshold instead of in x.
    pub(crate) threshold: Option<f64>,
}

impl Linear {
    /// One function for each row of weights; `None` if there is none, or if their counts or lengths do not agree.
    pub fn new(weights: Vec<Vec<f64>>, intercepts: Vec<f64>, threshold: Option<f64>) -> Option<Self> {
        let features = weights.first()?.len();
        let agree = weights.len() == intercepts.len() && weights.iter().all(|row| row.len() == features);
        agree.then_some(Linear {
            weights,
            intercepts,
            threshold,
        })
    }

    /// The weights of each class.
    pub fn weights(&self) -> &[Vec<f64>] {
        &self.weights
    }

    /// The intercept of each class.
    pub fn intercepts(&self) -> &[f64] {
        &self.intercepts
    }

    /// If given, the functions are linear in the indicators of xⱼ > threshold instead of in x.
    pub fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// With two classes, the hyperplane `w·x + b = 0` between them; it is positive on the side of the last class.
    pub fn hyperplane(&self) -> Option<(Vec<f64>, f64)> {
        match (self.weights.as_slice(), self.intercepts.as_slice()) {
            ([u, v], [a, b]) => Some((v.iter().zip(u).map(|(v, u)| v - u).collect(), b - a)),
            _ => None,
        }
    }

    /// Writes the scores of a range of rows. Column-major designs are processed column by column.
    pub(super) fn scores_in(&self, design: &Design, rows: Range<usize>, scores: &mut [f64]) {
        let classes = self.intercepts.len();
        match (design, self.threshold) {
            (Design::Columns64(columns), None) => {
                self.by_columns(columns.values(), columns.rows(), rows, scores);
            }
            (Design::Columns32(columns), None) => {
                self.by_columns(columns.values(), columns.rows(), rows, scores);
            }
            (Design::Dense64(matrix), None) if classes > 2 && rows.len() > 1 => {
                // One transposition is used by all classes.
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
                        *score = self.score(design.row(row), k);
                    }
                }
            }
        }
    }

    /// The scores of a range of rows of a column-major matrix with `height` rows.
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

    pub(super) fn score(&self, row: Row<'_>, k: usize) -> f64 {
        let weights = &self.weights[k];
        let product = match self.threshold {
            None => row.dot(weights),
            Some(threshold) => above(row, threshold, weights),
        };
        self.intercepts[k] + product
    }
}

/// Σ wⱼ over the features with xⱼ > threshold.
fn above(row: Row<'_>, threshold: f64, weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    row.for_each(|j, v| {
        if v > threshold && j < weights.len() {
            sum += weights[j];
        }
    });
    sum
}

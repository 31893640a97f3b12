//! The scoring engine: it computes scores from rows, and classes and probabilities from scores.
//!
//! Every prediction of the library, the command line, Python, the lab and the report goes through this module.
//! Rows are scored in blocks, and the scores of a block depend only on its rows, so the result has the same bits for
//! any number of threads. A row with a NaN or an infinity has a score that is not finite, because every value is
//! multiplied by a weight. Such rows are therefore detected from the scores, without a separate pass.
//!
//! - `linear`, `gaussian`: the score functions.
//! - `probabilities`: conversion of scores to probabilities.

mod gaussian;
mod linear;
mod probabilities;

pub use gaussian::{Diagonal, Quadratic};
pub use linear::Linear;
pub use probabilities::{Ask, normalize};

use std::ops::Range;

use rayon::prelude::*;

use crate::online::argmax;
use wstar_data::{Design, Row};

/// Rows scored per task. Heuristic: trades scheduling overhead against load balance; not measured yet.
const BLOCK: usize = 256;

/// The score functions of a model: one for each class, or a single one.
#[derive(Debug, Clone, PartialEq)]
pub enum Scorer {
    /// Linear in x (shared covariance, minimax, multinomial) or in its indicators (Bernoulli).
    Linear(Linear),
    /// A full covariance for each class.
    Quadratic(Quadratic),
    /// Independent features, with one variance per class and feature.
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

    /// The linear functions, if the scores are linear.
    pub fn linear(&self) -> Option<&Linear> {
        match self {
            Scorer::Linear(linear) => Some(linear),
            _ => None,
        }
    }

    /// Writes ln p(x, k) for each class to `out`, up to a term that all classes share.
    pub fn log_joint(&self, row: Row<'_>, out: &mut [f64]) {
        match self {
            Scorer::Linear(linear) => {
                for (k, out) in out.iter_mut().enumerate().take(linear.intercepts.len()) {
                    *out = linear.score(row, k);
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
                    *out = diagonal.score(row, k);
                }
            }
        }
    }

    /// Writes p(k | x) for each class to `out`.
    pub fn posterior(&self, row: Row<'_>, out: &mut [f64]) {
        self.log_joint(row, out);
        normalize(out);
    }

    /// The log joint densities of every row: `classes` numbers per row, row by row. With full covariances
    /// rows are processed in blocks, which may round differently from [`Scorer::log_joint`].
    pub fn log_joints(&self, design: &Design) -> Vec<f64> {
        answer(self, design, Ask::Scores, true).values
    }

    /// Writes the log joint densities of a range of rows, and returns whether all of them are finite. They are not if
    /// a row contains a value that is not finite.
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
            Scorer::Linear(linear) => linear.scores_in(design, rows.clone(), scores),
            _ => {
                for (row, out) in rows.clone().zip(scores.chunks_mut(classes)) {
                    self.log_joint(design.row(row), out);
                }
            }
        }
        // With a threshold, NaN and infinities do not reach the scores, so the rows are checked themselves.
        let by_threshold = self.linear().is_some_and(|linear| linear.threshold.is_some());
        let whole = !by_threshold
            || rows.into_iter().all(|row| {
                let mut finite = true;
                design.row(row).for_each(|_, value| finite &= value.is_finite());
                finite
            });
        whole && scores.iter().all(|score| score.is_finite())
    }

    /// The log joint densities of the given rows for one class.
    pub fn log_joints_of(&self, design: &Design, rows: &[usize], class: usize) -> Vec<f64> {
        rows.par_chunks(BLOCK)
            .flat_map_iter(|rows| {
                let rows: Vec<Row<'_>> = rows.iter().map(|&i| design.row(i)).collect();
                match self {
                    Scorer::Linear(linear) => rows.iter().map(|row| linear.score(*row, class)).collect(),
                    Scorer::Quadratic(quadratic) => quadratic.block(&rows, class),
                    Scorer::Diagonal(diagonal) => rows
                        .iter()
                        .map(|row| diagonal.score(*row, class))
                        .collect::<Vec<_>>(),
                }
            })
            .collect()
    }
}

/// The result for all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers<T> {
    /// The values, row by row.
    pub values: Vec<T>,
    /// The number of values per row.
    pub columns: usize,
    /// Whether every score was finite.
    pub finite: bool,
}

/// Computes the answers for every row, on the current thread pool if `threaded`, or else on the calling thread.
pub fn answer(scorer: &Scorer, design: &Design, ask: Ask, threaded: bool) -> Answers<f64> {
    let columns = ask.columns(scorer.classes());
    each_row(scorer, design, columns, threaded, |scores, out: &mut [f64]| {
        ask.answer(scores, out);
    })
}

/// The class index of each row: the class with the largest score. A single score selects the last of two classes
/// if it is positive.
pub fn classify(scorer: &Scorer, design: &Design, threaded: bool) -> Answers<i64> {
    each_row(scorer, design, 1, threaded, |scores, out| {
        out[0] = match scores {
            [score] => i64::from(*score > 0.0),
            _ => argmax(scores) as i64,
        };
    })
}

fn each_row<T: Copy + Default + Send>(
    scorer: &Scorer,
    design: &Design,
    columns: usize,
    threaded: bool,
    answer: impl Fn(&[f64], &mut [T]) + Sync,
) -> Answers<T> {
    let width = scorer.classes().max(1);
    let mut values = vec![T::default(); design.rows() * columns];
    let block = |(block, out): (usize, &mut [T])| {
        let rows = block * BLOCK..block * BLOCK + out.len() / columns;
        let mut scores = [0.0; BLOCK];
        let mut many = Vec::new();
        let scores = match rows.len() * width {
            few if few <= BLOCK => &mut scores[..few],
            _ => {
                many.resize(rows.len() * width, 0.0);
                many.as_mut_slice()
            }
        };
        let finite = scorer.log_joints_in(design, rows, scores);
        for (scores, out) in scores.chunks_exact(width).zip(out.chunks_exact_mut(columns)) {
            answer(scores, out);
        }
        finite
    };
    let finite = match threaded {
        true => values
            .par_chunks_mut(BLOCK * columns)
            .enumerate()
            .map(block)
            .reduce(|| true, |a, b| a & b),
        false => values
            .chunks_mut(BLOCK * columns)
            .enumerate()
            .map(block)
            .fold(true, |a, b| a & b),
    };
    Answers {
        values,
        columns,
        finite,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wstar_data::{ColumnMajor, Dense};

    fn linear(weights: &[Vec<f64>], intercepts: &[f64], threshold: Option<f64>) -> Scorer {
        Scorer::Linear(Linear {
            weights: weights.to_vec(),
            intercepts: intercepts.to_vec(),
            threshold,
        })
    }

    #[test]
    fn a_single_score_stands_for_two_classes() {
        let scorer = linear(&[vec![4.0, 2.0]], &[-3.0], None);
        let design = Design::from_rows(&[vec![1.0, 1.0], vec![0.0, 1.0], vec![0.5, 0.5]]).unwrap();
        assert_eq!(
            answer(&scorer, &design, Ask::Scores, false).values,
            [3.0, -1.0, 0.0]
        );
        assert_eq!(classify(&scorer, &design, false).values, [1, 0, 0]);
        let shares = answer(&scorer, &design, Ask::Probabilities, false);
        assert_eq!(shares.columns, 2);
        assert_eq!(shares.values[4..], [0.5, 0.5]);
        assert!((shares.values[1] - 1.0 / (1.0 + (-3f64).exp())).abs() < 1e-15);
    }

    #[test]
    fn values_that_are_not_finite_are_noticed_whatever_their_weight() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let design = Design::Dense64(Dense::new(vec![1.0, 0.0, 1.0, bad], 2, 2).unwrap());
            for threshold in [None, Some(0.0)] {
                let scorer = linear(&[vec![1.0, 0.0]], &[0.0], threshold);
                assert!(!classify(&scorer, &design, false).finite, "{bad} {threshold:?}");
            }
        }
    }

    #[test]
    fn logarithms_survive_scores_of_any_size() {
        let scorer = linear(&[vec![1.0], vec![-1.0], vec![0.0]], &[0.0; 3], None);
        let design = Design::from_rows(&[vec![800.0]]).unwrap();
        let logs = answer(&scorer, &design, Ask::LogProbabilities, false).values;
        assert_eq!(logs, [0.0, -1600.0, -800.0]);
        let odds = linear(&[vec![1.0]], &[0.0], None);
        let logs = answer(&odds, &design, Ask::LogProbabilities, false).values;
        assert_eq!(logs, [-800.0, 0.0]);
    }

    #[test]
    fn every_storage_gives_the_same_scores() {
        let (rows, features) = (300, 5);
        let value = |i: usize, j: usize| ((7 * i + 3 * j) % 11) as f64 - 4.0;
        let table: Vec<Vec<f64>> = (0..rows)
            .map(|i| (0..features).map(|j| value(i, j)).collect())
            .collect();
        let columns: Vec<f64> = (0..features)
            .flat_map(|j| (0..rows).map(move |i| value(i, j)))
            .collect();
        for classes in 1..5 {
            let weights: Vec<Vec<f64>> = (0..classes)
                .map(|k| (0..features).map(|j| (k * j) as f64 - 2.0).collect())
                .collect();
            let scorer = linear(&weights, &vec![0.5; classes], None);
            let plain: Vec<f64> = table
                .iter()
                .flat_map(|x| {
                    weights
                        .iter()
                        .map(move |w| 0.5 + x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>())
                })
                .collect();
            for design in [
                Design::Dense64(Dense::new(table.concat(), rows, features).unwrap()),
                Design::Columns64(ColumnMajor::new(columns.clone(), rows, features).unwrap()),
                Design::from_rows(&table).unwrap(),
            ] {
                // All products and sums are exact in small integers and halves.
                assert_eq!(answer(&scorer, &design, Ask::Scores, true).values, plain);
            }
        }
    }

    proptest! {
        #[test]
        fn shares_sum_to_one_and_the_largest_is_the_class(
            weights in prop::collection::vec(prop::collection::vec(-3.0..3.0f64, 3), 2..5),
            rows in prop::collection::vec(prop::collection::vec(-5.0..5.0f64, 3), 1..600),
        ) {
            let intercepts: Vec<f64> = (0..weights.len()).map(|k| k as f64 / 7.0).collect();
            let scorer = linear(&weights, &intercepts, None);
            let design = Design::from_rows(&rows).unwrap();
            let classes = classify(&scorer, &design, true);
            prop_assert_eq!(&classes, &classify(&scorer, &design, false));
            for ask in [Ask::Probabilities, Ask::Odds, Ask::LogProbabilities] {
                let shares = answer(&scorer, &design, ask, true);
                prop_assert_eq!(&shares, &answer(&scorer, &design, ask, false));
                for (shares, &class) in shares.values.chunks(weights.len()).zip(&classes.values) {
                    let shares: Vec<f64> = match ask {
                        Ask::LogProbabilities => shares.iter().map(|log| log.exp()).collect(),
                        _ => shares.to_vec(),
                    };
                    prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    prop_assert!(shares.iter().all(|share| *share <= shares[class as usize] + 1e-15));
                }
            }
        }
    }
}

//! What score functions say about many rows: scores, classes, probabilities.
//!
//! Rows are taken in blocks, and a block's answer depends on nothing but its rows: the bits are the same on one
//! thread and on many. A row that holds a NaN or an infinity has a score that is not finite, because it is
//! multiplied with every weight: so the scores tell, and no pass looks for such values.

use rayon::prelude::*;

use crate::bayes::{Scorer, normalize};
use crate::data::Design;
use crate::online::argmax;

/// Rows answered by one task.
const BLOCK: usize = 256;

/// What is asked about each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// The scores.
    Scores,
    /// Shares of e^score, one a class; a single score is the log odds of the last of two classes.
    Probabilities,
    /// Their logarithms.
    LogProbabilities,
    /// Each score is the log odds of its class against the rest; their shares of the sum.
    Odds,
}

/// What was found, for all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers<T> {
    /// Row by row.
    pub values: Vec<T>,
    /// How many values a row has.
    pub columns: usize,
    /// Whether every score was a finite number.
    pub finite: bool,
}

/// Answers for every row, on the threads of the pool this runs in, or on this thread alone.
pub fn answer(scorer: &Scorer, design: &Design, ask: Ask, threaded: bool) -> Answers<f64> {
    let scores = scorer.classes();
    let columns = match ask {
        Ask::Scores => scores,
        _ => scores.max(2),
    };
    each_row(scorer, design, columns, threaded, |scores, out: &mut [f64]| {
        tell(ask, scores, out);
    })
}

/// The number of each row's class: that of the largest score; a single one decides for the last of two classes
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
    tell: impl Fn(&[f64], &mut [T]) + Sync,
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
            tell(scores, out);
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

fn tell(ask: Ask, scores: &[f64], out: &mut [f64]) {
    match (ask, scores) {
        (Ask::Scores, _) => out.copy_from_slice(scores),
        (Ask::Probabilities | Ask::Odds, [score]) => {
            out[0] = logistic(-score);
            out[1] = logistic(*score);
        }
        (Ask::LogProbabilities, [score]) => {
            out[0] = -softplus(*score);
            out[1] = -softplus(-score);
        }
        (Ask::Probabilities, _) => {
            out.copy_from_slice(scores);
            normalize(out);
        }
        (Ask::LogProbabilities, _) => {
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
            let whole = largest + sum.ln();
            out.iter_mut()
                .zip(scores)
                .for_each(|(out, score)| *out = score - whole);
        }
        (Ask::Odds, _) => {
            out.iter_mut()
                .zip(scores)
                .for_each(|(out, score)| *out = logistic(*score));
            let total: f64 = out.iter().sum();
            let equal = 1.0 / out.len() as f64;
            out.iter_mut()
                .for_each(|share| *share = if total > 0.0 { *share / total } else { equal });
        }
    }
}

/// 1/(1 + e^−z).
fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// ln(1 + e^z).
fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bayes::Linear;
    use crate::data::{Columns, Dense};
    use proptest::prelude::*;

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
                Design::Columns64(Columns::new(columns.clone(), rows, features).unwrap()),
                Design::from_rows(&table).unwrap(),
            ] {
                // Small whole numbers and halves: nothing rounds.
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

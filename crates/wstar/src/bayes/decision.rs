//! The Bayes decision rule: the decision of least expected loss under a penalty matrix.
//!
//! An object has a hidden state k and an observation x. A decision d has the cost W(k, d). The
//! strategy q that minimises the risk Σ p(x, k) W(k, q(x)) can be chosen separately for each x:
//! q(x) = argmin over d of Σₖ p(k | x) W(k, d). With W = 0 for the right class and 1 for any other, this
//! is the most probable class.

use serde::{Deserialize, Serialize};

use wstar_data::error::{Error, Result};

/// The penalty matrix W(k, d): the cost of decision d when the true class is k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<f64>>", into = "Vec<Vec<f64>>")]
pub struct Penalties {
    /// The costs in row-major order: `costs[k * classes + d]`.
    costs: Vec<f64>,
    classes: usize,
    /// Whether it is the 0–1 matrix, whose decision needs no sums and therefore no rounding.
    zero_one: bool,
}

impl Penalties {
    /// Creates a matrix from its rows, one for each true class; each row contains the cost of each decision.
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self> {
        let classes = rows.len();
        if classes == 0 {
            return Err(Error::settings("the penalty matrix is empty"));
        }
        for (k, row) in rows.iter().enumerate() {
            if row.len() != classes {
                return Err(Error::settings(format!(
                    "row {k} of the penalty matrix has {} values where the matrix has {classes} rows",
                    row.len()
                ))
                .remedy("one row for each true class, one value in it for each decision"));
            }
            if let Some(d) = row.iter().position(|cost| !cost.is_finite()) {
                return Err(Error::settings(format!(
                    "row {k}, column {d} of the penalty matrix: {} is not a finite number",
                    row[d]
                )));
            }
        }
        let mut penalties = Penalties {
            costs: rows.concat(),
            classes,
            zero_one: true,
        };
        penalties.zero_one = penalties == Penalties::zero_one(classes);
        Ok(penalties)
    }

    /// The 0–1 matrix: 0 for the right class, 1 for any other.
    pub fn zero_one(classes: usize) -> Self {
        let costs = (0..classes * classes)
            .map(|at| f64::from(u8::from(at / classes != at % classes)))
            .collect();
        Penalties {
            costs,
            classes,
            zero_one: true,
        }
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// W(k, d): the cost of deciding `decision` when the true class is `truth`.
    pub fn cost(&self, truth: usize, decision: usize) -> f64 {
        self.row(truth)[decision]
    }

    /// The cost of each decision when the true class is `truth`.
    pub fn row(&self, truth: usize) -> &[f64] {
        &self.costs[truth * self.classes..(truth + 1) * self.classes]
    }

    /// Rejects a matrix for a different number of classes.
    pub fn check(&self, classes: usize) -> Result<()> {
        if self.classes == classes {
            return Ok(());
        }
        Err(Error::settings(format!(
            "the penalty matrix is for {} classes, but there are {classes}",
            self.classes
        )))
    }

    /// Σₖ p(k) W(k, d): the expected cost of a decision.
    pub fn expected_loss(&self, posterior: &[f64], decision: usize) -> f64 {
        posterior
            .iter()
            .enumerate()
            .map(|(k, p)| p * self.cost(k, decision))
            .sum()
    }

    /// The decision of least expected loss; ties go to the lowest index (with two classes,
    /// the negative one). The probabilities need not sum to 1, because only their ratios matter.
    ///
    /// ```
    /// use wstar::bayes::Penalties;
    /// // Missing an illness (class 1) costs ten times as much as a false alarm.
    /// let penalties = Penalties::new(vec![vec![0.0, 1.0], vec![10.0, 0.0]]).unwrap();
    /// assert_eq!(penalties.decide(&[0.8, 0.2]), 1);
    /// assert_eq!(Penalties::zero_one(2).decide(&[0.8, 0.2]), 0);
    /// ```
    pub fn decide(&self, posterior: &[f64]) -> usize {
        let mut best = (f64::INFINITY, 0);
        for decision in 0..self.classes {
            let loss = if self.zero_one {
                -posterior[decision]
            } else {
                self.expected_loss(posterior, decision)
            };
            if loss < best.0 {
                best = (loss, decision);
            }
        }
        best.1
    }
}

impl TryFrom<Vec<Vec<f64>>> for Penalties {
    type Error = Error;

    fn try_from(rows: Vec<Vec<f64>>) -> Result<Self> {
        Penalties::new(rows)
    }
}

impl From<Penalties> for Vec<Vec<f64>> {
    fn from(penalties: Penalties) -> Self {
        (0..penalties.classes)
            .map(|k| penalties.row(k).to_vec())
            .collect()
    }
}

/// A strategy for a finite set of observations, and its risk.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Strategy {
    /// The decision for each observation.
    decisions: Vec<usize>,
    /// The risk Σ p(x, k) W(k, q(x)), which is the minimum over all strategies.
    risk: f64,
}

impl Strategy {
    /// The decision for each observation.
    pub fn decisions(&self) -> &[usize] {
        &self.decisions
    }

    /// The risk Σ p(x, k) W(k, q(x)), which is the minimum over all strategies.
    pub fn risk(&self) -> f64 {
        self.risk
    }
}

/// The strategy of least risk for a known p(x, k): `joint[x][k]`, non-negative, summing to 1.
///
/// ```
/// use wstar::bayes::{bayes_strategy, Penalties};
/// // Three observations of two states.
/// let joint = [vec![0.3, 0.1], vec![0.2, 0.1], vec![0.05, 0.25]];
/// let plain = bayes_strategy(&joint, &Penalties::zero_one(2)).unwrap();
/// assert_eq!(plain.decisions(), [0, 0, 1]);
/// assert!((plain.risk() - (0.1 + 0.1 + 0.05)).abs() < 1e-15);
///
/// // State 1 must not be missed: a miss costs 4. Deciding 0 on the first observation costs
/// // 4 · 0.1 = 0.4 against 0.3, so the decision changes; likewise 0.4 against 0.2 on the second.
/// let careful = Penalties::new(vec![vec![0.0, 1.0], vec![4.0, 0.0]]).unwrap();
/// let strategy = bayes_strategy(&joint, &careful).unwrap();
/// assert_eq!(strategy.decisions(), [1, 1, 1]);
/// assert!((strategy.risk() - 0.55).abs() < 1e-15);
/// ```
pub fn bayes_strategy(joint: &[Vec<f64>], penalties: &Penalties) -> Result<Strategy> {
    let mut total = 0.0;
    for (x, probabilities) in joint.iter().enumerate() {
        penalties.check(probabilities.len())?;
        if let Some(k) = probabilities.iter().position(|p| !(0.0..=1.0).contains(p)) {
            return Err(Error::data(format!(
                "p(x = {x}, k = {k}) is {}: not a probability",
                probabilities[k]
            )));
        }
        total += probabilities.iter().sum::<f64>();
    }
    // Heuristic: allows for probabilities rounded to nine digits; not measured yet.
    if (total - 1.0).abs() > 1e-9 {
        return Err(Error::data(format!(
            "the joint probabilities sum to {total}, not to 1"
        )));
    }
    let decisions: Vec<usize> = joint.iter().map(|p| penalties.decide(p)).collect();
    let risk = joint
        .iter()
        .zip(&decisions)
        .map(|(p, &d)| penalties.expected_loss(p, d))
        .sum();
    Ok(Strategy { decisions, risk })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_matrix_that_is_not_square_or_not_finite_is_refused() {
        assert!(Penalties::new(vec![]).is_err());
        let error = Penalties::new(vec![vec![0.0, 1.0], vec![1.0]]).unwrap_err();
        assert!(error.to_string().contains("row 1"), "{error}");
        let error = Penalties::new(vec![vec![0.0, f64::NAN], vec![1.0, 0.0]]).unwrap_err();
        assert!(error.to_string().contains("row 0, column 1"), "{error}");
        assert!(Penalties::zero_one(2).check(3).is_err());
        assert!(serde_json::from_str::<Penalties>("[[0,1],[1]]").is_err());
    }

    #[test]
    fn a_matrix_is_serialised_by_rows() {
        let penalties = Penalties::new(vec![vec![0.0, 1.5], vec![4.0, -1.0]]).unwrap();
        let text = serde_json::to_string(&penalties).unwrap();
        assert_eq!(text, "[[0.0,1.5],[4.0,-1.0]]");
        assert_eq!(serde_json::from_str::<Penalties>(&text).unwrap(), penalties);
    }

    #[test]
    fn a_tie_goes_to_the_lowest_index() {
        assert_eq!(Penalties::zero_one(3).decide(&[0.25, 0.375, 0.375]), 1);
        assert_eq!(Penalties::zero_one(2).decide(&[0.5, 0.5]), 0);
    }

    #[test]
    fn an_invalid_distribution_is_refused() {
        assert!(bayes_strategy(&[vec![0.5, 0.6]], &Penalties::zero_one(2)).is_err());
        assert!(bayes_strategy(&[vec![1.5, -0.5]], &Penalties::zero_one(2)).is_err());
        assert!(bayes_strategy(&[vec![1.0]], &Penalties::zero_one(2)).is_err());
    }

    proptest! {
        #[test]
        fn zero_one_loss_takes_the_most_probable_class(p in prop::collection::vec(0.0..1.0f64, 2..6)) {
            let decision = Penalties::zero_one(p.len()).decide(&p);
            let largest = p.iter().copied().fold(0.0, f64::max);
            prop_assert_eq!(Some(decision), p.iter().position(|&v| v == largest));
        }

        /// Compares with all 3⁴ strategies for 4 observations and 3 classes.
        #[test]
        fn no_strategy_has_a_smaller_risk(
            raw in prop::collection::vec(0.01..1.0f64, 12),
            costs in prop::collection::vec(-2.0..5.0f64, 9),
        ) {
            let total: f64 = raw.iter().sum();
            let joint: Vec<Vec<f64>> = raw.chunks(3).map(|p| p.iter().map(|v| v / total).collect()).collect();
            let rows: Vec<Vec<f64>> = costs.chunks(3).map(<[f64]>::to_vec).collect();
            let best = bayes_strategy(&joint, &Penalties::new(rows.clone()).unwrap()).unwrap();
            let mut least = f64::INFINITY;
            for code in 0..81usize {
                let mut risk = 0.0;
                for (x, p) in joint.iter().enumerate() {
                    let decision = code / 3usize.pow(x as u32) % 3;
                    for k in 0..3 {
                        risk += p[k] * rows[k][decision];
                    }
                }
                least = least.min(risk);
            }
            prop_assert!((best.risk - least).abs() < 1e-12);
        }
    }
}

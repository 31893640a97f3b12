//! The soft margin point by point: multipliers, slacks, and the three cases of the optimality conditions.
//!
//! Let 0 ≤ αᵢ ≤ Cᵢ and mᵢ = yᵢ(w·xᵢ + b). At an optimum αᵢ = 0 implies mᵢ ≥ 1 (outside the margin), 0 < αᵢ < Cᵢ implies
//! mᵢ = 1 (on the margin), and αᵢ = Cᵢ implies mᵢ ≤ 1 (inside, slack 1 − mᵢ). The complementary slackness of a point,
//! αᵢ(mᵢ − 1)₊ + (Cᵢ − αᵢ)(1 − mᵢ)₊, is 0 at the optimum. Its sum over all points is the duality gap, provided that
//! w = Σαᵢyᵢxᵢ and Σαᵢyᵢ = 0.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use wstar_problem::on_loss;

use crate::certificate::Certificate;
use crate::model::{Model, Predictor};
use wstar_certify::duality::{DualPoint, multiplier};
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};
use wstar_numeric::dense::dot;
use wstar_problem::loss::{Loss, LossName};
use wstar_problem::multiclass::{Subproblem, Subproblems, Totals};
use wstar_problem::objective::Rows;

/// The case of a point, by its multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// α = 0: not a support vector.
    Outside,
    /// 0 < α < C.
    OnMargin,
    /// α = C.
    Inside,
}

impl Case {
    /// The name of the case.
    pub fn name(self) -> &'static str {
        match self {
            Case::Outside => "outside",
            Case::OnMargin => "on-margin",
            Case::Inside => "inside",
        }
    }
}

/// One point of a soft-margin problem.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SupportPoint {
    /// The index of the row, from 0.
    pub(crate) row: usize,
    /// Whether its class is the positive one.
    pub(crate) positive: bool,
    /// α.
    pub(crate) alpha: f64,
    /// y(w·x + b).
    pub(crate) margin: f64,
    /// (1 − margin)₊.
    pub(crate) slack: f64,
    /// The case, by the multiplier.
    pub(crate) case: Case,
}

impl SupportPoint {
    /// The index of the row, from 0.
    pub fn row(&self) -> usize {
        self.row
    }

    /// Whether its class is the positive one.
    pub fn positive(&self) -> bool {
        self.positive
    }

    /// α.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// y(w·x + b).
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// (1 − margin)₊.
    pub fn slack(&self) -> f64 {
        self.slack
    }

    /// The case, by the multiplier.
    pub fn case(&self) -> Case {
        self.case
    }
}

/// Sums over all points of one subproblem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SoftMargin {
    /// Points with α = 0, up to the accuracy of the solver.
    pub(crate) outside: u64,
    /// Points with 0 < α < C.
    pub(crate) on_margin: u64,
    /// Points with α = C.
    pub(crate) inside: u64,
    /// Points on the wrong side of the hyperplane.
    pub(crate) wrong: u64,
    /// Σ slack.
    pub(crate) slack: f64,
    /// The largest violation of a point's optimality condition: its complementary slackness for the hinge,
    /// |α − 2C·slack| for the squared hinge.
    pub(crate) slackness: f64,
    /// The sum of these violations over all points.
    pub(crate) total_slackness: f64,
    /// |Σαy|; 0 at the optimum if the intercept is not penalised.
    pub(crate) balance: f64,
    /// For an ℓ2 penalty: the largest deviation of a weight from Σαyx, relative to the largest weight.
    pub(crate) rebuilt_weights: Option<f64>,
    /// The deviation of the intercept from the mean of y − w·x over the points with 0 < α < C, if there are any.
    pub(crate) rebuilt_intercept: Option<f64>,
    /// 2/‖w‖: the distance between the hyperplanes with scores ±1.
    pub(crate) width: f64,
}

impl SoftMargin {
    /// Points with α = 0, up to the accuracy of the solver.
    pub fn outside(&self) -> u64 {
        self.outside
    }

    /// Points with 0 < α < C.
    pub fn on_margin(&self) -> u64 {
        self.on_margin
    }

    /// Points with α = C.
    pub fn inside(&self) -> u64 {
        self.inside
    }

    /// Points on the wrong side of the hyperplane.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Σ slack.
    pub fn slack(&self) -> f64 {
        self.slack
    }

    /// The largest violation of a point's optimality condition: its complementary slackness for the hinge,
    /// |α − 2C·slack| for the squared hinge.
    pub fn slackness(&self) -> f64 {
        self.slackness
    }

    /// The sum of these violations over all points.
    pub fn total_slackness(&self) -> f64 {
        self.total_slackness
    }

    /// |Σαy|; 0 at the optimum if the intercept is not penalised.
    pub fn balance(&self) -> f64 {
        self.balance
    }

    /// For an ℓ2 penalty: the largest deviation of a weight from Σαyx, relative to the largest weight.
    pub fn rebuilt_weights(&self) -> Option<f64> {
        self.rebuilt_weights
    }

    /// The deviation of the intercept from the mean of y − w·x over the points with 0 < α < C, if there are any.
    pub fn rebuilt_intercept(&self) -> Option<f64> {
        self.rebuilt_intercept
    }

    /// 2/‖w‖: the distance between the hyperplanes with scores ±1.
    pub fn width(&self) -> f64 {
        self.width
    }
}

/// Visits the points of every subproblem of a support vector machine; `visit` gets the index of the subproblem and the
/// point.
pub fn soft_margins(
    model: &Model,
    data: &Dataset,
    visit: &mut dyn FnMut(usize, SupportPoint),
) -> Result<Vec<SoftMargin>> {
    problems(model, data, |at, one, data| {
        one.walk(data, &mut |point| visit(at, point))
    })
}

/// The support vectors of one subproblem.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SupportVectors {
    /// The row indices from 0, in increasing order.
    pub(crate) rows: Vec<usize>,
    /// The signed multiplier y·α of each.
    pub(crate) multipliers: Vec<f64>,
}

impl SupportVectors {
    /// The row indices from 0, in increasing order.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The signed multiplier y·α of each.
    pub fn multipliers(&self) -> &[f64] {
        &self.multipliers
    }
}

/// The support vectors of every subproblem of a support vector machine.
///
/// ```
/// use wstar::prelude::*;
/// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
/// let model = Svm::l2().fit(&data)?;
/// let found = wstar::model::support_vectors(&model, &data)?;
/// assert_eq!(found[0].rows(), [1, 2], "the rows next to the other class");
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn support_vectors(model: &Model, data: &Dataset) -> Result<Vec<SupportVectors>> {
    problems(model, data, |_, one, data| one.support(data))
}

/// Applies `each` to the index and the data of every subproblem and to the rows of the model, and collects the results.
fn problems<T>(
    model: &Model,
    data: &Dataset,
    mut each: impl FnMut(usize, &Walk<'_>, &Dataset) -> Result<T>,
) -> Result<Vec<T>> {
    let (Predictor::Linear { discriminants, .. }, Certificate::DualityGap { parts: claims }) =
        (&model.predictor, &model.certificate)
    else {
        return Err(Error::model("the model is not a support vector machine"));
    };
    let data = &*model.rows_of(data)?;
    let totals = Totals::of(&mut &*data)?;
    let settings = model.settings.regularized();
    let reduction = settings
        .ok_or_else(|| Error::model("the model is not a support vector machine"))?
        .reduction(&model.classes, model.schema.features, &totals)?;
    let problems = reduction
        .parts()
        .iter()
        .zip(discriminants)
        .zip(claims)
        .enumerate();
    problems
        .map(|(at, ((&part, plane), claim))| {
            let stored: FxHashMap<u64, f64> = match &claim.dual_point {
                DualPoint::Slopes => FxHashMap::default(),
                DualPoint::Stored(stored) => stored.pairs()?.into_iter().collect(),
            };
            let one = Walk {
                reduction: &reduction,
                part,
                weights: &plane.weights,
                intercept: plane.intercept,
                stored: &stored,
            };
            each(at, &one, data)
        })
        .collect()
}

/// The case of a multiplier, where `share` is α divided by its upper bound. A solver stops a little short of the
/// bounds, so the side of the margin decides near them. The threshold for 0 is relative to the largest share, because
/// all shares are small if C is large.
fn case(share: f64, largest: f64, margin: f64, bounded: bool) -> Case {
    /// A share this close to a bound counts as being at the bound. Heuristic: trades points on the margin
    /// against points at a bound whose multiplier the solver left inexact; not measured yet.
    const END: f64 = 1e-6;
    /// A point this far from the margin is not on it. Heuristic: larger values assign more inexact points to
    /// the margin; not measured yet.
    const OFF: f64 = 1e-3;
    match share {
        share if share <= END * largest => Case::Outside,
        _ if !bounded => Case::OnMargin,
        share if share >= 1.0 - END => Case::Inside,
        _ if margin > 1.0 + OFF => Case::Outside,
        _ if margin < 1.0 - OFF => Case::Inside,
        _ => Case::OnMargin,
    }
}

/// One subproblem, its hyperplane and the stored multipliers.
struct Walk<'a> {
    reduction: &'a Subproblems,
    part: Subproblem,
    weights: &'a [f64],
    intercept: f64,
    stored: &'a FxHashMap<u64, f64>,
}

/// The multipliers of all rows, and the largest among rows of positive weight.
struct Shares {
    /// w·x of each row, and its α divided by the weight. For a squared hinge this share has no upper bound.
    each: Vec<(f64, f64)>,
    largest: f64,
}

/// Rows of one parallel task. Heuristic: trades scheduling cost against load balance; not measured yet.
const BLOCK: usize = 4096;

impl Walk<'_> {
    fn shares(&self, rows: &Rows<'_>) -> Shares {
        let definition = self.reduction.problem();
        let mut each = vec![(0.0, 0.0); rows.len()];
        let blocks = each.par_chunks_mut(BLOCK).enumerate();
        let largest = blocks.map(|(block, each)| {
            let first = block * BLOCK;
            let mut projections = vec![0.0; each.len()];
            rows.design
                .scores(first..first + each.len(), self.weights, &mut projections);
            let mut largest = 0.0f64;
            for ((own, projection), i) in each.iter_mut().zip(projections).zip(first..) {
                let y = rows.targets[i];
                let stored = self.stored.get(&(i as u64));
                let share = on_loss!(definition.loss(), loss => {
                    let (least, greatest) = loss.slopes(y);
                    let negative_slope = || -loss.slope(y, projection + self.intercept);
                    y * stored.map_or_else(negative_slope, |&at| multiplier(least, greatest, at))
                }, softmax => 0.0);
                *own = (projection, share);
                if rows.weights.get(i) > 0.0 {
                    largest = largest.max(share);
                }
            }
            largest
        });
        let largest = largest.reduce(|| 0.0, f64::max);
        Shares { each, largest }
    }

    /// The case of row `i`.
    fn case(&self, rows: &Rows<'_>, shares: &Shares, i: usize) -> Case {
        let (projection, share) = shares.each[i];
        let margin = rows.targets[i] * (projection + self.intercept);
        let bounded = self.reduction.problem().loss() == LossName::Hinge;
        case(share, shares.largest, margin, bounded)
    }

    fn support(&self, data: &Dataset) -> Result<SupportVectors> {
        let rows = self.reduction.rows(self.part, data)?;
        let shares = self.shares(&rows);
        let within = |block: usize| {
            (block * BLOCK..((block + 1) * BLOCK).min(rows.len()))
                .filter(|&i| rows.weights.get(i) > 0.0 && self.case(&rows, &shares, i) != Case::Outside)
        };
        // The counts come first, so that every block knows its output range.
        let blocks = rows.len().div_ceil(BLOCK);
        let counts: Vec<usize> = (0..blocks)
            .into_par_iter()
            .map(|block| within(block).count())
            .collect();
        let total = counts.iter().sum();
        let mut support = SupportVectors {
            rows: vec![0; total],
            multipliers: vec![0.0; total],
        };
        let (mut indices, mut multipliers) = (&mut support.rows[..], &mut support.multipliers[..]);
        let outputs: Vec<_> = (counts.iter())
            .map(|&count| (indices.split_off_mut(..count), multipliers.split_off_mut(..count)))
            .collect();
        outputs
            .into_par_iter()
            .enumerate()
            .for_each(|(block, (indices, multipliers))| {
                let output = indices
                    .into_iter()
                    .flatten()
                    .zip(multipliers.into_iter().flatten());
                for ((index, multiplier), i) in output.zip(within(block)) {
                    *index = i;
                    *multiplier = rows.targets[i].signum() * rows.weights.get(i) * shares.each[i].1;
                }
            });
        Ok(support)
    }

    fn walk(&self, data: &Dataset, visit: &mut dyn FnMut(SupportPoint)) -> Result<SoftMargin> {
        let definition = self.reduction.problem();
        let rows = self.reduction.rows(self.part, data)?;
        let mut sums = SoftMargin::default();
        let mut rebuilt = vec![0.0; self.weights.len()];
        let (mut balance, mut intercepts, mut free) = (0.0, 0.0, 0u64);
        let shares = self.shares(&rows);
        let bounded = definition.loss() == LossName::Hinge;
        for i in (0..rows.len()).filter(|&i| rows.weights.get(i) > 0.0) {
            let (row, y, most) = (rows.design.row(i), rows.targets[i], rows.weights.get(i));
            let (projection, share) = shares.each[i];
            let margin = y * (projection + self.intercept);
            let alpha = most * share;
            let case = self.case(&rows, &shares, i);
            let slack = (1.0 - margin).max(0.0);
            let misses = match bounded {
                true => alpha * (margin - 1.0).max(0.0) + (most - alpha) * slack,
                // The squared hinge requires α = 2C·slack.
                false => (alpha - 2.0 * most * slack).abs(),
            };
            match case {
                Case::Outside => sums.outside += 1,
                Case::OnMargin => sums.on_margin += 1,
                Case::Inside => sums.inside += 1,
            }
            sums.wrong += u64::from(margin < 0.0);
            sums.slack += slack;
            sums.slackness = sums.slackness.max(misses);
            sums.total_slackness += misses;
            row.add_to(alpha * y, &mut rebuilt);
            balance += alpha * y;
            if bounded && case == Case::OnMargin {
                intercepts += y - projection;
                free += 1;
            }
            visit(SupportPoint {
                row: i,
                positive: y > 0.0,
                alpha,
                margin,
                slack,
                case,
            });
        }
        let heaviest = self.weights.iter().fold(0.0f64, |most, w| most.max(w.abs()));
        let ridge = definition.penalty().l1 == 0.0 && definition.penalty().l2 > 0.0;
        sums.rebuilt_weights = (ridge && heaviest > 0.0).then(|| {
            let deviations = rebuilt
                .iter()
                .zip(self.weights)
                .map(|(r, w)| (r / definition.penalty().l2 - w).abs());
            deviations.fold(0.0, f64::max) / heaviest
        });
        sums.rebuilt_intercept = (free > 0 && definition.layout().intercept)
            .then(|| (intercepts / free as f64 - self.intercept).abs());
        sums.balance = balance.abs();
        sums.width = 2.0 / dot(self.weights, self.weights).sqrt();
        if !sums.width.is_finite() {
            sums.width = f64::MAX;
        }
        Ok(sums)
    }
}

//! The soft margin point by point: multipliers, slacks, and the three cases that an optimum sorts its points into.
//!
//! With 0 ≤ αᵢ ≤ Cᵢ and mᵢ = yᵢ(w·xᵢ + b): αᵢ = 0 only outside the margin (mᵢ ≥ 1), 0 < αᵢ < Cᵢ only on it (mᵢ = 1), and
//! αᵢ = Cᵢ only inside (mᵢ ≤ 1, slack 1 − mᵢ). What a point misses of that, αᵢ(mᵢ − 1)₊ + (Cᵢ − αᵢ)(1 − mᵢ)₊, is 0 at the
//! optimum; summed over all points it is the duality gap, as far as w = Σαᵢyᵢxᵢ and Σαᵢyᵢ = 0 hold.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::certify::Certificate;
use crate::certify::duality::{DualPoint, multiplier};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::kernel::dense::dot;
use crate::loss::{Loss, LossName, on_loss};
use crate::model::{Model, Predictor};
use crate::oracle::Rows;
use crate::reduction::{Part, Reduction, Totals};

/// Where a point lies by its multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// α = 0: no support vector.
    Outside,
    /// 0 < α < C.
    OnMargin,
    /// α = C.
    Inside,
}

impl Case {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Case::Outside => "outside",
            Case::OnMargin => "on-margin",
            Case::Inside => "inside",
        }
    }
}

/// One point of a soft margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SupportPoint {
    /// The row, counted from 0.
    pub row: usize,
    /// Its class is the positive one.
    pub positive: bool,
    /// α.
    pub alpha: f64,
    /// y(w·x + b).
    pub margin: f64,
    /// (1 − margin)₊.
    pub slack: f64,
    /// By its multiplier.
    pub case: Case,
}

/// The sums over all points of one problem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SoftMargin {
    /// Points with α = 0, up to what the solver left.
    pub outside: u64,
    /// Points with 0 < α < C.
    pub on_margin: u64,
    /// Points with α = C.
    pub inside: u64,
    /// Points on the wrong side.
    pub wrong: u64,
    /// Σ slack.
    pub slack: f64,
    /// The most that a point misses of its case.
    pub slackness: f64,
    /// What all points miss together.
    pub total_slackness: f64,
    /// |Σαy|, which is 0 for a free intercept.
    pub balance: f64,
    /// The largest deviation of a weight from Σαyx, relative to the largest weight; for an ℓ2 penalty.
    pub rebuilt_weights: Option<f64>,
    /// The deviation of the intercept from the mean of y − w·x over the points with 0 < α < C, if there are any.
    pub rebuilt_intercept: Option<f64>,
    /// 2/‖w‖: the distance between the planes at ±1.
    pub width: f64,
}

/// Goes through the points of every problem of a support vector machine; `visit` sees each with the problem's number.
pub fn soft_margins(
    model: &Model,
    data: &Dataset,
    visit: &mut dyn FnMut(usize, SupportPoint),
) -> Result<Vec<SoftMargin>> {
    problems(model, data, |at, one| {
        one.walk(data, &mut |point| visit(at, point))
    })
}

/// The support vectors of one problem.
#[derive(Debug, Clone, PartialEq)]
pub struct SupportVectors {
    /// Their rows, counted from 0, in order.
    pub rows: Vec<usize>,
    /// y·α of each.
    pub multipliers: Vec<f64>,
}

/// The support vectors of every problem of a support vector machine.
pub fn support_vectors(model: &Model, data: &Dataset) -> Result<Vec<SupportVectors>> {
    problems(model, data, |_, one| one.support(data))
}

/// What `each` makes of every problem, which it gets with its number.
fn problems<T>(
    model: &Model,
    data: &Dataset,
    mut each: impl FnMut(usize, &Walk<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let (Predictor::Linear { discriminants, .. }, Certificate::DualityGap { parts: claims }) =
        (&model.predictor, &model.certificate)
    else {
        return Err(Error::model("the model is no support vector machine"));
    };
    let totals = Totals::of(&mut &*data)?;
    let reduction = Reduction::new(&model.settings, &model.classes, model.schema.features, &totals)?;
    let problems = reduction.parts.iter().zip(discriminants).zip(claims).enumerate();
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
            each(at, &one)
        })
        .collect()
}

/// The case of a multiplier, α over its most, which a solver leaves a little short of its ends: there the side of
/// the margin tells. What is small is measured by the largest share, for where C is large all of them are small.
fn case(share: f64, largest: f64, margin: f64, bounded: bool) -> Case {
    /// This near to an end is there.
    const END: f64 = 1e-6;
    /// This far from the margin is not on it.
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

/// One problem, its hyperplane and the multipliers that were stored.
struct Walk<'a> {
    reduction: &'a Reduction,
    part: Part,
    weights: &'a [f64],
    intercept: f64,
    stored: &'a FxHashMap<u64, f64>,
}

/// The multipliers of all rows, and the largest of those that count.
struct Shares {
    /// Each row's w·x, and its α as a share of the weight; that of a squared hinge has no upper end.
    each: Vec<(f64, f64)>,
    largest: f64,
}

/// Rows that are looked at together.
const BLOCK: usize = 4096;

impl Walk<'_> {
    fn shares(&self, rows: &Rows<'_>) -> Shares {
        let definition = &self.reduction.definition;
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
                let share = on_loss!(definition.loss, loss => {
                    let (least, greatest) = loss.slopes(y);
                    let told = || -loss.slope(y, projection + self.intercept);
                    y * stored.map_or_else(told, |&at| multiplier(least, greatest, at))
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
        let bounded = self.reduction.definition.loss == LossName::Hinge;
        case(share, shares.largest, margin, bounded)
    }

    fn support(&self, data: &Dataset) -> Result<SupportVectors> {
        let rows = self.reduction.rows(self.part, data)?;
        let shares = self.shares(&rows);
        let within = |block: usize| {
            (block * BLOCK..((block + 1) * BLOCK).min(rows.len()))
                .filter(|&i| rows.weights.get(i) > 0.0 && self.case(&rows, &shares, i) != Case::Outside)
        };
        // Counted first, so that every block knows where to write.
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
        let (mut places, mut multipliers) = (&mut support.rows[..], &mut support.multipliers[..]);
        let rooms: Vec<_> = (counts.iter())
            .map(|&count| (places.split_off_mut(..count), multipliers.split_off_mut(..count)))
            .collect();
        rooms
            .into_par_iter()
            .enumerate()
            .for_each(|(block, (places, multipliers))| {
                let room = places
                    .into_iter()
                    .flatten()
                    .zip(multipliers.into_iter().flatten());
                for ((place, multiplier), i) in room.zip(within(block)) {
                    *place = i;
                    *multiplier = rows.targets[i].signum() * rows.weights.get(i) * shares.each[i].1;
                }
            });
        Ok(support)
    }

    fn walk(&self, data: &Dataset, visit: &mut dyn FnMut(SupportPoint)) -> Result<SoftMargin> {
        let definition = &self.reduction.definition;
        let rows = self.reduction.rows(self.part, data)?;
        let mut sums = SoftMargin::default();
        let mut rebuilt = vec![0.0; self.weights.len()];
        let (mut balance, mut intercepts, mut free) = (0.0, 0.0, 0u64);
        let shares = self.shares(&rows);
        let bounded = definition.loss == LossName::Hinge;
        for i in (0..rows.len()).filter(|&i| rows.weights.get(i) > 0.0) {
            let (row, y, most) = (rows.design.row(i), rows.targets[i], rows.weights.get(i));
            let (projection, share) = shares.each[i];
            let margin = y * (projection + self.intercept);
            let alpha = most * share;
            let case = self.case(&rows, &shares, i);
            let slack = (1.0 - margin).max(0.0);
            let misses = match bounded {
                true => alpha * (margin - 1.0).max(0.0) + (most - alpha) * slack,
                // α = 2C·slack is what the squared hinge asks for.
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
        let ridge = definition.penalty.l1 == 0.0 && definition.penalty.l2 > 0.0;
        sums.rebuilt_weights = (ridge && heaviest > 0.0).then(|| {
            let deviations = rebuilt
                .iter()
                .zip(self.weights)
                .map(|(r, w)| (r / definition.penalty.l2 - w).abs());
            deviations.fold(0.0, f64::max) / heaviest
        });
        sums.rebuilt_intercept = (free > 0 && definition.layout.intercept)
            .then(|| (intercepts / free as f64 - self.intercept).abs());
        sums.balance = balance.abs();
        sums.width = 2.0 / dot(self.weights, self.weights).sqrt();
        if !sums.width.is_finite() {
            sums.width = f64::MAX;
        }
        Ok(sums)
    }
}

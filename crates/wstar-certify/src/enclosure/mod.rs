//! Digits of the optimum: an interval for every parameter of the minimiser of the real-number problem that the stored rows state,
//! with its existence and uniqueness, and intervals for the standard errors.
//!
//! "Proved" assumes IEEE 754 arithmetic, the compiler, products of matrices by sums of products, and the lemmas at the heads of the files, which are
//! collected in `docs/proofs.md`. No number of a solver is used except the point; all rounding errors are bounded a priori.
//!
//! - `frame`: centred columns, and the largest magnitudes.
//! - `row_slopes`, `row_sums`: the pass over the rows, with bounds on its errors.
//! - `inverse_factor`: a triangle R with RHRᵀ ≈ I, and the bound.
//! - `newton_kantorovich`: the theorem, and the enclosure.
//! - [`gap_ball`]: the distance from the optimum by the duality gap, for any loss with an ℓ2 penalty.
//! - `rounding`: γₘ, and factors on bounds that are rounded themselves.

mod frame;
pub mod gap_ball;
mod inverse_factor;
mod newton_kantorovich;
mod rounding;
mod row_slopes;
mod row_sums;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use frame::{Frame, LARGEST};
use newton_kantorovich::{Bounds, Information, NewtonStep};
use rounding::{FEW, SLACK};
use row_slopes::is_supported;
use row_sums::{Point, RowSums};
use wstar_problem::loss::LossName;
use wstar_problem::objective::Rows;
use wstar_problem::problem::Problem;

/// Cap: with more parameters nothing is proved, because the factorisation takes O(d³).
pub const MOST_PARAMETERS: usize = 1000;
/// Cap on the points at which the information is computed.
const MOST_INFORMATIONS: usize = 6;
/// Cap on the steps with one information.
const MOST_STEPS: usize = 6;
/// The relative change of the information up to which it is not computed again. Heuristic: each step then gains at least two
/// digits; not measured yet.
const SMALL_CHANGE: f64 = 0.01;
/// The same where standard errors are enclosed, which change by half of it. Heuristic: nine digits for one more pass; not measured
/// yet.
const TINY_CHANGE: f64 = 1e-9;

/// Intervals that contain the parameters of the unique optimum, and its standard errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Enclosure {
    /// The centres of the intervals.
    pub centre: Vec<f64>,
    /// What is added to the centres: their second doubles.
    pub low: Vec<f64>,
    /// The radii.
    pub radius: Vec<f64>,
    /// Intervals for the standard errors of a fit without a penalty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_errors: Option<StandardErrors>,
}

/// Lower and upper bounds on standard errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StandardErrors {
    /// The lower bounds.
    pub lower: Vec<f64>,
    /// The upper bounds.
    pub upper: Vec<f64>,
}

/// What the weights of the rows mean, for the standard errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowWeights {
    /// Frequencies: 2 is the same row twice.
    Frequencies,
    /// Weights in the objective only: there are no standard errors.
    Factors,
}

/// Whether digits can be proved for a problem: one output, a smooth convex loss, no ℓ1, and at most [`MOST_PARAMETERS`] parameters.
pub fn is_possible(problem: &Problem) -> bool {
    let layout = problem.layout();
    is_supported(problem.loss())
        && problem.is_convex()
        && problem.penalty().l1 == 0.0
        && problem.penalty().l2 <= LARGEST
        && layout.outputs == 1
        && (1..=MOST_PARAMETERS).contains(&layout.len())
}

/// About the number of multiplications and additions of [`enclose`]. It depends only on the sizes, so that a decision by it is the
/// same on every machine.
pub fn operations(rows: &Rows<'_>, problem: &Problem) -> f64 {
    /// Operations for an entry in double-double arithmetic, in two passes with scores and column products. Derived: from the
    /// loops of `row_sums.rs`.
    const ENTRY: f64 = 100.0;
    /// Operations for a row in two passes: an exponential, and sums.
    const ROW: f64 = 200.0;
    let (n, p) = (rows.len() as f64, problem.layout().width() as f64);
    let stored = rows.design.stored() as f64;
    let of_row = if rows.design.is_sparse() {
        stored / n.max(1.0)
    } else {
        p
    };
    n * (ROW + of_row * of_row) + ENTRY * stored + 3.0 * p * p * p
}

/// Encloses the optimum near a point, or proves nothing.
///
/// The point should be near the optimum. If it is not near enough, Newton steps are made first.
///
/// ```
/// use wstar_certify::enclosure::{RowWeights, enclose};
/// use wstar_data::Design;
/// use wstar_data::linear::Layout;
/// use wstar_problem::loss::LossName;
/// use wstar_problem::objective::{Rows, Weights};
/// use wstar_problem::{Intercept, Problem, penalty::Penalty};
/// // y = 1 + 2x, with a residual of ±1 that is orthogonal to x and 1.
/// let design = Design::from_rows(&[[-1.0], [0.0], [1.0]])?;
/// let rows = Rows { design: &design, targets: vec![0.0, -1.0, 4.0].into(), weights: Weights::Same(1.0) };
/// let layout = Layout { outputs: 1, features: 1, intercept: true };
/// let problem = Problem::new(LossName::Squared, Penalty::NONE, Intercept::Free, layout)?;
/// let proved = enclose(&rows, &problem, &[0.0, 0.0], RowWeights::Frequencies).unwrap();
/// assert!(proved.lower(0) <= 2.0 && 2.0 <= proved.upper(0) && proved.digits(0) >= 16);
/// # Ok::<(), wstar_data::error::Error>(())
/// ```
pub fn enclose(
    rows: &Rows<'_>,
    problem: &Problem,
    parameters: &[f64],
    weights: RowWeights,
) -> Option<Enclosure> {
    let is_usable = |point: &[f64]| point.iter().all(|w| w.abs() <= LARGEST);
    if !is_possible(problem) || parameters.len() != problem.layout().len() || !is_usable(parameters) {
        return None;
    }
    let frame = Frame::new(rows, problem)?;
    let small = match has_standard_errors(problem, weights) {
        true => TINY_CHANGE,
        false => SMALL_CHANGE,
    };
    let mut at = Point::new(parameters);
    let mut last = f64::INFINITY;
    for attempt in 1..=MOST_INFORMATIONS {
        let sums = RowSums::new(rows, problem, &frame, &at, true);
        let information = Information::new(problem, &frame, &sums, &at)?;
        let step = information.step(&sums, &at, 0.0)?;
        let bounds = information.bounds(&step, 0.0);
        let is_last = attempt == MOST_INFORMATIONS || step.norm > 0.5 * last;
        last = step.norm;
        let is_near = bounds
            .as_ref()
            .is_some_and(|bounds| is_last || bounds.change - 1.0 <= small);
        if let (true, Some(bounds)) = (is_near, bounds) {
            let found = refine(rows, problem, &information, (at, sums, step, bounds))?;
            return finish(rows, problem, &frame, &information, &found, weights);
        }
        // A step need not be exact.
        let (next, _) = information.moved(&at, &step);
        at = Point::new(&next.high);
        if !is_usable(&at.high) {
            return None;
        }
    }
    None
}

/// A point, its sums, the Newton step from it, and the bounds there.
type Found = (Point, RowSums, NewtonStep, Bounds);

/// Steps with the same information, until the error of the gradient dominates.
fn refine(
    rows: &Rows<'_>,
    problem: &Problem,
    information: &Information<'_>,
    mut found: Found,
) -> Option<Found> {
    let mut distance = 0.0;
    let frame = information.frame();
    for _ in 0..MOST_STEPS {
        let (at, _, step, bounds) = &found;
        if bounds.kappa * step.norm <= step.error {
            break;
        }
        let (next, moved) = information.moved(at, step);
        distance += moved;
        let sums = RowSums::new(rows, problem, frame, &next, false);
        let newton = information.step(&sums, &next, distance)?;
        let Some(bounds) = information.bounds(&newton, distance) else {
            break;
        };
        if newton.norm >= found.2.norm {
            break;
        }
        found = (next, sums, newton, bounds);
    }
    Some(found)
}

fn finish(
    rows: &Rows<'_>,
    problem: &Problem,
    frame: &Frame,
    information: &Information<'_>,
    (at, sums, step, bounds): &Found,
    weights: RowWeights,
) -> Option<Enclosure> {
    let (centre, radius) = information.enclose(at, step, bounds);
    let loss = problem.loss();
    let has_errors = has_standard_errors(problem, weights);
    let deviation = match loss {
        LossName::Squared => residual_deviation(problem, frame, information, (at, sums, step)),
        _ => Some((1.0, 1.0)),
    };
    let standard_errors = deviation
        .filter(|_| has_errors && !rows.is_empty())
        .map(|(low, high)| {
            let errors = information.standard_errors(bounds).into_iter();
            let (lower, upper) = errors.map(|(a, b)| (a * low / FEW, b * high * FEW)).unzip();
            StandardErrors { lower, upper }
        });
    let enclosure = Enclosure {
        centre: centre.high,
        low: centre.low,
        radius,
        standard_errors,
    };
    enclosure.is_finite().then_some(enclosure)
}

/// Whether standard errors are defined.
fn has_standard_errors(problem: &Problem, weights: RowWeights) -> bool {
    weights == RowWeights::Frequencies
        && problem.penalty().is_none()
        && matches!(problem.loss(), LossName::Squared | LossName::Logistic)
}

/// An interval for σ̂ = √(Σc(y − z)²/(Σc − p)) at the optimum. The sum there is that at θ minus gᵀH⁻¹g.
fn residual_deviation(
    problem: &Problem,
    frame: &Frame,
    information: &Information<'_>,
    (at, sums, step): (&Point, &RowSums, &NewtonStep),
) -> Option<(f64, f64)> {
    let error = information.residual_error(at)?;
    let missed = (error * (2.0 * sums.slopes + error * frame.weight)) * SLACK;
    let nearer = step.norm * step.norm / (1.0 - information.factor.epsilon) * SLACK;
    let total = sums.residual.high;
    let p = problem.layout().len() as f64;
    let freedom = frame.weight - p;
    // Σc is rounded once.
    let doubt = 4.0 * f64::EPSILON * frame.weight;
    let (least, most) = (freedom - doubt, freedom + doubt);
    (least > 0.0).then(|| {
        let low = (total / FEW - missed - nearer).max(0.0) / most;
        let high = (total * FEW + missed) / least;
        (low.sqrt() / FEW, high.sqrt() * FEW)
    })
}

impl Enclosure {
    /// The lower end of the interval of parameter `j`, rounded downwards.
    pub fn lower(&self, j: usize) -> f64 {
        let rest = (self.low[j] - self.radius[j]).next_down();
        (self.centre[j] + rest).next_down()
    }

    /// The upper end of the interval of parameter `j`, rounded upwards.
    pub fn upper(&self, j: usize) -> f64 {
        let rest = (self.low[j] + self.radius[j]).next_up();
        (self.centre[j] + rest).next_up()
    }

    /// The significant digits of parameter `j` that are proved: rounded to so many digits, the centre is less than one unit of the last
    /// digit away from the optimum. 0 if the sign is not known.
    pub fn digits(&self, j: usize) -> u32 {
        proved_digits(self.centre[j], self.radius[j])
    }

    /// The digits of the standard error of parameter `j` that are proved.
    pub fn standard_error_digits(&self, j: usize) -> Option<u32> {
        let errors = self.standard_errors.as_ref()?;
        let (lower, upper) = (errors.lower[j], errors.upper[j]);
        let centre = 0.5 * (lower + upper);
        Some(proved_digits(
            centre,
            (upper - centre).max(centre - lower).next_up(),
        ))
    }

    /// The fewest proved digits of any parameter.
    pub fn least_digits(&self) -> u32 {
        (0..self.radius.len()).map(|j| self.digits(j)).min().unwrap_or(0)
    }

    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.radius.len()
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.radius.is_empty()
    }

    /// The same claim with room for the rounding of another machine: radii and intervals of standard errors are wider by a quarter.
    #[must_use]
    pub fn widened(mut self) -> Self {
        /// A quarter. Heuristic: a recomputation differs by rounding errors, which are far below their bounds; not measured yet.
        const ROOM: f64 = 0.25;
        self.radius.iter_mut().for_each(|radius| *radius *= 1.0 + ROOM);
        if let Some(errors) = &mut self.standard_errors {
            for (lower, upper) in errors.lower.iter_mut().zip(&mut errors.upper) {
                let room = 0.5 * ROOM * (*upper - *lower);
                (*lower, *upper) = ((*lower - room).max(0.0), *upper + room);
            }
        }
        self
    }

    /// Whether this claim follows from another enclosure: all its intervals contain the other's.
    pub fn follows_from(&self, other: &Enclosure) -> bool {
        let same = [&self.centre, &self.low, &self.radius]
            .iter()
            .all(|v| v.len() == other.radius.len());
        let within = |j: usize| {
            // The distance of the centres, rounded upwards.
            let high = self.centre[j] - other.centre[j];
            let low = self.low[j] - other.low[j];
            let distance = (high + low).abs() * FEW + f64::EPSILON * (high.abs() + low.abs());
            distance + other.radius[j] * FEW <= self.radius[j]
        };
        let errors = match (&self.standard_errors, &other.standard_errors) {
            (None, _) => true,
            (Some(stated), Some(found)) => {
                let p = found.lower.len();
                stated.lower.len() == p
                    && stated.upper.len() == p
                    && (0..p).all(|j| stated.lower[j] <= found.lower[j] && found.upper[j] <= stated.upper[j])
            }
            (Some(_), None) => false,
        };
        same && errors && (0..other.radius.len()).all(within)
    }

    /// Whether this claim [follows](Enclosure::follows_from) from a recomputed enclosure, and states about as much: no interval is wider than
    /// twice the recomputed one.
    pub fn agrees_with(&self, found: &Enclosure) -> bool {
        let near = |stated: f64, found: f64, size: f64| stated <= 2.0 * found + 4.0 * f64::EPSILON * size;
        let errors = |of: &Enclosure, j: usize| of.standard_errors.as_ref().map(|e| (e.lower[j], e.upper[j]));
        self.follows_from(found)
            && (0..found.len()).all(|j| {
                let widths = match (errors(self, j), errors(found, j)) {
                    (Some(stated), Some(found)) => near(stated.1 - stated.0, found.1 - found.0, found.1),
                    (stated, found) => stated.is_none() == found.is_none(),
                };
                widths && near(self.radius[j], found.radius[j], 0.0)
            })
    }

    /// Whether all numbers are finite, and all intervals are in order.
    pub fn is_finite(&self) -> bool {
        let p = self.radius.len();
        let numbers = self.centre.iter().chain(&self.low).chain(&self.radius);
        let errors = self.standard_errors.as_ref().is_none_or(|errors| {
            errors.lower.len() == p
                && errors.upper.len() == p
                && errors
                    .lower
                    .iter()
                    .zip(&errors.upper)
                    .all(|(a, b)| a.is_finite() && b.is_finite() && a <= b)
        });
        (self.centre.len(), self.low.len()) == (p, p)
            && errors
            && numbers.into_iter().all(|x| x.is_finite())
            && self.radius.iter().all(|&r| r >= 0.0)
    }
}

/// The largest n with `radius` at most half a unit of the n-th significant digit of `centre`.
fn proved_digits(centre: f64, radius: f64) -> u32 {
    if !(centre != 0.0 && radius < centre.abs()) {
        return 0;
    }
    if radius == 0.0 {
        return 40;
    }
    // Neither logarithm decides a case at a power of ten: one digit less is also proved.
    let first = centre.abs().log10().floor();
    let digits = first + 1.0 + (-(2.0 * radius).log10() - 1e-9).floor();
    digits.max(0.0) as u32
}

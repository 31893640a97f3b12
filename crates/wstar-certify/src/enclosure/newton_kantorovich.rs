//! The theorem of Newton and Kantorovich in the norm of the information, and the enclosure that follows.
//!
//! Let H be the information at θ₀, R and ε its factor (`inverse_factor.rs`), ‖s‖_R = ‖R⁻ᵀs‖, and M with |x̃ᵢ·s| ≤ M‖s‖_R for all rows:
//! x̂ᵢ·s = Rx̂ᵢ·R⁻ᵀs, so M = ‖|R|x̂_max‖ with the largest magnitudes of the columns of x̂.
//!
//! **Lemma (curvature).** For ‖s‖_R ≤ δ the information at θ₀ + s lies between e^{−Mδ}H and e^{Mδ}H for the logistic loss, because |ℓ'''| ≤ ℓ''. For the
//! squared loss it is H. For squared hinge and modified Huber it lies between H and H + Σ2cx̂x̂ᵀ over the rows near a kink, whose
//! curvature H counts as 0, if all other rows stay on their side: Mδ below half of `UNSURE`.
//!
//! **Theorem.** Let ‖θ − θ₀‖_R ≤ δ, g = ∇P(θ), λ = ‖Rg‖/(1 − ε), r = 2λ and x = M(δ + r) ≤ ½. Then P has exactly one minimiser θ*, ‖θ* − θ‖_R ≤ r, and
//! θ* = θ − RᵀRg + Rᵀd with ‖d‖ ≤ κ‖Rg‖, κ = max(e^x/(1 − ε) − 1, 1 − 1/(e^x(1 + ε) + U)), where U bounds ‖RΣ2cx̂x̂ᵀRᵀ‖.
//! *Proof.* On the sphere ‖s‖_R = r, ∇P(θ + s)·s ≥ −‖Rg‖r + (1 − ε)e^{−x}r² > 0, because 2e^{−½} > 1. So the convex P has a minimiser inside, and it is the
//! only one, as H is positive definite. With H̄ = ∫∇²P(θ + t(θ* − θ))dt, 0 = g + H̄(θ* − θ), so R⁻ᵀ(θ* − θ) = −(RH̄Rᵀ)⁻¹Rg, and the
//! eigenvalues of RH̄Rᵀ lie between (1 − ε)e^{−x} and (1 + ε)e^x + U. ∎
//!
//! **The error of g.** Errors of α of at most ηhᵢ change Rg by at most η√Σh·‖RX̂ᵀdiag(h)^½‖ ≤ η√(Σh·(e^x(1 + ε) + U)), whatever the number
//! of columns. Rows near a kink change it by at most η·M·Σ2c, rounding of the column sums by the norm of |R| times its bound.
//!
//! One information serves several steps, since the lemma covers the points near θ₀: a step costs one pass in two doubles, without a
//! Gram matrix.

use super::frame::Frame;
use super::inverse_factor::{InverseFactor, norm};
use super::rounding::{FEW, SLACK, gamma, unit};
use super::row_slopes::{SlopeErrors, UNDERFLOW, UNSURE, has_kinks};
use super::row_sums::{DOUBLE_DOUBLE, Point, RowSums, score_error};
use wstar_numeric::double_double::DoubleDouble;
use wstar_problem::loss::LossName;
use wstar_problem::problem::Problem;

/// x of the theorem is at most this.
const LARGEST_CHANGE: f64 = 0.5;

/// A bound on what underflow does to Rg. Derived: fewer than 10¹² products each lose less than 10⁻³²⁰, times scales below 10⁷⁶.
const FLOOR: f64 = 1e-200;
/// A bound on what underflow does to a parameter. Derived: a few operations each lose less than 10⁻³²³.
const TINY: f64 = 1e-300;

/// The information at a point θ₀.
pub(super) struct Information<'a> {
    problem: &'a Problem,
    frame: &'a Frame,
    pub(super) factor: InverseFactor,
    /// M.
    reach: f64,
    /// U.
    unsure: f64,
}

/// The Newton step at a point: bounds on Rg, and the step in the original coordinates.
pub(super) struct NewtonStep {
    /// Rg, rounded.
    t: Vec<f64>,
    /// A bound on the error of `t`.
    pub(super) error: f64,
    /// An upper bound on ‖Rg‖.
    pub(super) norm: f64,
    /// RᵀRg in the original coordinates.
    step: Vec<DoubleDouble>,
    /// Bounds on its rounding errors, apart from those of `t`.
    rounding: Vec<f64>,
}

/// Bounds for a point near θ₀.
pub(super) struct Bounds {
    /// κ.
    pub(super) kappa: f64,
    /// e^x.
    pub(super) change: f64,
}

impl<'a> Information<'a> {
    /// The information of sums with a Gram matrix at a point.
    pub(super) fn new(problem: &'a Problem, frame: &'a Frame, sums: &RowSums, at: &Point) -> Option<Self> {
        let errors = slope_errors(problem, frame, at)?;
        let p = at.high.len();
        let penalties: Vec<f64> = (0..p).map(|j| problem.penalty_of(j).l2).collect();
        let factor = InverseFactor::new(&sums.gram, &penalties, sums.roundings, errors.curvature)?;
        let spread: Vec<f64> = frame
            .spread
            .iter()
            .zip(&factor.scale)
            .map(|(x, s)| x * s)
            .collect();
        let reach = factor.norm_of_sizes(&spread);
        // Curvatures that were evaluated as 0 by underflow count here as well.
        let missed = sums.unsure + 1e-290 * (frame.weight + 1.0);
        let unsure = missed * reach * reach * SLACK;
        (reach.is_finite() && unsure < 0.5).then_some(Information {
            problem,
            frame,
            factor,
            reach,
            unsure,
        })
    }

    /// The Newton step from sums at a point θ with ‖θ − θ₀‖_R ≤ `distance`.
    pub(super) fn step(&self, sums: &RowSums, at: &Point, distance: f64) -> Option<NewtonStep> {
        let (u, p, frame) = (unit(), at.high.len(), self.frame);
        let errors = slope_errors(self.problem, frame, at)?;
        let tiny = DOUBLE_DOUBLE * u * u;
        // g and its error in the original coordinates; g is −X̃ᵀα + l2·θ.
        let relative = sums.relative_error();
        let (mut g, mut bounds): (Vec<DoubleDouble>, Vec<f64>) = (Vec::new(), Vec::new());
        for j in 0..p {
            let l2 = self.problem.penalty_of(j).l2;
            let penalty = at.get(j) * l2;
            let entry = penalty - sums.products[j];
            let size = penalty.high.abs() + entry.high.abs() + sums.products[j].high.abs();
            let missed = frame.largest[j] * (sums.slopes * relative + UNDERFLOW * (frame.weight + 1.0));
            g.push(entry);
            bounds.push((missed + 4.0 * tiny * size) * SLACK);
        }
        // The same for the centred and scaled columns.
        let last = p - 1;
        let (own, own_bound) = (g[last], bounds[last]);
        let mut rounded = Vec::with_capacity(p);
        let mut missed = Vec::with_capacity(p);
        for (j, &scale) in self.factor.scale.iter().enumerate() {
            let m = frame.centre[j];
            let entry = if m == 0.0 { g[j] } else { g[j] - own * m };
            let size = g[j].high.abs() + (own.high * m).abs() + entry.high.abs();
            let bound = bounds[j] + m.abs() * own_bound + 4.0 * tiny * size + 2.0 * u * entry.high.abs();
            rounded.push(entry.high * scale);
            missed.push(bound * scale * SLACK);
        }
        let t = self.factor.times(&rounded);
        let sizes: Vec<f64> = rounded.iter().map(|g| g.abs()).collect();
        let largest = self.largest_eigenvalue((self.reach * distance).exp());
        let of_rows = errors.slope * (sums.curvature * (1.0 + 2.0 * errors.curvature) * largest).sqrt()
            + errors.slope * self.reach * sums.unsure;
        let error = (of_rows
            + self.factor.norm_of_sizes(&missed)
            + gamma(p + 2) * self.factor.norm_of_sizes(&sizes)
            + FLOOR)
            * SLACK;
        let (inner, sizes) = self.factor.transposed_times(&t);
        let (step, rounding) = self.original(&inner, &sizes);
        Some(NewtonStep {
            norm: (norm(&t) + error) * SLACK,
            t,
            error,
            step,
            rounding,
        })
    }

    /// The frame of the rows.
    pub(super) fn frame(&self) -> &'a Frame {
        self.frame
    }

    /// A bound on the errors of the residuals y − z of the squared loss at a point.
    pub(super) fn residual_error(&self, at: &Point) -> Option<f64> {
        slope_errors(self.problem, self.frame, at).map(|errors| errors.slope)
    }

    /// An upper bound on the eigenvalues of RH̄Rᵀ, for a factor `change` of the information.
    fn largest_eigenvalue(&self, change: f64) -> f64 {
        let change = if self.problem.loss() == LossName::Logistic {
            change
        } else {
            1.0
        };
        (change * (1.0 + self.factor.epsilon) + self.unsure) * FEW
    }

    /// (SC)ᵀn for a vector with errors of at most γ_p·sizes.
    fn original(&self, n: &[f64], sizes: &[f64]) -> (Vec<DoubleDouble>, Vec<f64>) {
        let p = n.len();
        let inner = gamma(p + 2);
        let scale = &self.factor.scale;
        let mut step: Vec<DoubleDouble> = n
            .iter()
            .zip(scale)
            .map(|(n, s)| DoubleDouble::from(n * s))
            .collect();
        let mut rounding: Vec<f64> = sizes
            .iter()
            .zip(scale)
            .map(|(size, s)| inner * size * s * SLACK)
            .collect();
        if self.frame.is_centred {
            let (mut sum, mut size) = (step[p - 1], step[p - 1].high.abs());
            let mut error = rounding[p - 1];
            let weights = step[..p - 1].iter().zip(&rounding).zip(&self.frame.centre);
            for ((step, rounding), m) in weights {
                let term = DoubleDouble::product(step.high, *m);
                sum -= term;
                size += term.high.abs();
                error += m.abs() * rounding;
            }
            let u = unit();
            step[p - 1] = sum;
            rounding[p - 1] = (error + DOUBLE_DOUBLE * u * u * (p + 2) as f64 * size) * SLACK;
        }
        (step, rounding)
    }

    /// θ − RᵀRg, rounded to two doubles, and a bound on its distance from θ in the norm ‖·‖_R.
    pub(super) fn moved(&self, at: &Point, newton: &NewtonStep) -> (Point, f64) {
        let u = unit();
        let mut point = Point {
            high: Vec::new(),
            low: Vec::new(),
        };
        let mut rounding = newton.rounding.clone();
        for (j, &step) in newton.step.iter().enumerate() {
            let next = at.get(j) - step;
            point.high.push(next.high);
            point.low.push(next.low);
            rounding[j] += 4.0 * DOUBLE_DOUBLE * u * u * (next.high.abs() + step.high.abs()) + TINY;
        }
        // ‖R⁻ᵀe_j‖² ≤ H_jj/(1 − ε), and the move in scaled and centred coordinates is n_j = ν_j/s_j, n_b = ν_b + m·ν.
        let last = rounding.len() - 1;
        let mut slack = rounding[last] * self.factor.diagonal[last] / self.factor.scale[last];
        let mut shifted = 0.0;
        for (j, rounding) in rounding[..last].iter().enumerate() {
            slack += rounding * self.factor.diagonal[j] / self.factor.scale[j];
            shifted += rounding * self.frame.centre[j].abs();
        }
        slack += shifted * self.factor.diagonal[last] / self.factor.scale[last];
        let distance = norm(&newton.t) + slack / (1.0 - self.factor.epsilon).sqrt();
        (point, distance * SLACK)
    }

    /// The bounds of the theorem at a point at most `distance` away from θ₀, or nothing if its conditions do not hold.
    pub(super) fn bounds(&self, newton: &NewtonStep, distance: f64) -> Option<Bounds> {
        let radius = 2.0 * newton.norm / (1.0 - self.factor.epsilon) * SLACK + f64::MIN_POSITIVE;
        let moved = self.reach * (distance + radius) * SLACK;
        let loss = self.problem.loss();
        let (x, holds) = match loss {
            LossName::Squared => (0.0, true),
            _ if has_kinks(loss) => (0.0, moved <= 0.5 * UNSURE),
            _ => (moved, moved <= LARGEST_CHANGE),
        };
        // e^x ≤ 1 + x + x² for x ≤ 1.
        let change = (1.0 + x + x * x) * FEW;
        let least = (1.0 - self.factor.epsilon) / change;
        // Differences of numbers near 1 lose what the factor above adds, not more.
        let above = (1.0 + x + x * x) / (1.0 - self.factor.epsilon) - 1.0;
        let below = 1.0 - 1.0 / ((1.0 + x + x * x) * (1.0 + self.factor.epsilon) + self.unsure);
        let kappa = above.max(below) * SLACK + 8.0 * f64::EPSILON;
        (holds && least > 0.0 && radius.is_finite()).then_some(Bounds { kappa, change })
    }

    /// The centre θ − RᵀRg and a radius for every parameter.
    pub(super) fn enclose(&self, at: &Point, newton: &NewtonStep, bounds: &Bounds) -> (Point, Vec<f64>) {
        let u = unit();
        let (centre, _) = self.moved(at, newton);
        let slack = (bounds.kappa * newton.norm + newton.error) * SLACK;
        let radius = self
            .column_norms()
            .iter()
            .enumerate()
            .map(|(j, (_, norm))| {
                let sizes = centre.high[j].abs() + newton.step[j].high.abs();
                let rounding = newton.rounding[j] + 4.0 * DOUBLE_DOUBLE * u * u * sizes + TINY;
                (slack * norm + rounding) * SLACK
            })
            .collect();
        (centre, radius)
    }

    /// Bounds on ‖R(SC)e_j‖ of every parameter: its standard error if the information were R⁻¹R⁻ᵀ.
    pub(super) fn column_norms(&self) -> Vec<(f64, f64)> {
        let p = self.factor.order();
        let mut column = vec![0.0; p];
        (0..p)
            .map(|j| {
                column.fill(0.0);
                column[j] = self.factor.scale[j];
                if self.frame.is_centred && j + 1 == p {
                    // A product with a power of two is exact.
                    let centre = self.frame.centre.iter().zip(&self.factor.scale);
                    let pairs = column[..j].iter_mut().zip(centre);
                    pairs.for_each(|(column, (m, scale))| *column = -m * scale);
                }
                self.factor.norm(&column)
            })
            .collect()
    }

    /// Intervals for √(H(θ*)⁻¹_jj) of every parameter.
    pub(super) fn standard_errors(&self, bounds: &Bounds) -> Vec<(f64, f64)> {
        let above = (bounds.change / (1.0 - self.factor.epsilon)).sqrt() * FEW;
        let below = 1.0 / (self.largest_eigenvalue(bounds.change).sqrt() * FEW);
        let norms = self.column_norms();
        norms
            .into_iter()
            .map(|(low, high)| ((low * below / FEW).max(0.0), high * above * FEW))
            .collect()
    }
}

fn slope_errors(problem: &Problem, frame: &Frame, at: &Point) -> Option<SlopeErrors> {
    let score = frame.largest_score(at.high.iter().copied());
    let e = score_error(at.high.len()) * score * SLACK;
    SlopeErrors::new(problem.loss(), e, score, frame.target)
}

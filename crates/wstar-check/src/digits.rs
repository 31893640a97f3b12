//! Proved digits of the optimum of a smooth objective (squared, logistic, softmax, squared hinge and modified Huber loss, no ℓ1):
//! existence, uniqueness, an interval for every coefficient, and standard errors.
//!
//! Let g = ∇P(θ), H = ∇²P(θ), R and ε from `linear.rs` (‖RHRᵀ − I‖ ≤ ε), ‖s‖ = ‖R⁻ᵀs‖₂, λ = ‖Rg‖/(1 − ε), and M a bound with
//! |x̃ᵢ·s| ≤ M‖s‖ for all rows (softmax: |x̃ᵢ·(s_k − s_l)| for all pairs of classes).
//!
//! **Lemma (curvature).** e^{−M‖s‖}H ⪯ ∇²P(θ + s) ⪯ e^{M‖s‖}H for logistic loss and softmax. For the squared loss M = 0.
//! *Proof.* For f = log Σe^z, D²f[u, u] is the variance of u under p, and D³f[u, u, v] = E[(u − Eu)²(v − Ev)], at most
//! range(v)·D²f[u, u] in magnitude. So the derivative of log D²f(z + tv)[u, u] is at most range(v). A penalty is constant. ∎
//!
//! **Theorem (Newton and Kantorovich).** If r > λ/(1 − Mr/2), Mr ≤ 1, then P has exactly one minimiser θ*, ‖θ* − θ‖ ≤ r, and
//! θ* = θ − RᵀRg + Rᵀd with ‖d‖ ≤ κ‖Rg‖, κ = e^{Mr}/(1 − ε) − 1. So |θ*_j − (θ − RᵀRg)_j| ≤ κ‖Rg‖·‖Re_j‖.
//! *Proof.* For ‖s‖ = r, ∇P(θ + s)·s = g·s + ∫sᵀ∇²P(θ + ts)s dt ≥ −‖Rg‖r + (1 − ε)r²(1 − e^{−Mr})/(Mr), and (1 − e^{−x})/x ≥ 1 − x/2. So it is
//! positive on the sphere: a minimiser lies inside, and H ≻ 0 makes it the only one of the convex P. With H̄ = ∫∇²P(θ + t(θ* − θ))dt,
//! 0 = g + H̄(θ* − θ), so R⁻ᵀ(θ* − θ) = −(RH̄Rᵀ)⁻¹Rg, and the eigenvalues of RH̄Rᵀ lie between (1 − ε)e^{−Mr} and (1 + ε)e^{Mr}. ∎
//! r = λ(1 + δ) with δ ≥ Mλ and Mλ ≤ ¼, δ ≤ 0.26, satisfies the condition: (1 + δ)(1 − δ(1 + δ)/2) > 1.
//!
//! **Squared hinge, modified Huber.** The curvature jumps at kinks. Rows within 10⁻⁶ of a kink count 0 in H, and 2c in an upper bound:
//! the eigenvalues of RH̄Rᵀ lie between 1 − ε and 1 + ε + Σ2c‖Rx̂‖² over these rows; the others must stay on their side, Mr ≤ 10⁻⁶.
//! Curvatures of the logistic loss that are not known to be above 0 are treated in the same way, with their upper bound for 2c.
//!
//! **Softmax.** Adding a constant to the same coefficient of all classes changes no score. In columns without a penalty P is
//! minimised under the condition that the sum over the classes is that of the given point. P gets ½τ(Σ_k s_k)² added, in the
//! frame's coordinates, with any τ > 0 (its gradient at θ is 0): a minimiser of this sum minimises P, because P does not change along
//! these constants. The means over the classes are then subtracted from the step.
//!
//! **Standard errors** (no penalty): H(θ*)⁻¹_jj lies between e^{−Mr}/(1 + ε) and e^{Mr}/(1 − ε) times ‖Re_j‖². For least squares they are multiplied by
//! σ̂ with σ̂² = Σc(y − z)²/(n − d), whose sum is 2P(θ*), between 2P(θ) − 2λr and 2P(θ).

use crate::arithmetic::{Interval, IntervalSum, ONE, gamma, larger, two_sum};
use crate::linear::{
    Frame, Information, dot, frobenius, identity_defect, inverse_factor, product, transposed_product,
};
use crate::mutant::{self, Mutant};
use crate::problem::{Intercept, Loss, Subproblem};
use crate::products::ColumnSums;
use crate::row_slope::{RowSlope, UNSURE};

/// Cap: with more parameters nothing is proved.
const MOST_PARAMETERS: usize = 2000;
/// Cap on the Newton steps before the proof.
const MOST_STEPS: usize = 4;
/// λ, in standard errors, at which no further Newton step is taken.
const NEAR: f64 = 1e-9;

/// Intervals for the coefficients of the unique optimum.
#[derive(Debug, Clone, Default)]
pub(crate) struct Digits {
    pub(crate) centre: Vec<(f64, f64)>,
    pub(crate) radius: Vec<f64>,
    /// Intervals for the standard errors, without a penalty.
    pub(crate) standard_errors: Option<Vec<Interval>>,
}

/// Proves that a unique optimum exists near the point, and encloses it.
pub(crate) fn prove(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    let smooth = !matches!(sub.problem.loss, Loss::Hinge | Loss::Absolute | Loss::Quantile(_));
    let size = 1..=MOST_PARAMETERS;
    if !(smooth && sub.problem.l1 == 0.0 && size.contains(&point.len()) && sub.is_admissible(point)) {
        return None;
    }
    settle(sub, point, &vec![0.0; point.len()]).map(|settled| settled.digits)
}

/// The enclosure, the point that it was computed at, and a bound on |x̃·(θ* − θ)| for all rows.
#[derive(Default)]
pub(crate) struct Settled {
    pub(crate) digits: Digits,
    pub(crate) theta: Vec<f64>,
    pub(crate) reach: f64,
}

/// Encloses the minimiser of P(θ) + Σ linear·θ, after Newton steps to a better point.
pub(crate) fn settle(sub: &Subproblem<'_>, point: &[f64], linear: &[f64]) -> Option<Settled> {
    let mut theta = point.to_vec();
    for left in (0..MOST_STEPS).rev() {
        let local = Local::new(sub, &theta, linear)?;
        if left == 0 || local.lambda.hi <= NEAR {
            let digits = local.enclose(sub, &theta, point)?;
            let reach = (local.reach * local.lambda * Interval::point(1.27)).hi;
            return Some(Settled { digits, theta, reach });
        }
        // A Newton step to a better point, which need not be exact.
        for (theta, step) in theta.iter_mut().zip(local.step()) {
            let next = *theta - step.middle();
            *theta = if next.abs() < 1e-140 { 0.0 } else { next };
        }
        if !sub.is_admissible(&theta) {
            return None;
        }
    }
    None
}

/// Gradient and curvature at a point, in the coordinates of a frame.
struct Local {
    frame: Frame,
    outputs: usize,
    /// The lower triangle R.
    r: Vec<f64>,
    epsilon: Interval,
    /// Rg and its norm.
    gradient: (Vec<Interval>, Interval),
    lambda: Interval,
    /// M; for losses with kinks the bound on |x̃·s| that keeps rows on their side.
    reach: Interval,
    /// Σ2c‖Rx̂‖² over rows near a kink, and of curvatures that are too small.
    unsure: Interval,
    /// Columns whose mean over the classes is kept.
    pinned: Vec<bool>,
    /// Rows with a weight.
    rows: usize,
    /// Σcℓ.
    total: Interval,
}

impl Local {
    fn new(sub: &Subproblem<'_>, theta: &[f64], linear: &[f64]) -> Option<Local> {
        let (problem, design) = (&sub.problem, sub.design);
        let (outputs, width, features) = (problem.outputs, problem.width(), problem.features);
        let centred = width > features && (problem.intercept == Intercept::Free || problem.l2 == 0.0);
        let frame = Frame::new(design, width, centred, |i| sub.weights[i]);
        let order = outputs * width;
        let mut sums = vec![ColumnSums::new(width); outputs];
        // Σ(error of the slope)·|x̂|: errors count with the distance from the mean. Products of tiny slopes that underflow err by less
        // than the least normal number, all together.
        let mut errors = vec![0.0; order];
        let mut information = Information::new(outputs, width);
        let (mut relative, mut unsure) = (0.0, 0.0);
        let (mut total, mut x) = (IntervalSum::default(), vec![0.0; width]);
        for i in sub.rows() {
            let row = design.row(i);
            frame.map(row, &mut x);
            let slope = RowSlope::new(sub, i, theta);
            for (k, &(high, low, error)) in slope.slopes.iter().enumerate() {
                sums[k].add(row, features, high);
                sums[k].add(row, features, low);
                (0..width).for_each(|j| errors[k * width + j] += error * x[j].abs());
            }
            information.add(&slope.curvature, &x);
            relative = larger(relative, slope.relative_error);
            unsure += slope.unsure * dot(&x, &x);
            total.add(slope.value);
        }
        information.flush();
        let h = &mut information.matrix;
        let ridge = |j: usize| problem.l2 > 0.0 && problem.penalizes(j);
        for at in 0..order {
            let (k, j) = (at / width, at % width);
            if ridge(j) {
                h[at * order + at] += problem.l2 * frame.scale[j] * frame.scale[j];
                sums[k].add_term(j, -problem.l2, theta[at]);
            }
            if linear[at] != 0.0 {
                sums[k].add_term(j, -linear[at], 1.0);
            }
        }
        let softmax = problem.loss == Loss::Softmax;
        let pinned: Vec<bool> = (0..width).map(|j| softmax && !ridge(j)).collect();
        for j in (0..width).filter(|&j| pinned[j]) {
            let tau = h[j * order + j];
            let pairs = (0..outputs).flat_map(|k| (0..k + 1).map(move |l| (k, l)));
            pairs.for_each(|(k, l)| h[(k * width + j) * order + l * width + j] += tau);
        }
        let r = inverse_factor(h, order)?;
        let norm = frobenius(&r);
        let rows = information.rows;
        let relative = if relative < 0.1 {
            relative + gamma(outputs + 8)
        } else {
            return None;
        };
        let epsilon = identity_defect(h, &r, order, rows + outputs, relative);
        let products = sums.iter().flat_map(|sums| frame.products(sums));
        let exact = mutant::is(Mutant::ExactGradient);
        let enclosed = |(u, &error): (Interval, &f64)| match exact {
            true => -Interval::point(u.middle()),
            false => -u.widened(error * 1.01 + f64::MIN_POSITIVE),
        };
        let residual = products.zip(&errors).map(enclosed);
        let gradient = product(&r, &residual.collect::<Vec<Interval>>());
        let lambda = Interval::point((gradient.1 / (ONE - Interval::new(0.0, epsilon))).hi);
        Some(Local {
            frame,
            outputs,
            epsilon: Interval::point(epsilon),
            gradient,
            lambda,
            reach: Interval::point(information.largest_range(&r)),
            unsure: Interval::point(unsure * norm * norm * 1.1),
            pinned,
            rows,
            total: total.interval(),
            r,
        })
    }

    /// The mean over the classes of column `j`.
    fn mean(&self, values: impl Fn(usize) -> Interval, j: usize) -> Interval {
        let width = self.frame.width();
        let sum: Interval = (0..self.outputs).map(|k| values(k * width + j)).sum();
        sum / Interval::point(self.outputs as f64)
    }

    /// RᵀRg in the original coordinates, without what does not matter to softmax.
    fn step(&self) -> Vec<Interval> {
        let width = self.frame.width();
        let n = transposed_product(&self.r, &self.gradient.0);
        let steps = n.chunks_exact(width).map(|n| self.frame.direction(n));
        let mut step = steps.collect::<Vec<_>>().concat();
        for j in (0..width).filter(|&j| self.pinned[j]) {
            let mean = self.mean(|at| step[at], j);
            (0..self.outputs).for_each(|k| step[k * width + j] = step[k * width + j] - mean);
        }
        step
    }

    /// ‖R·SC·e_j‖ of each parameter.
    fn norms(&self) -> Vec<Interval> {
        let (order, width) = (self.gradient.0.len(), self.frame.width());
        let r: Vec<Interval> = self.r.iter().map(|&r| Interval::point(r)).collect();
        let mut squares = vec![Interval::ZERO; order];
        for (at, block) in r.chunks_exact(width).enumerate() {
            for (j, entry) in self.frame.direction(block).into_iter().enumerate() {
                let sum = &mut squares[at * width % order + j];
                *sum = *sum + entry.square();
            }
        }
        squares.into_iter().map(Interval::sqrt).collect()
    }

    fn enclose(&self, sub: &Subproblem<'_>, theta: &[f64], start: &[f64]) -> Option<Digits> {
        let (loss, width) = (sub.problem.loss, self.frame.width());
        let (m, kinked) = match loss {
            Loss::Logistic | Loss::Softmax => (self.reach, false),
            _ => (Interval::ZERO, loss != Loss::Squared),
        };
        let delta = m * self.lambda + Interval::point(1e-6);
        let radius = self.lambda * (ONE + delta);
        let sure = !kinked || (self.reach * radius).hi <= UNSURE;
        if !(delta.hi <= 0.25 && self.epsilon.hi < 0.5 && sure) {
            return None;
        }
        // The eigenvalues of (RH̄Rᵀ)⁻¹; e^x ≤ 1 + x + x² for x ≤ 1, and e^{−x} ≥ 1 − x.
        let x = (m * radius).unless(Mutant::ConstantCurvature);
        let largest = (ONE + x + x.square()) / (ONE - self.epsilon);
        let smallest = (ONE - x) / (ONE + self.epsilon + self.unsure);
        let eigenvalues = Interval::new(smallest.lo, largest.hi);
        let kappa = Interval::point((eigenvalues - ONE).abs().hi);
        let (norms, slack) = (self.norms(), kappa * self.gradient.1);
        let mut digits = Digits::default();
        for (at, (&theta_at, step)) in theta.iter().zip(self.step()).enumerate() {
            // The means over the classes shall be those of the first point. What is subtracted has an error, too.
            let (moved, norm) = match self.pinned[at % width] {
                true => (
                    self.mean(
                        |at| Interval::point(theta[at]) - Interval::point(start[at]),
                        at % width,
                    ),
                    norms[at] + self.mean(|at| norms[at], at % width),
                ),
                false => (Interval::ZERO, norms[at]),
            };
            let step = step + moved;
            let radius = Interval::point(step.radius()) + slack * norm;
            digits.centre.push(two_sum(theta_at, -step.middle()));
            digits.radius.push(radius.hi);
        }
        let spread = match loss {
            Loss::Squared if self.rows > width => {
                let squares = 2.0 * self.total - 2.0 * (self.lambda * radius);
                let squares = Interval::new(squares.lo.max(0.0), (2.0 * self.total).hi);
                Some((squares / Interval::point((self.rows - width) as f64)).sqrt())
            }
            Loss::Logistic => Some(ONE),
            _ => None,
        };
        let errors = |spread| {
            let factor = eigenvalues.sqrt() * spread;
            norms.iter().map(|&norm| norm * factor).collect()
        };
        digits.standard_errors = spread.filter(|_| sub.problem.l2 == 0.0).map(errors);
        let finite = |(radius, centre): (&f64, &(f64, f64))| (radius + centre.0 + centre.1).is_finite();
        let known = digits.radius.iter().zip(&digits.centre).all(finite);
        known.then_some(digits)
    }
}

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
//!
//! **Softmax.** Adding a constant to the same coefficient of all classes changes no score. In columns without a penalty P is
//! minimised under the condition that the sum over the classes is that of the given point. P gets ½τ(Σ_k s_k)² added, in the
//! frame's coordinates, with any τ > 0 (its gradient at θ is 0): a minimiser of this sum minimises P, because P does not change along
//! these constants. The means over the classes are then subtracted from the step.
//!
//! **Standard errors** (no penalty): H(θ*)⁻¹_jj lies between e^{−Mr}/(1 + ε) and e^{Mr}/(1 − ε) times ‖Re_j‖². For least squares they are multiplied by
//! σ̂ with σ̂² = Σc(y − z)²/(n − d), whose sum is 2P(θ*), between 2P(θ) − 2λr and 2P(θ).

use crate::arithmetic::{Interval, gamma, larger, two_sum};
use crate::constraint::framed;
use crate::defect::{residual_of, value};
use crate::information::Information;
use crate::linear::{Frame, frobenius, gram, identity_defect, inverse_factor, norm_of_product, product};
use crate::mutant::{self, Mutant};
use crate::problem::{Intercept, Loss, Subproblem};
use crate::products::{ColumnSums, Score};
use crate::row_slope::{RowSlope, UNSURE};
use crate::softmax::RowScores;

const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };
/// Cap: with more parameters nothing is proved.
const MOST_PARAMETERS: usize = 2000;
/// Cap on the Newton steps before the proof.
const MOST_STEPS: usize = 4;
/// λ, in standard errors, at which no further Newton step is taken.
const NEAR: f64 = 1e-9;

/// Intervals for the coefficients of the unique optimum.
#[derive(Debug, Clone, PartialEq)]
pub struct Digits {
    /// The centre of each interval, in two doubles.
    pub centre: Vec<(f64, f64)>,
    /// The radius of each interval.
    pub radius: Vec<f64>,
    /// Intervals for the standard errors, without a penalty.
    pub standard_errors: Option<Vec<(f64, f64)>>,
}

/// Proves that a unique optimum exists near the point, and encloses it.
pub fn prove(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    let smooth = !matches!(sub.problem.loss, Loss::Hinge | Loss::Absolute | Loss::Quantile(_));
    let size = 1..=MOST_PARAMETERS;
    if !(smooth && sub.problem.l1 == 0.0 && size.contains(&point.len()) && sub.is_admissible(point)) {
        return None;
    }
    settle(sub, point, &vec![0.0; point.len()]).map(|settled| settled.digits)
}

/// The enclosure, the point that it was computed at, and a bound on |x̃·(θ* − θ)| for all rows.
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
        if left == 0 || local.lambda <= NEAR {
            let digits = local.enclose(sub, &theta, point)?;
            let radius = Interval::point(local.lambda) * Interval::point(1.27);
            return Some(Settled {
                digits,
                theta,
                reach: (Interval::point(local.reach) * radius).hi,
            });
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
    epsilon: f64,
    /// Rg.
    gradient: Vec<Interval>,
    lambda: f64,
    /// M; for losses with kinks the bound on |x̃·s| that keeps rows on their side.
    reach: f64,
    /// Σ2c‖Rx̂‖² over rows near a kink.
    unsure: f64,
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
        // Σ(error of the slope)·|x̂|: errors count with the distance from the mean.
        let mut errors = vec![0.0; order];
        let softmax = problem.loss == Loss::Softmax;
        let mut information = Information::new(outputs, if softmax { width } else { 0 });
        let (mut largest, mut relative, mut lost) = (0.0f64, 0.0f64, 0.0);
        let (mut unsure, mut rows, mut total) = (0.0, 0, Interval::ZERO);
        let mut x = vec![0.0; width];
        let mut curvatures = vec![0.0; design.rows()];
        let multiply = |errors: &mut [f64], error: f64, x: &[f64]| {
            errors
                .iter_mut()
                .zip(x)
                .for_each(|(sum, x)| *sum += error * x.abs());
        };
        for i in sub.rows() {
            let (row, c, y) = (design.row(i), sub.weights[i], sub.targets[i]);
            rows += 1;
            frame.map(row, &mut x);
            let square: f64 = x.iter().map(|x| x * x).sum();
            largest = larger(largest, square);
            if softmax {
                let scores = RowScores::new(sub, i, theta);
                for k in 0..outputs {
                    let target = Interval::point(f64::from(u8::from(k == y as usize)));
                    let slope = c * (target - scores.shares[k]);
                    let middle = slope.middle();
                    sums[k].add(row, features, middle);
                    let error = (slope - Interval::point(middle)).abs().hi;
                    multiply(&mut errors[k * width..][..width], error, &x);
                    relative = larger(relative, relative_error(scores.shares[k]));
                }
                let shares: Vec<f64> = scores.shares.iter().map(|p| p.middle()).collect();
                information.add(c, &shares, &x);
                continue;
            }
            let score = Score::new(row, features, theta);
            let (t, s, _) = residual_of(problem.loss, y);
            total = total + value(problem.loss, c, score.residual(t, s));
            let slope = RowSlope::new(problem.loss, c, y, score);
            sums[0].add(row, features, slope.hi);
            sums[0].add(row, features, slope.lo);
            multiply(&mut errors, slope.error, &x);
            unsure += slope.unsure * square;
            if slope.curvature.lo > 0.0 || slope.curvature == Interval::ZERO {
                curvatures[i] = slope.curvature.middle();
                relative = larger(relative, relative_error(slope.curvature));
            } else {
                lost += slope.curvature.hi * square;
            }
        }
        let mut h = match problem.loss {
            Loss::Softmax => std::mem::take(&mut information.matrix),
            _ => gram(width, sub.rows().filter(|&i| curvatures[i] > 0.0), |i, x| {
                frame.map(design.row(i), x);
                curvatures[i]
            }),
        };
        let pinned: Vec<bool> = (0..width)
            .map(|j| softmax && !(problem.l2 > 0.0 && problem.penalizes(j)))
            .collect();
        for at in 0..order {
            let j = at % width;
            if problem.l2 > 0.0 && problem.penalizes(j) {
                h[at * order + at] += problem.l2 * frame.scale[j] * frame.scale[j];
                sums[at / width].add_term(j, -problem.l2, theta[at]);
            }
            if linear[at] != 0.0 {
                sums[at / width].add_term(j, -linear[at], 1.0);
            }
        }
        for j in (0..width).filter(|&j| pinned[j]) {
            let tau = h[j * order + j];
            (0..outputs)
                .for_each(|k| (0..k + 1).for_each(|l| h[(k * width + j) * order + l * width + j] += tau));
        }
        let r = inverse_factor(&h, order)?;
        if softmax && relative > 0.05 {
            return None;
        }
        // Shares enter H as products of two, with the rounding of K − 1 sums.
        let relative = if softmax {
            2.1 * relative + gamma(outputs + 8)
        } else {
            relative + gamma(4)
        };
        let norm = frobenius(&r);
        let epsilon = identity_defect(&h, &r, order, rows + outputs, relative) + lost * norm * norm * 1.1;
        let residual: Vec<Interval> = sums
            .iter()
            .flat_map(|sums| framed(sums, &frame))
            .zip(&errors)
            .map(|(u, &error)| match mutant::is(Mutant::ExactGradient) {
                true => -Interval::point(u.middle()),
                false => -u.widened((error * 1.01).next_up()),
            })
            .collect();
        let lambda =
            (Interval::point(norm_of_product(&r, &residual)) / (ONE - Interval::new(0.0, epsilon))).hi;
        let reach = match softmax {
            true => information.largest_range(&r),
            false => norm * largest.sqrt() * (1.0 + 1e-6),
        };
        let gradient = product(&r, &residual);
        let unsure = unsure * norm * norm * 1.1;
        Some(Local {
            frame,
            outputs,
            r,
            epsilon,
            gradient,
            lambda,
            reach,
            unsure,
            pinned,
            rows,
            total,
        })
    }

    /// RᵀRg in the original coordinates, without what does not matter to softmax.
    fn step(&self) -> Vec<Interval> {
        let order = self.gradient.len();
        let width = self.frame.width();
        let mut n = vec![Interval::ZERO; order];
        for (k, &t) in self.gradient.iter().enumerate() {
            for (n, &r) in n.iter_mut().zip(&self.r[k * order..][..k + 1]) {
                *n = *n + r * t;
            }
        }
        let mut step: Vec<Interval> = n.chunks_exact(width).flat_map(|n| self.unframed(n)).collect();
        for j in (0..width).filter(|&j| self.pinned[j]) {
            let sum: Interval = (0..self.outputs).map(|k| step[k * width + j]).sum();
            let mean = sum / Interval::point(self.outputs as f64);
            (0..self.outputs).for_each(|k| step[k * width + j] = step[k * width + j] - mean);
        }
        step
    }

    /// (SC)ᵀn.
    fn unframed(&self, n: &[Interval]) -> Vec<Interval> {
        let mut v: Vec<Interval> = n
            .iter()
            .zip(&self.frame.scale)
            .map(|(&n, &scale)| scale * n)
            .collect();
        if let Some((last, rest)) = v
            .split_last_mut()
            .filter(|(_, rest)| rest.len() == self.frame.shift.len())
        {
            let shifted: Interval = rest.iter().zip(&self.frame.shift).map(|(&v, &m)| m * v).sum();
            *last = *last - shifted;
        }
        v
    }

    /// ‖R·SC·e_j‖ of each parameter.
    fn norms(&self) -> Vec<Interval> {
        let order = self.gradient.len();
        let width = self.frame.width();
        let mut squares = vec![Interval::ZERO; order];
        for (k, row) in self.r.chunks_exact(order).enumerate() {
            for block in 0..k / width + 1 {
                let entries: Vec<Interval> = row[block * width..][..width]
                    .iter()
                    .map(|&r| Interval::point(r))
                    .collect();
                for (square, entry) in squares[block * width..][..width]
                    .iter_mut()
                    .zip(self.unframed(&entries))
                {
                    *square = *square + entry.square();
                }
            }
        }
        squares.into_iter().map(Interval::sqrt).collect()
    }

    /// The theorem.
    fn enclose(&self, sub: &Subproblem<'_>, theta: &[f64], start: &[f64]) -> Option<Digits> {
        let loss = sub.problem.loss;
        let curved = matches!(loss, Loss::Logistic | Loss::Softmax);
        let kinked = matches!(loss, Loss::SquaredHinge | Loss::ModifiedHuber);
        let lambda = Interval::point(self.lambda);
        let m = if curved {
            Interval::point(self.reach)
        } else {
            Interval::ZERO
        };
        let delta = m * lambda + Interval::point(1e-6);
        let radius = lambda * (ONE + delta);
        let sure = !kinked || (Interval::point(self.reach) * radius).hi <= UNSURE;
        if !(delta.hi <= 0.25 && self.epsilon < 0.5 && sure) {
            return None;
        }
        // e^x ≤ 1 + x + x² for x ≤ 1, and e^{−x} ≥ 1 − x.
        let x = match mutant::is(Mutant::ConstantCurvature) {
            true => Interval::ZERO,
            false => m * radius,
        };
        let grown = ONE + x + x.square();
        let largest = (grown / (ONE - Interval::point(self.epsilon))).hi;
        let smallest = ((ONE - x) / (ONE + Interval::point(self.epsilon) + Interval::point(self.unsure))).lo;
        let kappa = larger(
            (Interval::point(largest) - ONE).hi,
            (ONE - Interval::point(smallest)).hi,
        );
        let slack =
            Interval::point(kappa) * self.gradient.iter().map(|t| t.square()).sum::<Interval>().sqrt();
        let norms = self.norms();
        let width = self.frame.width();
        let (mut centre, mut radii) = (Vec::new(), Vec::new());
        // The sums over the classes shall be those of the first point.
        let sum = |point: &[f64], j: usize| {
            (0..self.outputs)
                .map(|k| Interval::point(point[k * width + j]))
                .sum::<Interval>()
        };
        let mut moved = vec![Interval::ZERO; width];
        for j in (0..width).filter(|&j| self.pinned[j]) {
            moved[j] = (sum(theta, j) - sum(start, j)) / Interval::point(self.outputs as f64);
        }
        for (at, (&theta, step)) in theta.iter().zip(self.step()).enumerate() {
            let step = step + moved[at % width];
            let middle = step.middle();
            centre.push(two_sum(theta, -middle));
            // The mean over the classes that is subtracted has an error, too.
            let class_norms = || {
                (0..self.outputs)
                    .map(|k| norms[k * width + at % width])
                    .sum::<Interval>()
            };
            let norm = match self.pinned[at % width] {
                true => norms[at] + class_norms() / Interval::point(self.outputs as f64),
                false => norms[at],
            };
            radii.push(((step - Interval::point(middle)).abs() + slack * norm).hi);
        }
        let free = sub.problem.l2 == 0.0 && matches!(loss, Loss::Squared | Loss::Logistic);
        let spread = match loss {
            Loss::Squared if self.rows > width => {
                let lowest = (2.0 * self.total - 2.0 * (lambda * radius)).lo.max(0.0);
                let degrees = Interval::point((self.rows - width) as f64);
                (Interval::new(lowest, (2.0 * self.total).hi) / degrees).sqrt()
            }
            _ => ONE,
        };
        let factor = Interval::new(
            Interval::new(smallest, smallest).sqrt().lo,
            Interval::new(largest, largest).sqrt().hi,
        );
        let errors = || {
            norms
                .iter()
                .map(|&norm| norm * factor * spread)
                .map(|se| (se.lo, se.hi))
                .collect()
        };
        let known = free && (loss != Loss::Squared || self.rows > width);
        let finite =
            radii.iter().all(|radius| radius.is_finite()) && centre.iter().all(|c| (c.0 + c.1).is_finite());
        finite.then(|| Digits {
            centre,
            radius: radii,
            standard_errors: known.then(errors),
        })
    }
}

/// How far the middle of a positive interval is from its ends, relatively.
fn relative_error(x: Interval) -> f64 {
    match x == Interval::ZERO {
        true => 0.0,
        false => ((x - Interval::point(x.middle())).abs() / x).hi,
    }
}

//! The quadratic model of a prox-Newton step and its minimisation:
//!
//! min over u of g·(u − w) + ½(u − w)ᵀ(H + ridge)(u − w) + R(u).
//!
//! Within an orthant R is smooth, so the model over a face (the nonzero weights, signs fixed) is minimised by
//! a linear system. Along its solution each weight stops where it reaches 0, as long as the model decreases.
//! Sweeps of coordinate descent or proximal gradient steps determine which weights leave 0. Sweeps alone
//! would be slow where columns are correlated and would not converge where they are dependent.
//!
//! Rounds stop by the duality gap of the model. That gap is of first order in the excess of the slopes over
//! l1, so a loosely solved model gives a loose gap.

use crate::l1::conjugate_gradients::FLAT;
use crate::l1::quadratic::{CoordinateQuadratic, ProductQuadratic, Quadratic, add_product};
use wstar_data::error::Result;
use wstar_numeric::dense::dot;
use wstar_problem::penalty::Penalty;

/// Rounds without a better gap after which the minimisation stops. Heuristic: rounding against slow progress;
/// not measured yet.
const PATIENCE: usize = 12;
/// The factor by which a round is to reduce the gap. Heuristic: accuracy of a face against the number of
/// faces; not measured yet.
const GAP_REDUCTION: f64 = 0.1;
/// The largest slope that a face may leave, as a multiple of that after sweeps. Heuristic: as [`GAP_REDUCTION`]; not
/// measured yet.
const FACE_SLOPE_FACTOR: f64 = 4.0;
/// The most proximal steps before a face. Cap: the face of the last step is minimised.
const MOST_PROXIMAL: usize = 20;
/// The support has settled if less than one weight in this many entered or left. Heuristic: proximal steps
/// against linear systems; not measured yet.
const SETTLED: usize = 20;

/// The result of minimising a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Minimum {
    /// The point.
    pub(crate) at: Vec<f64>,
    /// Whether the gap is at most the target.
    pub(crate) reached: bool,
    /// Whether all rounds were used up while the model still decreased.
    pub(crate) exhausted: bool,
}

/// A quadratic model and the current point of its minimisation.
pub(crate) struct QuadraticModel<'a, C> {
    quadratic: C,
    penalties: &'a [Penalty],
    ridge: &'a [f64],
    /// The loss and its gradient at the start, where the model equals the loss.
    loss: f64,
    gradient: &'a [f64],
    start: &'a [f64],
    at: Vec<f64>,
    /// The slopes that a face may leave.
    slope_tol: f64,
}

impl<'a, C: Quadratic> QuadraticModel<'a, C> {
    /// The model of a loss around `start`.
    pub(crate) fn new(
        quadratic: C,
        penalties: &'a [Penalty],
        ridge: &'a [f64],
        start: &'a [f64],
        loss: f64,
        gradient: &'a [f64],
    ) -> Self {
        QuadraticModel {
            quadratic,
            penalties,
            ridge,
            loss,
            gradient,
            start,
            at: start.to_vec(),
            slope_tol: 0.0,
        }
    }

    /// Repeats rounds until the model's gap is at most `target` or the model stops decreasing.
    fn rounds(mut self, target: f64, mut round: impl FnMut(&mut Self) -> Result<bool>) -> Result<Minimum> {
        let (mut best_gap, mut best_value) = (f64::INFINITY, f64::INFINITY);
        let mut best_at = self.at.clone();
        let mut waited = 0;
        let mut exhausted = true;
        for _ in 0..self.quadratic.effort().most_rounds {
            let moved = round(&mut self)?;
            let (gap, value) = self.gap();
            // Heuristic: the rounding error of a value, some hundred machine epsilons; and a decrease of the gap by
            // less than a tenth counts as none. Both are not measured yet.
            let noise = 1e-13 * value.abs();
            let lower = value < best_value - noise;
            waited = if lower || gap < 0.9 * best_gap {
                0
            } else {
                waited + 1
            };
            // Where rounding hides the difference of two values, the gaps decide.
            if lower || (gap < best_gap && value <= best_value + noise) {
                (best_gap, best_value) = (gap, value);
                best_at.clone_from(&self.at);
            }
            if gap <= target || !moved || waited > PATIENCE {
                exhausted = false;
                break;
            }
        }
        Ok(Minimum {
            at: best_at,
            reached: best_gap <= target,
            exhausted,
        })
    }

    /// Minimises over the nonzero weights, signs fixed.
    fn face(&mut self) -> Result<Moved> {
        let slopes = self.quadratic.slopes();
        let (mut face, mut signs, mut neg_gradient, mut own) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (j, &w) in self.at.iter().enumerate() {
            let penalty = self.penalties[j];
            let slope = slopes[j] + self.ridge[j] * (w - self.start[j]) + penalty.l2 * w;
            let sign = if penalty.l1 == 0.0 {
                0.0
            } else if w != 0.0 {
                w.signum()
            } else {
                continue;
            };
            face.push(j);
            signs.push(sign);
            neg_gradient.push(-slope - penalty.l1 * sign);
            own.push(self.ridge[j] + penalty.l2);
        }
        if face.is_empty() {
            return Ok(Moved::Not);
        }
        let mut along = self
            .quadratic
            .newton(&face, &own, &neg_gradient, self.slope_tol)?;
        let before: Vec<f64> = face.iter().map(|&j| self.at[j]).collect();
        let mut u = before.clone();
        let mut moved = Moved::Not;
        let crossing = (0..u.len())
            .filter(|&k| signs[k] * (u[k] + along[k]) < 0.0)
            .count();
        let stops = self.quadratic.effort().most_stops;
        if crossing > stops {
            // Too many weights cross 0 to stop them one by one: all are projected at once, and the step along
            // the projected direction is exact.
            let ends: Vec<f64> = (0..u.len())
                .map(|k| {
                    if signs[k] * (u[k] + along[k]) < 0.0 {
                        0.0
                    } else {
                        u[k] + along[k]
                    }
                })
                .collect();
            let projected: Vec<f64> = ends.iter().zip(&u).map(|(end, u)| end - u).collect();
            let decrease = dot(&projected, &neg_gradient);
            if decrease > 0.0 {
                let product = self.face_product(&face, &own, &projected)?;
                let step = (decrease / dot(&projected, &product)).min(1.0);
                u = if step == 1.0 {
                    ends
                } else {
                    moved_by(&u, step, &projected)
                };
                moved = Moved::Stopped;
            }
        }
        if moved == Moved::Not {
            let mut known: Option<Vec<f64>> = None;
            for _ in 0..=stops {
                for k in 0..u.len() {
                    let held = signs[k] != 0.0 && u[k] == 0.0 && signs[k] * along[k] <= 0.0;
                    if held && along[k] != 0.0 {
                        known = known.and_then(|mut product| {
                            product[k] -= own[k] * along[k];
                            let succeeded =
                                self.quadratic.remove_coordinate(&face, k, along[k], &mut product);
                            succeeded.then_some(product)
                        });
                        along[k] = 0.0;
                    }
                }
                let decrease = dot(&along, &neg_gradient);
                if decrease <= 0.0 {
                    break;
                }
                let product = match known.take() {
                    Some(product) => product,
                    None => self.face_product(&face, &own, &along)?,
                };
                let curvature = dot(&along, &product);
                let promised: f64 = (0..u.len())
                    .map(|k| (self.quadratic.curvature(face[k]) + own[k]) * along[k] * along[k])
                    .sum();
                let best = if curvature > FLAT * promised {
                    decrease / curvature
                } else {
                    f64::INFINITY
                };
                let ends: Vec<f64> = (0..u.len())
                    .map(|k| {
                        if signs[k] * along[k] < 0.0 {
                            -u[k] / along[k]
                        } else {
                            f64::INFINITY
                        }
                    })
                    .collect();
                let first = ends.iter().copied().fold(f64::INFINITY, f64::min);
                let step = best.min(first);
                if step == f64::INFINITY {
                    break;
                }
                // Once a weight has stopped, the remaining direction no longer leads to the minimum of this
                // face.
                if moved == Moved::Not || step < best {
                    moved = if step < best {
                        Moved::Stopped
                    } else {
                        Moved::Freely
                    };
                }
                for k in 0..u.len() {
                    u[k] = if ends[k] <= step {
                        0.0
                    } else {
                        u[k] + step * along[k]
                    };
                    neg_gradient[k] -= step * product[k];
                }
                if step == best {
                    break;
                }
                known = Some(product);
            }
        }
        if moved != Moved::Not {
            let by: Vec<f64> = u.iter().zip(&before).map(|(u, before)| u - before).collect();
            self.quadratic.shift(&face, &by)?;
            face.iter().zip(&u).for_each(|(&j, &u)| self.at[j] = u);
        }
        Ok(moved)
    }

    /// Minimises face after face while weights reach 0; whether any weight moved.
    fn faces(&mut self) -> Result<bool> {
        let mut moved = false;
        for _ in 0..self.quadratic.effort().most_faces {
            let face = self.face()?;
            moved |= face != Moved::Not;
            if face != Moved::Stopped {
                break;
            }
        }
        Ok(moved)
    }

    /// (H + own) times a vector over a face.
    fn face_product(&mut self, face: &[usize], own: &[f64], along: &[f64]) -> Result<Vec<f64>> {
        let mut product = self.quadratic.product(face, along)?;
        add_product(&mut product, own, along);
        Ok(product)
    }

    /// The duality gap of the model at the point, and the model's value. It is what
    /// [`Objective::gap`](wstar_problem::objective::Objective::gap) would be if the loss were this quadratic.
    fn gap(&self) -> (f64, f64) {
        let slopes = self.quadratic.slopes();
        let (mut loss, mut product, mut penalty, mut conjugate) = (self.loss, 0.0, 0.0, 0.0);
        let mut shrink = 1.0f64;
        for (j, &w) in self.at.iter().enumerate() {
            let by = w - self.start[j];
            let slope = slopes[j] + self.ridge[j] * by;
            let own = self.penalties[j];
            loss += 0.5 * (self.gradient[j] + slope) * by;
            penalty += own.of(w);
            if own.is_none() {
                let h = self.quadratic.curvature(j) + self.ridge[j];
                conjugate += if h > 0.0 { slope * slope / h } else { 0.0 };
                continue;
            }
            product += w * slope;
            if own.l2 > 0.0 {
                conjugate += own.conjugate(slope);
            } else if slope.abs() > own.l1 {
                shrink = shrink.min(own.l1 / slope.abs());
            }
        }
        let value = loss + penalty;
        (value - shrink * (loss - product) + conjugate, value)
    }
}

impl<C: CoordinateQuadratic> QuadraticModel<'_, C> {
    /// Minimises by sweeps alternating with faces, until the model's own gap is at most `target`.
    pub(crate) fn by_sweeps(self, target: f64) -> Result<Minimum> {
        let (gap, value) = self.gap();
        let least = least_slope(target, value);
        let l1 = self.penalties.iter().map(|penalty| penalty.l1);
        let (l1, mut gap) = (l1.fold(0.0, f64::max), gap);
        self.rounds(target, |model| {
            // The accuracy increases gradually, because the minimum of an early face is soon replaced by that
            // of another.
            gap *= GAP_REDUCTION;
            model.slope_tol = FACE_SLOPE_FACTOR * l1 * least_slope(gap.max(target), value);
            let moved = model.sweeps(least);
            Ok(model.faces()? || moved)
        })
    }

    /// As [`by_sweeps`](Self::by_sweeps), from a point whose face is nearly the final one: that face is
    /// minimised first.
    pub(crate) fn by_face_and_sweeps(mut self, target: f64) -> Result<Minimum> {
        self.faces()?;
        self.by_sweeps(target)
    }

    /// One sweep over all coordinates and several over the nonzero ones; whether any moved.
    fn sweeps(&mut self, least: f64) -> bool {
        let mut moved = self.sweep(least, |_| true);
        for _ in 0..self.quadratic.effort().short_sweeps {
            moved |= self.sweep(least, |w| w != 0.0);
        }
        moved
    }

    /// Minimises over each chosen coordinate in turn, if that changes its slope by more than `least` times
    /// l1; whether any moved.
    fn sweep(&mut self, least: f64, chosen: impl Fn(f64) -> bool) -> bool {
        let mut moved = false;
        for j in 0..self.at.len() {
            let w = self.at[j];
            if !chosen(w) {
                continue;
            }
            let slope = self.quadratic.slope(j) + self.ridge[j] * (w - self.start[j]);
            let h = self.quadratic.curvature(j) + self.ridge[j];
            let next = minimum(self.penalties[j], w, slope, h);
            let penalty = self.penalties[j];
            let worth = next == 0.0 || (h + penalty.l2) * (next - w).abs() > least * penalty.l1;
            if next != w && worth {
                self.quadratic.step(j, next - w);
                self.at[j] = next;
                moved = true;
            }
        }
        moved
    }
}

impl<C: ProductQuadratic> QuadraticModel<'_, C> {
    /// Minimises orthant by orthant until the model's own gap is at most `target`: proximal gradient steps
    /// choose the orthant, then its faces are minimised.
    pub(crate) fn by_orthants(self, target: f64) -> Result<Minimum> {
        let mut steepness = 1.0;
        self.rounds(target, |model| model.orthant(&mut steepness))
    }

    /// Proximal steps until the support has settled, then faces; whether anything moved. `steepness` is the
    /// curvature along the last step relative to that of the diagonal (J. Barzilai and J. M. Borwein,
    /// Two-point step size gradient methods, IMA J. Numerical Analysis 8, 1988; S. J. Wright, R. D. Nowak and
    /// M. A. T. Figueiredo, Sparse reconstruction by separable approximation, IEEE Trans. Signal Processing 57,
    /// 2009).
    fn orthant(&mut self, steepness: &mut f64) -> Result<bool> {
        let support = |at: &[f64]| at.iter().filter(|w| **w != 0.0).count();
        let mut moved = false;
        for _ in 0..MOST_PROXIMAL {
            let before = support(&self.at);
            if !self.proximal(steepness)? {
                break;
            }
            moved = true;
            let after = support(&self.at);
            if before.abs_diff(after) * SETTLED < after {
                break;
            }
        }
        Ok(self.faces()? || moved)
    }

    /// A proximal gradient step in the metric of the diagonal; whether anything moved.
    fn proximal(&mut self, steepness: &mut f64) -> Result<bool> {
        let slopes = self.quadratic.slopes();
        let (mut face, mut by, mut metric) = (Vec::new(), Vec::new(), Vec::new());
        for (j, &w) in self.at.iter().enumerate() {
            let slope = slopes[j] + self.ridge[j] * (w - self.start[j]);
            let h = self.quadratic.curvature(j) + self.ridge[j];
            let next = minimum(self.penalties[j], w, slope, *steepness * h);
            if next != w {
                face.push(j);
                by.push(next - w);
                metric.push(h);
            }
        }
        if face.is_empty() {
            return Ok(false);
        }
        let product = self.quadratic.whole_product(&face, &by)?;
        let mut curvature = 0.0;
        let mut promised = 0.0;
        for ((&j, &by), h) in face.iter().zip(&by).zip(&metric) {
            curvature += by * (product[j] + self.ridge[j] * by);
            promised += h * by * by;
        }
        let found = curvature / promised;
        // The model is steeper than assumed. A shorter step decreases it, because it is convex.
        let step = if found > *steepness {
            *steepness / found
        } else {
            1.0
        };
        for (&j, &by) in face.iter().zip(&by) {
            let next = self.at[j] + step * by;
            self.at[j] = if by == -self.at[j] && step == 1.0 {
                0.0
            } else {
                next
            };
        }
        self.quadratic.advance(step, &product);
        *steepness = if found.is_finite() {
            // Cap: keeps the proximal steps from becoming extremely long or short.
            found.clamp(1e-3, 1e9)
        } else {
            1.0
        };
        Ok(true)
    }
}

impl<C: ProductQuadratic + CoordinateQuadratic> QuadraticModel<'_, C> {
    /// As [`by_orthants`](Self::by_orthants), with sweeps after each face. If some
    /// columns are stiff and others dependent, the rounding of a linear system shows in the stiff slopes, and
    /// sweeps correct it.
    pub(crate) fn by_swept_orthants(self, target: f64) -> Result<Minimum> {
        let mut steepness = 1.0;
        let least = least_slope(target, self.gap().1);
        self.rounds(target, |model| {
            let moved = model.orthant(&mut steepness)?;
            Ok(model.sweeps(least) || moved)
        })
    }
}

/// How far the weights of a face moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// No weight moved.
    Not,
    /// Until a weight reached 0.
    Stopped,
    /// To the minimum of the face.
    Freely,
}

/// u + step·along.
fn moved_by(u: &[f64], step: f64, along: &[f64]) -> Vec<f64> {
    u.iter().zip(along).map(|(u, d)| u + step * d).collect()
}

/// The error of slopes, relative to l1, at which their contribution to the gap is small compared with the
/// target: slopes off by s·l1 cost at most 2s of the objective. Heuristic: the factor 0.05 gives them a
/// tenth of the target; not measured yet.
fn least_slope(target: f64, value: f64) -> f64 {
    0.05 * target / value.abs().max(target)
}

/// The minimiser over one weight, where the slope at `w` is `slope` and the curvature is `h`.
fn minimum(penalty: Penalty, w: f64, slope: f64, h: f64) -> f64 {
    if h > 0.0 {
        penalty.prox(w - slope / h, 1.0 / h)
    } else if penalty.l2 > 0.0 {
        -(slope - slope.clamp(-penalty.l1, penalty.l1)) / penalty.l2
    } else if penalty.l1 > 0.0 && slope.abs() <= penalty.l1 {
        // No row has an entry in this weight's column, so its optimum is 0.
        0.0
    } else {
        w
    }
}

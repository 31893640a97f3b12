//! The quadratic model of a prox-Newton step and its minimum:
//! min over u of g·(u − w) + ½(u − w)ᵀ(H + ridge)(u − w) + R(u).
//!
//! Within an orthant R is smooth, so a face (weights that are not 0, signs kept) is minimised by a linear
//! system; along its solution each weight stops where it comes to 0, for as long as the model falls. Which
//! weights leave 0 is found by sweeps of coordinate descent, or by proximal gradient steps.
//! Sweeps alone would creep where columns are correlated, and never arrive where they are dependent.
//! What counts is the duality gap of the model, which is of first order in the slopes that stand out
//! beyond l1: a model solved loosely gives a loose gap.

use crate::error::Result;
use crate::kernel::dense::dot;
use crate::penalty::Penalty;
use crate::solve::orthant::conjugate::FLAT;
use crate::solve::orthant::curved::{Curved, Pulled, Stepped, add_product};

/// Rounds without a better gap, after which there is nothing more to gain.
const PATIENCE: usize = 12;
/// How much of the gap a round is to leave.
const SHARE: f64 = 0.1;
/// How much more of a slope a face may leave over than sweeps do.
const LEFT_OVER: f64 = 4.0;
/// Proximal steps at most before a face.
const MOST_PROXIMAL: usize = 20;
/// The support has settled when less than one in so many has come or gone.
const SETTLED: usize = 20;

/// Where a model was left.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Minimum {
    /// The point.
    pub(crate) at: Vec<f64>,
    /// Whether the gap is what it was to be.
    pub(crate) reached: bool,
    /// Whether all rounds were used up, while the model was still falling.
    pub(crate) spent: bool,
}

/// A quadratic model and the point that it is minimised from.
pub(crate) struct Model<'a, C> {
    curved: C,
    penalties: &'a [Penalty],
    ridge: &'a [f64],
    /// The loss and its slopes where the model touches it.
    loss: f64,
    gradient: &'a [f64],
    start: &'a [f64],
    at: Vec<f64>,
    /// Slopes that may be left over.
    enough: f64,
}

impl<'a, C: Curved> Model<'a, C> {
    /// The model of a loss around `start`.
    pub(crate) fn new(
        curved: C,
        penalties: &'a [Penalty],
        ridge: &'a [f64],
        start: &'a [f64],
        loss: f64,
        gradient: &'a [f64],
    ) -> Self {
        Model {
            curved,
            penalties,
            ridge,
            loss,
            gradient,
            start,
            at: start.to_vec(),
            enough: 0.0,
        }
    }

    /// Repeats rounds until the model's gap is at most `target`, or nothing falls any more.
    fn rounds(mut self, target: f64, mut round: impl FnMut(&mut Self) -> Result<bool>) -> Result<Minimum> {
        let (mut best_gap, mut best_value) = (f64::INFINITY, f64::INFINITY);
        let mut best_at = self.at.clone();
        let mut waited = 0;
        let mut spent = true;
        for _ in 0..self.curved.effort().most_rounds {
            let moved = round(&mut self)?;
            let (gap, value) = self.gap();
            let noise = 1e-13 * value.abs();
            let lower = value < best_value - noise;
            waited = if lower || gap < 0.9 * best_gap {
                0
            } else {
                waited + 1
            };
            // Of points that the values cannot tell apart, the slopes still can.
            if lower || (gap < best_gap && value <= best_value + noise) {
                (best_gap, best_value) = (gap, value);
                best_at.clone_from(&self.at);
            }
            if gap <= target || !moved || waited > PATIENCE {
                spent = false;
                break;
            }
        }
        Ok(Minimum {
            at: best_at,
            reached: best_gap <= target,
            spent,
        })
    }

    /// Minimises over the weights that are not 0, signs kept.
    fn face(&mut self) -> Result<Moved> {
        let slopes = self.curved.slopes();
        let (mut face, mut signs, mut falls, mut own) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
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
            falls.push(-slope - penalty.l1 * sign);
            own.push(self.ridge[j] + penalty.l2);
        }
        if face.is_empty() {
            return Ok(Moved::Not);
        }
        let mut along = self.curved.newton(&face, &own, &falls, self.enough)?;
        let before: Vec<f64> = face.iter().map(|&j| self.at[j]).collect();
        let mut u = before.clone();
        let mut moved = Moved::Not;
        let crossing = (0..u.len())
            .filter(|&k| signs[k] * (u[k] + along[k]) < 0.0)
            .count();
        let stops = self.curved.effort().most_stops;
        if crossing > stops {
            // Too many to stop one by one: all at once, as far along the bent step as pays.
            let ends: Vec<f64> = (0..u.len())
                .map(|k| {
                    if signs[k] * (u[k] + along[k]) < 0.0 {
                        0.0
                    } else {
                        u[k] + along[k]
                    }
                })
                .collect();
            let bent: Vec<f64> = ends.iter().zip(&u).map(|(end, u)| end - u).collect();
            let fall = dot(&bent, &falls);
            if fall > 0.0 {
                let product = self.face_product(&face, &own, &bent)?;
                let step = (fall / dot(&bent, &product)).min(1.0);
                u = if step == 1.0 {
                    ends
                } else {
                    moved_by(&u, step, &bent)
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
                            let could = self.curved.without(&face, k, along[k], &mut product);
                            could.then_some(product)
                        });
                        along[k] = 0.0;
                    }
                }
                let fall = dot(&along, &falls);
                if fall <= 0.0 {
                    break;
                }
                let product = match known.take() {
                    Some(product) => product,
                    None => self.face_product(&face, &own, &along)?,
                };
                let curvature = dot(&along, &product);
                let promised: f64 = (0..u.len())
                    .map(|k| (self.curved.curvature(face[k]) + own[k]) * along[k] * along[k])
                    .sum();
                let best = if curvature > FLAT * promised {
                    fall / curvature
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
                // Without the weight that stopped, the rest is no longer this face's minimum.
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
                    falls[k] -= step * product[k];
                }
                if step == best {
                    break;
                }
                known = Some(product);
            }
        }
        if moved != Moved::Not {
            let by: Vec<f64> = u.iter().zip(&before).map(|(u, before)| u - before).collect();
            self.curved.shift(&face, &by)?;
            face.iter().zip(&u).for_each(|(&j, &u)| self.at[j] = u);
        }
        Ok(moved)
    }

    /// Face after face, for as long as weights come to 0; whether any moved.
    fn faces(&mut self) -> Result<bool> {
        let mut moved = false;
        for _ in 0..self.curved.effort().most_faces {
            let face = self.face()?;
            moved |= face != Moved::Not;
            if face != Moved::Stopped {
                break;
            }
        }
        Ok(moved)
    }

    fn face_product(&mut self, face: &[usize], own: &[f64], along: &[f64]) -> Result<Vec<f64>> {
        let mut product = self.curved.product(face, along)?;
        add_product(&mut product, own, along);
        Ok(product)
    }

    /// The gap between the model and its dual at the point: what [`Problem::gap`](crate::problem::Problem::gap)
    /// would be if the loss were this quadratic.
    /// Also the model's value there.
    fn gap(&self) -> (f64, f64) {
        let slopes = self.curved.slopes();
        let (mut loss, mut product, mut penalty, mut conjugate) = (self.loss, 0.0, 0.0, 0.0);
        let mut shrink = 1.0f64;
        for (j, &w) in self.at.iter().enumerate() {
            let by = w - self.start[j];
            let slope = slopes[j] + self.ridge[j] * by;
            let own = self.penalties[j];
            loss += 0.5 * (self.gradient[j] + slope) * by;
            penalty += own.of(w);
            if own.is_none() {
                let h = self.curved.curvature(j) + self.ridge[j];
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

impl<C: Stepped> Model<'_, C> {
    /// Minimises by sweeps, and by faces between them, until the model's own gap is at most `target`.
    pub(crate) fn by_sweeps(self, target: f64) -> Result<Minimum> {
        let (gap, value) = self.gap();
        let least = least_slope(target, value);
        let l1 = self.penalties.iter().map(|penalty| penalty.l1);
        let (l1, mut gap) = (l1.fold(0.0, f64::max), gap);
        self.rounds(target, |model| {
            // Little by little: much of a face that is minimised exactly is soon another.
            gap *= SHARE;
            model.enough = LEFT_OVER * l1 * least_slope(gap.max(target), value);
            let moved = model.sweeps(least);
            Ok(model.faces()? || moved)
        })
    }

    /// The same from a point whose face is nearly the right one: its minimum comes first.
    pub(crate) fn by_face_and_sweeps(mut self, target: f64) -> Result<Minimum> {
        self.faces()?;
        self.by_sweeps(target)
    }

    /// One sweep over all coordinates and some over those that are not 0; whether any moved.
    fn sweeps(&mut self, least: f64) -> bool {
        let mut moved = self.sweep(least, |_| true);
        for _ in 0..self.curved.effort().short_sweeps {
            moved |= self.sweep(least, |w| w != 0.0);
        }
        moved
    }

    /// Minimises over each chosen coordinate in turn, where that takes its slope by more than the share `least` of l1;
    /// whether any moved.
    fn sweep(&mut self, least: f64, chosen: impl Fn(f64) -> bool) -> bool {
        let mut moved = false;
        for j in 0..self.at.len() {
            let w = self.at[j];
            if !chosen(w) {
                continue;
            }
            let slope = self.curved.slope(j) + self.ridge[j] * (w - self.start[j]);
            let h = self.curved.curvature(j) + self.ridge[j];
            let next = minimum(self.penalties[j], w, slope, h);
            let penalty = self.penalties[j];
            let worth = next == 0.0 || (h + penalty.l2) * (next - w).abs() > least * penalty.l1;
            if next != w && worth {
                self.curved.step(j, next - w);
                self.at[j] = next;
                moved = true;
            }
        }
        moved
    }
}

impl<C: Pulled> Model<'_, C> {
    /// Minimises orthant by orthant: proximal gradient steps choose the orthant, and its faces are minimised,
    /// until the model's own gap is at most `target`.
    pub(crate) fn by_orthants(self, target: f64) -> Result<Minimum> {
        let mut steepness = 1.0;
        self.rounds(target, |model| model.orthant(&mut steepness))
    }

    /// Proximal steps until the support has settled, then its faces; whether anything moved. `steepness` is
    /// how much steeper than its diagonal the model is along the last step (Barzilai and Borwein 1988;
    /// Wright, Nowak and Figueiredo 2009).
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
        let slopes = self.curved.slopes();
        let (mut face, mut by, mut metric) = (Vec::new(), Vec::new(), Vec::new());
        for (j, &w) in self.at.iter().enumerate() {
            let slope = slopes[j] + self.ridge[j] * (w - self.start[j]);
            let h = self.curved.curvature(j) + self.ridge[j];
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
        let product = self.curved.whole_product(&face, &by)?;
        let mut curvature = 0.0;
        let mut promised = 0.0;
        for ((&j, &by), h) in face.iter().zip(&by).zip(&metric) {
            curvature += by * (product[j] + self.ridge[j] * by);
            promised += h * by * by;
        }
        let found = curvature / promised;
        // Steeper than it was taken for: a part of the step descends surely, for the model is convex.
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
        self.curved.advance(step, &product);
        *steepness = if found.is_finite() {
            found.clamp(1e-3, 1e9)
        } else {
            1.0
        };
        Ok(true)
    }
}

impl<C: Pulled + Stepped> Model<'_, C> {
    /// The same, with sweeps after each face: where stiff and dependent columns meet, a linear system's
    /// rounding shows in the stiff slopes, which single weights put right.
    pub(crate) fn by_swept_orthants(self, target: f64) -> Result<Minimum> {
        let mut steepness = 1.0;
        let least = least_slope(target, self.gap().1);
        self.rounds(target, |model| {
            let moved = model.orthant(&mut steepness)?;
            Ok(model.sweeps(least) || moved)
        })
    }
}

/// How a face let the weights move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// Not at all.
    Not,
    /// Until a weight came to 0.
    Stopped,
    /// To the face's minimum.
    Freely,
}

fn moved_by(u: &[f64], step: f64, along: &[f64]) -> Vec<f64> {
    u.iter().zip(along).map(|(u, d)| u + step * d).collect()
}

/// The share of l1 by which slopes may be off for the gap to be a small part of the target: slopes off by the share s cost
/// at most 2s of the objective.
fn least_slope(target: f64, value: f64) -> f64 {
    0.05 * target / value.abs().max(target)
}

/// The minimum over one weight, where the slope at `w` is `slope` and the curvature `h` throughout.
fn minimum(penalty: Penalty, w: f64, slope: f64, h: f64) -> f64 {
    if h > 0.0 {
        penalty.prox(w - slope / h, 1.0 / h)
    } else if penalty.l2 > 0.0 {
        -(slope - slope.clamp(-penalty.l1, penalty.l1)) / penalty.l2
    } else if penalty.l1 > 0.0 && slope.abs() <= penalty.l1 {
        // Nothing pulls at a weight that no row sees.
        0.0
    } else {
        w
    }
}

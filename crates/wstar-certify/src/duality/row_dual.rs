//! The multiplier of a row with one score, and its defect in Fenchel's inequality, FY(α, z) = cℓ(z) + cℓ\*(−α/c) + αz ≥ 0.
//!
//! Let h = y − z, or h = yz (logistic), or h = 1 − yz (hinges), and a = α, or a = yα for y = ±1. Then
//!
//! | loss | range of a | FY |
//! |---|---|---|
//! | squared | all | (a − ch)²/(2c) |
//! | hinge | [0, c] | (c − a)h for h ≥ 0, a·abs(h) for h < 0 |
//! | squared hinge | a ≥ 0 | (a − 2ch)²/(4c) for h > 0, a²/(4c) + a·abs(h) for h ≤ 0 |
//! | modified Huber | [0, 4c] | the same for h ≤ 2, (4c − a)²/(4c) + (4c − a)(h − 2) for h > 2 |
//! | quantile q | [−(1 − q)c, qc] | (qc − a)h for h ≥ 0, ((1 − q)c + a)·abs(h) for h < 0 |
//! | logistic | [0, c] | c·KL(p'‖p), p' = (a/c, 1 − a/c), p = (σ(−h), σ(h)) |
//!
//! FY is convex in h and in a, so its maximum over intervals is at their ends. `docs/proofs.md` derives the table.

use wstar_data::Row;
use wstar_numeric::double_double::{Compensated, DoubleDouble, two_prod, two_sum};
use wstar_numeric::softplus::{SHARE_ERROR, exponentials_of};
use wstar_problem::loss::{Loss, LossName};
use wstar_problem::on_loss;

use crate::duality::error_bounds::{Rounding, larger, upwards};
use crate::duality::stored_multipliers::multiplier;

/// Multipliers of smaller magnitude are set to 0, so that products with them do not underflow. Cap: it changes the gap by less
/// than 10⁻²⁰⁰.
const SMALLEST: f64 = 1e-250;

/// At least log 2.
const LOG_2: f64 = 0.694;

/// A score in two doubles, within `error` of the exact one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Score {
    pub(super) value: DoubleDouble,
    pub(super) error: f64,
}

impl Score {
    /// w·x + b.
    pub(super) fn new(row: Row<'_>, (w, b): (&[f64], f64), rounding: Rounding) -> Self {
        let (mut sum, mut size) = (Compensated::default(), b.abs());
        row.for_each(|j, x| {
            sum.add_product(w[j], x);
            size += (w[j] * x).abs();
        });
        sum.add(b);
        Score {
            value: sum.total(),
            error: rounding.compensated(size, row.stored() + 1),
        }
    }
}

/// h of a row, within `error` of the exact one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Residual {
    pub(super) h: f64,
    pub(super) error: f64,
}

impl Residual {
    /// h at a score.
    pub(super) fn new(loss: LossName, y: f64, score: Score, rounding: Rounding) -> Self {
        let (constant, slope) = match loss {
            LossName::Logistic => (0.0, y),
            LossName::Hinge | LossName::SquaredHinge | LossName::ModifiedHuber => (1.0, -y),
            _ => (y, -1.0),
        };
        let (high, low) = two_sum(constant, slope * score.value.high);
        let h = high + (low + slope * score.value.low);
        Residual {
            h,
            error: upwards(score.error + 2.0 * rounding.unit() * (h.abs() + low.abs())),
        }
    }
}

/// ∂h/∂z.
pub(super) fn residual_slope(loss: LossName, y: f64) -> f64 {
    match loss {
        LossName::Logistic => y,
        LossName::Hinge | LossName::SquaredHinge | LossName::ModifiedHuber => -y,
        _ => -1.0,
    }
}

/// The factor between α and a.
pub(super) fn sign(loss: LossName, y: f64) -> f64 {
    match loss {
        LossName::Squared | LossName::Absolute | LossName::Quantile(_) => 1.0,
        _ => y,
    }
}

/// Doubles that bound a closed interval inside the range of a.
pub(super) fn range(loss: LossName, c: f64) -> (f64, f64) {
    match loss {
        LossName::Squared => (f64::NEG_INFINITY, f64::INFINITY),
        LossName::Logistic | LossName::Hinge => (0.0, c),
        LossName::SquaredHinge => (0.0, f64::INFINITY),
        LossName::ModifiedHuber => (0.0, 4.0 * c),
        LossName::Absolute => (-c, c),
        LossName::Quantile(q) => {
            let q = f64::from(q);
            // Two roundings, each away from 0 by at most half a unit.
            let inside = 1.0 - 2.0 * f64::EPSILON;
            (-((1.0 - q) * c) * inside, q * c * inside)
        }
        LossName::Softmax | LossName::SigmoidMse => (0.0, 0.0),
    }
}

/// σ(−|h|).
fn smaller_share(h: f64) -> f64 {
    let mut e = [0.0];
    exponentials_of(&[-h.abs()], &mut e);
    e[0] / (1.0 + e[0])
}

/// A multiplier a = high + low, exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Multiplier {
    pub(super) high: f64,
    pub(super) low: f64,
}

impl Multiplier {
    /// −cℓ'(z), times the sign of the row: any point of the range would do.
    pub(super) fn of_slope(loss: LossName, c: f64, h: f64) -> Self {
        let (least, greatest) = range(loss, c);
        let high = match loss {
            LossName::Logistic => {
                let small = c * smaller_share(h);
                let small = if small < SMALLEST { 0.0 } else { small };
                return match h > 0.0 {
                    true => Multiplier {
                        high: small,
                        low: 0.0,
                    },
                    // c − small as a double would lose the relative precision of `small`.
                    false => Multiplier { high: c, low: -small },
                };
            }
            LossName::Squared => c * h,
            LossName::SquaredHinge | LossName::ModifiedHuber => 2.0 * c * h.max(0.0),
            _ if h > 0.0 => greatest,
            _ if h < 0.0 => least,
            _ => 0.0,
        };
        Multiplier::within(high, (least, greatest))
    }

    /// The multiplier of a stored share.
    pub(super) fn of_share(loss: LossName, c: f64, y: f64, share: f64) -> Self {
        let (least, greatest) =
            on_loss!(loss, loss => loss.slopes(y), softmax => (f64::NEG_INFINITY, f64::INFINITY));
        let a = sign(loss, y) * (c * multiplier(least, greatest, share));
        Multiplier::within(a, range(loss, c))
    }

    fn within(a: f64, (least, greatest): (f64, f64)) -> Self {
        let a = a.max(least).min(greatest);
        Multiplier {
            high: if a.abs() < SMALLEST { 0.0 } else { a },
            low: 0.0,
        }
    }

    /// The multiplier after a change by `change`, within its range.
    pub(super) fn moved(self, loss: LossName, c: f64, change: f64) -> Self {
        if change == 0.0 {
            return self;
        }
        Multiplier::within(self.value() + change, range(loss, c))
    }

    /// The multiplier moved towards 0 by a tiny part of itself if it is at an end of its range.
    pub(super) fn inwards(self, loss: LossName, c: f64) -> Self {
        /// The part. Heuristic: far above rounding, and its cost of this share of the losses is far below any tolerance; not
        /// measured yet.
        const PART: f64 = 1.0 / (1u64 << 40) as f64;
        let (least, greatest) = range(loss, c);
        let a = self.value();
        if a == least || a == greatest {
            Multiplier::within(a - a * PART, (least, greatest))
        } else {
            self
        }
    }

    pub(super) fn value(self) -> f64 {
        self.high + self.low
    }

    /// Whether the multiplier is at an end of its range.
    pub(super) fn is_at_bound(self, loss: LossName, c: f64) -> bool {
        let (least, greatest) = range(loss, c);
        self.value() != 0.0 && self.low == 0.0 && (self.high == least || self.high == greatest)
    }

    /// How far the multiplier may take part in moves onto the equality constraints: k ≥ 0, such that a ± k is in the range.
    pub(super) fn slack(self, loss: LossName, c: f64) -> f64 {
        let (least, greatest) = range(loss, c);
        let a = self.value();
        match loss {
            LossName::Squared => c,
            LossName::Logistic => {
                let small = if self.low < 0.0 { -self.low } else { a.min(c - a) };
                small * (1.0 - small / c)
            }
            LossName::SquaredHinge => a.min(2.0 * c),
            _ => (a - least).min(greatest - a).min(2.0 * c).max(0.0),
        }
    }

    /// An upper bound on FY for all multipliers within `radius` of this one; infinite if they may leave the range.
    pub(super) fn defect(
        self,
        loss: LossName,
        c: f64,
        radius: f64,
        residual: Residual,
        rounding: Rounding,
    ) -> f64 {
        let Residual { h, error } = residual;
        if loss == LossName::Logistic {
            return self.entropy(c, radius, residual, rounding);
        }
        let (least, greatest) = range(loss, c);
        let a = self.high;
        let slack = (a - least).min(greatest - a);
        // The range in doubles lies within the real one, and the differences are rounded by one unit.
        if !(radius == 0.0 || radius * (1.0 + 4.0 * rounding.unit()) <= slack) || a.is_nan() {
            return f64::INFINITY;
        }
        let (below, above) = match loss {
            LossName::Quantile(q) => ((1.0 - f64::from(q)) * c, f64::from(q) * c),
            _ => (c, c),
        };
        let unit = 4.0 * rounding.unit();
        let bound = match loss {
            LossName::Squared => {
                let off = self.minus_product(c, h, rounding) + c * error + radius;
                off * off / (2.0 * c)
            }
            LossName::Hinge => larger(
                (c - a + radius) * (h + error).max(0.0),
                (a + radius) * (error - h).max(0.0),
            ),
            LossName::SquaredHinge | LossName::ModifiedHuber => {
                let at = |end: f64| {
                    if loss == LossName::ModifiedHuber && end > 2.0 {
                        let rest = 4.0 * c - a + radius + unit * c;
                        rest * rest / (4.0 * c) + rest * (end - 2.0) * (1.0 + unit) + unit * rest
                    } else if end > 0.0 {
                        let off = self.minus_product(2.0 * c, h, rounding) + 2.0 * c * error + radius;
                        off * off / (4.0 * c)
                    } else {
                        (a + radius) * (a + radius) / (4.0 * c) + (a + radius) * -end
                    }
                };
                larger(at(h + error), at(h - error))
            }
            LossName::Absolute | LossName::Quantile(_) => {
                // Both ends of the quantile loss are rounded, relative to the weight.
                let spare = match loss {
                    LossName::Quantile(_) => radius + unit * c,
                    _ => radius,
                };
                larger(
                    (above - a + spare) * (h + error).max(0.0),
                    (below + a + spare) * (error - h).max(0.0),
                )
            }
            LossName::Logistic | LossName::Softmax | LossName::SigmoidMse => f64::INFINITY,
        };
        upwards(bound)
    }

    /// |a − f·h|, rounded up.
    fn minus_product(self, f: f64, h: f64, rounding: Rounding) -> f64 {
        let (product, rest) = two_prod(f, h);
        let off = ((self.high - product) - rest) + self.low;
        off.abs() * (1.0 + 8.0 * rounding.unit())
    }

    /// An upper bound on c·KL(p'‖p).
    ///
    /// With p'ₖ = pₖ(1 + ωₖ), KL = Σpₖφ(ωₖ) and φ(ω) ≤ ½ω²(1 + max(−ω, 0)), where −ω ≤ 1. If the smaller share m of p has ω, the other
    /// one has −ω·m/(1 − m). Where p is tiny, p' log(p'/p) ≤ p'·log(1/p) can be smaller.
    fn entropy(self, c: f64, radius: f64, residual: Residual, rounding: Rounding) -> f64 {
        let Residual { h, error } = residual;
        let small = c * smaller_share(h);
        // a belongs to the smaller share if h > 0, and c − a to it otherwise.
        let own = match (h > 0.0, self.low < 0.0) {
            (true, false) => self.high,
            (true, true) => self.high + self.low,
            (false, true) => (c - self.high) - self.low,
            (false, false) => c - self.high,
        };
        if !(own - radius >= 0.0 && own + radius <= c && error < 0.05) {
            return f64::INFINITY;
        }
        let unit = 4.0 * rounding.unit();
        let eta = SHARE_ERROR / (0.5 * f64::EPSILON) * rounding.unit() + error * (1.0 + 2.0 * error) + unit;
        // c − a as a double errs relative to c.
        let lost = if (self.low < 0.0) == (h > 0.0) {
            unit * c
        } else {
            0.0
        };
        let off = (own - small).abs() * (1.0 + unit) + radius + lost;
        let share = small / c * (1.0 + eta);
        let near = match small > 0.0 {
            true => {
                let omega = off / small * (1.0 + unit) + eta;
                let odds = share / (1.0 - share).max(0.4);
                let of_other = odds * (1.0 + (omega * odds).min(1.0));
                0.5 * share * omega * omega * (1.0 + omega.min(1.0) + of_other)
            }
            false => f64::INFINITY,
        };
        let p_dual = (own + radius + lost) / c;
        let other = (1.0 - share).max(0.4);
        let of_other = (p_dual + share).powi(2) / (2.0 * other) * (1.0 + p_dual / other);
        let far = p_dual * (h.abs() + error + LOG_2) + share + 1e-300 + of_other;
        upwards(c * near.min(far))
    }
}

/// The mean loss of a row and a bound on its error, for rows that are evaluated one by one: ℓ is convex with slopes that grow by at most
/// twice the distance.
pub(super) fn value(loss: LossName, y: f64, score: Score) -> (f64, f64) {
    on_loss!(loss, loss => {
        let z = score.value.value();
        let (value, slope) = (loss.value(y, z), loss.slope(y, z));
        let steepest = slope.abs().max(if loss.slopes(y).0.is_finite() { 1.0 } else { 0.0 });
        let error = score.error + f64::EPSILON * z.abs();
        (value, upwards(error * steepest + error * error) + VALUE_ERROR * value)
    }, softmax => (0.0, 0.0))
}

/// The relative error of a computed loss. Derived: a few units of rounding, and a logarithm that is accurate to as many.
pub(super) const VALUE_ERROR: f64 = 1e-13;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wstar_problem::loss::Quantile;

    fn losses() -> impl Strategy<Value = LossName> {
        prop::sample::select(vec![
            LossName::Squared,
            LossName::Logistic,
            LossName::Hinge,
            LossName::SquaredHinge,
            LossName::ModifiedHuber,
            LossName::Absolute,
            LossName::Quantile(Quantile::new(0.3).unwrap()),
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// The definition of the defect is cℓ(z) + cℓ*(−α/c) + αz.
        #[test]
        fn defects_are_those_of_fenchels_inequality(
            loss in losses(),
            c in 0.1..10.0f64,
            y in -3.0..3.0f64,
            z in -4.0..4.0f64,
            share in 0.01..0.99f64,
        ) {
            let y = match loss {
                LossName::Squared | LossName::Absolute | LossName::Quantile(_) => y,
                _ => y.signum(),
            };
            let own = Multiplier::of_share(loss, c, y, share);
            let score = Score { value: z.into(), error: 0.0 };
            let residual = Residual::new(loss, y, score, Rounding::BINARY64);
            let found = own.defect(loss, c, 0.0, residual, Rounding::BINARY64);
            let alpha = sign(loss, y) * own.value();
            let defined = on_loss!(loss, l => c * l.value(y, z) + c * l.conjugate(y, -alpha / c) + alpha * z, softmax => 0.0);
            let rounding = 1e-12 * c * (1.0 + z * z + y * y) * (1.0 + share / (1.0 - share)).powi(2);
            prop_assert!(found >= defined - rounding, "{found} is below {defined}");
            // The bound on the relative entropy is wide far from 0.
            let wide = if loss == LossName::Logistic { 20.0 } else { 1.0 + 1e-5 };
            prop_assert!(found <= wide * defined.max(0.0) + rounding, "{found} is far above {defined}");
        }

        /// A radius covers all multipliers within it, and an error all scores.
        #[test]
        fn intervals_are_covered(
            loss in losses(),
            y in -3.0..3.0f64,
            z in -4.0..4.0f64,
            share in 0.05..0.95f64,
            part in 0.0..1.0f64,
            error in 0.0..0.04f64,
            (at, off) in (-1.0..1.0f64, -1.0..1.0f64),
        ) {
            let c = 1.0;
            let y = match loss {
                LossName::Squared | LossName::Absolute | LossName::Quantile(_) => y,
                _ => y.signum(),
            };
            let own = Multiplier::of_share(loss, c, y, share);
            let radius = 0.9 * part * own.slack(loss, c).min(1.0);
            let of = |z: f64, error: f64| Residual::new(loss, y, Score { value: z.into(), error }, Rounding::BINARY64);
            let bound = own.defect(loss, c, radius, of(z, error), Rounding::BINARY64);
            let moved = Multiplier { high: own.value() + at * radius, low: 0.0 };
            let inside = moved.defect(loss, c, 0.0, of(z + off * error, 0.0), Rounding::BINARY64);
            let rounding = if loss == LossName::Logistic { 1e-9 } else { 1e-12 };
            // For the logistic loss both are bounds; the smaller interval has at least the definition.
            let alpha = sign(loss, y) * moved.value();
            let at = z + off * error;
            let defined = on_loss!(loss, l => l.value(y, at) + l.conjugate(y, -alpha) + alpha * at, softmax => 0.0);
            prop_assert!(bound >= defined - rounding, "{bound} is below {defined}, {inside}");
        }
    }
}

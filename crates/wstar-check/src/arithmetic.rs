//! Arithmetic with proved errors: IEEE 754 binary64, rounded to nearest, u = 2⁻⁵³.
//!
//! **Intervals.** The result of an operation lies between the two neighbours of its rounded result, so every operation on
//! [`Interval`] contains all results of the real operation, underflow and overflow included. A NaN becomes the real line.
//!
//! **Two-sum (Knuth), two-product (Dekker).** a + b = s + e and a·b = p + e exactly, with s and p the rounded results, if
//! nothing overflows (then e is NaN or infinite, and so is every bound that uses it) and, for the product, |a·b| = 0 or the
//! last bits of both factors multiply to at least 2⁻¹⁰⁷⁴. Inputs are 0 or at least 10⁻¹⁴⁰, multipliers 0 or at least 10⁻¹⁵⁰
//! in magnitude: 2⁻⁴⁶⁶⁻⁵² · 2⁻⁴⁹⁹⁻⁵² = 2⁻¹⁰⁶⁹.
//!
//! **Lemma (sums in twice the precision; Ogita, Rump and Oishi 2005).** Add N products to a pair (hi, lo), starting from
//! (0, 0): (p, e) = two_prod, (hi, f) = two_sum(hi, p), lo = fl(lo + fl(e + f)). Let S = Σ|products|. Then
//! |hi + lo − Σ products| ≤ γ²_{N+2}·S, where γₘ = mu/(1 − mu).
//! *Proof.* Σ products = hi + Σ(e + f) exactly, so only the rounding of lo counts. |e| ≤ u|product|; |f| ≤ u|new hi|, and
//! |hi| ≤ (1 + u)^{N+1}·S. So Σ|e| + |f| ≤ (N + 1)u(1 + u)^{N+1}·S ≤ γ_{N+1}·S. Recursive summation of N sums of two terms has
//! an error of at most γ_{N+1} times that. ∎ Several pairs that are merged by two-sums add one term each to N.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::mutant::{self, Mutant};

/// The unit roundoff.
pub(crate) const U: f64 = 1.0 / 9007199254740992.0;

/// The unit roundoff of all a-priori bounds.
fn unit_roundoff() -> f64 {
    match mutant::is(Mutant::TinyRoundoff) {
        true => 1e-40,
        false => U,
    }
}

/// An upper bound of γₘ = mu/(1 − mu); infinite for m > 2⁴³.
pub(crate) fn gamma(m: usize) -> f64 {
    let mu = m as f64 * unit_roundoff();
    if mu < 1e-3 { mu * 1.01 } else { f64::INFINITY }
}

/// s + e = a + b exactly.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// p + e = a·b exactly, within the range above.
#[inline(always)]
pub(crate) fn two_prod(a: f64, b: f64) -> (f64, f64) {
    let halves = |x: f64| {
        let t = 134217729.0 * x; // 2²⁷ + 1
        let high = t - (t - x);
        (high, x - high)
    };
    let p = a * b;
    let ((a1, a2), (b1, b2)) = (halves(a), halves(b));
    (p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2))
}

/// A sum of products in two doubles, with the sum of their magnitudes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
    /// Σ|products|, rounded.
    pub(crate) size: f64,
}

impl Sum {
    #[inline(always)]
    pub(crate) fn add(&mut self, a: f64, b: f64) {
        let (p, e) = two_prod(a, b);
        let (s, f) = two_sum(self.hi, p);
        self.hi = s;
        self.lo += e + f;
        self.size += p.abs();
    }

    pub(crate) fn merge(&mut self, other: Sum) {
        let (s, f) = two_sum(self.hi, other.hi);
        self.hi = s;
        self.lo += other.lo + f;
        self.size += other.size;
    }

    /// An upper bound on |hi + lo − exact sum| of at most `terms` products. The sizes are rounded sums of rounded products, so
    /// Σ|products| ≤ size·(1 + γ_{terms+1}); the factor 1.01 covers this and the rounding of the bound.
    pub(crate) fn error(&self, terms: usize) -> f64 {
        let g = gamma(terms + 4);
        match self.size == 0.0 {
            true => 0.0,
            false => g * g * self.size * 1.01 + f64::MIN_POSITIVE,
        }
    }

    /// An interval that contains the exact sum of at most `terms` products.
    pub(crate) fn interval(&self, terms: usize) -> Interval {
        (Interval::point(self.hi) + Interval::point(self.lo)).widened(self.error(terms))
    }
}

/// A sum of intervals: the middles in two doubles, the distances to the ends rounded up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IntervalSum {
    middles: Sum,
    spread: f64,
    terms: usize,
}

impl IntervalSum {
    pub(crate) fn add(&mut self, term: Interval) {
        if term == Interval::ZERO {
            return;
        }
        let middle = term.middle();
        self.terms += 1;
        self.middles.add(middle, 1.0);
        self.spread = (self.spread + term.radius()).next_up();
    }

    pub(crate) fn interval(&self) -> Interval {
        self.middles.interval(self.terms).widened(self.spread)
    }
}

/// A closed interval of real numbers; an infinite end means that nothing is known on that side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Interval {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

pub(crate) const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };

impl Interval {
    pub(crate) const ZERO: Interval = Interval { lo: 0.0, hi: 0.0 };
    pub(crate) const WHOLE: Interval = Interval {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
    };

    /// The interval from `lo` to `hi`, or everything if this is not one.
    #[inline]
    pub(crate) fn new(lo: f64, hi: f64) -> Interval {
        let known = Interval { lo, hi };
        if lo <= hi { known } else { Interval::WHOLE }
    }

    /// A single number; an infinity or NaN becomes everything.
    #[inline]
    pub(crate) fn point(x: f64) -> Interval {
        let known = Interval { lo: x, hi: x };
        if x.is_finite() { known } else { Interval::WHOLE }
    }

    /// All numbers within `error` of these.
    #[inline]
    pub(crate) fn widened(self, error: f64) -> Interval {
        self + Interval::new(-error, error)
    }

    pub(crate) fn hull(self, other: Interval) -> Interval {
        Interval::new(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    pub(crate) fn abs(self) -> Interval {
        match (self.lo >= 0.0, self.hi <= 0.0) {
            (true, _) => self,
            (_, true) => -self,
            _ => Interval::new(0.0, larger(-self.lo, self.hi)),
        }
    }

    pub(crate) fn square(self) -> Interval {
        let x = self.abs();
        x * x
    }

    /// The square roots of the numbers that are at least 0.
    pub(crate) fn sqrt(self) -> Interval {
        let end = |x: f64, towards: fn(f64) -> f64| match x > 0.0 {
            true => towards(x.sqrt()),
            false => 0.0,
        };
        Interval::new(end(self.lo, f64::next_down).max(0.0), end(self.hi, f64::next_up))
    }

    pub(crate) fn positive_part(self) -> Interval {
        Interval::new(self.lo.max(0.0), self.hi.max(0.0))
    }

    /// The larger of both, element by element.
    pub(crate) fn max(self, other: Interval) -> Interval {
        Interval::new(self.lo.max(other.lo), self.hi.max(other.hi))
    }

    /// The same numbers, or 0 if a test makes this mistake.
    pub(crate) fn unless(self, mutant: Mutant) -> Interval {
        if mutant::is(mutant) { Interval::ZERO } else { self }
    }

    /// An upper bound on the distances from the middle.
    pub(crate) fn radius(self) -> f64 {
        (self - Interval::point(self.middle())).abs().hi
    }

    /// The middle, as a double that need not be exact.
    pub(crate) fn middle(self) -> f64 {
        self.lo + 0.5 * (self.hi - self.lo)
    }
}

/// The larger of two upper bounds; infinite if one is NaN.
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if mutant::is(Mutant::FlippedMaximum) {
        return a.min(b);
    }
    match a.is_nan() || b.is_nan() {
        true => f64::INFINITY,
        false => a.max(b),
    }
}

impl Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval {
            lo: -self.hi,
            hi: -self.lo,
        }
    }
}

impl Add for Interval {
    type Output = Interval;
    #[inline]
    fn add(self, other: Interval) -> Interval {
        // A sum is exact if its error is 0.
        let (lo, below) = two_sum(self.lo, other.lo);
        let (hi, above) = two_sum(self.hi, other.hi);
        let lo = if below >= 0.0 { lo } else { lo.next_down() };
        let hi = if above <= 0.0 { hi } else { hi.next_up() };
        Interval::new(lo, hi)
    }
}

impl Sub for Interval {
    type Output = Interval;
    #[inline]
    fn sub(self, other: Interval) -> Interval {
        self + -other
    }
}

/// The results of an operation that is monotone in each argument lie between those at the ends. A result that underflows is
/// not 0; 0 times an unknown real number, and 0 divided by one, is 0.
#[inline]
fn between_ends(a: Interval, b: Interval, operation: impl Fn(f64, f64) -> f64, zero: f64) -> Interval {
    let at = |x: f64, y: f64| match operation(x, y) {
        _ if x == 0.0 || y == zero => 0.0,
        0.0 => f64::from_bits(1).copysign(x * y.signum()),
        result => result,
    };
    let ends = [at(a.lo, b.lo), at(a.lo, b.hi), at(a.hi, b.lo), at(a.hi, b.hi)];
    let lo = ends.into_iter().fold(f64::INFINITY, f64::min);
    let hi = ends.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let outwards = |end: f64, towards: fn(f64) -> f64| if end == 0.0 { 0.0 } else { towards(end) };
    Interval::new(outwards(lo, f64::next_down), outwards(hi, f64::next_up))
}

impl Mul for Interval {
    type Output = Interval;
    #[inline]
    fn mul(self, other: Interval) -> Interval {
        between_ends(self, other, |x, y| x * y, 0.0)
    }
}

/// Division by an interval that contains 0 gives everything.
impl Div for Interval {
    type Output = Interval;
    #[inline]
    fn div(self, other: Interval) -> Interval {
        match other.lo > 0.0 || other.hi < 0.0 {
            true => between_ends(self, other, |x, y| x / y, f64::NAN),
            false => Interval::WHOLE,
        }
    }
}

impl std::iter::Sum for Interval {
    fn sum<I: Iterator<Item = Interval>>(terms: I) -> Interval {
        terms.fold(Interval::ZERO, |sum, term| sum + term)
    }
}

impl Mul<Interval> for f64 {
    type Output = Interval;
    #[inline]
    fn mul(self, other: Interval) -> Interval {
        Interval::point(self) * other
    }
}

//! The numbers of the enumeration: doubles with error bounds, and integers for when the bounds do not
//! decide.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;

/// The arithmetic that projections need.
pub(super) trait FilteredNumber: Clone {
    /// `ab − cd`, if it can be represented.
    fn minor(a: &Self, b: &Self, c: &Self, d: &Self) -> Option<Self>;
}

/// A number and a bound on its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Approximate {
    pub(super) value: f64,
    pub(super) error: f64,
}

/// Relative error of one rounding. Derived: slightly more than the unit roundoff 2⁻⁵³ ≈ 1.11·10⁻¹⁶.
const ROUNDING: f64 = 1.2e-16;
/// Safety factor for the rounding of error bounds. Derived: slightly more than 1 plus the few roundings of
/// one bound.
const SAFETY: f64 = 1.0 + 1e-14;

impl Approximate {
    pub(super) fn exact(value: f64) -> Self {
        Approximate { value, error: 0.0 }
    }

    /// The sign, if the error bound decides it.
    pub(super) fn sign(self) -> Option<Ordering> {
        if self.value.abs() > self.error {
            self.value.partial_cmp(&0.0)
        } else if self.value == 0.0 && self.error == 0.0 {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    #[inline]
    fn product(self, other: Self) -> Self {
        let value = self.value * other.value;
        let carried = self.value.abs() * other.error + self.error * (other.value.abs() + other.error);
        // Products below the smallest normal number lose digits, unless a factor is exactly 0.
        let nothing = |x: Self| x.value == 0.0 && x.error == 0.0;
        let lost = if nothing(self) || nothing(other) {
            0.0
        } else {
            f64::MIN_POSITIVE
        };
        Approximate {
            value,
            error: (carried + ROUNDING * value.abs()) * SAFETY + lost,
        }
    }
}

impl FilteredNumber for Approximate {
    #[inline]
    fn minor(a: &Self, b: &Self, c: &Self, d: &Self) -> Option<Self> {
        let (left, right) = (a.product(*b), c.product(*d));
        let value = left.value - right.value;
        let error = (left.error + right.error + ROUNDING * value.abs()) * SAFETY;
        // After an overflow nothing is certain: the error bound becomes infinite.
        let error = if value.is_finite() && error.is_finite() {
            error
        } else {
            f64::INFINITY
        };
        Some(Approximate {
            value: if value.is_finite() { value } else { 0.0 },
            error,
        })
    }
}

impl FilteredNumber for i128 {
    fn minor(a: &Self, b: &Self, c: &Self, d: &Self) -> Option<Self> {
        a.checked_mul(*b)?.checked_sub(c.checked_mul(*d)?)
    }
}

impl FilteredNumber for BigInt {
    fn minor(a: &Self, b: &Self, c: &Self, d: &Self) -> Option<Self> {
        Some(a * b - c * d)
    }
}

/// An exact vector in the plane.
#[derive(Debug, Clone)]
pub(super) enum Planar {
    /// In 128-bit integers.
    Small([i128; 2]),
    /// In integers of any length.
    Large([BigInt; 2]),
}

impl Planar {
    /// The sign of a coordinate.
    pub(super) fn sign(&self, k: usize) -> Ordering {
        match self {
            Planar::Small(pair) => pair[k].cmp(&0),
            Planar::Large(pair) => match pair[k].sign() {
                Sign::Minus => Ordering::Less,
                Sign::NoSign => Ordering::Equal,
                Sign::Plus => Ordering::Greater,
            },
        }
    }

    /// Both coordinates times `factors`, up to a common factor and a few roundings.
    pub(super) fn rounded(&self, factors: [f64; 2]) -> (f64, f64) {
        match self {
            Planar::Small([x, y]) => (*x as f64 * factors[0], *y as f64 * factors[1]),
            Planar::Large([x, y]) => {
                let shift = x.bits().max(y.bits()).saturating_sub(500);
                let number = |v: &BigInt| (v >> shift).to_f64().unwrap_or_default();
                (number(x) * factors[0], number(y) * factors[1])
            }
        }
    }

    fn large(&self) -> [BigInt; 2] {
        match self {
            Planar::Small(pair) => pair.map(BigInt::from),
            Planar::Large(pair) => pair.clone(),
        }
    }

    /// The sign of the cross product with another vector.
    pub(super) fn cross(&self, other: &Planar) -> Ordering {
        if let (Planar::Small([a, b]), Planar::Small([c, d])) = (self, other) {
            return compare_products(*a, *d, *b, *c);
        }
        let ([a, b], [c, d]) = (self.large(), other.large());
        (a * d).cmp(&(b * c))
    }
}

/// Compares `ab` with `cd` in 256 bits.
fn compare_products(a: i128, b: i128, c: i128, d: i128) -> Ordering {
    let sign = |x: i128, y: i128| x.signum() * y.signum();
    let (left, right) = (sign(a, b), sign(c, d));
    if left != right || left == 0 {
        return left.cmp(&right);
    }
    let sizes = wide(a.unsigned_abs(), b.unsigned_abs()).cmp(&wide(c.unsigned_abs(), d.unsigned_abs()));
    if left > 0 { sizes } else { sizes.reverse() }
}

/// The 256-bit product, upper half first.
fn wide(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let other = a0 * b1 + (middle & HALF);
    (
        a1 * b1 + (middle >> 64) + (other >> 64),
        (other << 64) | (low & HALF),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn products_compare_exactly(
            a in any::<i128>(), b in any::<i128>(), c in any::<i128>(), d in any::<i128>(), same in any::<bool>(),
        ) {
            let (c, d) = if same { (b, a) } else { (c, d) };
            let expected = (BigInt::from(a) * b).cmp(&(BigInt::from(c) * d));
            prop_assert_eq!(compare_products(a, b, c, d), expected);
        }

        #[test]
        fn certain_signs_are_correct(a in -9i64..9, b in any::<i32>(), c in -9i64..9, d in any::<i32>(), e in 1e-9f64..1.0) {
            // (a·e)(b·e) − (c·e)(d·e) for a rounded e. The rounded products are the exact inputs here.
            let [x, y, z, w] = [a as f64 * e, f64::from(b) * e, c as f64 * e, f64::from(d) * e];
            let number = Approximate::minor(
                &Approximate::exact(x), &Approximate::exact(y), &Approximate::exact(z), &Approximate::exact(w),
            ).unwrap();
            let large = |v: f64| {
                let (m, k) = crate::exact::dyadic(v);
                BigInt::from(m) << (k + 200) as usize
            };
            let exact = (large(x) * large(y)).cmp(&(large(z) * large(w)));
            if let Some(sign) = number.sign() {
                prop_assert_eq!(sign, exact);
            }
        }
    }
}

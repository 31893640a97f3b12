//! The exact sign of `w·x + b`.
//!
//! Floating-point arithmetic with an error bound decides most signs. Where it does not, the sum is
//! accumulated in a fixed-point number long enough to hold every sum of products of doubles exactly (U.
//! Kulisch, Computer Arithmetic and Validity, 2008).

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use crate::exact::dyadic::dyadic;
use crate::exact::long_sums::{LongSum, Words, lowest_bit};
use wstar_data::Row;

/// The sign of `w·x + b` over the binary64 numbers. Entries beyond the weights have a weight of 0.
pub fn sign(row: Row<'_>, weights: &[f64], intercept: f64) -> Ordering {
    filter(row, weights, intercept)
        .or_else(|| short(row, weights, intercept))
        .unwrap_or_else(|| {
            let mut sum = Accumulator::default();
            sum.add_product(intercept, 1.0);
            row.for_each(|j, x| sum.add_product(x, weights.get(j).copied().unwrap_or_default()));
            sum.sign()
        })
}

/// The sign of the floating-point score, if it exceeds a bound on its rounding errors. The bound also
/// covers an error of one unit in the last place of each weight.
fn filter(row: Row<'_>, weights: &[f64], intercept: f64) -> Option<Ordering> {
    let (mut size, mut terms) = (intercept.abs(), 2.0);
    row.for_each(|j, x| {
        size += (x * weights.get(j).copied().unwrap_or_default()).abs();
        terms += 1.0;
    });
    let score = row.dot(weights) + intercept;
    // Each of n + 2 operations errs by at most 2⁻⁵³ of the partial sum, or by the smallest positive number.
    let error = terms * (size * (2.0 * f64::EPSILON) + f64::MIN_POSITIVE);
    if score.abs() > error && error.is_finite() {
        Some(if score > 0.0 {
            Ordering::Greater
        } else {
            Ordering::Less
        })
    } else {
        None
    }
}

/// The sign of the score if all numbers are integers of at most 53 bits.
fn short(row: Row<'_>, weights: &[f64], intercept: f64) -> Option<Ordering> {
    let integer = |value: f64| {
        let integer = value as i64;
        (integer as f64 == value && integer.unsigned_abs() <= 1 << 53).then_some(i128::from(integer))
    };
    let mut sum = integer(intercept);
    row.for_each(|j, x| {
        let w = weights.get(j).copied().unwrap_or_default();
        if w != 0.0 {
            sum = match (sum, integer(x), integer(w)) {
                (Some(sum), Some(x), Some(w)) => sum.checked_add(x * w),
                _ => None,
            };
        }
    });
    sum.map(|sum| sum.cmp(&0))
}

/// A hyperplane with integer weights of any length, prepared for many rows.
#[derive(Debug, Clone)]
pub struct Plane {
    weights: Vec<Words>,
    intercept: Words,
    approximation: Approximation,
}

/// The approximation of a hyperplane by doubles, all divided by one power of two.
#[derive(Debug, Clone)]
enum Approximation {
    /// The doubles are exact.
    Exact(Vec<f64>, f64),
    /// The doubles are correct up to their last bits.
    Close(Vec<f64>, f64),
    /// No approximation: the numbers differ too much in size.
    None,
}

impl Plane {
    /// The hyperplane `w·x + b = 0`.
    pub fn new(weights: &[BigInt], intercept: &BigInt) -> Self {
        let longest = weights
            .iter()
            .chain([intercept])
            .map(BigInt::bits)
            .max()
            .unwrap_or(0);
        let (mut exact, mut close) = (true, true);
        let mut approximate = |value: &BigInt| {
            let bits = value.bits();
            if bits == 0 {
                return 0.0;
            }
            // Half of the exponent range is left to the rows.
            close &= longest - bits < 500;
            exact &= bits - value.trailing_zeros().unwrap_or(0) <= 53;
            let excess = bits.saturating_sub(64);
            let leading = (value.magnitude() >> excess)
                .iter_u64_digits()
                .next()
                .unwrap_or(0) as f64;
            let exponent = excess as i64 - longest as i64;
            let size = leading * 2f64.powi(exponent.max(-1000) as i32);
            if value.sign() == Sign::Minus { -size } else { size }
        };
        let (w, b) = (
            weights.iter().map(&mut approximate).collect(),
            approximate(intercept),
        );
        Plane {
            weights: weights.iter().map(Words::from).collect(),
            intercept: Words::from(intercept),
            approximation: match (close, exact) {
                (false, _) => Approximation::None,
                (true, true) => Approximation::Exact(w, b),
                (true, false) => Approximation::Close(w, b),
            },
        }
    }

    /// The hyperplane of one vector, whose last entry is the intercept if there is one.
    pub fn lifted(vector: &[BigInt], intercept: bool) -> Self {
        match vector.split_last() {
            Some((last, weights)) if intercept => Plane::new(weights, last),
            _ => Plane::new(vector, &BigInt::ZERO),
        }
    }

    /// The exact sign of `w·x + b`.
    pub fn sign(&self, row: Row<'_>) -> Ordering {
        match &self.approximation {
            Approximation::Exact(weights, intercept) => sign(row, weights, *intercept),
            Approximation::Close(weights, intercept) => {
                filter(row, weights, *intercept).unwrap_or_else(|| self.long_sign(row))
            }
            Approximation::None => self.long_sign(row),
        }
    }

    fn long_sign(&self, row: Row<'_>) -> Ordering {
        let mut least = 0;
        row.for_each(|_, x| least = lowest_bit(x).map_or(least, |bit| bit.min(least)));
        let mut sum = LongSum::default();
        sum.add(1.0, &self.intercept, least);
        row.for_each(|j, x| {
            if let Some(weight) = self.weights.get(j) {
                sum.add(x, weight, least);
            }
        });
        sum.take_sign()
    }
}

/// The exponent of the smallest positive product of two doubles.
const MIN_EXPONENT: i32 = -2148;
/// Number of 32-bit digits. Derived: products range from 2⁻²¹⁴⁸ to 2²⁰⁴⁸, and the remaining bits hold the
/// sum of 2⁶⁰ of them.
const DIGITS: usize = 134;

/// An exact sum of products of doubles, in 32-bit digits stored in 64 bits so that carries can be delayed.
struct Accumulator {
    digits: [i64; DIGITS],
    /// How many products may still be added before carries are propagated.
    pending_capacity: u32,
}

impl Default for Accumulator {
    fn default() -> Self {
        Accumulator {
            digits: [0; DIGITS],
            pending_capacity: Accumulator::MAX_PENDING,
        }
    }
}

impl Accumulator {
    /// Products added between two carries. Derived: each adds less than 2³³ to a digit, and 2²⁸ of them
    /// stay below 2⁶³.
    const MAX_PENDING: u32 = 1 << 28;

    fn add_product(&mut self, a: f64, b: f64) {
        let ((a, a_exponent), (b, b_exponent)) = (dyadic(a), dyadic(b));
        if a == 0 || b == 0 {
            return;
        }
        let at = (a_exponent + b_exponent - MIN_EXPONENT) as u32;
        let product = i128::from(a) * i128::from(b);
        let (negative, size) = (product < 0, product.unsigned_abs());
        let (digit, shift) = ((at / 32) as usize, at % 32);
        // The product has up to 106 bits and is shifted by up to 31 bits; it is split into halves so that
        // the shift loses none.
        let low = (size & u128::from(u64::MAX)) << shift;
        let high = (size >> 64) << shift;
        for (half, offset) in [(low, 0), (high, 2)] {
            let mut half = half;
            let mut k = digit + offset;
            while half != 0 && k < DIGITS {
                let word = (half & 0xFFFF_FFFF) as i64;
                self.digits[k] += if negative { -word } else { word };
                half >>= 32;
                k += 1;
            }
        }
        self.pending_capacity -= 1;
        if self.pending_capacity == 0 {
            self.carry();
        }
    }

    fn carry(&mut self) {
        let mut carried = 0;
        for (k, digit) in self.digits.iter_mut().enumerate() {
            let total = *digit + carried;
            if k + 1 < DIGITS {
                carried = total >> 32;
                *digit = total & 0xFFFF_FFFF;
            } else {
                *digit = total;
            }
        }
        self.pending_capacity = Accumulator::MAX_PENDING;
    }

    fn sign(mut self) -> Ordering {
        self.carry();
        // After the carries only the last digit can be negative.
        match self.digits[DIGITS - 1].cmp(&0) {
            Ordering::Equal if self.digits.iter().any(|&digit| digit != 0) => Ordering::Greater,
            order => order,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use num_traits::Zero;
    use proptest::prelude::*;

    fn any_double() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>().prop_filter("finite", |v| v.is_finite()),
            (-50i64..50).prop_map(|v| v as f64),
            (-(1i64 << 53)..(1i64 << 53)).prop_map(|v| v as f64),
            (-9i64..9, -1074i32..900).prop_map(|(m, e)| m as f64 * 2f64.powi(e)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn agrees_with_rationals(pairs in prop::collection::vec((any_double(), any_double()), 0..8), b in any_double(), cancel in any::<bool>()) {
            let (mut x, mut w): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            if cancel {
                // The same products again with the opposite sign: the sum is b.
                let (again, negated) = (x.clone(), w.iter().map(|w| -w).collect::<Vec<f64>>());
                x.extend(again);
                w.extend(negated);
            }
            let exact = |v: f64| BigRational::from_float(v).unwrap();
            let mut truth = exact(b);
            for (x, w) in x.iter().zip(&w) {
                truth += exact(*x) * exact(*w);
            }
            prop_assert_eq!(sign(Row::Dense64(&x), &w, b), truth.cmp(&BigRational::zero()));
            if cancel {
                prop_assert_eq!(sign(Row::Dense64(&x), &w, 0.0), Ordering::Equal);
            }
            let rational: Vec<BigRational> = w.iter().chain([&b]).map(|&v| exact(v)).collect();
            let mut integers = crate::exact::cleared(&rational);
            let intercept = integers.pop().unwrap();
            prop_assert_eq!(Plane::new(&integers, &intercept).sign(Row::Dense64(&x)), truth.cmp(&BigRational::zero()));
        }
    }
}

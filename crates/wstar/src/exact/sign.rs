//! The sign of `w·x + b`, exactly.
//!
//! In ordinary arithmetic first, with a bound on its rounding errors; where that does not decide, in a number so
//! long that no sum of products of doubles is rounded in it (U. Kulisch, Computer Arithmetic and Validity, 2008).

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use super::long::{LongSum, Words, lowest_bit};
use crate::data::Row;

/// The sign of `w·x + b` over the binary64 numbers. Entries beyond the weights meet a weight of 0.
pub fn sign(row: Row<'_>, weights: &[f64], intercept: f64) -> Ordering {
    filter(row, weights, intercept)
        .or_else(|| short(row, weights, intercept))
        .unwrap_or_else(|| {
            let mut sum = Long::default();
            sum.add_product(intercept, 1.0);
            row.for_each(|j, x| sum.add_product(x, weights.get(j).copied().unwrap_or_default()));
            sum.sign()
        })
}

/// The sign of `w·x + b` for integer weights, exactly. For many rows, prepare a [`Plane`].
pub fn sign_rational(row: Row<'_>, weights: &[BigInt], intercept: &BigInt) -> Ordering {
    Plane::new(weights, intercept).sign(row)
}

/// The sign of the score in floating point, if it is beyond its rounding errors and those of the weights' last
/// bits.
fn filter(row: Row<'_>, weights: &[f64], intercept: f64) -> Option<Ordering> {
    let (mut size, mut terms) = (intercept.abs(), 2.0);
    row.for_each(|j, x| {
        size += (x * weights.get(j).copied().unwrap_or_default()).abs();
        terms += 1.0;
    });
    let score = row.dot(weights) + intercept;
    // Each of n + 2 operations errs by 2⁻⁵³ of what has been summed so far, or by the least number there is.
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

/// The sign of the score where all numbers are integers of at most 53 bits.
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

/// A hyperplane with integer weights of any length, ready to decide many rows.
#[derive(Debug, Clone)]
pub struct Plane {
    weights: Vec<Words>,
    intercept: Words,
    approximation: Approximation,
}

/// What doubles say of a hyperplane, all its numbers divided by one power of two.
#[derive(Debug, Clone)]
enum Approximation {
    /// Everything.
    Exact(Vec<f64>, f64),
    /// All but the last bits.
    Close(Vec<f64>, f64),
    /// Nothing: some number would be lost beside another.
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
            // Half of the exponents are left to the rows.
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

    /// The same from one vector, whose last entry is the intercept if there is one.
    pub fn lifted(vector: &[BigInt], intercept: bool) -> Self {
        match vector.split_last() {
            Some((last, weights)) if intercept => Plane::new(weights, last),
            _ => Plane::new(vector, &BigInt::ZERO),
        }
    }

    /// The sign of `w·x + b`, exactly.
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

/// `(m, e)` with `value = m·2^e`, `m` odd unless 0.
pub(crate) fn dyadic(value: f64) -> (i64, i32) {
    let bits = value.to_bits();
    let field = ((bits >> 52) & 0x7FF) as i32;
    let stored = (bits & ((1 << 52) - 1)) as i64;
    let (mantissa, exponent) = match field {
        0 => (stored, -1074),
        _ => (stored | 1 << 52, field - 1075),
    };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    let odd = mantissa >> zeros;
    (if value < 0.0 { -odd } else { odd }, exponent + zeros as i32)
}

/// The least exponent of a product of two doubles.
const LEAST: i32 = -2148;
/// Digits of 32 bits: the products reach from 2^−2148 to 2^2048, and there is room for 2^60 of them.
const DIGITS: usize = 134;

/// A sum of products of doubles, exactly; digits of 32 bits, in 64 so that carries can wait.
struct Long {
    digits: [i64; DIGITS],
    /// How many products may still be added before carries must move.
    room: u32,
}

impl Default for Long {
    fn default() -> Self {
        Long {
            digits: [0; DIGITS],
            room: Long::ROOM,
        }
    }
}

impl Long {
    const ROOM: u32 = 1 << 28;

    fn add_product(&mut self, a: f64, b: f64) {
        let ((a, a_exponent), (b, b_exponent)) = (dyadic(a), dyadic(b));
        if a == 0 || b == 0 {
            return;
        }
        let at = (a_exponent + b_exponent - LEAST) as u32;
        let product = i128::from(a) * i128::from(b);
        let (negative, size) = (product < 0, product.unsigned_abs());
        let (digit, shift) = ((at / 32) as usize, at % 32);
        // 106 bits shifted by up to 31: the upper part is taken apart first, so that none is lost.
        let low = (size & u128::from(u64::MAX)) << shift;
        let high = (size >> 64) << shift;
        for (part, offset) in [(low, 0), (high, 2)] {
            let mut part = part;
            let mut k = digit + offset;
            while part != 0 && k < DIGITS {
                let piece = (part & 0xFFFF_FFFF) as i64;
                self.digits[k] += if negative { -piece } else { piece };
                part >>= 32;
                k += 1;
            }
        }
        self.room -= 1;
        if self.room == 0 {
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
        self.room = Long::ROOM;
    }

    fn sign(mut self) -> Ordering {
        self.carry();
        // All digits but the last are now at least 0.
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

    fn wild() -> impl Strategy<Value = f64> {
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
        fn agrees_with_rationals(pairs in prop::collection::vec((wild(), wild()), 0..8), b in wild(), cancel in any::<bool>()) {
            let (mut x, mut w): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            if cancel {
                // The same products once more, with the other sign: what is left is b.
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
            prop_assert_eq!(sign_rational(Row::Dense64(&x), &integers, &intercept), truth.cmp(&BigRational::zero()));
        }
    }
}

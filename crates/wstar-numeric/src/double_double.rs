//! Double-double arithmetic: a number as the unevaluated sum of two `f64`, with about 106 bits; and compensated sums.
//!
//! Every operation is built from two error-free transformations: the sum of two numbers with its rounding error, and their
//! product with its rounding error (T. J. Dekker, A floating-point technique for extending the available precision,
//! Numerische Mathematik 18, 1971; D. E. Knuth, The Art of Computer Programming 2, 4.2.2). Overflow and NaN in the high
//! part behave as in `f64`.
#![allow(unsafe_code)]

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use crate::dispatch::widest;

/// `high + low`, with `high` the nearest `f64` to the sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    /// The nearest `f64`.
    pub high: f64,
    /// The remainder.
    pub low: f64,
}

/// fl(a + b) and its rounding error.
#[inline]
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// fl(a + b) and its rounding error, for |a| ≥ |b| or a = 0.
#[inline]
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// fl(a·b) and its rounding error, for factors below 10²⁹⁰.
///
/// It uses Dekker's splitting instead of a fused multiply-add: a portable build cannot assume the instruction, and the
/// library function that replaces it takes tens of times as long.
#[inline]
pub fn two_prod(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((a, a_low), (b, b_low)) = (split(a), split(b));
    (
        product,
        ((a * b - product) + a * b_low + a_low * b) + a_low * b_low,
    )
}

/// Splits a number into the upper and the lower half of its bits.
#[inline]
fn split(a: f64) -> (f64, f64) {
    /// From Dekker 1971: 2ˢ + 1 with s = ⌈53/2⌉ splits 53 bits into two halves of at most 26.
    const HALF: f64 = ((1u64 << 27) + 1) as f64;
    let shifted = HALF * a;
    let high = shifted - (shifted - a);
    (high, a - high)
}

impl DoubleDouble {
    /// Zero.
    pub const ZERO: DoubleDouble = DoubleDouble { high: 0.0, low: 0.0 };

    /// a·b, exactly.
    #[inline]
    pub fn product(a: f64, b: f64) -> Self {
        let (high, low) = two_prod(a, b);
        DoubleDouble { high, low }
    }

    #[inline]
    fn normal(high: f64, low: f64) -> Self {
        let (high, low) = fast_two_sum(high, low);
        DoubleDouble { high, low }
    }

    /// The nearest `f64`.
    pub fn value(self) -> f64 {
        self.high
    }

    /// √self; 0 for negative numbers, which occur only as rounding errors of sums of squares.
    #[must_use]
    pub fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return DoubleDouble::ZERO;
        }
        let root = self.high.sqrt();
        let rest = self - DoubleDouble::product(root, root);
        DoubleDouble::normal(root, 0.5 * rest.high / root)
    }

    /// The number times a factor: exact for a power of two, rounded to `f64` accuracy in each part otherwise.
    #[inline]
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        DoubleDouble {
            high: self.high * factor,
            low: self.low * factor,
        }
    }
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> Self {
        DoubleDouble { high, low: 0.0 }
    }
}

impl Neg for DoubleDouble {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        self.scaled(-1.0)
    }
}

impl Add for DoubleDouble {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        let (low, rest) = two_sum(self.low, other.low);
        let (high, error) = fast_two_sum(high, error + low);
        DoubleDouble::normal(high, error + rest)
    }
}

impl Add<f64> for DoubleDouble {
    type Output = Self;
    #[inline]
    fn add(self, other: f64) -> Self {
        let (high, error) = two_sum(self.high, other);
        DoubleDouble::normal(high, error + self.low)
    }
}

impl Sub for DoubleDouble {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;
    #[inline]
    fn mul(self, other: Self) -> Self {
        let (high, error) = two_prod(self.high, other.high);
        DoubleDouble::normal(high, error + (self.high * other.low + self.low * other.high))
    }
}

impl Mul<f64> for DoubleDouble {
    type Output = Self;
    #[inline]
    fn mul(self, other: f64) -> Self {
        let (high, error) = two_prod(self.high, other);
        DoubleDouble::normal(high, error + self.low * other)
    }
}

impl Div for DoubleDouble {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * first;
        let second = rest.high / other.high;
        let rest = rest - other * second;
        DoubleDouble::normal(first, second) + rest.high / other.high
    }
}

impl AddAssign for DoubleDouble {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for DoubleDouble {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// A compensated sum, which accumulates the rounding errors of its terms in a second number (T. Ogita, S. M. Rump, S. Oishi,
/// Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005). It is as accurate as a double-double sum and faster,
/// because each term waits for only one addition.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Compensated {
    sum: f64,
    errors: f64,
}

impl Compensated {
    /// Adds a·b.
    #[inline]
    pub fn add_product(&mut self, a: impl Into<DoubleDouble>, b: f64) {
        let a = a.into();
        let (product, error) = two_prod(a.high, b);
        let (sum, rounding) = two_sum(self.sum, product);
        self.sum = sum;
        self.errors += rounding + (error + a.low * b);
    }

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, a: impl Into<DoubleDouble>) {
        let a = a.into();
        let (sum, rounding) = two_sum(self.sum, a.high);
        self.sum = sum;
        self.errors += rounding + a.low;
    }

    /// The sum.
    pub fn total(self) -> DoubleDouble {
        let (high, low) = two_sum(self.sum, self.errors);
        DoubleDouble { high, low }
    }

    /// The `f64` nearest to the sum.
    #[inline]
    pub fn value(self) -> f64 {
        self.sum + self.errors
    }
}

widest! {
    /// `sums[j] += a·b[j]`, with the rounding errors added to `errors[j]`: many [`Compensated`] sums side by side.
    pub fn add_products<T>(a: DoubleDouble, b: &[T], sums: &mut [f64], errors: &mut [f64]) -> () = add_products_plain;

    /// `sums += Σᵢ scales[i]·xᵢ` over rows xᵢ. Each product is rounded once; the rounding errors of the sums are added to
    /// `errors`.
    pub fn add_rows<T>(scales: &[f64], x: &[T], sums: &mut [f64], errors: &mut [f64]) -> () = add_rows_plain;

    /// `sums[i] + errors[i] = xᵢ·(high + low)` for contiguous rows xᵢ of length `high.len()`, by [`Compensated`] sums side by side.
    pub fn dot_rows<T>(x: &[T], high: &[f64], low: &[f64], sums: &mut [f64], errors: &mut [f64]) -> () = dot_rows_plain;

    /// Σ scale·xᵢ, by [`Compensated`] sums side by side; each product is rounded once.
    pub fn sum_scaled<T>(scale: f64, x: &[T]) -> DoubleDouble = sum_scaled_plain;
}

#[inline(always)]
fn sum_scaled_plain<T: Copy + Into<f64>>(scale: f64, x: &[T]) -> DoubleDouble {
    /// More lanes than a vector has, because each addition waits for the previous one in its lane.
    /// Heuristic: latency against registers; not measured yet.
    const LANES: usize = 16;
    let (mut sums, mut errors) = ([0.0; LANES], [0.0; LANES]);
    let (blocks, rest) = x.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            let (sum, rounding) = two_sum(sums[lane], scale * block[lane].into());
            sums[lane] = sum;
            errors[lane] += rounding;
        }
    }
    let mut all = Compensated::default();
    rest.iter().for_each(|&x| all.add(scale * x.into()));
    for lane in 0..LANES {
        all.add(sums[lane]);
        all.add(errors[lane]);
    }
    all.total()
}

#[inline(always)]
fn dot_rows_plain<T: Copy + Into<f64>>(
    x: &[T],
    high: &[f64],
    low: &[f64],
    sums: &mut [f64],
    errors: &mut [f64],
) {
    /// Derived: one AVX-512 register has eight doubles.
    const LANES: usize = 8;
    let width = high.len().max(1);
    for ((row, out), out_error) in x.chunks_exact(width).zip(sums).zip(errors) {
        let (mut total, mut lost) = ([0.0; LANES], [0.0; LANES]);
        let (blocks, rest) = row.as_chunks::<LANES>();
        let ((highs, high_rest), (lows, low_rest)) = (high.as_chunks::<LANES>(), low.as_chunks::<LANES>());
        for ((x, high), low) in blocks.iter().zip(highs).zip(lows) {
            for lane in 0..LANES {
                let x: f64 = x[lane].into();
                let (product, error) = two_prod(x, high[lane]);
                let (sum, rounding) = two_sum(total[lane], product);
                total[lane] = sum;
                lost[lane] += rounding + (error + x * low[lane]);
            }
        }
        let (mut sum, mut error) = (0.0, 0.0);
        for ((&x, &high), &low) in rest.iter().zip(high_rest).zip(low_rest) {
            let x: f64 = x.into();
            let (product, lost) = two_prod(x, high);
            let (next, rounding) = two_sum(sum, product);
            sum = next;
            error += rounding + (lost + x * low);
        }
        for lane in 0..LANES {
            let (next, rounding) = two_sum(sum, total[lane]);
            sum = next;
            error += rounding + lost[lane];
        }
        (*out, *out_error) = (sum, error);
    }
}

#[inline(always)]
fn add_products_plain<T: Copy + Into<f64>>(a: DoubleDouble, b: &[T], sums: &mut [f64], errors: &mut [f64]) {
    for ((&b, sum), error) in b.iter().zip(sums).zip(errors) {
        let b: f64 = b.into();
        let (product, rest) = two_prod(a.high, b);
        let (total, rounding) = two_sum(*sum, product);
        *sum = total;
        *error += rounding + (rest + a.low * b);
    }
}

#[inline(always)]
fn add_rows_plain<T: Copy + Into<f64>>(scales: &[f64], x: &[T], sums: &mut [f64], errors: &mut [f64]) {
    /// Four rows at a time: sums and errors are read and written a quarter as often.
    /// Heuristic: memory traffic against registers; not measured yet.
    const ROWS: usize = 4;
    let width = sums.len();
    if width == 0 {
        return;
    }
    let (fours, rest) = scales.as_chunks::<ROWS>();
    let (whole, last) = x.split_at(fours.len() * ROWS * width);
    for (scales, rows) in fours.iter().zip(whole.chunks_exact(ROWS * width)) {
        let (ab, cd) = rows.split_at(2 * width);
        let ((a, b), (c, d)) = (ab.split_at(width), cd.split_at(width));
        let both = sums.iter_mut().zip(errors.iter_mut());
        for (((((sum, error), &a), &b), &c), &d) in both.zip(a).zip(b).zip(c).zip(d) {
            let (mut total, mut lost) = (*sum, *error);
            for (scale, x) in [(scales[0], a), (scales[1], b), (scales[2], c), (scales[3], d)] {
                let (next, rounding) = two_sum(total, scale * x.into());
                total = next;
                lost += rounding;
            }
            (*sum, *error) = (total, lost);
        }
    }
    for (&scale, row) in rest.iter().zip(last.chunks_exact(width)) {
        for ((&x, sum), error) in row.iter().zip(sums.iter_mut()).zip(errors.iter_mut()) {
            let (total, rounding) = two_sum(*sum, scale * x.into());
            *sum = total;
            *error += rounding;
        }
    }
}

/// The dot product of two vectors in double-double arithmetic.
pub fn dot(a: &[DoubleDouble], b: &[DoubleDouble]) -> DoubleDouble {
    let products = a.iter().zip(b).map(|(&a, &b)| a * b);
    products.fold(DoubleDouble::ZERO, Add::add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The value of a double-double that holds an integer.
    fn integer(value: DoubleDouble) -> i128 {
        value.high as i128 + value.low as i128
    }

    fn from_integer(value: i128) -> DoubleDouble {
        let high = value as f64;
        DoubleDouble::normal(high, (value - high as i128) as f64)
    }

    proptest! {
        #[test]
        fn sums_and_products_of_integers_are_exact(a in -(1i128 << 100)..(1i128 << 100), b in -(1i128 << 100)..(1i128 << 100),
                                                   p in -(1i64 << 52)..(1i64 << 52), q in -(1i64 << 52)..(1i64 << 52)) {
            // Integers of 100 bits and their sums fit in 106 bits; products of two 52-bit integers have 104.
            prop_assert_eq!(integer(from_integer(a) + from_integer(b)), a + b);
            prop_assert_eq!(integer(from_integer(a) - from_integer(b)), a - b);
            prop_assert_eq!(integer(from_integer(p.into()) * from_integer(q.into())), i128::from(p) * i128::from(q));
            prop_assert_eq!(integer(DoubleDouble::product(p as f64, q as f64)), i128::from(p) * i128::from(q));
            prop_assert_eq!(integer(from_integer(a) + p as f64), a + i128::from(p));
        }

        #[test]
        fn quotients_and_roots_undo_products(a in 1e-3..1e3f64, b in 1e-20..1e-17f64, c in 1e-3..1e3f64, d in -1e-18..1e-18f64) {
            let (x, y) = (DoubleDouble::from(a) + b, DoubleDouble::from(c) + d);
            let back = x / y * y - x;
            prop_assert!((back.high / x.high).abs() < 1e-30);
            let root = (x * x).sqrt() - x;
            prop_assert!((root.high / x.high).abs() < 1e-30);
            let mut sum = Compensated::default();
            sum.add(x * y);
            sum.add_product(-x, c);
            sum.add_product(x, -d);
            prop_assert!(sum.total().high.abs() <= 1e-30 * x.high * y.high);
            prop_assert!(((y * a - y * DoubleDouble::from(a)).high / (y.high * a)).abs() < 1e-30);
        }
    }

    proptest! {
        #[test]
        fn add_products_agrees_with_compensated(rows in prop::collection::vec((-1e3..1e3f64, -1e-14..1e-14f64, -1e3..1e3f64, -1e9..1e9f64), 1..40)) {
            let (mut sums, mut errors) = ([0.0; 2], [0.0; 2]);
            let (mut plain, mut rest) = ([0.0; 2], [0.0; 2]);
            let mut each = [Compensated::default(); 2];
            for (a, low, b, c) in rows {
                let a = DoubleDouble::from(a) + low;
                add_products(a, &[b, c], &mut sums, &mut errors);
                add_products_plain(a, &[b, c], &mut plain, &mut rest);
                each[0].add_product(a, b);
                each[1].add_product(a, c);
            }
            prop_assert_eq!((sums, errors), (plain, rest));
            for k in 0..2 {
                prop_assert_eq!(DoubleDouble::from(sums[k]) + errors[k], each[k].total());
            }
        }
    }

    proptest! {
        #[test]
        fn add_rows_agrees_with_one_row_at_a_time(rows in prop::collection::vec((-1e3..1e3f64, -1e3..1e3f64, -1e9..1e9f64), 0..40)) {
            let scales: Vec<f64> = rows.iter().map(|row| row.0).collect();
            let x: Vec<f64> = rows.iter().flat_map(|row| [row.1, row.2]).collect();
            let (mut sums, mut errors) = ([1.0, -2.0], [1e-17, 0.0]);
            let (mut plain, mut rest) = (sums, errors);
            let (mut singly, mut lost) = (sums, errors);
            add_rows(&scales, &x, &mut sums, &mut errors);
            add_rows_plain(&scales, &x, &mut plain, &mut rest);
            for (scale, a, b) in rows {
                for (k, x) in [a, b].into_iter().enumerate() {
                    let (sum, rounding) = two_sum(singly[k], scale * x);
                    singly[k] = sum;
                    lost[k] += rounding;
                }
            }
            prop_assert_eq!((sums, errors), (plain, rest));
            prop_assert_eq!((sums, errors), (singly, lost));
        }
    }

    proptest! {
        #[test]
        fn dot_rows_agrees_with_compensated(
            x in prop::collection::vec(-(1i64 << 40)..(1i64 << 40), 0..60),
            width in 1..20usize,
            seed in 1..1_000_000i64,
        ) {
            // Integers, so that every sum is exact in two doubles, in any order.
            let x: Vec<f64> = x.iter().map(|&x| x as f64).collect();
            let high: Vec<f64> = (0..width as i64).map(|j| (((j + 7) * seed % 1_000_003) << 40) as f64).collect();
            let low: Vec<f64> = (0..width as i64).map(|j| ((j + 3) * seed % 1009) as f64).collect();
            let rows = x.len() / width;
            let (mut sums, mut errors) = (vec![0.0; rows], vec![0.0; rows]);
            let (mut plain, mut rest) = (sums.clone(), errors.clone());
            dot_rows(&x, &high, &low, &mut sums, &mut errors);
            dot_rows_plain(&x, &high, &low, &mut plain, &mut rest);
            prop_assert_eq!((&sums, &errors), (&plain, &rest));
            for (i, row) in x.chunks_exact(width).enumerate() {
                let exact: i128 = row.iter().zip(high.iter().zip(&low))
                    .map(|(&x, (&high, &low))| x as i128 * (high as i128 + low as i128))
                    .sum();
                prop_assert_eq!(sums[i] as i128 + errors[i] as i128, exact);
            }
        }
    }

    proptest! {
        #[test]
        fn sums_of_integers_are_exact(x in prop::collection::vec(-(1i64 << 52)..(1i64 << 52), 0..100)) {
            let values: Vec<f64> = x.iter().map(|&x| x as f64).collect();
            let sum = sum_scaled(4.0, &values);
            prop_assert_eq!(integer(sum), x.iter().map(|&x| 4 * i128::from(x)).sum::<i128>());
            prop_assert_eq!(sum, sum_scaled_plain(4.0, &values));
        }
    }

    #[test]
    fn equal_high_parts_are_compared_by_the_low_parts() {
        let one = DoubleDouble::from(1.0);
        assert!(one < one + 1e-20 && one - DoubleDouble::from(1e-20) < one);
    }

    #[test]
    fn cancellation_is_exact() {
        let third = DoubleDouble::from(1.0) / DoubleDouble::from(3.0);
        let rest = third + third + third - DoubleDouble::from(1.0);
        assert!(rest.high.abs() < 1e-31);
        let long: Vec<DoubleDouble> = [1e16, 1.0, -1e16].map(DoubleDouble::from).to_vec();
        let ones = vec![DoubleDouble::from(1.0); 3];
        assert_eq!(dot(&long, &ones).value(), 1.0);
    }
}

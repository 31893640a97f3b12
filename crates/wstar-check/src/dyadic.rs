//! Exact arithmetic: dyadic rationals ±m·2^e, with integers m of any length.
//!
//! Every double is a dyadic rational, and so are sums, differences and products of dyadic rationals: nothing is rounded here.
//! All of them are sums of products, which [`sum_of_products`] computes as in school, with digits to the base 2³².
//!
//! **Lemma (exact division).** Let the lowest digit of b be odd and a = q·b. The lowest digit of q is that of a/b modulo 2³²;
//! subtract it times b from a, drop the lowest digit, and repeat. The quotient is multiplied back, so a wrong one is never
//! returned.
//!
//! **Lemma (elimination; Bareiss 1968).** Replace each entry x of a row by (xp − kf)/l, for a row above it with the pivot p, the
//! entry k in the column of x and l the pivot before p, where f is the entry of the row in the column of p. All entries are minors of the
//! matrix, so these divisions are exact. A row becomes 0 if and only if it depends on the rows above it. If row i is (aᵢ, eᵢ)
//! with the unit vector eᵢ and its first part becomes 0, the second part λ has Σλᵢaᵢ = 0.
//!
//! **Lemma (rank).** Let p be an odd prime. Reduction modulo p is a homomorphism from the dyadic rationals to the field of p
//! elements, so it maps minors to minors. A minor that is not 0 modulo p is not 0. Therefore the rank modulo p is at most the rank.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::{Add, Mul, Neg, Sub};

use crate::arithmetic::Interval;
use crate::mutant::{self, Mutant};

/// The prime of [`rank_at_least`]: 2⁶¹ is 1 modulo this.
const PRIME: u64 = (1 << 61) - 1;
/// The most decimal digits of an integer. Cap: longer ones are refused, because parsing takes quadratic time.
const MOST_DIGITS: usize = 100_000;

/// ±Σ digits[k]·2^(32(k + place)). No zero digits at the ends; 0 has no digits, and place 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dyadic {
    negative: bool,
    digits: Vec<u32>,
    place: i64,
}

impl Dyadic {
    /// A number whose digits may have zeros at the ends.
    fn new(negative: bool, mut digits: Vec<u32>, place: i64) -> Self {
        while digits.last() == Some(&0) {
            digits.pop();
        }
        let Some(zeros) = digits.iter().position(|digit| *digit != 0) else {
            return Dyadic::default();
        };
        digits.drain(..zeros);
        let place = place + zeros as i64;
        Dyadic {
            negative,
            digits,
            place,
        }
    }

    /// An integer.
    pub fn integer(value: u128) -> Self {
        Dyadic::new(false, (0..4).map(|k| (value >> (32 * k)) as u32).collect(), 0)
    }

    /// 2^exponent.
    pub fn power(exponent: i64) -> Self {
        Dyadic::new(false, vec![1 << exponent.rem_euclid(32)], exponent.div_euclid(32))
    }

    /// A finite double, exactly.
    pub fn double(value: f64) -> Self {
        let bits = value.to_bits();
        let (biased, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        // Subnormal numbers have no leading 1, and the exponent of the smallest normal ones.
        let mantissa = fraction | u64::from(biased > 0) << 52;
        let exponent = biased.max(1) - 1075;
        let wide = u128::from(mantissa) << exponent.rem_euclid(32);
        let digits = vec![wide as u32, (wide >> 32) as u32, (wide >> 64) as u32];
        Dyadic::new(value < 0.0, digits, exponent.div_euclid(32))
    }

    /// A decimal integer without superfluous signs or leading zeros.
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let plain = unsigned.bytes().all(|byte| byte.is_ascii_digit()) && !unsigned.is_empty();
        if !plain || (unsigned.starts_with('0') && text != "0") || text.len() > MOST_DIGITS {
            return None;
        }
        let mut value = Dyadic::default();
        for chunk in unsigned.as_bytes().chunks(38) {
            let digit = |sum, byte: &u8| 10 * sum + u128::from(byte - b'0');
            let number = chunk.iter().fold(0, digit);
            let shift = Dyadic::integer(10u128.pow(chunk.len() as u32));
            value = &(&value * &shift) + &Dyadic::integer(number);
        }
        Some(if text.starts_with('-') { -value } else { value })
    }

    /// Whether this is 0.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether this is above 0.
    pub fn is_positive(&self) -> bool {
        !self.negative && !self.is_zero()
    }

    /// Whether this is below 0.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The magnitude.
    pub fn magnitude(mut self) -> Self {
        self.negative = false;
        self
    }

    /// The square.
    pub fn square(&self) -> Self {
        self * self
    }

    /// The magnitude in units of 2^unit, if it is an integer below 2¹²⁸.
    pub fn integer_in(&self, unit: i64) -> Option<u128> {
        let scaled = self * &Dyadic::power(-unit);
        let fits = scaled.place >= 0 && scaled.place + scaled.digits.len() as i64 <= 4;
        let digits = scaled.digits.iter().rev();
        fits.then(|| digits.fold(0, |sum, digit| sum << 32 | u128::from(*digit)) << (32 * scaled.place))
    }

    /// The quotient, if it is dyadic.
    pub fn divided_by(&self, divisor: &Dyadic) -> Option<Self> {
        let first = *divisor.digits.first()?;
        if first % 2 == 0 {
            // The lowest bit becomes the lowest one of its digit.
            let shift = Dyadic::power(32 - i64::from(first.trailing_zeros()));
            return (self * &shift).divided_by(&(divisor * &shift));
        }
        // Newton's iteration for 1/b modulo 2³² doubles the number of correct bits; b is correct to three.
        let newton = |x: u32, _| x.wrapping_mul(2u32.wrapping_sub(first.wrapping_mul(x)));
        let inverse = (0..4).fold(first, newton);
        let mut rest = self.digits.clone();
        rest.truncate((rest.len() + 1).saturating_sub(divisor.digits.len()));
        for k in 0..rest.len() {
            let digit = rest[k].wrapping_mul(inverse);
            let mut carry = 0;
            let divisor = divisor.digits.iter().chain(std::iter::repeat(&0));
            for (place, &b) in rest[k..].iter_mut().zip(divisor) {
                carry += i128::from(*place) - i128::from(digit) * i128::from(b);
                *place = carry as u32;
                carry >>= 32;
            }
            // The digit of the rest is 0 now, and makes room for that of the quotient.
            rest[k] = digit;
        }
        let negative = self.negative != divisor.negative;
        let quotient = Dyadic::new(negative, rest, self.place - divisor.place);
        (&quotient * divisor == *self).then_some(quotient)
    }

    /// The residue modulo [`PRIME`].
    fn residue(&self) -> u64 {
        let fold = |sum, digit: &u32| (sum << 32 | u128::from(*digit)) % u128::from(PRIME);
        let integer = self.digits.iter().rev().fold(0, fold);
        let residue = ((integer << (32 * self.place).rem_euclid(61)) % u128::from(PRIME)) as u64;
        let signed = if self.negative { PRIME - residue } else { residue };
        signed % PRIME
    }
}

/// Σab: products of digits are added up by their places, and then the carries are propagated.
pub fn sum_of_products(terms: &[(&Dyadic, &Dyadic)]) -> Dyadic {
    let place = |(a, b): &(&Dyadic, &Dyadic)| a.place + b.place;
    let end = |(a, b): &(&Dyadic, &Dyadic)| a.place + b.place + (a.digits.len() + b.digits.len()) as i64;
    let nonzero = || terms.iter().filter(|(a, b)| !a.is_zero() && !b.is_zero());
    let (Some(lowest), Some(highest)) = (nonzero().map(place).min(), nonzero().map(end).max()) else {
        return Dyadic::default();
    };
    // A further digit for the sign, and for up to 2³¹ terms.
    let mut sums: Vec<i128> = vec![0; (highest - lowest) as usize + 1];
    for term @ (a, b) in nonzero() {
        let sign = if a.negative == b.negative { 1 } else { -1 };
        for (x, from) in a.digits.iter().zip((place(term) - lowest) as usize..) {
            let x = sign * i128::from(*x);
            let pairs = sums[from..].iter_mut().zip(&b.digits);
            pairs.for_each(|(sum, y)| *sum += x * i128::from(*y));
        }
    }
    // With the sign of the sum the last carry is 0.
    for sign in [1, -1] {
        let mut carry = 0;
        let mut digits = Vec::with_capacity(sums.len());
        for sum in &sums {
            carry += sign * sum;
            digits.push(carry as u32);
            carry >>= 32;
        }
        if carry == 0 {
            return Dyadic::new(sign < 0, digits, lowest);
        }
    }
    Dyadic::default()
}

impl Add for &Dyadic {
    type Output = Dyadic;
    fn add(self, other: &Dyadic) -> Dyadic {
        let one = Dyadic::integer(1);
        sum_of_products(&[(self, &one), (other, &one)])
    }
}

impl Sub for &Dyadic {
    type Output = Dyadic;
    fn sub(self, other: &Dyadic) -> Dyadic {
        self + &-other.clone()
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;
    fn mul(self, other: &Dyadic) -> Dyadic {
        sum_of_products(&[(self, other)])
    }
}

impl Neg for Dyadic {
    type Output = Dyadic;
    fn neg(mut self) -> Dyadic {
        self.negative = !self.negative && !self.is_zero();
        self
    }
}

impl std::iter::Sum for Dyadic {
    fn sum<I: Iterator<Item = Dyadic>>(terms: I) -> Dyadic {
        terms.fold(Dyadic::default(), |sum, term| &sum + &term)
    }
}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Dyadic) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Dyadic) -> Ordering {
        let difference = self - other;
        difference.is_positive().cmp(&difference.is_negative())
    }
}

/// An interval of doubles that contains a/b; everything if b = 0.
pub fn quotient(a: &Dyadic, b: &Dyadic) -> Interval {
    if a.is_zero() && !b.is_zero() {
        return Interval::ZERO;
    }
    // Three leading digits are an integer of at least 2⁶⁴. The others are less than 1, and the next double is farther away.
    let leading = |x: &Dyadic| {
        let digits = x.digits.iter().rev().chain(std::iter::repeat(&0)).take(3);
        let integer = digits.fold(0, |sum, digit| sum << 32 | u128::from(*digit)) as f64;
        Interval::new(integer.next_down(), integer.next_up())
    };
    let end = |x: &Dyadic| 32 * (x.place + x.digits.len() as i64);
    let exponent = end(a) - end(b);
    // Beyond 2^±2000 the products are intervals up to infinity or down to 0.
    let half = (exponent / 2).clamp(-1000, 1000);
    let rest = (exponent - half).clamp(-1000, 1000);
    let magnitude = 2f64.powi(half as i32) * (2f64.powi(rest as i32) * (leading(a) / leading(b)));
    let sign = if a.negative == b.negative { 1.0 } else { -1.0 };
    sign * magnitude
}

/// The exponent of the largest power of two of which all numbers are multiples; 0 if all are 0.
pub fn common_exponent(numbers: &[Dyadic]) -> i64 {
    let exponent = |x: &Dyadic| Some(32 * x.place + i64::from(x.digits.first()?.trailing_zeros()));
    numbers.iter().filter_map(exponent).min().unwrap_or(0)
}

/// The numerators of fractions `p/q` or integers `p` over one denominator above 0. `None` if one is no fraction with q > 0.
pub fn fractions(texts: &[&str]) -> Option<(Vec<Dyadic>, Dyadic)> {
    let parts = || {
        texts
            .iter()
            .map(|text| text.split_once('/').unwrap_or((text, "1")))
    };
    let mut denominators = BTreeMap::new();
    for (_, q) in parts().filter(|(_, q)| *q != "1") {
        denominators.insert(q, Dyadic::parse(q).filter(Dyadic::is_positive)?);
    }
    // The largest one is often a multiple of all others.
    let mut largest_first: Vec<&Dyadic> = denominators.values().collect();
    largest_first.sort_by(|a, b| b.cmp(a));
    let one = Dyadic::integer(1);
    let mut common = one.clone();
    for q in largest_first {
        if common.divided_by(q).is_none() {
            common = &common * q;
        }
    }
    let numerator = |(p, q)| {
        let factor = common.divided_by(denominators.get(q).unwrap_or(&one))?;
        Some(&Dyadic::parse(p)? * &factor)
    };
    Some((parts().map(numerator).collect::<Option<_>>()?, common))
}

/// A row that is independent of those before it: its number, the column of its pivot, and the row after elimination.
type Pivot<T> = (usize, usize, Vec<T>);

/// Gaussian elimination by `step`, for x, p, k, f and l of the lemma, until there are `most` pivots.
fn pivots<T: Clone + Default + PartialEq>(
    rows: impl Iterator<Item = Vec<T>>,
    most: usize,
    step: impl Fn(&T, &T, &T, &T, Option<&T>) -> Option<T>,
) -> Option<Vec<Pivot<T>>> {
    let mut found: Vec<Pivot<T>> = Vec::new();
    for (number, mut row) in rows.enumerate() {
        let mut last = None;
        for (_, column, known) in &found {
            let (pivot, factor) = (&known[*column], row[*column].clone());
            for (x, k) in row.iter_mut().zip(known) {
                *x = step(x, pivot, k, &factor, last)?;
            }
            last = Some(pivot);
        }
        if let Some(column) = row.iter().position(|x| *x != T::default()) {
            found.push((number, column, row));
        }
        if found.len() >= most {
            break;
        }
    }
    Some(found)
}

/// The elimination of the lemma.
fn exact_pivots(rows: impl Iterator<Item = Vec<Dyadic>>, most: usize) -> Option<Vec<Pivot<Dyadic>>> {
    pivots(rows, most, |x, pivot, k, factor, last| {
        let minor = sum_of_products(&[(x, pivot), (&-k.clone(), factor)]);
        last.map_or(Some(minor.clone()), |last| minor.divided_by(last))
    })
}

/// A lower bound on the rank of a matrix with these rows: its rank modulo a prime.
pub fn rank_at_least(rows: impl Iterator<Item = Vec<Dyadic>>) -> usize {
    let times = |a: &u64, b: &u64| (u128::from(*a) * u128::from(*b) % u128::from(PRIME)) as u64;
    let residues = rows.map(|row| row.iter().map(Dyadic::residue).collect());
    let found = pivots(residues, usize::MAX, |x, pivot, k, factor, _| {
        Some((times(x, pivot) + PRIME - times(k, factor)) % PRIME)
    });
    found.map_or(0, |found| found.len())
}

/// The first `most` rows that are independent of those before them, each with a column, such that these columns are independent.
pub fn independent<'a>(rows: impl Iterator<Item = &'a [f64]>, most: usize) -> Option<Vec<(usize, usize)>> {
    let rows = rows.map(|row| row.iter().copied().map(Dyadic::double).collect());
    let found = exact_pivots(rows, most)?.into_iter();
    Some(found.map(|(number, column, _)| (number, column)).collect())
}

/// The λ ≠ 0 with Σλᵢaᵢ = 0, if all of them are multiples of one.
pub fn dependence(vectors: &[Vec<Dyadic>]) -> Option<Vec<Dyadic>> {
    let width = vectors.first()?.len();
    let unit = |i: usize| (0..vectors.len()).map(move |k| Dyadic::integer(u128::from(i == k)));
    let rows = vectors.iter().enumerate();
    let rows = rows.map(|(i, vector)| vector.iter().cloned().chain(unit(i)).collect());
    let found = exact_pivots(rows, usize::MAX)?.into_iter();
    let mut vanished = found.filter(|(_, column, _)| *column >= width);
    let (_, _, row) = vanished.next()?;
    let unique = vanished.next().is_none() || mutant::is(Mutant::NotUnique);
    unique.then(|| row[width..].to_vec())
}

//! Exact arithmetic: dyadic rationals ±m·2^e, with integers m of any length.
//!
//! Every double is a dyadic rational, and so are sums, differences and products of dyadic rationals: nothing is rounded here.
//! The algorithms are those of long addition and long multiplication, with digits of 64 bits.
//!
//! **Lemma (exact division).** Let b be odd and a = q·b. The last digit of q is that of a/b modulo 2⁶⁴; subtract it times b from
//! a, divide by 2⁶⁴, and repeat. The quotient is multiplied back, so a wrong one is never returned.
//!
//! **Lemma (rank).** Let p be an odd prime. Reduction modulo p is a homomorphism from the dyadic rationals to the field of p
//! elements, so it maps determinants to determinants. A minor that is not 0 modulo p is not 0. Therefore the rank modulo p is at
//! most the rank.
//!
//! **Lemma (dependence; Bareiss 1968).** Gauss–Jordan elimination that multiplies crosswise and divides by the last pivot has
//! minors of the matrix as its entries, so these divisions are exact. Row operations do not change the solutions of Mλ = 0. If
//! one column has no pivot, all solutions are multiples of one, in which this column has the last pivot and every other column
//! the negative of its row's entry in this column.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};

use crate::arithmetic::Interval;
use crate::decimal;
use crate::mutant::{self, Mutant};

/// The prime of [`rank_at_least`]: a Mersenne prime, so that powers of two are easy to reduce.
const PRIME: u64 = (1 << 61) - 1;
/// The most decimal digits of an integer. Cap: longer ones are refused, because parsing takes quadratic time.
const MOST_DIGITS: usize = 100_000;

/// A dyadic rational ±m·2^e. m is odd and has no leading zeros; 0 has no digits, and e = 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dyadic {
    negative: bool,
    /// The digits of m to the base 2⁶⁴, lowest first.
    digits: Vec<u64>,
    exponent: i64,
}

impl Dyadic {
    /// ±m·2^e for digits that may have zeros at both ends.
    fn new(negative: bool, mut digits: Vec<u64>, exponent: i64) -> Self {
        while digits.last() == Some(&0) {
            digits.pop();
        }
        let Some(zeros) = digits.iter().position(|digit| *digit != 0) else {
            return Dyadic::default();
        };
        digits.drain(..zeros);
        let bits = digits[0].trailing_zeros();
        for k in 0..digits.len() * usize::from(bits > 0) {
            let above = digits.get(k + 1).copied().unwrap_or_default();
            digits[k] = digits[k] >> bits | above << (64 - bits);
        }
        if digits.last() == Some(&0) {
            digits.pop();
        }
        Dyadic {
            negative,
            digits,
            exponent: exponent + 64 * zeros as i64 + i64::from(bits),
        }
    }

    /// An integer.
    pub fn integer(value: u128) -> Self {
        Dyadic::new(false, vec![value as u64, (value >> 64) as u64], 0)
    }

    /// 2^exponent.
    pub fn power(exponent: i64) -> Self {
        Dyadic::new(false, vec![1], exponent)
    }

    /// A finite double, exactly.
    pub fn double(value: f64) -> Self {
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        // Subnormal numbers have no leading 1, and the exponent of the smallest normal ones.
        let leading = u64::from(exponent > 0) << 52;
        Dyadic::new(value < 0.0, vec![leading | fraction], exponent.max(1) - 1075)
    }

    /// A decimal integer without superfluous signs or leading zeros.
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let plain = unsigned.bytes().all(|byte| byte.is_ascii_digit()) && !unsigned.is_empty();
        if !plain || (unsigned.starts_with('0') && text != "0") || text.len() > MOST_DIGITS {
            return None;
        }
        let mut digits: Vec<u64> = Vec::new();
        for chunk in unsigned.as_bytes().chunks(19) {
            let mut carry = chunk
                .iter()
                .fold(0, |sum, byte| 10 * sum + u128::from(byte - b'0'));
            let factor = 10u128.pow(chunk.len() as u32);
            for digit in &mut digits {
                carry += u128::from(*digit) * factor;
                *digit = carry as u64;
                carry >>= 64;
            }
            digits.push(carry as u64);
        }
        Some(Dyadic::new(text.starts_with('-'), digits, 0))
    }

    /// Whether this is 0.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether this is above 0.
    pub fn is_positive(&self) -> bool {
        self.sign().is_gt()
    }

    /// The order of this number and 0.
    pub fn sign(&self) -> Ordering {
        match (self.is_zero(), self.negative) {
            (true, _) => Ordering::Equal,
            (_, true) => Ordering::Less,
            (_, false) => Ordering::Greater,
        }
    }

    /// The magnitude.
    pub fn magnitude(&self) -> Self {
        Dyadic::new(false, self.digits.clone(), self.exponent)
    }

    /// The magnitude in units of 2^unit, if it is an integer below 2¹²⁸.
    pub fn integer_in(&self, unit: i64) -> Option<u128> {
        if self.is_zero() {
            return Some(0);
        }
        let fits = self.exponent >= unit && self.exponent + 64 * self.digits.len() as i64 - unit < 256;
        let digits = self.digits_in(if fits { unit } else { self.exponent });
        let (low, high) = digits.split_at(digits.len().min(2));
        let value = low
            .iter()
            .rev()
            .fold(0, |sum, digit| sum << 64 | u128::from(*digit));
        (fits && high.iter().all(|digit| *digit == 0)).then_some(value)
    }

    /// The square.
    pub fn square(&self) -> Self {
        self * self
    }

    /// The odd part of the magnitude, which is the number up to a unit of the ring.
    pub fn odd_part(&self) -> Self {
        Dyadic::new(false, self.digits.clone(), 0)
    }

    /// The quotient, if it is dyadic.
    pub fn divided_by(&self, divisor: &Dyadic) -> Option<Self> {
        let b = &divisor.digits;
        if self.is_zero() && !divisor.is_zero() {
            return Some(Dyadic::default());
        }
        let length = (self.digits.len() + 1).checked_sub(b.len())?;
        let first = *b.first()?;
        // Newton's iteration for 1/b modulo 2⁶⁴ doubles the number of correct bits; b is correct to three.
        let inverse = (0..5).fold(first, |x, _| {
            x.wrapping_mul(2u64.wrapping_sub(first.wrapping_mul(x)))
        });
        let mut rest = self.digits[..length.min(self.digits.len())].to_vec();
        for k in 0..rest.len() {
            let digit = rest[k].wrapping_mul(inverse);
            let mut borrow = 0u128;
            for (j, place) in rest[k..].iter_mut().enumerate() {
                borrow += u128::from(digit) * u128::from(b.get(j).copied().unwrap_or_default());
                let (difference, under) = place.overflowing_sub(borrow as u64);
                *place = difference;
                borrow = (borrow >> 64) + u128::from(under);
            }
            // The place is 0 now, and takes the digit of the quotient.
            rest[k] = digit;
        }
        let negative = self.negative != divisor.negative;
        let quotient = Dyadic::new(negative, rest, self.exponent - divisor.exponent);
        (&quotient * divisor == *self).then_some(quotient)
    }

    /// The digits of the magnitude in units of 2^unit; unit is at most the exponent.
    fn digits_in(&self, unit: i64) -> Vec<u64> {
        let shift = (self.exponent - unit) as usize;
        let mut shifted = vec![0; shift / 64];
        let mut carry = 0;
        for &digit in &self.digits {
            let wide = u128::from(digit) << (shift % 64) | carry;
            shifted.push(wide as u64);
            carry = wide >> 64;
        }
        shifted.push(carry as u64);
        shifted
    }

    /// An interval from 1 to 2, and a power of two, whose product contains the magnitude.
    fn normalized(&self) -> (Interval, i64) {
        let length = self.digits.len() as i64;
        let top = self.digits.last().copied().unwrap_or_default();
        let shift = top.leading_zeros();
        let below = self.digits.iter().rev().nth(1).copied().unwrap_or_default();
        let leading = ((u128::from(top) << 64 | u128::from(below)) << shift >> 64) as u64;
        let low = leading as f64 / 2f64.powi(63);
        let exponent = self.exponent + 64 * length - 1 - i64::from(shift);
        (Interval::new(low.next_down(), low.next_up()), exponent)
    }

    /// The residue modulo [`PRIME`]; 2⁶¹ is 1.
    fn residue(&self) -> u64 {
        let modulo = |value: u128| (value % u128::from(PRIME)) as u64;
        let fold = |sum, digit: &u64| modulo((u128::from(sum) << 64) + u128::from(*digit));
        let integer = self.digits.iter().rev().fold(0, fold);
        let residue = modulo(u128::from(integer) << self.exponent.rem_euclid(61));
        if self.negative && residue > 0 {
            PRIME - residue
        } else {
            residue
        }
    }
}

/// An interval of doubles that contains a/b; everything if b = 0.
pub(crate) fn quotient(a: &Dyadic, b: &Dyadic) -> Interval {
    if a.is_zero() || b.is_zero() {
        return if b.is_zero() {
            Interval::WHOLE
        } else {
            Interval::ZERO
        };
    }
    let ((above, e), (below, f)) = (a.normalized(), b.normalized());
    let half = 2f64.powi(((e - f) / 2).clamp(-1000, 1000) as i32);
    let other = 2f64.powi((e - f - (e - f) / 2).clamp(-1000, 1000) as i32);
    // Beyond 2^±2000 the product is an interval up to infinity or down to 0.
    let magnitude = half * (other * (above / below));
    let magnitude = match e - f {
        ..-2000 => magnitude.hull(Interval::ZERO),
        2001.. => magnitude.hull(Interval::new(0.0, f64::INFINITY)),
        _ => magnitude,
    };
    if a.negative == b.negative {
        magnitude
    } else {
        -magnitude
    }
}

impl Add for &Dyadic {
    type Output = Dyadic;
    fn add(self, other: &Dyadic) -> Dyadic {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() {
                other.clone()
            } else {
                self.clone()
            };
        }
        let unit = self.exponent.min(other.exponent);
        let (mut sum, b) = (self.digits_in(unit), other.digits_in(unit));
        sum.resize(sum.len().max(b.len()) + 1, 0);
        // The difference of the magnitudes adds the complement −1 − b, and 1.
        let differ = self.negative != other.negative;
        let mut carry = u128::from(differ);
        for (k, digit) in sum.iter_mut().enumerate() {
            let added = b.get(k).copied().unwrap_or_default();
            carry += u128::from(*digit) + u128::from(if differ { !added } else { added });
            *digit = carry as u64;
            carry >>= 64;
        }
        // Without a carry the difference is below 0, and its complement is the magnitude.
        let below = differ && carry == 0;
        if below {
            let mut carry = true;
            for digit in &mut sum {
                (*digit, carry) = (!*digit).overflowing_add(u64::from(carry));
            }
        }
        Dyadic::new(self.negative != below, sum, unit)
    }
}

impl Neg for Dyadic {
    type Output = Dyadic;
    fn neg(mut self) -> Dyadic {
        self.negative = !self.negative && !self.is_zero();
        self
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
        let mut product = vec![0; self.digits.len() + other.digits.len()];
        for (i, &a) in self.digits.iter().enumerate() {
            let mut carry = 0;
            for (j, &b) in other.digits.iter().enumerate() {
                let wide = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
                product[i + j] = wide as u64;
                carry = wide >> 64;
            }
            product[i + other.digits.len()] = carry as u64;
        }
        Dyadic::new(
            self.negative != other.negative,
            product,
            self.exponent + other.exponent,
        )
    }
}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Dyadic) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Dyadic) -> Ordering {
        (self - other).sign()
    }
}

impl std::iter::Sum for Dyadic {
    fn sum<I: Iterator<Item = Dyadic>>(terms: I) -> Dyadic {
        terms.fold(Dyadic::default(), |sum, term| &sum + &term)
    }
}

/// √(a/b) as text: an interval.
pub fn root(a: &Dyadic, b: &Dyadic) -> String {
    let root = quotient(a, b).sqrt();
    decimal::interval((root.lo, root.hi))
}

/// The largest power of two of which all numbers are multiples, as its exponent; 0 if all are 0.
pub fn common_exponent(numbers: &[Dyadic]) -> i64 {
    let exponents = numbers.iter().filter(|number| !number.is_zero());
    exponents.map(|number| number.exponent).min().unwrap_or(0)
}

/// Fractions `p/q` or integers `p`, as dyadic numerators over one odd denominator above 0. `None` if one of them is not a
/// fraction with q > 0.
pub fn fractions(texts: &[&str]) -> Option<(Vec<Dyadic>, Dyadic)> {
    let mut denominators: Vec<(&str, Dyadic)> = Vec::new();
    let mut common = Dyadic::integer(1);
    for text in texts {
        let q = text.split_once('/').map_or("1", |(_, q)| q);
        if denominators.iter().all(|(known, _)| *known != q) {
            let denominator = Dyadic::parse(q).filter(Dyadic::is_positive)?;
            if common.divided_by(&denominator).is_none() {
                let shared = greatest_common_divisor(common.clone(), denominator.odd_part());
                common = &common * &denominator.odd_part().divided_by(&shared)?;
            }
            denominators.push((q, denominator));
        }
    }
    let mut factors = Vec::new();
    for (q, denominator) in denominators {
        factors.push((q, common.divided_by(&denominator)?));
    }
    let numerator = |text: &&str| {
        let (p, q) = text.split_once('/').unwrap_or((text, "1"));
        let (_, factor) = factors.iter().find(|(known, _)| *known == q)?;
        Some(&Dyadic::parse(p)? * factor)
    };
    let numerators = texts.iter().map(numerator).collect::<Option<_>>()?;
    Some((numerators, common))
}

/// The greatest common divisor of odd integers above 0: it divides the odd part of their difference.
fn greatest_common_divisor(mut a: Dyadic, mut b: Dyadic) -> Dyadic {
    while a != b {
        if a < b {
            std::mem::swap(&mut a, &mut b);
        }
        a = (&a - &b).odd_part();
    }
    a
}

/// A lower bound on the rank of a matrix with these rows: its rank modulo a prime.
pub fn rank_at_least(rows: impl Iterator<Item = Vec<Dyadic>>) -> usize {
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64;
    // Each row of the basis with the column of its pivot.
    let mut basis: Vec<(usize, Vec<u64>)> = Vec::new();
    for row in rows {
        let mut row: Vec<u64> = row.iter().map(Dyadic::residue).collect();
        for (pivot, known) in &basis {
            let (factor, other) = (known[*pivot], PRIME - row[*pivot]);
            let columns = row.iter_mut().zip(known);
            columns.for_each(|(x, k)| *x = (times(*x, factor) + times(*k, other)) % PRIME);
        }
        if let Some(pivot) = row.iter().position(|x| *x != 0) {
            basis.push((pivot, row));
        }
    }
    basis.len()
}

/// The λ ≠ 0 with Σₖ λₖ·(column k) = 0, if all of them are multiples of one.
pub fn dependence(mut rows: Vec<Vec<Dyadic>>, columns: usize) -> Option<Vec<Dyadic>> {
    let mut last = Dyadic::integer(1);
    let (mut free, mut pivots) = (None, Vec::new());
    for column in 0..columns {
        let rank = pivots.len();
        let Some(pivot) = (rank..rows.len()).find(|&r| !rows[r][column].is_zero()) else {
            if free.replace(column).is_some() && !mutant::is(Mutant::NotUnique) {
                return None;
            }
            continue;
        };
        rows.swap(rank, pivot);
        let pivot_row = rows[rank].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(r, _)| *r != rank) {
            let factor = row[column].clone();
            for (entry, of_pivot) in row.iter_mut().zip(&pivot_row) {
                *entry = (&(&*entry * &pivot_row[column]) - &(of_pivot * &factor)).divided_by(&last)?;
            }
        }
        last = pivot_row[column].clone();
        pivots.push(column);
    }
    let free = free?;
    let mut multipliers = vec![Dyadic::default(); columns];
    for (row, column) in rows.iter().zip(pivots) {
        multipliers[column] = -row[free].clone();
    }
    multipliers[free] = last;
    Some(multipliers)
}

/// The first `most` rows that are independent of those before them, each with a column, such that these columns are independent.
/// The numbers of digits double with each of them.
pub fn independent<'a>(rows: impl Iterator<Item = &'a [f64]>, most: usize) -> Vec<(usize, usize)> {
    let mut basis: Vec<(usize, usize, Vec<Dyadic>)> = Vec::new();
    for (index, row) in rows.enumerate() {
        let mut row: Vec<Dyadic> = row.iter().copied().map(Dyadic::double).collect();
        for (_, pivot, known) in &basis {
            let factor = row[*pivot].clone();
            let columns = row.iter_mut().zip(known);
            columns.for_each(|(x, k)| *x = &(&*x * &known[*pivot]) - &(k * &factor));
        }
        if let Some(pivot) = row.iter().position(|x| !x.is_zero()) {
            basis.push((index, pivot, row));
        }
        if basis.len() >= most {
            break;
        }
    }
    basis
        .into_iter()
        .map(|(index, pivot, _)| (index, pivot))
        .collect()
}

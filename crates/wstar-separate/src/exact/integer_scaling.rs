//! Doubles as integers: rows and columns of a matrix, each scaled by a power of two; and doubles as
//! residues modulo a prime.
//!
//! Scaling a row or a column by a power of two does not change the linear system, provided that the
//! unknowns are scaled back. It keeps the integers as short as the data allow.

use num_bigint::BigInt;

use crate::exact::dyadic::dyadic;
use crate::exact::modular::Field;
use crate::exact::signed_rows::Signed;

/// Bits of a digit of a long integer. Derived: a sum of 2¹⁴ products of such a digit and a 57-bit residue
/// fits in 56 + 57 + 14 = 127 bits.
pub(super) const DIGIT: u32 = 56;

/// A map from doubles to residues modulo a prime.
#[derive(Debug)]
pub(super) struct Residues {
    pub(super) field: Field,
    /// 2^e modulo the prime for every exponent e of a double.
    powers: Vec<u64>,
}

/// The exponent of the smallest positive double.
const MIN_EXPONENT: i32 = -1074;
/// The exponent of the largest power of two that is a double.
const MAX_EXPONENT: i32 = 1023;

impl Residues {
    pub(super) fn new(field: Field) -> Self {
        let mut powers = vec![field.power_of_two(MIN_EXPONENT)];
        for k in 0..(MAX_EXPONENT - MIN_EXPONENT) as usize {
            powers.push(field.sum(powers[k], powers[k]));
        }
        Residues { field, powers }
    }

    /// A double modulo the prime.
    #[inline]
    pub(super) fn of(&self, value: f64) -> u64 {
        /// Derived: all integers up to 2⁵³ are exact in f64.
        const EXACT: f64 = (1u64 << 53) as f64;
        let integer = value as i64;
        if value.abs() <= EXACT && integer as f64 == value {
            return self.field.integer(integer);
        }
        let (mantissa, exponent) = dyadic(value);
        let power = self.powers[(exponent - MIN_EXPONENT) as usize];
        self.field.product(self.field.integer(mantissa), power)
    }

    /// Row `aᵢ` modulo the prime; coordinate j goes to position `positions[j]` (`usize::MAX`: omitted).
    pub(super) fn row(&self, signed: &Signed<'_>, i: usize, positions: &[usize], width: usize) -> Vec<u64> {
        let mut row = vec![0; width];
        signed.for_each(i, |j, value| {
            if let Some(entry) = row.get_mut(positions[j]) {
                *entry = self.of(value);
            }
        });
        row
    }

    /// `aᵢ·v` modulo the prime.
    pub(super) fn score(&self, signed: &Signed<'_>, i: usize, vector: &[u64]) -> u64 {
        let (mut sum, mut terms) = (0u128, 0u32);
        signed.for_each(i, |j, value| {
            let (v, x) = (vector[j], self.of(value));
            sum += u128::from(v) * u128::from(x);
            terms += 1;
            // Derived: 2¹³ products of two residues below 2⁵⁷, and the reduced sum, stay below 2¹²⁸.
            if terms == 1 << 13 {
                (sum, terms) = (self.field.reduce(sum).into(), 0);
            }
        });
        self.field.reduce(sum)
    }
}

/// A square integer matrix stored digit by digit: one row-major matrix for each digit position.
#[derive(Debug)]
pub(super) struct DigitMatrices {
    pub(super) width: usize,
    /// The digits, lowest first. All digits of an entry carry its sign.
    pub(super) digits: Vec<Vec<i64>>,
    /// The number of bits of the longest entry.
    pub(super) bits: u32,
}

/// Numbers `mantissa·2^exponent` as integers times `2^least`, with the least exponent of those that are not 0.
pub(super) fn integers(numbers: &[(i64, i32)]) -> (Vec<BigInt>, i32) {
    let used = numbers.iter().filter(|(mantissa, _)| *mantissa != 0);
    let least = used.map(|&(_, exponent)| exponent).min().unwrap_or(0);
    let integer = |&(mantissa, exponent): &(i64, i32)| match mantissa {
        0 => BigInt::ZERO,
        _ => BigInt::from(mantissa) << (exponent - least),
    };
    (numbers.iter().map(integer).collect(), least)
}

/// Some rows and columns of the data as integers times powers of two.
#[derive(Debug)]
pub(super) struct Scaled {
    columns: usize,
    /// Entry (i, j) is `mantissa·2^(exponent + row_scale[i] + column_scale[j])`.
    entries: Vec<(i64, i32)>,
    row_scale: Vec<i32>,
    column_scale: Vec<i32>,
}

impl Scaled {
    pub(super) fn new(signed: &Signed<'_>, rows: &[usize], columns: &[usize]) -> Self {
        let mut positions = vec![usize::MAX; signed.width()];
        for (position, &j) in columns.iter().enumerate() {
            positions[j] = position;
        }
        let width = columns.len();
        let mut entries = vec![(0, 0); rows.len() * width];
        for (&i, row) in rows.iter().zip(entries.chunks_exact_mut(width.max(1))) {
            signed.for_each(i, |j, value| {
                if let Some(entry) = row.get_mut(positions[j]) {
                    *entry = dyadic(value);
                }
            });
        }
        let mut scaled = Scaled {
            columns: width,
            entries,
            row_scale: vec![0; rows.len()],
            column_scale: vec![0; width],
        };
        scaled.balance();
        scaled
    }

    /// Factors the common powers of two out of the columns, then out of the rows.
    fn balance(&mut self) {
        let mut least = vec![i32::MAX; self.columns];
        for row in self.entries.chunks_exact(self.columns.max(1)) {
            for (least, &(m, e)) in least.iter_mut().zip(row) {
                if m != 0 {
                    *least = (*least).min(e);
                }
            }
        }
        least
            .iter_mut()
            .filter(|least| **least == i32::MAX)
            .for_each(|least| *least = 0);
        let rows = self.entries.chunks_exact_mut(self.columns.max(1));
        for (row, scale) in rows.zip(&mut self.row_scale) {
            let shifts = row.iter().zip(&least).filter(|((m, _), _)| *m != 0);
            *scale = shifts.map(|((_, e), least)| e - least).min().unwrap_or(0);
            for ((_, e), least) in row.iter_mut().zip(&least) {
                *e -= least + *scale;
            }
        }
        self.column_scale = least;
    }

    /// The exponent e such that row `i` is its integers times `2^e`, up to the column scales.
    pub(super) fn row_scale(&self, i: usize) -> i32 {
        self.row_scale[i]
    }

    /// The exponent of column `j`, likewise.
    pub(super) fn column_scale(&self, j: usize) -> i32 {
        self.column_scale[j]
    }

    /// The integer at position (i, j).
    pub(super) fn entry(&self, i: usize, j: usize) -> BigInt {
        let (mantissa, exponent) = self.entries[i * self.columns + j];
        if mantissa == 0 {
            BigInt::ZERO
        } else {
            BigInt::from(mantissa) << exponent
        }
    }

    /// The square matrix of some rows and columns, or its transpose.
    pub(super) fn digit_matrices(
        &self,
        rows: &[usize],
        columns: &[usize],
        transposed: bool,
    ) -> DigitMatrices {
        let width = rows.len();
        let at = |i: usize, j: usize| self.entries[rows[i] * self.columns + columns[j]];
        let bits_of = |(m, e): (i64, i32)| match m {
            0 => 0,
            _ => 64 - m.unsigned_abs().leading_zeros() + e as u32,
        };
        let all = (0..width).flat_map(|i| (0..width).map(move |j| (i, j)));
        let bits = all.clone().map(|(i, j)| bits_of(at(i, j))).max().unwrap_or(0);
        let count = bits.div_ceil(DIGIT).max(1) as usize;
        let mut digits = vec![vec![0i64; width * width]; count];
        for (i, j) in all {
            let (mantissa, exponent) = at(i, j);
            if mantissa == 0 {
                continue;
            }
            let position = if transposed { j * width + i } else { i * width + j };
            let (digit, shift) = ((exponent as u32 / DIGIT) as usize, exponent as u32 % DIGIT);
            let mut rest = u128::from(mantissa.unsigned_abs()) << shift;
            for plane in digits[digit..].iter_mut() {
                let low = (rest & ((1 << DIGIT) - 1)) as i64;
                plane[position] = if mantissa < 0 { -low } else { low };
                rest >>= DIGIT;
            }
        }
        DigitMatrices { width, digits, bits }
    }
}

impl DigitMatrices {
    /// The matrix modulo a prime.
    pub(super) fn modulo(&self, field: Field) -> Vec<u64> {
        let power = field.power_of_two(DIGIT as i32);
        let mut result = vec![0u64; self.width * self.width];
        for plane in self.digits.iter().rev() {
            for (value, &digit) in result.iter_mut().zip(plane) {
                *value = field.sum(field.product(*value, power), field.integer(digit));
            }
        }
        result
    }
}

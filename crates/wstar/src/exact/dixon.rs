//! Exact solutions of square integer systems `A·x = b` (J. D. Dixon, Exact solution of linear equations using
//! p-adic expansions, Numerische Mathematik 40, 1982).
//!
//! With the inverse of A modulo a prime p, `x₀ = A⁻¹b mod p`, and again for the right side `(b − A·x₀)/p`, which is
//! an integer and no longer than A's entries; so the digits of x to base p come one by one, each for two products
//! with a matrix. From time to time a combination of all unknowns is tried: when it is a quotient of two
//! numbers much shorter than the digits known, its denominator d is that of all unknowns, and `n = d·x`.
//!
//! That is proved before it is believed: `A·n ≡ d·b (mod pᵏ)` holds by construction, and if neither side can be
//! as large as pᵏ/2, they are equal.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::Zero;
use rayon::prelude::*;

use super::integers::{DIGIT, Planes};
use super::modular::{self, Field, MOST_TERMS};
use super::reconstruct::rational;
use super::{Budget, Stop};

/// A matrix that systems can be solved with.
#[derive(Debug)]
pub(super) struct Dixon {
    field: Field,
    matrix: Planes,
    inverse: Vec<u64>,
    /// 1/p modulo 2⁶⁴.
    undo: u64,
}

/// `x = numerators/denominator`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Solution {
    pub(super) numerators: Vec<BigInt>,
    pub(super) denominator: BigInt,
}

/// Matrices smaller than this are multiplied on one thread.
const WORTH_A_THREAD: usize = 40_000;

impl Dixon {
    /// The prime is bad if the matrix is singular modulo it.
    pub(super) fn new(field: Field, matrix: Planes, budget: &Budget) -> Result<Self, Stop> {
        if matrix.width >= MOST_TERMS {
            return Err(Stop::BudgetSpent);
        }
        let inverse = modular::inverse(field, &matrix.modulo(field), matrix.width, budget)?;
        // Newton's iteration doubles the bits that are right; an odd number is its own inverse modulo 8.
        let mut undo = field.prime;
        for _ in 0..5 {
            undo = undo.wrapping_mul(2u64.wrapping_sub(field.prime.wrapping_mul(undo)));
        }
        Ok(Dixon {
            field,
            matrix,
            inverse,
            undo,
        })
    }

    /// x with `A·x = b`.
    pub(super) fn solve(&self, right: &[BigInt], budget: &Budget) -> Result<Solution, Stop> {
        let width = self.matrix.width;
        if right.iter().all(|b| b.sign() == Sign::NoSign) {
            return Ok(Solution {
                numerators: vec![BigInt::ZERO; width],
                denominator: BigInt::from(1),
            });
        }
        let right_bits = right.iter().map(BigInt::bits).max().unwrap_or(0);
        let mut lifting = Lifting::new(self, right, right_bits);
        // Hadamard: |det A| ≤ (√m·max|a|)^m, and the same with b in place of a column. When twice that many
        // bits and some are known, the solution must have shown itself.
        let root_bits = u64::from(usize::BITS - width.leading_zeros()).div_ceil(2);
        let column_bits = u64::from(self.matrix.bits) + root_bits;
        let most_bits = 2 * column_bits * width as u64 + right_bits + 256;
        let most_digits = (most_bits / 56) as usize + 8;
        let mut target = 4;
        loop {
            while lifting.digits.len() < target {
                if budget.is_spent() {
                    return Err(Stop::BudgetSpent);
                }
                lifting.step();
            }
            if let Some(solution) = self.attempt(&lifting.digits, right_bits) {
                return Ok(solution);
            }
            if target >= most_digits + most_digits / 4 {
                return Err(Stop::BadPrime);
            }
            target += target / 8 + 2;
        }
    }

    /// The solution, if so many digits suffice to find and to prove it.
    fn attempt(&self, digits: &[Vec<u64>], right_bits: u64) -> Option<Solution> {
        let width = self.matrix.width;
        let powers = Powers::new(self.field.prime, digits.len());
        let modulus = powers.whole(digits.len());
        let (numerator, mut denominator) = rational(&powers.join(&combined(digits, 0)), &modulus)?;
        // A combination may lack a small factor of the denominator by chance; several hardly all do.
        let more: Vec<Option<(BigInt, BigUint)>> = (1..PROBES)
            .into_par_iter()
            .map(|seed| rational(&powers.join(&combined(digits, seed)), &modulus))
            .collect();
        for (_, other) in more.into_iter().flatten() {
            denominator = common_multiple(denominator, &other);
        }
        // For the numerators alone fewer digits do.
        let margin =
            u64::from(self.matrix.bits) + u64::from(usize::BITS - width.leading_zeros()) + right_bits + 32;
        let wanted = numerator.bits().max(denominator.bits()) + margin;
        let enough = ((wanted / 56) as usize + 2).min(digits.len());
        for count in [enough, digits.len(), digits.len()] {
            let modulus_bits = powers.whole(count).bits();
            let solution = self.numerators(&digits[..count], &denominator, &powers);
            let longest = solution.iter().map(BigInt::bits).max().unwrap_or(0);
            let left = longest + u64::from(self.matrix.bits) + u64::from(usize::BITS - width.leading_zeros());
            // 2^(modulus_bits − 1) ≤ pᵏ: both sides below a quarter of it.
            if left.max(denominator.bits() + right_bits) + 3 <= modulus_bits {
                return Some(Solution {
                    numerators: solution,
                    denominator: denominator.into(),
                });
            }
            // One that is still too long has a factor of its own in its denominator.
            let worst = solution.iter().position(|n| n.bits() == longest)?;
            let own: Vec<BigUint> = digits.iter().map(|digit| BigUint::from(digit[worst])).collect();
            let (_, other) = rational(&powers.join(&own), &modulus)?;
            denominator = common_multiple(denominator, &other);
        }
        None
    }

    /// d·x modulo pᵏ, nearest to 0, for every unknown.
    fn numerators(&self, digits: &[Vec<u64>], denominator: &BigUint, powers: &Powers) -> Vec<BigInt> {
        let modulus = powers.whole(digits.len());
        let half = &modulus >> 1;
        let one = |i: usize| {
            let own: Vec<BigUint> = digits.iter().map(|digit| BigUint::from(digit[i])).collect();
            let residue = powers.join(&own) * denominator % &modulus;
            if residue > half {
                BigInt::from_biguint(Sign::Minus, &modulus - residue)
            } else {
                residue.into()
            }
        };
        (0..self.matrix.width).into_par_iter().map(one).collect()
    }
}

/// So many combinations of the unknowns are asked for their denominators.
const PROBES: u64 = 4;

/// Combinations of each digit of all unknowns, with small multipliers: hardly longer than what they combine.
fn combined(digits: &[Vec<u64>], seed: u64) -> Vec<BigUint> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ (seed << 32);
    let width = digits.first().map_or(0, Vec::len);
    let multipliers: Vec<u64> = (0..width)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            1 + (state >> 56)
        })
        .collect();
    let combine = |digit: &Vec<u64>| {
        let terms = digit
            .iter()
            .zip(&multipliers)
            .map(|(&x, &c)| u128::from(x) * u128::from(c));
        BigUint::from(terms.sum::<u128>())
    };
    digits.iter().map(combine).collect()
}

fn common_multiple(a: BigUint, b: &BigUint) -> BigUint {
    if (&a % b).is_zero() { a } else { a.lcm(b) }
}

/// The digits of x, and what is left of the right side.
struct Lifting<'a> {
    dixon: &'a Dixon,
    digits: Vec<Vec<u64>>,
    /// `words` words a row, lowest first, in two's complement.
    rest: Vec<u64>,
    words: usize,
}

impl<'a> Lifting<'a> {
    fn new(dixon: &'a Dixon, right: &[BigInt], right_bits: u64) -> Self {
        let product_bits = dixon.matrix.digits.len() as u64 * u64::from(DIGIT) + 57 + 14;
        let words = (right_bits.max(product_bits) + 3).div_ceil(64) as usize;
        let mut rest = vec![0; words * right.len()];
        for (b, rest) in right.iter().zip(rest.chunks_exact_mut(words)) {
            for (word, digit) in rest.iter_mut().zip(b.iter_u64_digits()) {
                *word = digit;
            }
            if b.sign() == Sign::Minus {
                negate(rest);
            }
        }
        Lifting {
            dixon,
            digits: Vec::new(),
            rest,
            words,
        }
    }

    fn step(&mut self) {
        let Dixon {
            field,
            matrix,
            inverse,
            undo,
        } = self.dixon;
        let (width, words) = (matrix.width, self.words);
        let threaded = width * width >= WORTH_A_THREAD;
        let residues: Vec<u64> = self
            .rest
            .chunks_exact(words)
            .map(|rest| modulo(*field, rest))
            .collect();
        let mut digit = vec![0; width];
        let solve = |(x, row): (&mut u64, &[u64])| *x = field.dot(row, &residues);
        if threaded {
            let rows = inverse.par_chunks_exact(width);
            digit.par_iter_mut().zip(rows).with_min_len(32).for_each(solve);
        } else {
            digit.iter_mut().zip(inverse.chunks_exact(width)).for_each(solve);
        }
        let subtract = |(i, rest): (usize, &mut [u64])| {
            for (k, plane) in matrix.digits.iter().enumerate() {
                let product = product(&plane[i * width..(i + 1) * width], &digit);
                subtract_shifted(rest, product, k as u32 * DIGIT);
            }
            divide_exactly(rest, field.prime, *undo);
        };
        if threaded {
            let rows = self.rest.par_chunks_exact_mut(words).enumerate();
            rows.with_min_len(32).for_each(subtract);
        } else {
            self.rest.chunks_exact_mut(words).enumerate().for_each(subtract);
        }
        self.digits.push(digit);
    }
}

/// A row of digits below 2⁵⁶ with signs, times digits below p.
fn product(row: &[i64], digit: &[u64]) -> i128 {
    let mut sums = [0i128; 2];
    let (rows, digits) = (row.chunks_exact(2), digit.chunks_exact(2));
    for (&a, &x) in rows.remainder().iter().zip(digits.remainder()) {
        sums[0] += i128::from(a) * i128::from(x as i64);
    }
    for (a, x) in rows.zip(digits) {
        sums[0] += i128::from(a[0]) * i128::from(x[0] as i64);
        sums[1] += i128::from(a[1]) * i128::from(x[1] as i64);
    }
    sums[0] + sums[1]
}

fn negate(words: &mut [u64]) {
    let mut carry = true;
    for word in words {
        let (negated, overflow) = (!*word).overflowing_add(u64::from(carry));
        (*word, carry) = (negated, overflow);
    }
}

/// A number in two's complement, modulo p.
fn modulo(field: Field, words: &[u64]) -> u64 {
    let negative = words.last().is_some_and(|&word| word >> 63 == 1);
    let mut residue = 0u64;
    let mut power = 1u64;
    for &word in words.iter().rev() {
        residue = field.reduce((u128::from(residue) << 64) | u128::from(word));
    }
    if negative {
        for _ in words {
            power = field.reduce(u128::from(power) << 64);
        }
        residue = field.sum(residue, field.negative(power));
    }
    residue
}

/// `words −= value·2^bits` in two's complement.
fn subtract_shifted(words: &mut [u64], value: i128, bits: u32) {
    let (first, shift) = ((bits / 64) as usize, bits % 64);
    let sign = (value >> 127) as u64;
    let (low, high) = (value as u64, (value >> 64) as u64);
    let pieces = if shift == 0 {
        [low, high, sign]
    } else {
        let back = 64 - shift;
        [
            low << shift,
            high << shift | low >> back,
            sign << shift | high >> back,
        ]
    };
    let mut borrow = false;
    for (k, word) in words[first..].iter_mut().enumerate() {
        let piece = pieces.get(k).copied().unwrap_or(sign);
        let (difference, one) = word.overflowing_sub(piece);
        let (difference, two) = difference.overflowing_sub(u64::from(borrow));
        (*word, borrow) = (difference, one || two);
    }
}

/// A multiple of p by p, from the lowest word up (T. Jebelean, An algorithm for exact division, 1993).
fn divide_exactly(words: &mut [u64], prime: u64, undo: u64) {
    let mut carry = 0u64;
    for word in words {
        let (rest, borrowed) = word.overflowing_sub(carry);
        let quotient = rest.wrapping_mul(undo);
        *word = quotient;
        carry = ((u128::from(quotient) * u128::from(prime)) >> 64) as u64 + u64::from(borrowed);
    }
}

/// p to the powers that joining digits takes.
struct Powers {
    prime: u64,
    /// p^(LEAF·2^k).
    doubling: Vec<BigUint>,
}

/// So many digits are joined one by one.
const LEAF: usize = 16;

impl Powers {
    fn new(prime: u64, digits: usize) -> Self {
        let mut doubling = vec![BigUint::from(prime).pow(LEAF as u32)];
        let mut reach = LEAF;
        while reach < digits {
            let last = &doubling[doubling.len() - 1];
            doubling.push(last * last);
            reach *= 2;
        }
        Powers { prime, doubling }
    }

    /// p^count.
    fn whole(&self, count: usize) -> BigUint {
        let mut result = BigUint::from(self.prime).pow((count % LEAF) as u32);
        for (k, power) in self.doubling.iter().enumerate() {
            if (count / LEAF) >> k & 1 == 1 {
                result *= power;
            }
        }
        result
    }

    /// Σ digitₖ·pᵏ.
    fn join(&self, digits: &[BigUint]) -> BigUint {
        let mut parts: Vec<BigUint> = digits
            .chunks(LEAF)
            .map(|leaf| {
                leaf.iter()
                    .rev()
                    .fold(BigUint::ZERO, |sum, digit| sum * self.prime + digit)
            })
            .collect();
        for power in &self.doubling {
            if parts.len() < 2 {
                break;
            }
            parts = parts
                .chunks(2)
                .map(|pair| match pair {
                    [low, high] => high * power + low,
                    rest => rest.iter().sum(),
                })
                .collect();
        }
        parts.pop().unwrap_or_default()
    }
}

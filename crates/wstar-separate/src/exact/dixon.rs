//! Exact rational solutions of square integer systems `A·x = b` (J. D. Dixon, Exact solution of linear
//! equations using p-adic expansions, Numerische Mathematik 40, 1982).
//!
//! With the inverse of A modulo a prime p, the first p-adic digit is `x₀ = A⁻¹b mod p`. The next digit
//! follows in the same way from the right side `(b − A·x₀)/p`, which is an integer vector about as short as
//! A's entries. So each digit costs two matrix–vector products. From time to time rational reconstruction
//! is tried on a combination of all unknowns. If the result is much shorter than the known digits, its
//! denominator d is the common denominator of all unknowns, and `n = d·x` gives the numerators.
//!
//! The result is proved: `A·n ≡ d·b (mod pᵏ)` holds by construction, and if both sides are smaller than
//! pᵏ/2 in absolute value, they are equal.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::Zero;
use rayon::prelude::*;

use crate::exact::deadline::Deadline;
use crate::exact::exact_outcome::Stop;
use crate::exact::integer_scaling::{DIGIT, DigitMatrices};
use crate::exact::modular;
use crate::exact::modular::{Field, MAX_TERMS};
use crate::exact::rational_reconstruction::rational;

/// A matrix prepared for solving systems.
#[derive(Debug)]
pub(super) struct Dixon {
    field: Field,
    matrix: DigitMatrices,
    inverse: Vec<u64>,
    /// 1/p modulo 2⁶⁴.
    prime_inverse: u64,
}

/// The solution `x = numerators/denominator`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RationalSolution {
    pub(super) numerators: Vec<BigInt>,
    pub(super) denominator: BigInt,
}

/// Least number of matrix entries for which a product uses several threads. Heuristic: trades the overhead
/// of threads for parallelism; not measured yet.
const MIN_PARALLEL_WORK: usize = 40_000;

impl Dixon {
    /// Inverts the matrix modulo the prime. Returns `Stop::BadPrime` if it is singular modulo the prime.
    pub(super) fn new(field: Field, matrix: DigitMatrices, budget: &Deadline) -> Result<Self, Stop> {
        if matrix.width >= MAX_TERMS {
            return Err(Stop::BudgetSpent);
        }
        let inverse = modular::inverse(field, &matrix.modulo(field), matrix.width, budget)?;
        // Newton's iteration for 1/p modulo 2⁶⁴ doubles the number of correct bits. The start is correct to 3
        // bits, since an odd number is its own inverse modulo 8.
        let mut prime_inverse = field.prime;
        for _ in 0..5 {
            prime_inverse =
                prime_inverse.wrapping_mul(2u64.wrapping_sub(field.prime.wrapping_mul(prime_inverse)));
        }
        Ok(Dixon {
            field,
            matrix,
            inverse,
            prime_inverse,
        })
    }

    /// The x with `A·x = b`.
    pub(super) fn solve(&self, right: &[BigInt], budget: &Deadline) -> Result<RationalSolution, Stop> {
        let width = self.matrix.width;
        if right.iter().all(|b| b.sign() == Sign::NoSign) {
            return Ok(RationalSolution {
                numerators: vec![BigInt::ZERO; width],
                denominator: BigInt::from(1),
            });
        }
        let right_bits = right.iter().map(BigInt::bits).max().unwrap_or(0);
        let mut lifting = Lifting::new(self, right, right_bits);
        // Hadamard's bound: |det A| ≤ (√m·max|a|)^m, and similarly with b in place of a column. Numerator
        // and denominator must be recovered once the digits hold both, with a safety margin.
        let root_bits = u64::from(usize::BITS - width.leading_zeros()).div_ceil(2);
        let column_bits = u64::from(self.matrix.bits) + root_bits;
        // The margins of 256 bits and 8 digits only affect when the search gives up.
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
            // Heuristic: an attempt against the digits computed beyond those needed; not measured yet.
            target += target / 8 + 2;
        }
    }

    /// The solution, if the digits suffice to find and to prove it.
    fn attempt(&self, digits: &[Vec<u64>], right_bits: u64) -> Option<RationalSolution> {
        let width = self.matrix.width;
        let powers = Powers::new(self.field.prime, digits.len());
        let modulus = powers.whole(digits.len());
        let (numerator, mut denominator) = rational(&powers.join(&combined(digits, 0)), &modulus)?;
        // By chance a combination may lack a small factor of the common denominator; several combinations
        // rarely all do.
        let more: Vec<Option<(BigInt, BigUint)>> = (1..PROBES)
            .into_par_iter()
            .map(|seed| rational(&powers.join(&combined(digits, seed)), &modulus))
            .collect();
        for (_, other) in more.into_iter().flatten() {
            denominator = common_multiple(denominator, &other);
        }
        // The numerators alone need fewer digits. Heuristic: 32 bits of margin; the result is proved below.
        let margin =
            u64::from(self.matrix.bits) + u64::from(usize::BITS - width.leading_zeros()) + right_bits + 32;
        let wanted = numerator.bits().max(denominator.bits()) + margin;
        let enough = ((wanted / 56) as usize + 2).min(digits.len());
        for count in [enough, digits.len(), digits.len()] {
            let modulus_bits = powers.whole(count).bits();
            let solution = self.numerators(&digits[..count], &denominator, &powers);
            let longest = solution.iter().map(BigInt::bits).max().unwrap_or(0);
            let left = longest + u64::from(self.matrix.bits) + u64::from(usize::BITS - width.leading_zeros());
            // 2^(modulus_bits − 1) ≤ pᵏ, so both sides are below pᵏ/4.
            if left.max(denominator.bits() + right_bits) + 3 <= modulus_bits {
                return Some(RationalSolution {
                    numerators: solution,
                    denominator: denominator.into(),
                });
            }
            // An unknown that is still too long contributes a further factor to the denominator.
            let worst = solution.iter().position(|n| n.bits() == longest)?;
            let own: Vec<BigUint> = digits.iter().map(|digit| BigUint::from(digit[worst])).collect();
            let (_, other) = rational(&powers.join(&own), &modulus)?;
            denominator = common_multiple(denominator, &other);
        }
        None
    }

    /// d·x modulo pᵏ, the representative nearest to 0, for every unknown.
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

/// Combinations of the unknowns that are reconstructed to find the common denominator. Heuristic: trades
/// reconstructions for the chance of a missing factor; not measured yet.
const PROBES: u64 = 4;

/// Combinations of the unknowns, digit by digit, with multipliers of up to 8 bits, so that they are hardly
/// longer than the digits.
fn combined(digits: &[Vec<u64>], seed: u64) -> Vec<BigUint> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ (seed << 32);
    let width = digits.first().map_or(0, Vec::len);
    let multipliers: Vec<u64> = (0..width)
        .map(|_| {
            // Xorshift (G. Marsaglia, Xorshift RNGs, J. Statistical Software 8, 2003).
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

/// The p-adic digits of x found so far, and the current right side.
struct Lifting<'a> {
    dixon: &'a Dixon,
    digits: Vec<Vec<u64>>,
    /// The current right side: `words` words a row, lowest first, in two's complement.
    rest: Vec<u64>,
    words: usize,
}

impl<'a> Lifting<'a> {
    fn new(dixon: &'a Dixon, right: &[BigInt], right_bits: u64) -> Self {
        // Derived: a digit, a 57-bit residue and a sum of up to 2¹⁴ terms.
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
            prime_inverse,
        } = self.dixon;
        let (width, words) = (matrix.width, self.words);
        let threaded = width * width >= MIN_PARALLEL_WORK;
        let residues: Vec<u64> = self
            .rest
            .chunks_exact(words)
            .map(|rest| modulo(*field, rest))
            .collect();
        let mut digit = vec![0; width];
        let solve = |(x, row): (&mut u64, &[u64])| *x = field.dot(row, &residues);
        if threaded {
            let rows = inverse.par_chunks_exact(width);
            // Heuristic, here and below: 32 rows a task, scheduling overhead against balance; not
            // measured yet.
            digit.par_iter_mut().zip(rows).with_min_len(32).for_each(solve);
        } else {
            digit.iter_mut().zip(inverse.chunks_exact(width)).for_each(solve);
        }
        let subtract = |(i, rest): (usize, &mut [u64])| {
            for (k, plane) in matrix.digits.iter().enumerate() {
                let product = product(&plane[i * width..(i + 1) * width], &digit);
                subtract_shifted(rest, product, k as u32 * DIGIT);
            }
            divide_exactly(rest, field.prime, *prime_inverse);
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

/// The product of a row of signed digits below 2⁵⁶ and a vector of residues below p.
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

/// A number in two's complement modulo p.
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
    let shifted = if shift == 0 {
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
        let part = shifted.get(k).copied().unwrap_or(sign);
        let (difference, one) = word.overflowing_sub(part);
        let (difference, two) = difference.overflowing_sub(u64::from(borrow));
        (*word, borrow) = (difference, one || two);
    }
}

/// Divides a multiple of p by p, from the lowest word up (T. Jebelean, An algorithm for exact division,
/// J. Symbolic Computation 15, 1993).
fn divide_exactly(words: &mut [u64], prime: u64, prime_inverse: u64) {
    let mut carry = 0u64;
    for word in words {
        let (rest, borrowed) = word.overflowing_sub(carry);
        let quotient = rest.wrapping_mul(prime_inverse);
        *word = quotient;
        carry = ((u128::from(quotient) * u128::from(prime)) >> 64) as u64 + u64::from(borrowed);
    }
}

/// The powers of p needed to join digits by divide and conquer.
struct Powers {
    prime: u64,
    /// `doubling[k]` is p^(LEAF·2^k).
    doubling: Vec<BigUint>,
}

/// Digits joined by Horner's rule before divide and conquer starts. Heuristic: trades recursion for long
/// multiplications; not measured yet.
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

//! Arithmetic modulo a 57-bit prime, with elimination and matrix inversion.
//!
//! A product has 114 bits, so 2¹⁴ products can be summed in 128 bits before a reduction. Products with a
//! fixed factor are reduced by two word-sized products (V. Shoup, in the library NTL).

use num_bigint::{BigInt, Sign};
use rayon::prelude::*;

use crate::exact::deadline::Deadline;
use crate::exact::exact_outcome::Stop;

/// The four largest primes below 2⁵⁷. They are fixed so that results are reproducible; if one is unlucky
/// for the data, the next is used.
const PRIMES: [u64; 4] = [(1 << 57) - 13, (1 << 57) - 25, (1 << 57) - 49, (1 << 57) - 61];

/// Largest number of terms of a sum of products that is reduced once. Derived: 2¹⁴ products of 114 bits fit
/// in 128 bits.
pub(super) const MAX_TERMS: usize = 1 << 14;

/// Least number of entries for which an elimination step uses several threads. Heuristic: trades the
/// overhead of threads for parallelism; not measured yet.
const MIN_PARALLEL_WORK: usize = 16_384;

/// The integers modulo a prime below 2⁵⁷.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) prime: u64,
}

/// A fixed factor with its precomputed quotient (Shoup's method).
#[derive(Clone, Copy)]
struct Factor {
    value: u64,
    /// ⌊2⁶⁴·value/p⌋.
    quotient: u64,
    prime: u64,
}

impl Factor {
    /// A value congruent to the product modulo p, below 2p.
    #[inline(always)]
    fn times(self, a: u64) -> u64 {
        let quotient = ((u128::from(self.quotient) * u128::from(a)) >> 64) as u64;
        self.value
            .wrapping_mul(a)
            .wrapping_sub(quotient.wrapping_mul(self.prime))
    }
}

impl Field {
    /// All fields, in the order in which they are tried.
    pub(super) fn all() -> impl Iterator<Item = Field> {
        PRIMES.into_iter().map(|prime| Field { prime })
    }

    /// The first field.
    pub(super) fn first() -> Field {
        Field { prime: PRIMES[0] }
    }

    #[inline(always)]
    pub(super) fn reduce(self, value: u128) -> u64 {
        // The high word is reduced first, so that the quotient of the second division fits in one word.
        let high = (value >> 64) as u64 % self.prime;
        (((u128::from(high)) << 64 | u128::from(value as u64)) % u128::from(self.prime)) as u64
    }

    pub(super) fn product(self, a: u64, b: u64) -> u64 {
        self.reduce(u128::from(a) * u128::from(b))
    }

    pub(super) fn negative(self, a: u64) -> u64 {
        if a == 0 { 0 } else { self.prime - a }
    }

    pub(super) fn sum(self, a: u64, b: u64) -> u64 {
        let sum = a + b;
        if sum >= self.prime { sum - self.prime } else { sum }
    }

    pub(super) fn power(self, mut base: u64, mut exponent: u64) -> u64 {
        let mut result = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.product(result, base);
            }
            base = self.product(base, base);
            exponent >>= 1;
        }
        result
    }

    /// 1/a, for a ≠ 0 (Fermat).
    pub(super) fn inverse(self, a: u64) -> u64 {
        self.power(a, self.prime - 2)
    }

    /// The residue of an integer.
    pub(super) fn integer(self, value: i64) -> u64 {
        let size = value.unsigned_abs() % self.prime;
        if value < 0 { self.negative(size) } else { size }
    }

    /// The residue of an integer of any length.
    pub(super) fn long_integer(self, value: &BigInt) -> u64 {
        let words: Vec<u64> = value.iter_u64_digits().collect();
        let size = words.iter().rev().fold(0u64, |sum, &word| {
            self.reduce((u128::from(sum) << 64) | u128::from(word))
        });
        if value.sign() == Sign::Minus {
            self.negative(size)
        } else {
            size
        }
    }

    /// 2^exponent modulo the prime.
    pub(super) fn power_of_two(self, exponent: i32) -> u64 {
        let power = self.power(2, u64::from(exponent.unsigned_abs()));
        if exponent < 0 { self.inverse(power) } else { power }
    }

    fn factor(self, value: u64) -> Factor {
        Factor {
            value,
            quotient: ((u128::from(value) << 64) / u128::from(self.prime)) as u64,
            prime: self.prime,
        }
    }

    /// a·b for at most 2¹⁴ entries below p.
    #[inline]
    pub(super) fn dot(self, a: &[u64], b: &[u64]) -> u64 {
        let mut sums = [0u128; 2];
        let (a_pairs, b_pairs) = (a.chunks_exact(2), b.chunks_exact(2));
        for (&a, &b) in a_pairs.remainder().iter().zip(b_pairs.remainder()) {
            sums[0] += u128::from(a) * u128::from(b);
        }
        for (a, b) in a_pairs.zip(b_pairs) {
            sums[0] += u128::from(a[0]) * u128::from(b[0]);
            sums[1] += u128::from(a[1]) * u128::from(b[1]);
        }
        self.reduce(sums[0] + sums[1])
    }

    /// row −= factor·pivot without reducing; each entry grows by less than 2p.
    #[inline]
    fn subtract(self, row: &mut [u64], factor: u64, pivot: &[u64]) {
        let factor = self.factor(self.negative(factor));
        for (value, &other) in row.iter_mut().zip(pivot) {
            *value += factor.times(other);
        }
    }

    fn reduce_all(self, row: &mut [u64]) {
        row.iter_mut().for_each(|value| *value %= self.prime);
    }
}

/// Subtractions between two reductions. Derived: each adds less than 2⁵⁸, and p + 60·2⁵⁸ < 2⁶⁴.
const MAX_LAZY_STEPS: usize = 60;

/// A row under elimination, with lazily reduced entries of up to 64 bits.
#[derive(Debug, Clone)]
struct LazyRow {
    tag: usize,
    values: Vec<u64>,
    pending: usize,
}

impl LazyRow {
    /// Subtracts the multiple of the pivot row that makes entry `k` vanish. Entries before `k` are not
    /// changed.
    fn eliminate(&mut self, field: Field, k: usize, pivot: &[u64]) {
        let factor = self.values[k] % field.prime;
        self.values[k] = 0;
        if factor == 0 {
            return;
        }
        if self.pending == MAX_LAZY_STEPS {
            field.reduce_all(&mut self.values[k + 1..]);
            self.pending = 0;
        }
        self.pending += 1;
        field.subtract(&mut self.values[k + 1..], factor, &pivot[k + 1..]);
    }
}

/// Independent rows in echelon form modulo a prime. Columns are permuted so that row k starts with a 1 in
/// position k.
#[derive(Debug)]
pub(super) struct Echelon {
    field: Field,
    /// The column at each position.
    order: Vec<usize>,
    rows: Vec<Vec<u64>>,
    /// The tag of the input row that each row comes from.
    tags: Vec<usize>,
}

impl Echelon {
    pub(super) fn new(field: Field, width: usize) -> Self {
        Echelon {
            field,
            order: (0..width).collect(),
            rows: Vec::new(),
            tags: Vec::new(),
        }
    }

    pub(super) fn rank(&self) -> usize {
        self.rows.len()
    }

    /// The tags of the rows that were independent of those before them.
    pub(super) fn pivot_rows(&self) -> &[usize] {
        &self.tags
    }

    /// Columns in which these rows are independent.
    pub(super) fn pivot_columns(&self) -> &[usize] {
        &self.order[..self.rank()]
    }

    /// The other columns.
    pub(super) fn free_columns(&self) -> &[usize] {
        &self.order[self.rank()..]
    }

    /// Adds rows, each with its tag. `false` if the deadline passed before all rows were added.
    pub(super) fn extend(&mut self, rows: Vec<(usize, Vec<u64>)>, budget: &Deadline) -> bool {
        let (field, width) = (self.field, self.order.len());
        let known = self.rank();
        let mut rest: Vec<LazyRow> = rows
            .into_par_iter()
            .map(|(tag, values)| {
                let values = self.order.iter().map(|&j| values[j]).collect();
                let mut row = LazyRow {
                    tag,
                    values,
                    pending: 0,
                };
                for (k, pivot) in self.rows.iter().enumerate() {
                    row.eliminate(field, k, pivot);
                }
                row
            })
            .collect();
        if budget.is_spent() {
            return false;
        }
        let mut next = 0;
        while next < rest.len() && self.rank() < width {
            let k = self.rank();
            field.reduce_all(&mut rest[next].values[k..]);
            let Some(at) = (k..width).find(|&j| rest[next].values[j] != 0) else {
                next += 1;
                continue;
            };
            if budget.is_spent() {
                return false;
            }
            self.order.swap(k, at);
            self.rows.iter_mut().for_each(|row| row.swap(k, at));
            let mut pivot = std::mem::take(&mut rest[next].values);
            pivot.swap(k, at);
            let scale = field.factor(field.inverse(pivot[k]));
            pivot[k..]
                .iter_mut()
                .for_each(|value| *value = scale.times(*value) % field.prime);
            self.tags.push(rest[next].tag);
            next += 1;
            let step = |row: &mut LazyRow| {
                row.values.swap(k, at);
                row.eliminate(field, k, &pivot);
            };
            let others = &mut rest[next..];
            if others.len() * (width - k) < MIN_PARALLEL_WORK {
                others.iter_mut().for_each(step);
            } else {
                let length = 1 + MIN_PARALLEL_WORK / (2 * (width - k));
                others.par_iter_mut().with_min_len(length).for_each(step);
            }
            self.rows.push(pivot);
        }
        debug_assert!(self.rank() >= known);
        true
    }

    /// A vector orthogonal to all rows, with values drawn from `free` in the free columns.
    pub(super) fn null_vector(&self, mut free: impl FnMut() -> u64) -> Vec<u64> {
        let (rank, field) = (self.rank(), self.field);
        let mut placed = vec![0; self.order.len()];
        placed[rank..]
            .iter_mut()
            .for_each(|value| *value = free() % field.prime);
        for (k, row) in self.rows.iter().enumerate().rev() {
            let parts = row[k + 1..]
                .chunks(MAX_TERMS)
                .zip(placed[k + 1..].chunks(MAX_TERMS));
            let score = parts.fold(0, |sum, (a, b)| field.sum(sum, field.dot(a, b)));
            placed[k] = field.negative(score);
        }
        let mut vector = vec![0; placed.len()];
        for (&j, value) in self.order.iter().zip(placed) {
            vector[j] = value;
        }
        vector
    }
}

/// The inverse of a square matrix, row by row; `Stop::BadPrime` if it is singular modulo the prime.
pub(super) fn inverse(
    field: Field,
    matrix: &[u64],
    width: usize,
    budget: &Deadline,
) -> Result<Vec<u64>, Stop> {
    // In-place Gauss–Jordan elimination on (M | I): finished columns of M are overwritten by columns of the
    // inverse.
    let mut rows: Vec<LazyRow> = matrix
        .chunks_exact(width.max(1))
        .map(|row| LazyRow {
            tag: 0,
            values: row.to_vec(),
            pending: 0,
        })
        .collect();
    // The original row at each position.
    let mut positions: Vec<usize> = (0..width).collect();
    for k in 0..width {
        if budget.is_spent() {
            return Err(Stop::BudgetSpent);
        }
        let pivot = (k..width).find(|&i| !rows[i].values[k].is_multiple_of(field.prime));
        let at = pivot.ok_or(Stop::BadPrime)?;
        rows.swap(k, at);
        positions.swap(k, at);
        let mut pivot = std::mem::take(&mut rows[k].values);
        field.reduce_all(&mut pivot);
        let scale = field.factor(field.inverse(pivot[k]));
        pivot[k] = 1;
        pivot
            .iter_mut()
            .for_each(|value| *value = scale.times(*value) % field.prime);
        let step = |row: &mut LazyRow| {
            if row.values.is_empty() {
                return;
            }
            let factor = row.values[k] % field.prime;
            row.values[k] = 0;
            if factor == 0 {
                return;
            }
            if row.pending == MAX_LAZY_STEPS {
                field.reduce_all(&mut row.values);
                row.pending = 0;
            }
            row.pending += 1;
            field.subtract(&mut row.values, factor, &pivot);
        };
        if width * width < MIN_PARALLEL_WORK {
            rows.iter_mut().for_each(step);
        } else {
            let length = 1 + MIN_PARALLEL_WORK / (2 * width);
            rows.par_iter_mut().with_min_len(length).for_each(step);
        }
        rows[k].values = pivot;
        rows[k].pending = 0;
    }
    let mut inverse = vec![0; width * width];
    for (row, target) in rows.iter().zip(inverse.chunks_exact_mut(width.max(1))) {
        for (&j, &value) in positions.iter().zip(&row.values) {
            target[j] = value % field.prime;
        }
    }
    Ok(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_prime(n: u64) -> bool {
        let field = Field { prime: n };
        let (twos, odd) = ((n - 1).trailing_zeros(), (n - 1) >> (n - 1).trailing_zeros());
        // Miller–Rabin with these bases is exact below 3·10²⁴.
        [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41]
            .iter()
            .all(|&base| {
                let mut x = field.power(base, odd);
                if x == 1 || x == n - 1 {
                    return true;
                }
                (1..twos).any(|_| {
                    x = field.product(x, x);
                    x == n - 1
                })
            })
    }

    #[test]
    fn primes_are_prime() {
        assert!(Field::all().all(|field| field.prime < 1 << 57 && is_prime(field.prime)));
        assert!(!is_prime((1 << 57) - 1));
    }

    #[test]
    fn powers_of_two_are_inverses() {
        let field = Field::first();
        for e in [0, 1, 57, 64, 1000] {
            assert_eq!(field.product(field.power_of_two(e), field.power_of_two(-e)), 1);
        }
        assert_eq!(field.sum(field.integer(-5), 5), 0);
    }

    fn square(width: usize) -> impl Strategy<Value = Vec<u64>> {
        // Zeros and small numbers among large ones, so that pivoting is needed.
        let entry = prop_oneof![Just(0), 0u64..3, 0..PRIMES[0]];
        prop::collection::vec(entry, width * width)
    }

    proptest! {
        #[test]
        fn inverse_times_matrix_is_identity(matrix in (1usize..12).prop_flat_map(square), large in square(80)) {
            let field = Field::first();
            for matrix in [matrix, large] {
                let width = matrix.len().isqrt();
                let mut echelon = Echelon::new(field, width);
                let rows = matrix.chunks_exact(width).map(<[u64]>::to_vec).enumerate().collect();
                prop_assert!(echelon.extend(rows, &Deadline::unlimited()));
                let Ok(inverse) = inverse(field, &matrix, width, &Deadline::unlimited()) else {
                    prop_assert!(echelon.rank() < width);
                    continue;
                };
                prop_assert_eq!(echelon.rank(), width);
                for i in 0..width {
                    for j in 0..width {
                        let column: Vec<u64> = (0..width).map(|k| inverse[k * width + j]).collect();
                        let product = field.dot(&matrix[i * width..(i + 1) * width], &column);
                        prop_assert_eq!(product, u64::from(i == j));
                    }
                }
            }
        }

        #[test]
        fn null_vectors_are_orthogonal(rows in prop::collection::vec(prop::collection::vec(0u64..3, 9), 1..20), cut in 0usize..20) {
            let field = Field::first();
            let mut echelon = Echelon::new(field, 9);
            let tagged: Vec<(usize, Vec<u64>)> = rows.iter().cloned().enumerate().collect();
            let (first, second) = tagged.split_at(cut.min(tagged.len()));
            // Adding the rows in two batches or in one gives the same pivot rows.
            prop_assert!(echelon.extend(first.to_vec(), &Deadline::unlimited()));
            prop_assert!(echelon.extend(second.to_vec(), &Deadline::unlimited()));
            let mut whole = Echelon::new(field, 9);
            prop_assert!(whole.extend(tagged, &Deadline::unlimited()));
            prop_assert_eq!(whole.pivot_rows(), echelon.pivot_rows());
            let mut seed = 1u64;
            let null = echelon.null_vector(|| { seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1); seed });
            for row in &rows {
                prop_assert_eq!(field.dot(row, &null), 0);
            }
            prop_assert_eq!(echelon.rank() == 9, null.iter().all(|&v| v == 0));
        }
    }
}

//! Checks, in exact arithmetic, that rows are orthogonal to integer vectors and that such vectors are
//! independent.

use num_bigint::BigInt;
use num_traits::Zero;
use rayon::prelude::*;

use crate::exact::deadline::Deadline;
use crate::exact::long_sums::{LongSum, Words, lowest_bit};
use crate::exact::modular::{Echelon, Field};
use crate::exact::signed_rows::Signed;

/// Cap: entries of the dense matrix of vectors; beyond it the vectors are not recognised as independent.
const MAX_ENTRIES: usize = 1 << 26;

/// An integer vector prepared for products with many rows; `short` holds its entries if all are below 2⁵³.
struct PreparedVector {
    columns: Vec<usize>,
    short: Option<Vec<i64>>,
    words: Vec<Words>,
}

impl PreparedVector {
    fn new(vector: &[(usize, BigInt)]) -> Self {
        let short =
            |(_, value): &(usize, BigInt)| i64::try_from(value).ok().filter(|v| v.unsigned_abs() < 1 << 53);
        PreparedVector {
            columns: vector.iter().map(|&(j, _)| j).collect(),
            short: vector.iter().map(short).collect(),
            words: vector.iter().map(|(_, value)| Words::from(value)).collect(),
        }
    }

    fn is_orthogonal(&self, row: &[f64]) -> bool {
        if let Some(sum) = self.short_sum(row) {
            return sum == 0;
        }
        let values = || self.columns.iter().map(|&j| row[j]);
        let least = values().filter_map(lowest_bit).min().unwrap_or(0);
        let mut sum = LongSum::default();
        values()
            .zip(&self.words)
            .for_each(|(x, word)| sum.add(x, word, least));
        sum.take_sign().is_eq()
    }

    /// The product, if all numbers are integers of at most 53 bits.
    fn short_sum(&self, row: &[f64]) -> Option<i128> {
        let mut sum = 0i128;
        for (&j, &value) in self.columns.iter().zip(self.short.as_ref()?) {
            let x = row[j] as i64;
            if x as f64 != row[j] || x.unsigned_abs() > 1 << 53 {
                return None;
            }
            sum = sum.checked_add(i128::from(x) * i128::from(value))?;
        }
        Some(sum)
    }
}

/// The first of the rows `aᵢ` that is not orthogonal to all vectors.
pub(crate) fn first_not_orthogonal(
    signed: &Signed<'_>,
    rows: &[usize],
    vectors: &[Vec<(usize, BigInt)>],
) -> Option<usize> {
    if vectors.is_empty() {
        return None;
    }
    let prepared: Vec<PreparedVector> = vectors.iter().map(|vector| PreparedVector::new(vector)).collect();
    // Heuristic: scheduling overhead against balance; not measured yet.
    let blocks = rows.par_chunks(256);
    blocks
        .filter_map(|block| {
            let mut dense = vec![0.0; signed.width()];
            block.iter().copied().find(|&i| {
                signed.for_each(i, |j, value| dense[j] = value);
                let apart = prepared.iter().any(|vector| !vector.is_orthogonal(&dense));
                signed.for_each(i, |j, _| dense[j] = 0.0);
                apart
            })
        })
        .min()
}

/// Whether the vectors are independent. `false` may also mean that there are too many to decide.
pub(crate) fn are_independent(vectors: &[Vec<(usize, BigInt)>], width: usize) -> bool {
    let mut users = vec![0usize; width];
    for (j, value) in vectors.iter().flatten() {
        users[*j] += usize::from(!value.is_zero());
    }
    // A vector with a nonzero entry in a coordinate that no other vector uses is independent of the others.
    let own =
        |vector: &&Vec<(usize, BigInt)>| !vector.iter().any(|(j, value)| users[*j] == 1 && !value.is_zero());
    let rest: Vec<&Vec<(usize, BigInt)>> = vectors.iter().filter(own).collect();
    if rest.is_empty() {
        return true;
    }
    if rest.len() > width || rest.len().saturating_mul(width) > MAX_ENTRIES {
        return false;
    }
    let field = Field::first();
    let modulo = |vector: &Vec<(usize, BigInt)>| {
        let mut row = vec![0; width];
        for (j, value) in vector {
            row[*j] = field.long_integer(value);
        }
        row
    };
    let mut echelon = Echelon::new(field, width);
    let rows = rest.into_iter().map(modulo).enumerate().collect::<Vec<_>>();
    let count = rows.len();
    echelon.extend(rows, &Deadline::unlimited()) && echelon.rank() == count
}

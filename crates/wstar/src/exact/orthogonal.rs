//! Whether rows are orthogonal to integer vectors, exactly, and whether such vectors are independent.

use num_bigint::BigInt;
use num_traits::Zero;
use rayon::prelude::*;

use super::long::{LongSum, Words, lowest_bit};
use super::modular::{Echelon, Field};
use super::{Budget, Signed};

/// More numbers than this are not held at once.
const MOST_NUMBERS: usize = 1 << 26;

/// A vector made ready: its integers short where they can be.
struct Ready {
    columns: Vec<usize>,
    short: Option<Vec<i64>>,
    words: Vec<Words>,
}

impl Ready {
    fn new(vector: &[(usize, BigInt)]) -> Self {
        let short =
            |(_, value): &(usize, BigInt)| i64::try_from(value).ok().filter(|v| v.unsigned_abs() < 1 << 53);
        Ready {
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

    /// The product, where all numbers are integers of at most 53 bits.
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
    let ready: Vec<Ready> = vectors.iter().map(|vector| Ready::new(vector)).collect();
    let blocks = rows.par_chunks(256);
    blocks
        .filter_map(|block| {
            let mut dense = vec![0.0; signed.width()];
            block.iter().copied().find(|&i| {
                signed.for_each(i, |j, value| dense[j] = value);
                let apart = ready.iter().any(|vector| !vector.is_orthogonal(&dense));
                signed.for_each(i, |j, _| dense[j] = 0.0);
                apart
            })
        })
        .min()
}

/// Whether the vectors are independent. `false` may also mean that they are too many to tell.
pub(crate) fn are_independent(vectors: &[Vec<(usize, BigInt)>], width: usize) -> bool {
    let mut users = vec![0usize; width];
    for (j, value) in vectors.iter().flatten() {
        users[*j] += usize::from(!value.is_zero());
    }
    // A coordinate of its own makes a vector independent of all others.
    let own =
        |vector: &&Vec<(usize, BigInt)>| !vector.iter().any(|(j, value)| users[*j] == 1 && !value.is_zero());
    let rest: Vec<&Vec<(usize, BigInt)>> = vectors.iter().filter(own).collect();
    if rest.is_empty() {
        return true;
    }
    if rest.len() > width || rest.len().saturating_mul(width) > MOST_NUMBERS {
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
    echelon.extend(rows, &Budget::unlimited()) && echelon.rank() == count
}

//! Exact vectors orthogonal to rows: null vectors of all rows, and a vector near a guess for the rows of
//! a face.
//!
//! Problem: `aᵢ·v = 0` for given rows, v rational. Method: independent rows and columns are found modulo
//! a prime, the coordinates outside these columns are fixed, and Dixon's method solves for the others
//! exactly (`dixon`). Every result is verified against all rows.

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use rayon::prelude::*;

use crate::exact::common_denominator::cleared;
use crate::exact::deadline::Deadline;
use crate::exact::dixon::Dixon;
use crate::exact::dyadic::dyadic;
use crate::exact::exact_outcome::{ExactOutcome, Stop};
use crate::exact::integer_scaling::{Scaled, integers};
use crate::exact::modular::Field;
use crate::exact::orthogonality::first_not_orthogonal;
use crate::exact::over_primes::over_primes;
use crate::exact::rank::Span;
use crate::exact::sign::Plane;
use crate::exact::signed_rows::Signed;

/// Cap: entries of the null vectors together; beyond it the computation reports a spent budget.
const MAX_ENTRIES: usize = 1 << 26;

/// Rows between two checks of the deadline. Heuristic: trades the cost of a check for the delay; not
/// measured yet.
const BLOCK: usize = 8192;

/// Independent integer vectors orthogonal to every row that takes part. They prove that the rank of the
/// rows is at most the width minus their number; almost surely it is equal.
pub fn null_vectors(signed: &Signed<'_>, budget: &Deadline) -> ExactOutcome<Vec<Vec<BigInt>>> {
    let rows: Vec<usize> = signed.participants().collect();
    over_primes(|field| null_vectors_in(signed, &rows, field, budget))
}

fn null_vectors_in(
    signed: &Signed<'_>,
    rows: &[usize],
    field: Field,
    budget: &Deadline,
) -> Result<Vec<Vec<BigInt>>, Stop> {
    let span = Span::new(signed, rows, false, field, budget)?;
    let width = signed.width();
    let rank = span.rows().len();
    if (width - rank).saturating_mul(width) > MAX_ENTRIES {
        return Err(Stop::BudgetSpent);
    }
    let mut unused = vec![true; width];
    span.columns.iter().for_each(|&j| unused[j] = false);
    let mut vectors: Vec<Vec<BigInt>> = (0..width)
        .filter(|&j| unused[j])
        .map(|j| unit(width, j))
        .collect();
    let (columns, free) = (span.pivot_columns(), span.free_columns());
    if free.is_empty() {
        return Ok(vectors);
    }
    let system = NullSystem::new(signed, span.rows(), &columns, &free, field, budget)?;
    for k in 0..free.len() {
        let values: Vec<(i64, i32)> = (0..free.len()).map(|other| (i64::from(other == k), 0)).collect();
        let (integers, _, _) = system.solve(&values, budget)?;
        let mut vector = vec![BigInt::ZERO; width];
        for (&j, value) in columns.iter().chain(&free).zip(integers) {
            vector[j] = value;
        }
        vectors.push(vector);
    }
    let sparse = |vector: &Vec<BigInt>| {
        let entries = vector.iter().cloned().enumerate();
        entries
            .filter(|(_, value)| value.sign() != Sign::NoSign)
            .collect::<Vec<_>>()
    };
    let sparse: Vec<Vec<(usize, BigInt)>> = vectors.iter().map(sparse).collect();
    for block in rows.chunks(BLOCK) {
        if budget.is_spent() {
            return Err(Stop::BudgetSpent);
        }
        if first_not_orthogonal(signed, block, &sparse).is_some() {
            return Err(Stop::BadPrime);
        }
    }
    Ok(vectors)
}

fn unit(width: usize, j: usize) -> Vec<BigInt> {
    let mut vector = vec![BigInt::ZERO; width];
    vector[j] = BigInt::from(1);
    vector
}

/// Whether `aᵢ·v = 0` for all the rows.
fn orthogonal(
    signed: &Signed<'_>,
    rows: &[usize],
    vector: &[BigInt],
    budget: &Deadline,
) -> Result<bool, Stop> {
    let plane = Plane::lifted(vector, signed.intercept);
    for block in rows.chunks(BLOCK) {
        if budget.is_spent() {
            return Err(Stop::BudgetSpent);
        }
        if !block
            .par_iter()
            .all(|&i| plane.sign(signed.design.row(i)).is_eq())
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A rational `v` near `guess` with `aᵢ·v = 0` exactly for each row of the face.
///
/// The coordinates that the face does not determine are copied from the guess, and an exact system
/// determines the others. Their number is the rank of the face. They are chosen by complete pivoting, so
/// that rounding errors of the guess are not amplified.
pub fn vanishing(
    signed: &Signed<'_>,
    face: &[usize],
    guess: &[f64],
    budget: &Deadline,
) -> ExactOutcome<Vec<BigRational>> {
    over_primes(|field| vanishing_in(signed, face, guess, field, budget))
}

fn vanishing_in(
    signed: &Signed<'_>,
    face: &[usize],
    guess: &[f64],
    field: Field,
    budget: &Deadline,
) -> Result<Vec<BigRational>, Stop> {
    let span = Span::new(signed, face, false, field, budget)?;
    let mut v: Vec<BigRational> = (0..signed.width())
        .map(|j| {
            let (mantissa, exponent) = dyadic(guess.get(j).copied().filter(|g| g.is_finite()).unwrap_or(0.0));
            shifted(BigInt::from(mantissa), BigInt::from(1), exponent)
        })
        .collect();
    if span.rows().is_empty() {
        return Ok(v);
    }
    // First the columns chosen by pivoting in doubles; if that system is singular modulo the prime, the
    // pivot columns modulo the prime.
    let by_size = well_conditioned(signed, span.rows(), &span.columns);
    for columns in [by_size, span.pivot_columns()] {
        let mut is_pivot = vec![false; signed.width()];
        columns.iter().for_each(|&j| is_pivot[j] = true);
        let free: Vec<usize> = span.columns.iter().copied().filter(|&j| !is_pivot[j]).collect();
        let system = match NullSystem::new(signed, span.rows(), &columns, &free, field, budget) {
            Err(Stop::BadPrime) => continue,
            other => other?,
        };
        let values: Vec<(i64, i32)> = free
            .iter()
            .map(|&j| dyadic(guess.get(j).copied().unwrap_or(0.0)))
            .collect();
        let (integers, denominator, exponent) = system.solve(&values, budget)?;
        for (&j, integer) in columns.iter().zip(integers) {
            v[j] = shifted(integer, denominator.clone(), exponent);
        }
        let cleared = cleared(&v);
        return if orthogonal(signed, face, &cleared, budget)? {
            Ok(v)
        } else {
            Err(Stop::BadPrime)
        };
    }
    Err(Stop::BadPrime)
}

/// `n/d·2^exponent`, without a common power of two.
fn shifted(mut n: BigInt, mut d: BigInt, exponent: i32) -> BigRational {
    if n.sign() == Sign::NoSign {
        return BigRational::new_raw(n, BigInt::from(1));
    }
    if exponent >= 0 {
        n <<= exponent;
    } else {
        d <<= exponent.unsigned_abs();
    }
    let twos = n
        .trailing_zeros()
        .unwrap_or(0)
        .min(d.trailing_zeros().unwrap_or(0));
    BigRational::new_raw(n >> twos, d >> twos)
}

/// As many columns as rows, chosen by Gaussian elimination with complete pivoting, so that solving for them
/// does not amplify errors. Columns are scaled by their largest entry.
fn well_conditioned(signed: &Signed<'_>, rows: &[usize], columns: &[usize]) -> Vec<usize> {
    let mut position = vec![usize::MAX; signed.width()];
    columns.iter().enumerate().for_each(|(k, &j)| position[j] = k);
    let width = columns.len();
    let mut matrix: Vec<Vec<f64>> = rows
        .iter()
        .map(|&i| {
            let mut row = vec![0.0; width];
            signed.for_each(i, |j, value| {
                if let Some(entry) = row.get_mut(position[j]) {
                    *entry = value;
                }
            });
            row
        })
        .collect();
    for j in 0..width {
        let largest = matrix.iter().map(|row| row[j].abs()).fold(0.0, f64::max);
        if largest > 0.0 {
            matrix.iter_mut().for_each(|row| row[j] /= largest);
        }
    }
    let mut order: Vec<usize> = (0..width).collect();
    for k in 0..rows.len() {
        // Complete pivoting: the row with the largest remaining entry.
        let best = |row: &Vec<f64>| (k..width).max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs()));
        let size = |row: &Vec<f64>| best(row).map_or(0.0, |j| row[j].abs());
        let at = (k..rows.len()).max_by(|&a, &b| size(&matrix[a]).total_cmp(&size(&matrix[b])));
        let Some(at) = at else { break };
        matrix.swap(k, at);
        let Some(column) = best(&matrix[k]) else { break };
        order.swap(k, column);
        let (above, below) = matrix.split_at_mut(k + 1);
        above.iter_mut().for_each(|row| row.swap(k, column));
        let pivot = &above[k];
        if pivot[k] == 0.0 {
            break;
        }
        // Heuristic: scheduling overhead against balance; not measured yet.
        below.par_iter_mut().with_min_len(16).for_each(|row| {
            row.swap(k, column);
            let factor = row[k] / pivot[k];
            row[k] = 0.0;
            if factor != 0.0 {
                row[k + 1..]
                    .iter_mut()
                    .zip(&pivot[k + 1..])
                    .for_each(|(a, b)| *a -= factor * b);
            }
        });
    }
    order[..rows.len()].iter().map(|&k| columns[k]).collect()
}

/// The equations `aᵢ·v = 0` of independent rows, solved for as many coordinates.
struct NullSystem {
    scaled: Scaled,
    rank: usize,
    dixon: Dixon,
}

impl NullSystem {
    fn new(
        signed: &Signed<'_>,
        rows: &[usize],
        columns: &[usize],
        free: &[usize],
        field: Field,
        budget: &Deadline,
    ) -> Result<Self, Stop> {
        let both: Vec<usize> = columns.iter().chain(free).copied().collect();
        let scaled = Scaled::new(signed, rows, &both);
        let all: Vec<usize> = (0..rows.len()).collect();
        let dixon = Dixon::new(field, scaled.digit_matrices(&all, &all, false), budget)?;
        Ok(NullSystem {
            scaled,
            rank: rows.len(),
            dixon,
        })
    }

    /// All coordinates, the solved ones first, as (integers, denominator, exponent): each value is
    /// integer/denominator·2^exponent. The free coordinates are given as mantissas and exponents.
    fn solve(&self, free: &[(i64, i32)], budget: &Deadline) -> Result<(Vec<BigInt>, BigInt, i32), Stop> {
        let rank = self.rank;
        let scale = |k: usize| self.scaled.column_scale(k);
        // The unknowns of the integer system are vⱼ·2^scaleⱼ.
        let numbered = free.iter().enumerate();
        let unknowns: Vec<(i64, i32)> = numbered.map(|(k, &(m, e))| (m, e + scale(rank + k))).collect();
        let (given, least) = integers(&unknowns);
        let right: Vec<BigInt> = (0..rank)
            .into_par_iter()
            .map(|i| {
                let used = given
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| value.sign() != Sign::NoSign);
                -used
                    .map(|(k, value)| self.scaled.entry(i, rank + k) * value)
                    .sum::<BigInt>()
            })
            .collect();
        let solution = self.dixon.solve(&right, budget)?;
        let mut integers = solution.numerators;
        integers.extend(given.iter().map(|value| value * &solution.denominator));
        // Scales back to vⱼ = integer·2^(least − scaleⱼ)/denominator, and factors out the common power of
        // two.
        let top = (0..integers.len()).map(scale).max().unwrap_or(0);
        for (k, integer) in integers.iter_mut().enumerate() {
            *integer <<= top - scale(k);
        }
        let common = integers
            .iter()
            .filter_map(BigInt::trailing_zeros)
            .min()
            .unwrap_or(0);
        integers.iter_mut().for_each(|integer| *integer >>= common);
        Ok((integers, solution.denominator, least - top + common as i32))
    }
}

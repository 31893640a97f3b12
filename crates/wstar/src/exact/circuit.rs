//! Exact weights λ > 0 with `Σλᵢaᵢ = 0`, from floating-point ones.

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::Zero;
use rayon::prelude::*;

use super::dixon::Dixon;
use super::integers::Scaled;
use super::long::{LongSum, Words, lowest_bit};
use super::modular::Field;
use super::sign::dyadic;
use super::span::Span;
use super::{Budget, Circuit, Exactly, Signed};

/// Hints below this part of the largest are taken for rounding errors.
const NOISE: f64 = 1e-13;

/// Exact λ > 0 on a subset of `rows` with `Σλᵢaᵢ = 0`, near the floating-point `hint`, normed as [`Circuit`] says.
///
/// The rows with the largest hints that are independent, with all others, make the candidates: the weights of the
/// others are taken from the hint as they are (of a single one: 1), and those of the independent rows follow from
/// them. `Absent` if one comes out negative, or if the candidates are all independent.
pub fn circuit(signed: &Signed<'_>, rows: &[usize], hint: &[f64], budget: &Budget) -> Exactly<Circuit> {
    let mut candidates: Vec<(usize, f64)> = rows
        .iter()
        .copied()
        .zip(hint.iter().copied())
        .filter(|&(i, h)| h.is_finite() && h > 0.0 && signed.signs.get(i).is_some_and(|&y| y != 0))
        .collect();
    candidates.sort_unstable_by_key(|&(i, _)| i);
    candidates.dedup_by_key(|&mut (i, _)| i);
    let mut weighed: Vec<(f64, usize, f64)> = shares(signed, &candidates)
        .into_iter()
        .zip(candidates)
        .map(|(share, (i, h))| (share, i, h))
        .collect();
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let largest = weighed.first().map_or(0.0, |first| first.0);
    let strong = weighed.partition_point(|&(share, _, _)| share > NOISE * largest);
    let candidates: Vec<(usize, f64)> = weighed.into_iter().map(|(_, i, h)| (i, h)).collect();
    let mut outcome = solve(signed, &candidates[..strong], budget);
    if matches!(outcome, Exactly::Absent) && strong < candidates.len() {
        outcome = solve(signed, &candidates, budget);
    }
    outcome
}

/// What each candidate adds to the sum that vanishes: its hint times its size, coordinates measured by their
/// largest. Unlike the hint itself, that does not depend on the units of rows and columns.
fn shares(signed: &Signed<'_>, candidates: &[(usize, f64)]) -> Vec<f64> {
    let mut largest = vec![0.0f64; signed.width()];
    for &(i, _) in candidates {
        signed.for_each(i, |j, value| largest[j] = largest[j].max(value.abs()));
    }
    let share = |&(i, h): &(usize, f64)| {
        let mut size = 0.0f64;
        signed.for_each(i, |j, value| {
            if value != 0.0 {
                size = size.max(value.abs() / largest[j]);
            }
        });
        // A point at the origin adds nothing, and is a combination by itself.
        if size == 0.0 { h } else { h * size }
    };
    candidates.iter().map(share).collect()
}

fn solve(signed: &Signed<'_>, candidates: &[(usize, f64)], budget: &Budget) -> Exactly<Circuit> {
    for field in Field::all() {
        match solve_in(signed, candidates, field, budget) {
            // The prime was bad for these data: their rank, or the system's, is larger than it showed.
            Err(BadPrime) => {}
            Ok(outcome) => return outcome,
        }
    }
    Exactly::Absent
}

struct BadPrime;

fn solve_in(
    signed: &Signed<'_>,
    candidates: &[(usize, f64)],
    field: Field,
    budget: &Budget,
) -> Result<Exactly<Circuit>, BadPrime> {
    let rows: Vec<usize> = candidates.iter().map(|&(i, _)| i).collect();
    let span = match Span::new(signed, &rows, true, field, budget) {
        Exactly::Found(span) => span,
        Exactly::Absent => return Ok(Exactly::Absent),
        Exactly::BudgetSpent => return Ok(Exactly::BudgetSpent),
    };
    let rank = span.rows().len();
    if rank == rows.len() {
        return Ok(Exactly::Absent);
    }
    let columns = span.pivot_columns();
    let scaled = Scaled::new(signed, &rows, &columns);
    let mut place = vec![usize::MAX; signed.design.rows()];
    for (k, &i) in rows.iter().enumerate() {
        place[i] = k;
    }
    let pivots: Vec<usize> = span.rows().iter().map(|&i| place[i]).collect();
    let mut is_pivot = vec![false; rows.len()];
    pivots.iter().for_each(|&k| is_pivot[k] = true);
    let free: Vec<usize> = (0..rows.len()).filter(|&k| !is_pivot[k]).collect();

    // λᵢ·2^scaleᵢ are the unknowns of the integer system; those of the free rows as integers.
    let given: Vec<(i64, i32)> = free
        .iter()
        .map(|&k| {
            let (mantissa, exponent) = if free.len() == 1 {
                (1, 0)
            } else {
                dyadic(candidates[k].1)
            };
            (mantissa, exponent + scaled.row_scale(k))
        })
        .collect();
    let least = given.iter().map(|&(_, e)| e).min().unwrap_or(0);
    let given: Vec<BigInt> = given
        .iter()
        .map(|&(m, e)| BigInt::from(m) << (e - least))
        .collect();
    let right: Vec<BigInt> = (0..rank)
        .into_par_iter()
        .map(|j| {
            let terms = free
                .iter()
                .zip(&given)
                .map(|(&k, weight)| scaled.entry(k, j) * weight);
            -terms.sum::<BigInt>()
        })
        .collect();
    let all: Vec<usize> = (0..rank).collect();
    let dixon = match Dixon::new(field, scaled.planes(&pivots, &all, true), budget) {
        Exactly::Found(dixon) => dixon,
        Exactly::Absent => return Err(BadPrime),
        Exactly::BudgetSpent => return Ok(Exactly::BudgetSpent),
    };
    let solution = match dixon.solve(&right, budget) {
        Exactly::Found(solution) => solution,
        Exactly::Absent => return Err(BadPrime),
        Exactly::BudgetSpent => return Ok(Exactly::BudgetSpent),
    };

    let mut weights = vec![BigInt::ZERO; rows.len()];
    for (&k, numerator) in pivots.iter().zip(solution.numerators) {
        weights[k] = numerator;
    }
    for (&k, weight) in free.iter().zip(given) {
        weights[k] = weight * &solution.denominator;
    }
    if weights.iter().any(|weight| weight.sign() == Sign::Minus) {
        return Ok(Exactly::Absent);
    }
    let top = (0..rows.len()).map(|k| scaled.row_scale(k)).max().unwrap_or(0);
    for (k, weight) in weights.iter_mut().enumerate() {
        *weight <<= top - scaled.row_scale(k);
    }
    let common = weights
        .iter()
        .filter_map(BigInt::trailing_zeros)
        .min()
        .unwrap_or(0);
    weights.iter_mut().for_each(|weight| *weight >>= common);
    let mut points: Vec<(u64, BigInt)> = rows
        .iter()
        .map(|&i| i as u64)
        .zip(weights)
        .filter(|(_, weight)| !weight.is_zero())
        .collect();
    points.sort_by_key(|&(i, _)| i);
    let (points, weights): (Vec<u64>, Vec<BigInt>) = points.into_iter().unzip();

    // The solution holds in the pivot columns; in the others only if the rank is what it seemed.
    let words: Vec<Words> = weights.iter().map(Words::from).collect();
    let mut checked = vec![false; signed.width()];
    span.free_columns().iter().for_each(|&j| checked[j] = true);
    if !vanishes(signed, &points, &words, |j| checked[j]) {
        return Err(BadPrime);
    }
    let counted = points.iter().zip(&weights);
    let counted = counted.filter(|&(&i, _)| !signed.intercept || signed.signs[i as usize] > 0);
    let total: BigInt = counted.map(|(_, weight)| weight).sum();
    if total.is_zero() {
        return Ok(Exactly::Absent);
    }
    let weights = weights
        .into_iter()
        .map(|weight| BigRational::new_raw(weight, total.clone()))
        .collect();
    Ok(Exactly::Found(Circuit { points, weights }))
}

/// Whether `Σ nᵢaᵢ` is 0 in every coordinate that is asked for.
pub(crate) fn vanishes(
    signed: &Signed<'_>,
    points: &[u64],
    weights: &[Words],
    asked: impl Fn(usize) -> bool + Sync,
) -> bool {
    let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); signed.width()];
    for (k, &i) in points.iter().enumerate() {
        signed.for_each(i as usize, |j, value| {
            if value != 0.0 && asked(j) {
                columns[j].push((k, value));
            }
        });
    }
    columns.par_iter().all(|column| {
        let least = column
            .iter()
            .filter_map(|&(_, value)| lowest_bit(value))
            .min()
            .unwrap_or(0);
        let mut sum = LongSum::default();
        for &(k, value) in column {
            sum.add(value, &weights[k], least);
        }
        sum.take_sign().is_eq()
    })
}

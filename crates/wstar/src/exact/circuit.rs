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
use super::{Budget, Circuit, Exactly, Signed, Stop, over_primes};

/// Hints below this part of the largest are taken for rounding errors.
const NOISE: f64 = 1e-13;

/// Exact λ > 0 on a subset of `rows` with `Σλᵢaᵢ = 0`, near the floating-point `hint`, normed as [`Circuit`] says.
///
/// The rows with the largest hints that are independent, with all others, make the candidates: the weights of the
/// others are taken from the hint as they are (of a single one: 1), and those of the independent rows follow from
/// them. `Absent` if one comes out negative, and also where each of the first of the others is taken alone; or if the
/// candidates are all independent.
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
    over_primes(|field| {
        let system = System::new(signed, candidates, field, budget)?;
        if system.free.len() == 1 {
            return system.solve(&[(1, 0)], budget);
        }
        let hints: Vec<(i64, i32)> = system.free.iter().map(|&k| dyadic(candidates[k].1)).collect();
        let mut outcome = system.solve(&hints, budget);
        // If the hint is too rough for all of them together, one of them may make a combination alone.
        for k in 0..system.free.len().min(MOST_ALONE) {
            if outcome != Err(Stop::Absent) {
                break;
            }
            let alone: Vec<(i64, i32)> = (0..hints.len()).map(|other| (i64::from(other == k), 0)).collect();
            outcome = system.solve(&alone, budget);
        }
        outcome
    })
}

/// So many rows are tried alone.
const MOST_ALONE: usize = 8;

/// The equations `Σλᵢaᵢ = 0`, to be solved for the weights of independent rows.
struct System<'a> {
    signed: &'a Signed<'a>,
    rows: Vec<usize>,
    span: Span,
    scaled: Scaled,
    /// The places of the independent rows, and of the others.
    pivots: Vec<usize>,
    free: Vec<usize>,
    dixon: Dixon,
}

impl<'a> System<'a> {
    fn new(
        signed: &'a Signed<'a>,
        candidates: &[(usize, f64)],
        field: Field,
        budget: &Budget,
    ) -> Result<Self, Stop> {
        let rows: Vec<usize> = candidates.iter().map(|&(i, _)| i).collect();
        let span = Span::new(signed, &rows, true, field, budget)?;
        let rank = span.rows().len();
        if rank == rows.len() {
            return Err(Stop::Absent);
        }
        let scaled = Scaled::new(signed, &rows, &span.pivot_columns());
        let mut place = vec![usize::MAX; signed.design.rows()];
        for (k, &i) in rows.iter().enumerate() {
            place[i] = k;
        }
        let pivots: Vec<usize> = span.rows().iter().map(|&i| place[i]).collect();
        let mut is_pivot = vec![false; rows.len()];
        pivots.iter().for_each(|&k| is_pivot[k] = true);
        let free = (0..rows.len()).filter(|&k| !is_pivot[k]).collect();
        let all: Vec<usize> = (0..rank).collect();
        let dixon = Dixon::new(field, scaled.planes(&pivots, &all, true), budget)?;
        Ok(System {
            signed,
            rows,
            span,
            scaled,
            pivots,
            free,
            dixon,
        })
    }

    /// The combination in which the free rows have the given weights, `mantissa·2^exponent` each.
    fn solve(&self, given: &[(i64, i32)], budget: &Budget) -> Result<Circuit, Stop> {
        // λᵢ·2^scaleᵢ are the unknowns of the integer system; those of the free rows as integers.
        let scale = |k: usize| self.scaled.row_scale(k);
        let exponents: Vec<i32> = self
            .free
            .iter()
            .zip(given)
            .map(|(&k, &(_, e))| e + scale(k))
            .collect();
        let used = exponents.iter().zip(given).filter(|(_, (m, _))| *m != 0);
        let least = used.map(|(&e, _)| e).min().unwrap_or(0);
        let given: Vec<BigInt> = (exponents.iter().zip(given))
            .map(|(e, &(m, _))| {
                if m == 0 {
                    BigInt::ZERO
                } else {
                    BigInt::from(m) << (e - least)
                }
            })
            .collect();
        let right: Vec<BigInt> = (0..self.pivots.len())
            .into_par_iter()
            .map(|j| {
                let used = self
                    .free
                    .iter()
                    .zip(&given)
                    .filter(|(_, weight)| !weight.is_zero());
                -used
                    .map(|(&k, weight)| self.scaled.entry(k, j) * weight)
                    .sum::<BigInt>()
            })
            .collect();
        let solution = self.dixon.solve(&right, budget)?;
        let mut weights = vec![BigInt::ZERO; self.rows.len()];
        for (&k, numerator) in self.pivots.iter().zip(solution.numerators) {
            weights[k] = numerator;
        }
        for (&k, weight) in self.free.iter().zip(given) {
            weights[k] = weight * &solution.denominator;
        }
        if weights.iter().any(|weight| weight.sign() == Sign::Minus) {
            return Err(Stop::Absent);
        }
        let top = (0..self.rows.len()).map(scale).max().unwrap_or(0);
        for (k, weight) in weights.iter_mut().enumerate() {
            *weight <<= top - scale(k);
        }
        let common = weights
            .iter()
            .filter_map(BigInt::trailing_zeros)
            .min()
            .unwrap_or(0);
        let mut points: Vec<(u64, BigInt)> = (self.rows.iter().zip(weights))
            .filter(|(_, weight)| !weight.is_zero())
            .map(|(&i, weight)| (i as u64, weight >> common))
            .collect();
        points.sort_by_key(|&(i, _)| i);
        let (points, weights): (Vec<u64>, Vec<BigInt>) = points.into_iter().unzip();
        self.normed(points, weights)
    }

    fn normed(&self, points: Vec<u64>, weights: Vec<BigInt>) -> Result<Circuit, Stop> {
        // The solution holds in the pivot columns; in the others only if the rank is what it seemed.
        let words: Vec<Words> = weights.iter().map(Words::from).collect();
        let mut asked = vec![false; self.signed.width()];
        self.span.free_columns().iter().for_each(|&j| asked[j] = true);
        if !vanishes(self.signed, &points, &words, |j| asked[j]) {
            return Err(Stop::BadPrime);
        }
        let counts = |i: u64| !self.signed.intercept || self.signed.signs[i as usize] > 0;
        let counted = points.iter().zip(&weights).filter(|&(&i, _)| counts(i));
        let total: BigInt = counted.map(|(_, weight)| weight).sum();
        if total.is_zero() {
            return Err(Stop::Absent);
        }
        let over = |weight| BigRational::new_raw(weight, total.clone());
        Ok(Circuit {
            points,
            weights: weights.into_iter().map(over).collect(),
        })
    }
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

//! Exact weights of a vanishing combination, from floating-point weights.
//!
//! Problem: given rows aᵢ and approximate weights, find rational λ > 0 on a subset of the rows with
//! `Σλᵢaᵢ = 0`. Method: a maximal independent set of rows is chosen, the weights of the others are fixed,
//! and Dixon's method solves the remaining square system exactly (`dixon`).

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::Zero;
use rayon::prelude::*;

use crate::exact::deadline::Deadline;
use crate::exact::dixon::Dixon;
use crate::exact::dyadic::dyadic;
use crate::exact::exact_outcome::{ExactOutcome, Stop};
use crate::exact::integer_scaling::{Scaled, integers};
use crate::exact::long_sums::{LongSum, Words, lowest_bit};
use crate::exact::modular::Field;
use crate::exact::over_primes::over_primes;
use crate::exact::rank::Span;
use crate::exact::signed_rows::Signed;

/// Weights λ > 0 with `Σλᵢaᵢ = 0`, summing to 1 over each class (without an intercept: in all).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circuit {
    /// The rows, in increasing order.
    pub(crate) points: Vec<u64>,
    /// Their weights, over a common denominator; the fractions need not be reduced.
    pub(crate) weights: Vec<BigRational>,
}

impl Circuit {
    /// The rows, in increasing order.
    pub fn points(&self) -> &[u64] {
        &self.points
    }

    /// Their weights, over a common denominator; the fractions need not be reduced.
    pub fn weights(&self) -> &[BigRational] {
        &self.weights
    }
}

/// Candidates whose share is below this fraction of the largest count as rounding errors. They are used
/// only if the others do not suffice. Heuristic: trades dimension of the exact system for failed attempts;
/// not measured yet.
const NOISE: f64 = 1e-13;

/// Exact λ > 0 on a subset of `rows` with `Σλᵢaᵢ = 0`, near the floating-point `hint`, normalised as in
/// [`Circuit`].
///
/// A maximal independent set of rows is chosen, those with large hints first. The weights of the other
/// candidates are taken from the hint (a single one gets weight 1), and an exact linear system determines
/// the weights of the independent rows. If one of them is negative, each of the first few other candidates
/// is tried as the only one. The outcome is `Absent` if all attempts have a negative weight, or if the
/// candidates are independent.
pub fn circuit(
    signed: &Signed<'_>,
    rows: &[usize],
    hint: &[f64],
    budget: &Deadline,
) -> ExactOutcome<Circuit> {
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
    if matches!(outcome, ExactOutcome::Absent) && strong < candidates.len() {
        outcome = solve(signed, &candidates, budget);
    }
    outcome
}

/// The size of each candidate's term in the vanishing sum: its hint times its norm, with every coordinate
/// divided by its largest value. Unlike the hint, this does not depend on the units of rows and columns.
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
        // A point at the origin contributes nothing to the sum, and is a vanishing combination by itself.
        if size == 0.0 { h } else { h * size }
    };
    candidates.iter().map(share).collect()
}

fn solve(signed: &Signed<'_>, candidates: &[(usize, f64)], budget: &Deadline) -> ExactOutcome<Circuit> {
    over_primes(|field| {
        let system = CircuitSystem::new(signed, candidates, field, budget)?;
        if system.free.len() == 1 {
            return system.solve(&[(1, 0)], budget);
        }
        let hints: Vec<(i64, i32)> = system.free.iter().map(|&k| dyadic(candidates[k].1)).collect();
        let mut outcome = system.solve(&hints, budget);
        // If the hint is too rough for all of them together, a single one may give a combination.
        for k in 0..system.free.len().min(MAX_SINGLE_TRIALS) {
            if outcome != Err(Stop::Absent) {
                break;
            }
            let alone: Vec<(i64, i32)> = (0..hints.len()).map(|other| (i64::from(other == k), 0)).collect();
            outcome = system.solve(&alone, budget);
        }
        outcome
    })
}

/// Cap: free rows that are tried alone; beyond it the circuit is reported as absent.
const MAX_SINGLE_TRIALS: usize = 8;

/// The equations `Σλᵢaᵢ = 0`, solved for the weights of independent rows.
struct CircuitSystem<'a> {
    signed: &'a Signed<'a>,
    rows: Vec<usize>,
    span: Span,
    scaled: Scaled,
    /// Positions in `rows` of the independent rows (`pivots`) and of the others (`free`).
    pivots: Vec<usize>,
    free: Vec<usize>,
    dixon: Dixon,
}

impl<'a> CircuitSystem<'a> {
    fn new(
        signed: &'a Signed<'a>,
        candidates: &[(usize, f64)],
        field: Field,
        budget: &Deadline,
    ) -> Result<Self, Stop> {
        let rows: Vec<usize> = candidates.iter().map(|&(i, _)| i).collect();
        let span = Span::new(signed, &rows, true, field, budget)?;
        let rank = span.rows().len();
        if rank == rows.len() {
            return Err(Stop::Absent);
        }
        let scaled = Scaled::new(signed, &rows, &span.pivot_columns());
        let mut position = vec![usize::MAX; signed.design.rows()];
        for (k, &i) in rows.iter().enumerate() {
            position[i] = k;
        }
        let pivots: Vec<usize> = span.rows().iter().map(|&i| position[i]).collect();
        let mut is_pivot = vec![false; rows.len()];
        pivots.iter().for_each(|&k| is_pivot[k] = true);
        let free = (0..rows.len()).filter(|&k| !is_pivot[k]).collect();
        let all: Vec<usize> = (0..rank).collect();
        let dixon = Dixon::new(field, scaled.digit_matrices(&pivots, &all, true), budget)?;
        Ok(CircuitSystem {
            signed,
            rows,
            span,
            scaled,
            pivots,
            free,
            dixon,
        })
    }

    /// The combination in which free row k has the weight `mantissa·2^exponent` of `given[k]`.
    fn solve(&self, given: &[(i64, i32)], budget: &Deadline) -> Result<Circuit, Stop> {
        // The unknowns of the integer system are λᵢ·2^scaleᵢ. The weights of the free rows are made
        // integers too.
        let scale = |k: usize| self.scaled.row_scale(k);
        let pairs = self.free.iter().zip(given);
        let unknowns: Vec<(i64, i32)> = pairs.map(|(&k, &(m, e))| (m, e + scale(k))).collect();
        let (given, _) = integers(&unknowns);
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
        // The solution holds in the pivot columns. It holds in the other columns if the rank modulo the
        // prime is the true rank, which is checked here.
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

/// Whether `Σ nᵢaᵢ` is 0 in every coordinate for which `asked` is true.
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

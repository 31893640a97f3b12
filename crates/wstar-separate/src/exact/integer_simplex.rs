//! Gordan's alternative by the simplex method in integers, for margins too small for floating point.
//!
//! Problem: exactly one holds: some λ ≥ 0 with Σλ = 1 has Σλᵢaᵢ = 0, or some v has aᵢ·v > 0 for all i (P.
//! Gordan, Ueber die Auflösung linearer Gleichungen mit reellen Coefficienten, Mathematische Annalen 6,
//! 1873). The first phase of the simplex method decides which. If its optimum is 0, the solution is such
//! a λ; otherwise the dual solution is such a v.
//!
//! Method: the inverse of the basis is kept as integers over one common denominator, its determinant, so
//! every division is exact (J. Edmonds, Systems of distinct representatives and linear algebra, J.
//! Research of the National Bureau of Standards 71B, 1967; E. H. Bareiss, Sylvester's identity and
//! multistep integer-preserving Gaussian elimination, Math. Comp. 22, 1968). Bland's rule is used after
//! degenerate pivots, which guarantees termination (R. G. Bland, New finite pivoting rules for the
//! simplex method, Math. of Operations Research 2, 1977).
//!
//! Two kinds of rows generalise the problem. *Free* rows may have multipliers of any sign and do not
//! count in Σλ: this poses the problem in the space orthogonal to them, as facial reduction requires.
//! *Weak* rows have multipliers ≥ 0 that do not count in Σλ: v then only needs aᵢ·v ≥ 0 there (T. S.
//! Motzkin, Beiträge zur Theorie der linearen Ungleichungen, Basel 1936).
//!
//! The method is slow, and exact where margins are of the size of the rounding errors of the data.

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::{One, Signed as _, ToPrimitive, Zero};
use rayon::prelude::*;

use crate::exact::dyadic::dyadic;
use crate::exact::signed_rows::Signed;

/// Degenerate pivots in a row after which Bland's rule is used. Heuristic: trades the speed of
/// largest-price pivots for the guarantee of termination; not measured yet.
const PATIENCE: usize = 20;
/// Rows priced per parallel task. Heuristic: trades scheduling overhead for balance; not measured yet.
const BLOCK: usize = 512;

/// The alternative that holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Alternative {
    /// Rows and multipliers whose combination vanishes; all positive except those of free rows.
    Combination(Vec<(usize, BigRational)>),
    /// A vector whose product is positive with every row, at least 0 with weak rows and 0 with free rows.
    Separator(Vec<BigInt>),
    /// The decision was stopped.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basic {
    Artificial,
    /// A free row; the flag says that its column is negated.
    Free(usize, bool),
    Row(usize),
}

/// Rows as integers, after each column is scaled by its own power of two.
struct Integers<'a> {
    signed: Signed<'a>,
    /// The exponent by which each column is scaled.
    shifts: Vec<i32>,
}

impl<'a> Integers<'a> {
    fn new(signed: Signed<'a>, rows: &[usize]) -> Self {
        let mut shifts = vec![i32::MAX; signed.width()];
        for &i in rows {
            signed.for_each(i, |j, x| {
                if x != 0.0 {
                    shifts[j] = shifts[j].min(dyadic(x).1);
                }
            });
        }
        shifts
            .iter_mut()
            .for_each(|s| *s = if *s == i32::MAX { 0 } else { -*s });
        Integers { signed, shifts }
    }

    /// The nonzero stored entries of row `i`.
    fn row(&self, i: usize) -> Vec<(usize, BigInt)> {
        let mut entries = Vec::new();
        self.signed.for_each(i, |j, x| {
            if x != 0.0 {
                let (mantissa, exponent) = dyadic(x);
                let shift = (exponent + self.shifts[j]).max(0) as usize;
                entries.push((j, BigInt::from(mantissa) << shift));
            }
        });
        entries
    }
}

/// x as m·2ᵉ with m below 2⁶⁴, for integers beyond the range of `f64`.
fn approximate(x: &BigInt) -> (f64, i64) {
    let shift = x.bits().saturating_sub(64);
    let top: BigInt = x >> shift;
    (top.to_f64().unwrap_or_default(), shift as i64)
}

struct Simplex<'a> {
    integers: Integers<'a>,
    /// The rows of det·B⁻¹.
    inverse: Vec<Vec<BigInt>>,
    det: BigInt,
    basis: Vec<Basic>,
    /// Whether a row is weak.
    weak: &'a (dyn Fn(usize) -> bool + Sync),
}

impl Simplex<'_> {
    fn size(&self) -> usize {
        self.basis.len()
    }

    /// det·B⁻¹ times the column `entries`, with 1 as its last entry if `last` is set.
    fn image(&self, entries: &[(usize, BigInt)], last: bool) -> Vec<BigInt> {
        let end = self.size() - 1;
        self.inverse
            .par_iter()
            .map(|row| {
                let mut sum: BigInt = entries
                    .iter()
                    .filter(|(j, _)| !row[*j].is_zero())
                    .map(|(j, x)| &row[*j] * x)
                    .sum();
                if last {
                    sum += &row[end];
                }
                sum
            })
            .collect()
    }

    /// Brings a column with image `u` into the basis at position `r`, where `u[r]` is positive.
    fn pivot(&mut self, r: usize, u: &[BigInt], entering: Basic) {
        let pivot_row = self.inverse[r].clone();
        let (pivot, det) = (&u[r], &self.det);
        self.inverse
            .par_iter_mut()
            .enumerate()
            .filter(|(i, _)| *i != r)
            .for_each(|(i, row)| {
                for (value, from) in row.iter_mut().zip(&pivot_row) {
                    if value.is_zero() && (from.is_zero() || u[i].is_zero()) {
                        continue;
                    }
                    let next = pivot * &*value - &u[i] * from;
                    *value = if det.is_one() { next } else { next / det };
                }
            });
        self.det = u[r].clone();
        self.basis[r] = entering;
    }

    /// det·π, where π is the dual solution of the first phase.
    fn dual(&self) -> Vec<BigInt> {
        let mut dual = vec![BigInt::zero(); self.size()];
        for (row, basic) in self.inverse.iter().zip(&self.basis) {
            if *basic == Basic::Artificial {
                dual.iter_mut().zip(row).for_each(|(d, v)| *d += v);
            }
        }
        dual
    }

    /// The exact price of row `i`: π·(a, 1), or π·(a, 0) for a weak row, times det.
    fn price(&self, dual: &[BigInt], i: usize) -> BigInt {
        let mut sum: BigInt = self.integers.row(i).iter().map(|(j, x)| &dual[*j] * x).sum();
        if !(self.weak)(i) {
            sum += &dual[self.size() - 1];
        }
        sum
    }

    /// A row with a positive price: the first one under Bland's rule, otherwise the one with the largest
    /// estimated price relative to its terms. Where the estimate leaves the sign open, the exact price
    /// decides.
    fn entering(&self, rows: &[usize], dual: &[BigInt], bland: bool) -> Option<usize> {
        let end = self.size() - 1;
        let parts: Vec<(f64, i64)> = dual.iter().map(approximate).collect();
        let signed = self.integers.signed;
        let estimate = |i: usize| {
            // In units of the largest term, so that nothing overflows.
            let mut terms: Vec<(f64, i64)> = Vec::new();
            signed.for_each(i, |j, x| {
                let (mantissa, exponent) = dyadic(x);
                let exponent = i64::from(exponent) + i64::from(self.integers.shifts[j]) + parts[j].1;
                terms.push((mantissa as f64 * parts[j].0, exponent));
            });
            if !(self.weak)(i) {
                terms.push(parts[end]);
            }
            terms.retain(|t| t.0 != 0.0);
            let top = terms
                .iter()
                .map(|(m, e)| *e + m.abs().log2() as i64)
                .max()
                .unwrap_or_default();
            let scaled = |(m, e): &(f64, i64)| m * 2f64.powi((e - top).clamp(-1000, 1000) as i32);
            let sum: f64 = terms.iter().map(scaled).sum();
            let size: f64 = terms.iter().map(|t| scaled(t).abs()).sum();
            (sum, size * 4.0 * f64::EPSILON * (terms.len() + 2) as f64)
        };
        if bland {
            return rows.iter().copied().find(|&i| {
                let (sum, error) = estimate(i);
                sum > error || sum >= -error && self.price(dual, i).is_positive()
            });
        }
        let estimates: Vec<(f64, f64)> = rows
            .par_iter()
            .with_min_len(BLOCK)
            .map(|&i| estimate(i))
            .collect();
        let clear = (0..rows.len())
            .filter(|&k| estimates[k].0 > estimates[k].1)
            .max_by(|&a, &b| estimates[a].0.total_cmp(&estimates[b].0).then(b.cmp(&a)));
        clear.map(|k| rows[k]).or_else(|| {
            let unclear: Vec<usize> = (0..rows.len())
                .filter(|&k| estimates[k].0 >= -estimates[k].1)
                .map(|k| rows[k])
                .collect();
            unclear
                .par_iter()
                .copied()
                .find_first(|&i| self.price(dual, i).is_positive())
        })
    }

    /// The position that leaves the basis, by the ratio test. Ties go to an artificial variable first, then
    /// to the lowest row (Bland).
    fn leaving(&self, u: &[BigInt]) -> Option<usize> {
        let end = self.size() - 1;
        let rank = |basic: Basic| match basic {
            Basic::Artificial => 0,
            Basic::Row(i) => i + 1,
            Basic::Free(..) => usize::MAX,
        };
        let mut best: Option<usize> = None;
        for (r, value) in u.iter().enumerate() {
            if !value.is_positive() || matches!(self.basis[r], Basic::Free(..)) {
                continue;
            }
            let better = best.is_none_or(|b| {
                let (left, right) = (&self.inverse[r][end] * &u[b], &self.inverse[b][end] * value);
                left < right || left == right && rank(self.basis[r]) < rank(self.basis[b])
            });
            if better {
                best = Some(r);
            }
        }
        best
    }
}

/// Decides which alternative holds for `rows`, of which those with `weak(i)` are weak. `free` rows may have
/// multipliers of any sign and must be independent.
pub(crate) fn gordan(
    signed: &Signed<'_>,
    rows: &[usize],
    weak: &(dyn Fn(usize) -> bool + Sync),
    free: &[usize],
    stop: &mut dyn FnMut() -> bool,
) -> Alternative {
    let all: Vec<usize> = rows.iter().chain(free).copied().collect();
    let size = signed.width() + 1;
    let end = size - 1;
    let unit = |i: usize| {
        (0..size)
            .map(|j| if i == j { BigInt::one() } else { BigInt::zero() })
            .collect()
    };
    let mut simplex = Simplex {
        integers: Integers::new(*signed, &all),
        inverse: (0..size).map(unit).collect(),
        det: BigInt::one(),
        basis: vec![Basic::Artificial; size],
        weak,
    };
    for &i in free {
        let entries = simplex.integers.row(i);
        let u = simplex.image(&entries, false);
        let open = |r: &usize| simplex.basis[*r] == Basic::Artificial && *r != end && !u[*r].is_zero();
        let Some(r) = (0..size).find(open) else {
            continue;
        };
        let negative = u[r].is_negative();
        let u: Vec<BigInt> = if negative {
            u.into_iter().map(|v| -v).collect()
        } else {
            u
        };
        simplex.pivot(r, &u, Basic::Free(i, negative));
    }
    let mut idle = 0;
    loop {
        if stop() {
            return Alternative::Stopped;
        }
        let dual = simplex.dual();
        let infeasible = simplex
            .basis
            .iter()
            .zip(&simplex.inverse)
            .any(|(basic, row)| *basic == Basic::Artificial && !row[end].is_zero());
        if !infeasible {
            return Alternative::Combination(combination(&simplex));
        }
        let Some(i) = simplex.entering(rows, &dual, idle > PATIENCE) else {
            return Alternative::Separator(separator(&simplex.integers, &dual[..end]));
        };
        let u = simplex.image(&simplex.integers.row(i), !weak(i));
        // The sum of the artificial variables decreases along a row of positive price and is bounded below,
        // so the ratio test finds a position.
        let Some(r) = simplex.leaving(&u) else {
            return Alternative::Stopped;
        };
        idle = if simplex.inverse[r][end].is_zero() {
            idle + 1
        } else {
            0
        };
        simplex.pivot(r, &u, Basic::Row(i));
    }
}

/// The basic solution, as rows and multipliers.
fn combination(simplex: &Simplex<'_>) -> Vec<(usize, BigRational)> {
    let end = simplex.size() - 1;
    let mut all: Vec<(usize, BigRational)> = simplex
        .basis
        .iter()
        .zip(&simplex.inverse)
        .filter(|(_, row)| !row[end].is_zero())
        .filter_map(|(basic, row)| {
            let value = BigRational::new_raw(row[end].clone(), simplex.det.clone());
            match *basic {
                Basic::Row(i) => Some((i, value)),
                Basic::Free(i, negative) => Some((i, if negative { -value } else { value })),
                Basic::Artificial => None,
            }
        })
        .collect();
    all.sort_by_key(|&(i, _)| i);
    all
}

/// −π in the columns of the data, as integers without a common factor of two.
fn separator(integers: &Integers<'_>, dual: &[BigInt]) -> Vec<BigInt> {
    let least = integers.shifts.iter().copied().min().unwrap_or_default();
    let mut v: Vec<BigInt> = dual
        .iter()
        .zip(&integers.shifts)
        .map(|(pi, shift)| -(pi << (shift - least) as usize))
        .collect();
    let zeros = v
        .iter()
        .filter(|x| x.sign() != Sign::NoSign)
        .filter_map(BigInt::trailing_zeros)
        .min();
    if let Some(zeros) = zeros {
        v.iter_mut().for_each(|x| *x >>= zeros);
    }
    v
}

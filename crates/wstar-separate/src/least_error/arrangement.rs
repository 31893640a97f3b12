//! The arrangement of points of low rank: their coordinates in independent columns, approximate and exact. The
//! enumeration of `enumerate` reads only these.

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

use crate::exact::dyadic;
use crate::least_error::distinct_points::DistinctPoints;
use crate::least_error::filtered_number::Approximate;

/// Cap: the largest rank that is enumerated; beyond it the search over circuits is the only method.
pub(crate) const MAX_RANK: usize = 4;

/// Points of rank at most [`MAX_RANK`], prepared for enumeration.
pub(crate) struct Arrangement<'a> {
    pub(super) points: &'a DistinctPoints,
    /// A maximal set of independent columns.
    pub(super) columns: Vec<usize>,
    /// The rows in these columns: scaled by powers of two as doubles; as 128-bit integers if they all fit;
    /// and as integers of any length.
    pub(super) approximate: Vec<[Approximate; MAX_RANK]>,
    pub(super) small: Option<Vec<[i128; MAX_RANK]>>,
    pub(super) large: Vec<Vec<BigInt>>,
    /// The ratio of each column of `approximate` to the same column of integers, a power of two.
    pub(super) ratios: Vec<f64>,
    /// The points whose rows are not 0.
    pub(super) members: Vec<usize>,
}

impl<'a> Arrangement<'a> {
    /// The points in independent columns. `None` if the rank exceeds [`MAX_RANK`], or if the enumeration would
    /// take more than `most_steps` steps.
    pub(crate) fn within(points: &'a DistinctPoints, most_steps: f64) -> Option<Self> {
        let all: Vec<usize> = (0..points.len()).collect();
        // The rank of a few rows is a lower bound that rejects large problems without reading all rows.
        let some = &all[..all.len().min(8 * points.dimension)];
        let rank = independent_columns(&points.integers(some), points.dimension).len();
        if rank > MAX_RANK || steps(rank, points.len()) > most_steps {
            return None;
        }
        let integers = points.integers(&all);
        let columns = independent_columns(&integers, points.dimension);
        if columns.len() > MAX_RANK {
            return None;
        }
        let large: Vec<Vec<BigInt>> = integers
            .into_iter()
            .map(|row| columns.iter().map(|&j| row[j].clone()).collect())
            .collect();
        let small: Option<Vec<[i128; MAX_RANK]>> = large
            .iter()
            .map(|row| {
                let mut numbers = [0; MAX_RANK];
                for (number, entry) in numbers.iter_mut().zip(row) {
                    *number = entry.to_i128()?;
                }
                Some(numbers)
            })
            .collect();
        // The largest entries become about 1; scaling by a power of two does not round.
        let shifts: Vec<i32> = columns
            .iter()
            .map(|&j| {
                let most = all.iter().map(|&i| points.row(i)[j].abs()).fold(0.0, f64::max);
                (-most.log2().floor()).clamp(-1000.0, 1000.0) as i32
            })
            .collect();
        let scales: Vec<f64> = shifts.iter().map(|&shift| f64::from(shift).exp2()).collect();
        let approximate = all
            .iter()
            .map(|&i| {
                let mut numbers = [Approximate::exact(0.0); MAX_RANK];
                for (number, (&j, scale)) in numbers.iter_mut().zip(columns.iter().zip(&scales)) {
                    let value = points.row(i)[j] * scale;
                    // Scaling into the subnormal range may lose digits.
                    let exact = value == 0.0 && points.row(i)[j] == 0.0 || value.abs() >= f64::MIN_POSITIVE;
                    number.value = value;
                    number.error = if exact { 0.0 } else { f64::MIN_POSITIVE };
                }
                numbers
            })
            .collect();
        let members: Vec<usize> = (0..points.len())
            .filter(|&i| large[i].iter().any(|v| !v.is_zero()))
            .collect();
        let ratios = (0..columns.len())
            .map(|j| {
                let entry = |i: usize| points.row(i)[columns[j]];
                let known = all.iter().copied().find(|&i| entry(i) != 0.0);
                let of_integer = known.map_or(0, |i| {
                    dyadic(entry(i)).1 - large[i][j].trailing_zeros().unwrap_or_default() as i32
                });
                f64::from(of_integer + shifts[j]).exp2()
            })
            .collect();
        (steps(columns.len(), members.len()) <= most_steps).then_some(Arrangement {
            points,
            columns,
            approximate,
            small,
            large,
            ratios,
            members,
        })
    }

    /// Whether a single sweep, a sort of the points, is enough.
    pub(crate) fn is_one_sweep(&self) -> bool {
        self.columns.len() <= 2
    }

    /// The least cost on points that are multiples of one row, over the sides that this row may be on.
    pub(super) fn decide_line(&self, coordinates: &[usize], members: &[usize], sides: &mut [bool]) -> f64 {
        let Some(&k) = coordinates.first() else {
            return 0.0;
        };
        let same = |i: usize| self.large[i][k] > BigInt::zero();
        let cost = |positive: &dyn Fn(usize) -> bool| -> f64 {
            let wrong = members
                .iter()
                .filter(|&&i| positive(i) != self.points.positive[i]);
            wrong.map(|&i| self.points.costs[i]).sum()
        };
        let options: [&dyn Fn(usize) -> bool; 3] = [&same, &|i| !same(i), &|_| false];
        // Only without an intercept can the points of a line lie on the hyperplane while others do not.
        let allowed = if self.points.intercept {
            &options[..2]
        } else {
            &options[..]
        };
        let mut least = (f64::INFINITY, options[0]);
        for &option in allowed {
            let cost = cost(option);
            if cost < least.0 {
                least = (cost, option);
            }
        }
        members.iter().for_each(|&i| sides[i] = least.1(i));
        least.0
    }
}

/// An estimate of the steps of enumerating so many points.
fn steps(rank: usize, points: usize) -> f64 {
    let n = points as f64;
    let sweeps = match rank {
        4 => n * n / 2.0,
        3 => n,
        _ => 1.0,
    };
    sweeps * n * n.max(2.0).log2()
}

/// The columns of a maximal nonsingular minor.
fn independent_columns(rows: &[Vec<BigInt>], dimension: usize) -> Vec<usize> {
    // Fraction-free Gaussian elimination, row by row; every remaining row adds a pivot column.
    let mut kept: Vec<(usize, Vec<BigInt>)> = Vec::new();
    for row in rows {
        // Once the rank is known to exceed the limit, further rows only make the numbers longer.
        if kept.len() == dimension || kept.len() > MAX_RANK {
            break;
        }
        let mut row = row.clone();
        for (column, pivot) in &kept {
            let factor = row[*column].clone();
            if factor.is_zero() {
                continue;
            }
            for (entry, of_pivot) in row.iter_mut().zip(pivot) {
                *entry = &*entry * &pivot[*column] - of_pivot * &factor;
            }
        }
        if let Some(column) = row.iter().position(|v| !v.is_zero()) {
            kept.push((column, row));
        }
    }
    let mut columns: Vec<usize> = kept.into_iter().map(|(column, _)| column).collect();
    columns.sort_unstable();
    columns
}

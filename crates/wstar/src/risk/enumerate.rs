//! The least error by enumeration, exact for points in any position: at most `n^(D−2)` sweeps of `n log n` steps,
//! where `D` is the rank of the lifted rows (`d + 1`, and at most 4 here).
//!
//! The hyperplanes that agree with the best one on the side of every point make a cone; the rows span the space,
//! so it has an extreme ray: a hyperplane `H` through rows of rank `D − 1`, from which the best differs only on the
//! points of `H`. There the argument repeats: the best is, up to a small turn, in the pencil of hyperplanes
//! through a flat `F` of rank `D − 2` spanned by points, strictly between two of its critical directions; and on the
//! points of `F` itself it is the best hyperplane of that flat, a problem of its own. So the least error is the
//! minimum over flats `F` of (the least error of a turn around `F`, by sorting the directions) + (the least error
//! on `F`). Without an intercept, where a hyperplane cannot be shifted off the points it contains, those that
//! contain a flat or a critical hyperplane as a whole are counted too: a score of 0 is the negative class.
//!
//! All orders and signs are exact: decided by error bounds where these suffice, else in whole numbers.

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};
use rayon::prelude::*;

use super::number::Approximate;
use super::pencil::{Along, Pencil};
use super::points::Points;
use crate::exact::dyadic;

/// The largest rank that is enumerated.
pub(crate) const MOST: usize = 4;

/// What an enumeration found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Enumerated {
    /// The least cost, of all sweeps that were made.
    pub(crate) cost: f64,
    /// Whether each point is on the positive side.
    pub(crate) sides: Vec<bool>,
    /// How many sweeps were made.
    pub(crate) sweeps: u64,
    /// Whether these were all.
    pub(crate) complete: bool,
}

/// A set of points of rank at most [`MOST`], ready to be enumerated.
pub(crate) struct Arrangement<'a> {
    pub(super) points: &'a Points,
    /// The independent columns.
    columns: Vec<usize>,
    /// The rows in these columns, scaled by powers of two; whole numbers where they fit.
    pub(super) approximate: Vec<[Approximate; MOST]>,
    pub(super) small: Option<Vec<[i128; MOST]>>,
    pub(super) large: Vec<Vec<BigInt>>,
    /// What a column of `approximate` is to the same column of whole numbers: a power of two.
    pub(super) ratios: Vec<f64>,
    /// The points whose rows are not 0.
    members: Vec<usize>,
}

/// How many sweeps the pencils through a point took, and the least cost with its flat.
type Around = (u64, Option<(f64, Vec<usize>)>);

impl<'a> Arrangement<'a> {
    /// The points in independent columns; `None` if more than [`MOST`] are independent, or if the enumeration takes
    /// more steps than these.
    pub(crate) fn within(points: &'a Points, most_steps: f64) -> Option<Self> {
        let all: Vec<usize> = (0..points.len()).collect();
        // Without looking at all rows of a large problem: the rank of some is no larger than that of all.
        let some = &all[..all.len().min(8 * points.dimension)];
        let rank = independent_columns(&points.integers(some), points.dimension).len();
        if rank > MOST || steps(rank, points.len()) > most_steps {
            return None;
        }
        let integers = points.integers(&all);
        let columns = independent_columns(&integers, points.dimension);
        if columns.len() > MOST {
            return None;
        }
        let large: Vec<Vec<BigInt>> = integers
            .into_iter()
            .map(|row| columns.iter().map(|&j| row[j].clone()).collect())
            .collect();
        let small: Option<Vec<[i128; MOST]>> = large
            .iter()
            .map(|row| {
                let mut numbers = [0; MOST];
                for (number, entry) in numbers.iter_mut().zip(row) {
                    *number = entry.to_i128()?;
                }
                Some(numbers)
            })
            .collect();
        // Largest entries of about 1; a power of two rounds nothing.
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
                let mut numbers = [Approximate::exact(0.0); MOST];
                for (number, (&j, scale)) in numbers.iter_mut().zip(columns.iter().zip(&scales)) {
                    let value = points.row(i)[j] * scale;
                    // What is scaled into the subnormal numbers may lose digits.
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

    /// Whether a single sweep is enough: a sort of the points.
    pub(crate) fn is_one_sweep(&self) -> bool {
        self.columns.len() <= 2
    }

    /// Enumerates until it is late; `go_on` is asked now and then, with the number of sweeps made.
    pub(crate) fn least_error(
        &self,
        late: &(dyn Fn() -> bool + Sync),
        mut go_on: impl FnMut(u64) -> bool,
    ) -> Enumerated {
        let rank = self.columns.len();
        let coordinates: Vec<usize> = (0..rank).collect();
        let mut best: Option<(f64, Vec<usize>)> = None;
        let (mut sweeps, mut complete) = (0, true);
        if rank <= 2 {
            sweeps = 1;
        } else {
            // Batches of a fixed size; of equal costs the first flat counts, so threads change nothing.
            for batch in self.members.chunks(16) {
                let found: Vec<Around> = batch
                    .par_iter()
                    .map(|&p| self.around(p, &coordinates, late))
                    .collect();
                for (count, candidate) in found {
                    sweeps += count;
                    if let Some((cost, flat)) = candidate
                        && best.as_ref().is_none_or(|(least, _)| cost < *least)
                    {
                        best = Some((cost, flat));
                    }
                }
                let is_last = batch.last() == self.members.last();
                if late() || (!is_last && !go_on(sweeps)) {
                    complete = false;
                    break;
                }
            }
        }
        let flat = best.map(|(_, flat)| flat).unwrap_or_default();
        let (mut cost, mut sides) = (0.0, vec![false; self.points.len()]);
        match Pencil::new(self, &coordinates, &flat, &self.members) {
            Some(pencil) => cost = pencil.decide(&mut sides),
            None => cost += self.decide_line(&coordinates, &self.members, &mut sides),
        }
        // Rows of 0 have a score of 0.
        let zeros = (0..self.points.len()).filter(|&i| self.large[i].iter().all(Zero::is_zero));
        cost += zeros
            .filter(|&i| self.points.positive[i])
            .map(|i| self.points.costs[i])
            .sum::<f64>();
        // Everything on the hyperplane, w = 0, is the last thing that an intercept would shift away.
        if !self.points.intercept && self.points.positive_total() < cost {
            cost = self.points.positive_total();
            sides.fill(false);
        }
        Enumerated {
            cost,
            sides,
            sweeps,
            complete,
        }
    }

    /// The best pencil whose flat has this point as its first, of those that are looked at before it is late.
    fn around(&self, p: usize, coordinates: &[usize], late: &(dyn Fn() -> bool + Sync)) -> Around {
        let mut best: Option<(f64, Vec<usize>)> = None;
        let mut sweeps = 0;
        let along = Along::new(self, coordinates, p);
        let mut look = |flat: Vec<usize>| {
            if let Some(pencil) = Pencil::sharing(self, coordinates, &flat, &self.members, along.as_ref())
                && pencil.is_first()
            {
                sweeps += 1;
                let cost = pencil.least().cost;
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, flat));
                }
            }
        };
        if coordinates.len() == 3 {
            look(vec![p]);
        } else {
            let place = self.members.partition_point(|&i| i <= p);
            let in_time = self.members[place..].iter().take_while(|_| !late());
            in_time.for_each(|&q| look(vec![p, q]));
        }
        (sweeps, best)
    }

    /// The least cost on points that are all multiples of one row: which side that row is on, or none.
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
        // Only without an intercept can a line lie on the hyperplane while others do not.
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

/// About how many steps the enumeration of so many points takes.
fn steps(rank: usize, points: usize) -> f64 {
    let n = points as f64;
    let sweeps = match rank {
        4 => n * n / 2.0,
        3 => n,
        _ => 1.0,
    };
    sweeps * n * n.max(2.0).log2()
}

/// The columns that are independent of those before them.
fn independent_columns(rows: &[Vec<BigInt>], dimension: usize) -> Vec<usize> {
    // Rows are reduced one by one by those kept so far, without fractions; each that is left makes a pivot.
    let mut kept: Vec<(usize, Vec<BigInt>)> = Vec::new();
    for row in rows {
        // Beyond the largest rank of interest only the numbers would grow.
        if kept.len() == dimension || kept.len() > MOST {
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

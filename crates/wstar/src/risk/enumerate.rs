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

use std::cell::RefCell;
use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::number::{Approximate, Number, Planar};
use super::points::{Points, dyadic};

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
    points: &'a Points,
    /// The independent columns.
    columns: Vec<usize>,
    /// The rows in these columns, scaled by powers of two; whole numbers where they fit.
    approximate: Vec<[Approximate; MOST]>,
    small: Option<Vec<[i128; MOST]>>,
    large: Vec<Vec<BigInt>>,
    /// What a column of `approximate` is to the same column of whole numbers: a power of two.
    ratios: Vec<f64>,
    /// The points whose rows are not 0.
    members: Vec<usize>,
}

/// Where the best dichotomy of a sweep lies.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    cost: f64,
    /// How many groups of directions were passed.
    passed: usize,
    /// Whether the next group lies on the hyperplane itself.
    on: bool,
    /// Whether the hyperplane is turned to its other side.
    reversed: bool,
    /// Whether the flat lies on the hyperplane as a whole.
    flat_on: bool,
}

impl<'a> Arrangement<'a> {
    /// The points in independent columns; `None` if more than [`MOST`] are independent.
    pub(crate) fn new(points: &'a Points) -> Option<Self> {
        let all: Vec<usize> = (0..points.len()).collect();
        // Without looking at all rows of a wide problem: the rank of some is no larger than that of all.
        if points.dimension > MOST {
            let some = &all[..all.len().min(8 * points.dimension)];
            if independent_columns(&points.integers(some), points.dimension).len() > MOST {
                return None;
            }
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
        let members = (0..points.len())
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
        Some(Arrangement {
            points,
            columns,
            approximate,
            small,
            large,
            ratios,
            members,
        })
    }

    /// About how many steps the enumeration takes.
    pub(crate) fn work(&self) -> f64 {
        let n = self.members.len() as f64;
        let sweeps = match self.columns.len() {
            4 => n * n / 2.0,
            3 => n,
            _ => 1.0,
        };
        sweeps * n * n.max(2.0).log2()
    }

    /// Enumerates; `go_on` is asked now and then, with the number of sweeps made.
    pub(crate) fn least_error(&self, mut go_on: impl FnMut(u64) -> bool) -> Enumerated {
        let rank = self.columns.len();
        let coordinates: Vec<usize> = (0..rank).collect();
        let mut best: Option<(f64, Vec<usize>)> = None;
        let (mut sweeps, mut complete) = (0, true);
        if rank <= 2 {
            sweeps = 1;
        } else {
            // Batches of a fixed size; of equal costs the first flat counts, so threads change nothing.
            for batch in self.members.chunks(16) {
                let found: Vec<(u64, Option<(f64, Vec<usize>)>)> =
                    batch.par_iter().map(|&p| self.around(p, &coordinates)).collect();
                for (count, candidate) in found {
                    sweeps += count;
                    if let Some((cost, flat)) = candidate
                        && best.as_ref().is_none_or(|(least, _)| cost < *least)
                    {
                        best = Some((cost, flat));
                    }
                }
                if batch.last() != self.members.last() && !go_on(sweeps) {
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

    /// The best pencil whose flat has this point as its first.
    fn around(&self, p: usize, coordinates: &[usize]) -> (u64, Option<(f64, Vec<usize>)>) {
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
            self.members[place..].iter().for_each(|&q| look(vec![p, q]));
        }
        (sweeps, best)
    }

    /// The least cost on points that are all multiples of one row: which side that row is on, or none.
    fn decide_line(&self, coordinates: &[usize], members: &[usize], sides: &mut [bool]) -> f64 {
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

/// All rows, projected along one of them: what the pencils through it have in common.
struct Along {
    pivot: usize,
    fixed: Vec<Approximate>,
    rows: Vec<[Approximate; MOST - 1]>,
}

impl Along {
    /// For four coordinates, and a row that is not too small to be told from 0.
    fn new(arrangement: &Arrangement<'_>, coordinates: &[usize], p: usize) -> Option<Self> {
        if coordinates.len() != MOST {
            return None;
        }
        let fixed = arrangement.approximate[p];
        let pivot = certain_pivot(&fixed)?;
        let rows = arrangement
            .approximate
            .iter()
            .map(|row| {
                let mut shorter = [Approximate::exact(0.0); MOST - 1];
                for (entry, j) in shorter.iter_mut().zip((0..MOST).filter(|&j| j != pivot)) {
                    *entry = minor(&fixed, row, pivot, j);
                }
                shorter
            })
            .collect();
        Some(Along {
            pivot,
            fixed: fixed.to_vec(),
            rows,
        })
    }
}

/// The largest of the coordinates that are certainly not 0.
fn certain_pivot(row: &[Approximate]) -> Option<usize> {
    (0..row.len())
        .filter(|&j| row[j].value.abs() > row[j].error)
        .max_by(|&a, &b| row[a].value.abs().total_cmp(&row[b].value.abs()))
}

#[inline]
fn minor(by: &[Approximate], row: &[Approximate], k: usize, j: usize) -> Approximate {
    Approximate::minor(&by[k], &row[j], &row[k], &by[j]).unwrap_or(Approximate {
        value: 0.0,
        error: f64::INFINITY,
    })
}

/// The hyperplanes through a flat: a circle of them, seen as vectors of a plane.
struct Pencil<'a> {
    arrangement: &'a Arrangement<'a>,
    fixed: Vec<usize>,
    /// Of the coordinates that are left, which one each fixed row takes away.
    pivots: Vec<usize>,
    /// The same by their own names: on them the flat is seen as it is.
    names: Vec<usize>,
    rest: Vec<usize>,
    coordinates: Vec<usize>,
    small: Option<Vec<Vec<i128>>>,
    /// The points of the flat.
    flat: Vec<usize>,
    /// The other points, by direction.
    items: Vec<Item>,
    /// The vectors that had to be known exactly.
    exact: RefCell<FxHashMap<u32, Planar>>,
}

/// A point off the flat.
#[derive(Clone, Copy)]
struct Item {
    point: u32,
    /// Whether its vector was turned into the upper half of the plane.
    turned: bool,
    /// Grows with the angle, and how far it may be off.
    key: f64,
    error: f64,
    /// Whether it starts a new direction.
    starts: bool,
}

fn project<T: Number>(fixed: &[Vec<T>], pivots: &[usize], mut row: Vec<T>) -> Option<Vec<T>> {
    for (by, &k) in fixed.iter().zip(pivots) {
        let mut shorter = Vec::with_capacity(row.len() - 1);
        for j in (0..row.len()).filter(|&j| j != k) {
            shorter.push(T::minor(&by[k], &row[j], &row[k], &by[j])?);
        }
        row = shorter;
    }
    Some(row)
}

impl<'a> Pencil<'a> {
    /// The pencil around the flat of some points; `None` if they are dependent or the problem is only a line.
    fn new(
        arrangement: &'a Arrangement<'a>,
        coordinates: &[usize],
        flat: &[usize],
        members: &[usize],
    ) -> Option<Self> {
        Pencil::sharing(arrangement, coordinates, flat, members, None)
    }

    /// The same, with what is known of the rows along the first of the points.
    fn sharing(
        arrangement: &'a Arrangement<'a>,
        coordinates: &[usize],
        flat: &[usize],
        members: &[usize],
        along: Option<&Along>,
    ) -> Option<Self> {
        if coordinates.len() < 2 || flat.len() + 2 != coordinates.len() {
            return None;
        }
        let mut pencil = Pencil {
            arrangement,
            fixed: Vec::new(),
            pivots: Vec::new(),
            names: Vec::new(),
            rest: coordinates.to_vec(),
            coordinates: coordinates.to_vec(),
            small: arrangement.small.as_ref().map(|_| Vec::new()),
            flat: Vec::new(),
            items: Vec::new(),
            exact: RefCell::default(),
        };
        let mut approximate: Vec<Vec<Approximate>> = Vec::new();
        for &p in flat {
            let (row, certain) = match (along, pencil.fixed.len()) {
                (Some(along), 0) => (along.fixed.clone(), Some(along.pivot)),
                (Some(along), _) => (along.rows[p].to_vec(), certain_pivot(&along.rows[p])),
                _ => {
                    let row = project(&approximate, &pencil.pivots, pencil.approximate(p))?;
                    let certain = certain_pivot(&row);
                    (row, certain)
                }
            };
            // Where nothing is certain, whichever exact arithmetic finds.
            let pivot = match certain {
                Some(pivot) => pivot,
                None => pencil.large(p).iter().position(|v| !v.is_zero())?,
            };
            let small = pencil.small.take().and_then(|mut fixed| {
                let row = pencil.small_with(&fixed, p)?;
                fixed.push(row);
                Some(fixed)
            });
            pencil.small = small;
            pencil.fixed.push(p);
            pencil.pivots.push(pivot);
            pencil.names.push(pencil.rest.remove(pivot));
            approximate.push(row);
        }
        pencil.arrange(&approximate, members, along);
        Some(pencil)
    }

    fn approximate(&self, i: usize) -> Vec<Approximate> {
        let row = &self.arrangement.approximate[i];
        self.coordinates.iter().map(|&j| row[j]).collect()
    }

    fn small_with(&self, fixed: &[Vec<i128>], i: usize) -> Option<Vec<i128>> {
        let row = self.arrangement.small.as_ref()?.get(i)?;
        project(
            fixed,
            &self.pivots,
            self.coordinates.iter().map(|&j| row[j]).collect(),
        )
    }

    /// A row projected along the fixed ones, in whole numbers.
    fn large(&self, i: usize) -> Vec<BigInt> {
        let row = |i: usize| -> Vec<BigInt> {
            let row = &self.arrangement.large[i];
            self.coordinates.iter().map(|&j| row[j].clone()).collect()
        };
        let mut fixed: Vec<Vec<BigInt>> = Vec::new();
        for &p in &self.fixed {
            let projected = project(&fixed, &self.pivots, row(p));
            fixed.extend(projected);
        }
        project(&fixed, &self.pivots, row(i)).unwrap_or_default()
    }

    fn planar(&self, i: usize) -> Planar {
        let small = self.small.as_ref().and_then(|fixed| self.small_with(fixed, i));
        if let Some(&[x, y]) = small.as_deref() {
            return Planar::Small([x, y]);
        }
        let mut large = self.large(i).into_iter();
        Planar::Large([large.next().unwrap_or_default(), large.next().unwrap_or_default()])
    }

    /// Sorts the points off the flat by direction.
    fn arrange(&mut self, fixed: &[Vec<Approximate>], members: &[usize], along: Option<&Along>) {
        let mut items = Vec::with_capacity(members.len());
        for &i in members {
            let [x, y] = self.planar_approximate(fixed, i, along);
            let side = match y.sign() {
                Some(Ordering::Equal) => x.sign(),
                side => side,
            };
            let (size, off) = (x.value.abs() + y.value.abs(), x.error + y.error);
            match side {
                Some(side) if off < 1e-6 * size && side != Ordering::Equal => {
                    let turned = side == Ordering::Less;
                    items.push(Item {
                        point: i as u32,
                        turned,
                        key: if turned { x.value } else { -x.value } / size,
                        error: 4.0 * off / size + 1e-15,
                        starts: false,
                    });
                }
                _ => match self.exact_item(i) {
                    Some(item) => items.push(item),
                    None => self.flat.push(i),
                },
            }
        }
        items.sort_unstable_by(|a, b| a.key.total_cmp(&b.key));
        // Where the keys of a run may be in another order than the directions, these decide.
        let mut lowest = f64::INFINITY;
        let mut ends = vec![false; items.len()];
        for k in (0..items.len()).rev() {
            ends[k] = items[k].key + items[k].error < lowest;
            lowest = lowest.min(items[k].key - items[k].error);
        }
        let mut start = 0;
        let mut highest = f64::NEG_INFINITY;
        for k in 0..items.len() {
            highest = highest.max(items[k].key + items[k].error);
            let next = items
                .get(k + 1)
                .map_or(f64::INFINITY, |item| item.key - item.error);
            items[k].starts = k == start;
            if !(ends[k] && highest < next) {
                continue;
            }
            if k > start {
                let run = &mut items[start..=k];
                run.sort_unstable_by(|a, b| self.compare_exactly(a, b));
                for j in 1..run.len() {
                    run[j].starts = self.compare_exactly(&run[j - 1], &run[j]) != Ordering::Equal;
                }
                run[0].starts = true;
            }
            start = k + 1;
        }
        self.items = items;
    }

    /// A point whose vector is too near to 0, or to the axis, for its approximation; `None` if it is on the flat.
    #[cold]
    fn exact_item(&self, i: usize) -> Option<Item> {
        let planar = self.planar(i);
        let side = match planar.sign(1) {
            Ordering::Equal => planar.sign(0),
            side => side,
        };
        let turned = match side {
            Ordering::Equal => return None,
            side => side == Ordering::Less,
        };
        let ratios = &self.arrangement.ratios;
        let (x, y) = planar.rounded([ratios[self.rest[0]], ratios[self.rest[1]]]);
        let size = x.abs() + y.abs();
        let known = size > 0.0 && size.is_finite();
        self.exact.borrow_mut().insert(i as u32, planar);
        Some(Item {
            point: i as u32,
            turned,
            key: if !known {
                0.0
            } else if turned {
                x / size
            } else {
                -x / size
            },
            error: if known { 1e-14 } else { 4.0 },
            starts: false,
        })
    }

    #[inline]
    fn planar_approximate(
        &self,
        fixed: &[Vec<Approximate>],
        i: usize,
        along: Option<&Along>,
    ) -> [Approximate; 2] {
        let row = &self.arrangement.approximate[i];
        let row = |j: usize| row[self.coordinates[j]];
        match (fixed, along) {
            ([], _) => [row(0), row(1)],
            ([p], _) => {
                let row = [row(0), row(1), row(2)];
                let k = self.pivots[0];
                let [a, b] = OTHERS[k];
                [minor(p, &row, k, a), minor(p, &row, k, b)]
            }
            ([_, q, ..], Some(along)) => {
                let k = self.pivots[1];
                let [a, b] = OTHERS[k];
                let row = &along.rows[i];
                [minor(q, row, k, a), minor(q, row, k, b)]
            }
            ([p, q, ..], None) => {
                let row = [row(0), row(1), row(2), row(3)];
                let k = self.pivots[0];
                let mut shorter = [Approximate::exact(0.0); MOST - 1];
                for (entry, j) in shorter.iter_mut().zip((0..MOST).filter(|&j| j != k)) {
                    *entry = minor(p, &row, k, j);
                }
                let k = self.pivots[1];
                let [a, b] = OTHERS[k];
                [minor(q, &shorter, k, a), minor(q, &shorter, k, b)]
            }
        }
    }

    /// The order of two directions: the smaller angle comes first.
    fn compare_exactly(&self, a: &Item, b: &Item) -> Ordering {
        if a.point == b.point {
            return Ordering::Equal;
        }
        let mut exact = self.exact.borrow_mut();
        for item in [a, b] {
            exact
                .entry(item.point)
                .or_insert_with(|| self.planar(item.point as usize));
        }
        let cross = exact[&a.point].cross(&exact[&b.point]);
        if a.turned == b.turned {
            cross.reverse()
        } else {
            cross
        }
    }

    /// Whether no pair of earlier points spans the same flat.
    fn is_first(&self) -> bool {
        match self.fixed[..] {
            [p] => self.flat.first().is_none_or(|&i| i >= p),
            [p, q] => self.flat.iter().take_while(|&&i| i < q).all(|&i| {
                // Between the two only what is a multiple of the first does not span the flat with it.
                i == p || i > p && self.depends_on_first(i)
            }),
            _ => true,
        }
    }

    fn depends_on_first(&self, i: usize) -> bool {
        let rows = &self.arrangement.large;
        let (p, r) = (&rows[self.fixed[0]], &rows[i]);
        let k = self.names[0];
        (0..p.len()).all(|j| &p[k] * &r[j] == &r[k] * &p[j])
    }

    /// The best of the hyperplanes through the flat.
    fn least(&self) -> Place {
        let points = self.arrangement.points;
        let cost = |item: &Item| points.costs[item.point as usize];
        // Before its direction is passed, a point is on its negative side if it was not turned.
        let wrong_before = |item: &Item| item.turned != points.positive[item.point as usize];
        let total: f64 = self.items.iter().map(cost).sum();
        let mut now: f64 = self
            .items
            .iter()
            .filter(|item| wrong_before(item))
            .map(cost)
            .sum();
        let (flat_cost, flat_on) = self.flat_cost();
        let mut best = Place {
            cost: f64::INFINITY,
            passed: 0,
            on: false,
            reversed: false,
            flat_on,
        };
        let mut offer = |cost: f64, passed: usize, on: bool, reversed: bool| {
            if cost < best.cost {
                best = Place {
                    cost,
                    passed,
                    on,
                    reversed,
                    flat_on: on || flat_on,
                };
            }
        };
        let mut passed = 0;
        let mut k = 0;
        loop {
            offer(now + flat_cost, passed, false, false);
            offer(total - now + flat_cost, passed, false, true);
            if k == self.items.len() {
                break;
            }
            let (mut before, mut weight, mut positive) = (0.0, 0.0, 0.0);
            let start = k;
            while k < self.items.len() && (k == start || !self.items[k].starts) {
                let item = &self.items[k];
                weight += cost(item);
                before += if wrong_before(item) { cost(item) } else { 0.0 };
                positive += if points.positive[item.point as usize] {
                    cost(item)
                } else {
                    0.0
                };
                k += 1;
            }
            if !points.intercept {
                // The whole of the direction, and with it the flat, at a score of 0.
                let on = positive + self.positive_on_flat();
                offer(now - before + on, passed, true, false);
                offer(total - now - (weight - before) + on, passed, true, true);
            }
            now += weight - 2.0 * before;
            passed += 1;
        }
        best
    }

    fn positive_on_flat(&self) -> f64 {
        let points = self.arrangement.points;
        let positive = self.flat.iter().filter(|&&i| points.positive[i]);
        positive.map(|&i| points.costs[i]).sum()
    }

    /// The least cost on the flat, and whether it takes the flat to lie on the hyperplane.
    fn flat_cost(&self) -> (f64, bool) {
        if self.flat.len() <= self.fixed.len() {
            // Independent rows can be given any sides.
            return (0.0, false);
        }
        self.decide_flat(&mut vec![false; self.arrangement.points.len()])
    }

    fn decide_flat(&self, sides: &mut [bool]) -> (f64, bool) {
        let inside = match Pencil::new(self.arrangement, &self.names, &[], &self.flat) {
            Some(pencil) => pencil.decide(sides),
            None => self.arrangement.decide_line(&self.names, &self.flat, sides),
        };
        let on = self.positive_on_flat();
        if !self.arrangement.points.intercept && on < inside {
            return (on, true);
        }
        (inside, false)
    }

    /// The least cost over the pencil and its flat, with the side of each of their points.
    fn decide(&self, sides: &mut [bool]) -> f64 {
        let best = self.least();
        self.decide_flat(sides);
        if best.flat_on {
            self.flat.iter().for_each(|&i| sides[i] = false);
        }
        let mut group = 0;
        for (k, item) in self.items.iter().enumerate() {
            group += usize::from(item.starts && k > 0);
            let side = match group.cmp(&best.passed) {
                Ordering::Less => !item.turned,
                Ordering::Equal if best.on => false,
                _ => item.turned,
            };
            let on = best.on && group == best.passed;
            sides[item.point as usize] = if on { false } else { side != best.reversed };
        }
        best.cost
    }
}

const OTHERS: [[usize; 2]; 3] = [[1, 2], [0, 2], [0, 1]];

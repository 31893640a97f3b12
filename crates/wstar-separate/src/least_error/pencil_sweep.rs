//! The hyperplanes through a flat of points: a pencil, swept once around.
//!
//! Every point is projected along the flat into a plane. There a hyperplane of the pencil is a line through
//! 0, so the points change sides in the order of their directions.

use std::cell::RefCell;
use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::Zero;
use rustc_hash::FxHashMap;

use crate::least_error::arrangement::{Arrangement, MAX_RANK};
use crate::least_error::filtered_number::{Approximate, FilteredNumber, Planar};
use crate::least_error::sweep_position::SweepPosition;

/// All rows, projected along one of them. All pencils through that row share this projection.
pub(super) struct SharedProjection {
    pivot: usize,
    fixed: Vec<Approximate>,
    rows: Vec<[Approximate; MAX_RANK - 1]>,
}

impl SharedProjection {
    /// The projection along row `p`, for four coordinates; `None` if the row cannot be distinguished from
    /// 0.
    pub(super) fn new(arrangement: &Arrangement<'_>, coordinates: &[usize], p: usize) -> Option<Self> {
        if coordinates.len() != MAX_RANK {
            return None;
        }
        let fixed = arrangement.approximate[p];
        let pivot = certain_pivot(&fixed)?;
        let rows = arrangement
            .approximate
            .iter()
            .map(|row| {
                let mut shorter = [Approximate::exact(0.0); MAX_RANK - 1];
                for (entry, j) in shorter.iter_mut().zip((0..MAX_RANK).filter(|&j| j != pivot)) {
                    *entry = minor(&fixed, row, pivot, j);
                }
                shorter
            })
            .collect();
        Some(SharedProjection {
            pivot,
            fixed: fixed.to_vec(),
            rows,
        })
    }
}

/// The largest of the coordinates that are certainly nonzero.
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

/// The hyperplanes through a flat, as a circle of directions in the plane.
pub(super) struct Pencil<'a> {
    arrangement: &'a Arrangement<'a>,
    fixed: Vec<usize>,
    /// For each fixed row, the position of its pivot among the coordinates that remain.
    pivots: Vec<usize>,
    /// The pivots as original coordinates. The projection of the flat onto them is one-to-one.
    pivot_columns: Vec<usize>,
    rest: Vec<usize>,
    coordinates: Vec<usize>,
    small: Option<Vec<Vec<i128>>>,
    /// The points on the flat.
    flat: Vec<usize>,
    /// The other points, sorted by direction.
    items: Vec<Item>,
    /// Cache of the vectors that were computed exactly.
    exact: RefCell<FxHashMap<u32, Planar>>,
}

/// A point off the flat.
#[derive(Clone, Copy)]
struct Item {
    point: u32,
    /// Whether its vector was reflected into the upper half-plane.
    turned: bool,
    /// An increasing function of the angle; `error` bounds its error.
    key: f64,
    error: f64,
    /// Whether its direction differs from that of the item before it.
    starts: bool,
}

fn project<T: FilteredNumber>(fixed: &[Vec<T>], pivots: &[usize], mut row: Vec<T>) -> Option<Vec<T>> {
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
    /// The pencil through the flat of some points; `None` if they are dependent or the problem is only a
    /// line.
    pub(super) fn new(
        arrangement: &'a Arrangement<'a>,
        coordinates: &[usize],
        flat: &[usize],
        members: &[usize],
    ) -> Option<Self> {
        Pencil::sharing(arrangement, coordinates, flat, members, None)
    }

    /// The pencil, given the projection along the first of the points if it is known.
    pub(super) fn sharing(
        arrangement: &'a Arrangement<'a>,
        coordinates: &[usize],
        flat: &[usize],
        members: &[usize],
        shared: Option<&SharedProjection>,
    ) -> Option<Self> {
        if coordinates.len() < 2 || flat.len() + 2 != coordinates.len() {
            return None;
        }
        let mut pencil = Pencil {
            arrangement,
            fixed: Vec::new(),
            pivots: Vec::new(),
            pivot_columns: Vec::new(),
            rest: coordinates.to_vec(),
            coordinates: coordinates.to_vec(),
            small: arrangement.small.as_ref().map(|_| Vec::new()),
            flat: Vec::new(),
            items: Vec::new(),
            exact: RefCell::default(),
        };
        let mut approximate: Vec<Vec<Approximate>> = Vec::new();
        for &p in flat {
            let (row, certain) = match (shared, pencil.fixed.len()) {
                (Some(shared), 0) => (shared.fixed.clone(), Some(shared.pivot)),
                (Some(shared), _) => (shared.rows[p].to_vec(), certain_pivot(&shared.rows[p])),
                _ => {
                    let row = project(&approximate, &pencil.pivots, pencil.approximate(p))?;
                    let certain = certain_pivot(&row);
                    (row, certain)
                }
            };
            // If no coordinate is certainly nonzero, exact arithmetic finds one.
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
            pencil.pivot_columns.push(pencil.rest.remove(pivot));
            approximate.push(row);
        }
        pencil.arrange(&approximate, members, shared);
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

    /// A row projected along the fixed ones, in integers.
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
    fn arrange(&mut self, fixed: &[Vec<Approximate>], members: &[usize], shared: Option<&SharedProjection>) {
        let mut items = Vec::with_capacity(members.len());
        for &i in members {
            let [x, y] = self.planar_approximate(fixed, i, shared);
            let side = match y.sign() {
                Some(Ordering::Equal) => x.sign(),
                side => side,
            };
            let (size, off) = (x.value.abs() + y.value.abs(), x.error + y.error);
            match side {
                // Heuristic: less accurate directions are computed exactly; not measured yet.
                Some(side) if off < 1e-6 * size && side != Ordering::Equal => {
                    let turned = side == Ordering::Less;
                    items.push(Item {
                        point: i as u32,
                        turned,
                        key: if turned { x.value } else { -x.value } / size,
                        // Derived: at most 2·off/size to first order; the factor 4 and 1e-15 cover the rest.
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
        // Exact comparison sorts every run of items whose error intervals overlap.
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

    /// The item of a point whose vector is too near to 0 or to the axis for its approximation; `None` if
    /// the point is on the flat.
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
            error: if known { 1e-14 } else { 4.0 }, // Derived: a few roundings; keys differ by at most 2.
            starts: false,
        })
    }

    #[inline]
    fn planar_approximate(
        &self,
        fixed: &[Vec<Approximate>],
        i: usize,
        shared: Option<&SharedProjection>,
    ) -> [Approximate; 2] {
        let row = &self.arrangement.approximate[i];
        let row = |j: usize| row[self.coordinates[j]];
        match (fixed, shared) {
            ([], _) => [row(0), row(1)],
            ([p], _) => {
                let row = [row(0), row(1), row(2)];
                let k = self.pivots[0];
                let [a, b] = OTHERS[k];
                [minor(p, &row, k, a), minor(p, &row, k, b)]
            }
            ([_, q, ..], Some(shared)) => {
                let k = self.pivots[1];
                let [a, b] = OTHERS[k];
                let row = &shared.rows[i];
                [minor(q, row, k, a), minor(q, row, k, b)]
            }
            ([p, q, ..], None) => {
                let row = [row(0), row(1), row(2), row(3)];
                let k = self.pivots[0];
                let mut shorter = [Approximate::exact(0.0); MAX_RANK - 1];
                for (entry, j) in shorter.iter_mut().zip((0..MAX_RANK).filter(|&j| j != k)) {
                    *entry = minor(p, &row, k, j);
                }
                let k = self.pivots[1];
                let [a, b] = OTHERS[k];
                [minor(q, &shorter, k, a), minor(q, &shorter, k, b)]
            }
        }
    }

    /// Compares two directions: the smaller angle comes first.
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

    /// Whether no earlier points span the same flat, so that every flat is swept once.
    pub(super) fn is_first(&self) -> bool {
        match self.fixed[..] {
            [p] => self.flat.first().is_none_or(|&i| i >= p),
            [p, q] => self.flat.iter().take_while(|&&i| i < q).all(|&i| {
                // A point between the two that is on the flat must be a multiple of the first, or it would
                // span the flat with it.
                i == p || i > p && self.depends_on_first(i)
            }),
            _ => true,
        }
    }

    fn depends_on_first(&self, i: usize) -> bool {
        let rows = &self.arrangement.large;
        let (p, r) = (&rows[self.fixed[0]], &rows[i]);
        let k = self.pivot_columns[0];
        (0..p.len()).all(|j| &p[k] * &r[j] == &r[k] * &p[j])
    }

    /// The best hyperplane of the pencil.
    pub(super) fn least(&self) -> SweepPosition {
        let points = self.arrangement.points;
        let cost = |item: &Item| points.costs[item.point as usize];
        // Before its direction is passed, a point is on its negative side if it was not reflected.
        let wrong_before = |item: &Item| item.turned != points.positive[item.point as usize];
        let total: f64 = self.items.iter().map(cost).sum();
        let mut now: f64 = self
            .items
            .iter()
            .filter(|item| wrong_before(item))
            .map(cost)
            .sum();
        let (flat_cost, flat_on) = self.flat_cost();
        let mut best = SweepPosition {
            cost: f64::INFINITY,
            passed: 0,
            on: false,
            reversed: false,
            flat_on,
        };
        let mut offer = |cost: f64, passed: usize, on: bool, reversed: bool| {
            if cost < best.cost {
                best = SweepPosition {
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
                // All points of the direction, and with them the flat, get a score of 0.
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

    /// The least cost on the flat, and whether it is attained with the flat on the hyperplane.
    fn flat_cost(&self) -> (f64, bool) {
        if self.flat.len() <= self.fixed.len() {
            // Independent rows can be given any sides.
            return (0.0, false);
        }
        self.decide_flat(&mut vec![false; self.arrangement.points.len()])
    }

    fn decide_flat(&self, sides: &mut [bool]) -> (f64, bool) {
        let inside = match Pencil::new(self.arrangement, &self.pivot_columns, &[], &self.flat) {
            Some(pencil) => pencil.decide(sides),
            None => self
                .arrangement
                .decide_line(&self.pivot_columns, &self.flat, sides),
        };
        let on = self.positive_on_flat();
        if !self.arrangement.points.intercept && on < inside {
            return (on, true);
        }
        (inside, false)
    }

    /// The least cost over the pencil and its flat; writes the side of each of their points.
    pub(super) fn decide(&self, sides: &mut [bool]) -> f64 {
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

/// The two other indices for each of three.
const OTHERS: [[usize; 2]; 3] = [[1, 2], [0, 2], [0, 1]];

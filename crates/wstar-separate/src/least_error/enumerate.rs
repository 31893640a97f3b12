//! The least error by enumeration, exact for points in any position.
//!
//! Problem: min over (w, b) of the total cost of the misclassified points. Method: the hyperplanes
//! through points are swept, in at most `n^(D−2)` sweeps of `O(n log n)` steps, where `D` is the rank of
//! the lifted rows (`d + 1`, and at most 4 here), as D. S. Johnson and F. P. Preparata do for the densest
//! hemisphere (The densest hemisphere problem, Theoretical Computer Science 6, 1978).
//!
//! The hyperplanes that classify every point as the optimal one does form a cone. The rows span the
//! space, so the cone has an extreme ray: a hyperplane `H` through rows of rank `D − 1`, from which the
//! optimal one differs only on the points of `H`. The same argument applies on `H`. So, up to a small
//! turn, the optimal hyperplane lies in the pencil of hyperplanes through a flat `F` of rank `D − 2`
//! spanned by points, strictly between two critical directions of the pencil. On the points of `F` it is
//! the optimal hyperplane of that flat, a smaller problem of the same kind. Therefore the least error is
//! the minimum over flats `F` of (the least error of a turn around `F`, by sorting the directions) + (the
//! least error on `F`).
//!
//! Without an intercept a hyperplane cannot be shifted off the points that it contains, and a score of 0
//! is the negative class. Hyperplanes that contain a flat, or that are critical themselves, are then
//! counted too.
//!
//! All orders and signs are exact: decided by error bounds where these suffice, otherwise in integers.

use num_traits::Zero;
use rayon::prelude::*;

use crate::least_error::arrangement::Arrangement;
use crate::least_error::pencil_sweep::{Pencil, SharedProjection};

/// The result of an enumeration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Enumerated {
    /// The least cost of all sweeps made.
    pub(crate) cost: f64,
    /// Whether each point is on the positive side.
    pub(crate) sides: Vec<bool>,
    /// The number of sweeps made.
    pub(crate) sweeps: u64,
    /// Whether all sweeps were made.
    pub(crate) complete: bool,
}

/// The number of sweeps of the pencils through a point, and the least cost with its flat.
type PencilSweeps = (u64, Option<(f64, Vec<usize>)>);

impl Arrangement<'_> {
    /// Enumerates until the time limit has passed or `should_continue` returns `false` for the number of sweeps.
    pub(crate) fn least_error(
        &self,
        expired: &(dyn Fn() -> bool + Sync),
        mut should_continue: impl FnMut(u64) -> bool,
    ) -> Enumerated {
        let rank = self.columns.len();
        let coordinates: Vec<usize> = (0..rank).collect();
        let mut best: Option<(f64, Vec<usize>)> = None;
        let (mut sweeps, mut complete) = (0, true);
        if rank <= 2 {
            sweeps = 1;
        } else {
            // Batches have a fixed size and the first flat wins among equal costs, so the result does not
            // depend on the number of threads. Heuristic: 16 points keep all threads busy; not measured yet.
            for batch in self.members.chunks(16) {
                let found: Vec<PencilSweeps> = batch
                    .par_iter()
                    .map(|&p| self.sweep_pencils(p, &coordinates, expired))
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
                if expired() || (!is_last && !should_continue(sweeps)) {
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
        // w = 0 puts every point on the hyperplane. With an intercept this case is not needed.
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

    /// The best pencil whose flat has this point as its first, among those swept within the time limit.
    fn sweep_pencils(
        &self,
        p: usize,
        coordinates: &[usize],
        expired: &(dyn Fn() -> bool + Sync),
    ) -> PencilSweeps {
        let mut best: Option<(f64, Vec<usize>)> = None;
        let mut sweeps = 0;
        let shared = SharedProjection::new(self, coordinates, p);
        let mut sweep = |flat: Vec<usize>| {
            if let Some(pencil) = Pencil::sharing(self, coordinates, &flat, &self.members, shared.as_ref())
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
            sweep(vec![p]);
        } else {
            let start = self.members.partition_point(|&i| i <= p);
            let in_time = self.members[start..].iter().take_while(|_| !expired());
            in_time.for_each(|&q| sweep(vec![p, q]));
        }
        (sweeps, best)
    }
}

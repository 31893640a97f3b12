//! What the loss pulls at every weight, Xⱼᵀs for the slopes s of the rows, looked at only where it may matter.
//!
//! When the slopes move by Δ no pull moves by more than ‖xⱼ‖·‖Δ‖, so one that was far enough within its bound is known to be
//! there still (the sphere test of L. El Ghaoui, V. Viallon and T. Rabbani, Safe feature elimination for the lasso, 2010).

use crate::penalty::Penalty;
use crate::solve::coordinate_descent::columns::Columns;

/// How much of a bound is left to rounding.
const ROUNDING: f64 = 1e-9;
/// A drift this small beside its bound is one of rounding, as sums over rows have it anyway.
const KNOWN: f64 = 1e-13;

/// The pulls as they were when they were last looked at, and how far they may be from there.
#[derive(Debug)]
pub(super) struct Pulls {
    pub(super) gradient: Vec<f64>,
    drift: Vec<f64>,
    /// The slopes of the rows.
    slopes: Vec<f64>,
}

impl Pulls {
    /// At these slopes.
    pub(super) fn new(columns: &Columns, parameters: usize, slopes: &[f64]) -> Self {
        let all: Vec<usize> = (0..parameters).collect();
        Pulls {
            gradient: columns.dots(&all, slopes),
            drift: vec![0.0; parameters],
            slopes: slopes.to_vec(),
        }
    }

    /// Of rows that count so many times as much.
    pub(super) fn multiply(&mut self, times: f64) {
        let all = [&mut self.gradient, &mut self.drift, &mut self.slopes];
        all.into_iter()
            .for_each(|values| values.iter_mut().for_each(|value| *value *= times));
    }

    /// Follows the slopes to where they are now; pulls that could be beyond their penalty's l1 there, and those at
    /// weights that are not 0, are looked at.
    pub(super) fn follow(
        &mut self,
        columns: &Columns,
        squares: &[f64],
        slopes: &[f64],
        at: &[f64],
        penalties: &[Penalty],
    ) {
        let pairs = self.slopes.iter().zip(slopes);
        let moved = pairs
            .map(|(old, new)| (new - old) * (new - old))
            .sum::<f64>()
            .sqrt();
        self.slopes.copy_from_slice(slopes);
        let mut looked = Vec::new();
        for (j, drift) in self.drift.iter_mut().enumerate() {
            *drift += moved * squares[j].sqrt();
            let l1 = penalties[j].l1;
            let near = at[j] != 0.0 || self.gradient[j].abs() + *drift > (1.0 - ROUNDING) * l1;
            if near && *drift > KNOWN * l1 {
                looked.push(j);
            }
        }
        self.look(columns, &looked);
    }

    /// Looks at these, unless they are known.
    pub(super) fn settle(&mut self, columns: &Columns, chosen: &[usize]) {
        let looked: Vec<usize> = chosen.iter().copied().filter(|&j| self.drift[j] > 0.0).collect();
        self.look(columns, &looked);
    }

    fn look(&mut self, columns: &Columns, looked: &[usize]) {
        let found = columns.dots(looked, &self.slopes);
        for (&j, found) in looked.iter().zip(found) {
            (self.gradient[j], self.drift[j]) = (found, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Design;
    use crate::oracle::Layout;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_may_matter_is_known(
            rows in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 12), 8),
            steps in prop::collection::vec((0.0..0.3f64, prop::collection::vec(-1.0..1.0f64, 8)), 1..6),
            l1 in 0.1..3.0f64,
            at in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0)], 12),
        ) {
            let layout = Layout { outputs: 1, features: 12, intercept: false };
            let columns = Columns::new(&Design::from_rows(&rows).unwrap(), layout).unwrap();
            let squares = columns.squares(None);
            let penalties = vec![Penalty { l1, l2: 0.0 }; 12];
            let mut slopes = vec![1.0; 8];
            let mut pulls = Pulls::new(&columns, 12, &slopes);
            for (length, step) in &steps {
                slopes.iter_mut().zip(step).for_each(|(slope, by)| *slope += length * by);
                pulls.follow(&columns, &squares, &slopes, &at, &penalties);
                for (j, &w) in at.iter().enumerate() {
                    let now = columns.dot(j, &slopes);
                    if w != 0.0 || now.abs() > l1 {
                        prop_assert!((pulls.gradient[j] - now).abs() <= 1e-12 * l1.max(1.0));
                    } else {
                        prop_assert!(pulls.gradient[j].abs() <= (1.0 + 1e-12) * l1);
                    }
                }
            }
            pulls.settle(&columns, &[3, 5]);
            prop_assert_eq!(pulls.gradient[3], columns.dot(3, &slopes));
        }
    }
}

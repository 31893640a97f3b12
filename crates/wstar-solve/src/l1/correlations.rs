//! The correlations Xⱼᵀs of all columns with the slopes s of the rows, recomputed only where they may matter.
//!
//! If the slopes change by Δ, no correlation changes by more than ‖xⱼ‖·‖Δ‖. A correlation that was far enough
//! below its bound l1 is therefore still below it (the sphere test of L. El Ghaoui, V. Viallon and T.
//! Rabbani, Safe feature elimination for the lasso, 2010).

use crate::l1::columns::Columns;
use wstar_problem::penalty::Penalty;

/// The fraction of a bound that is reserved for rounding. Derived: far above the rounding error of a
/// correlation.
const ROUNDING: f64 = 1e-9;
/// The drift, relative to its bound, up to which a correlation counts as exact. Derived: sums over rows have
/// this much rounding anyway.
const EXACT: f64 = 1e-13;

/// The correlations at the time of their last computation, and bounds on how far they have changed since.
#[derive(Debug)]
pub(super) struct Correlations {
    pub(super) gradient: Vec<f64>,
    /// An upper bound on the change of each correlation since it was computed.
    drift: Vec<f64>,
    /// The slopes of the rows.
    slopes: Vec<f64>,
}

impl Correlations {
    /// The correlations at these slopes.
    pub(super) fn new(columns: &Columns, parameters: usize, slopes: &[f64]) -> Self {
        let all: Vec<usize> = (0..parameters).collect();
        Correlations {
            gradient: columns.dots(&all, slopes),
            drift: vec![0.0; parameters],
            slopes: slopes.to_vec(),
        }
    }

    /// Multiplies the weights of all rows by a factor.
    pub(super) fn scale(&mut self, times: f64) {
        let all = [&mut self.gradient, &mut self.drift, &mut self.slopes];
        all.into_iter()
            .for_each(|values| values.iter_mut().for_each(|value| *value *= times));
    }

    /// Moves to new slopes. Recomputes the correlations that could exceed their penalty's l1 there, and those
    /// of weights that are not 0.
    pub(super) fn update(
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
        let mut stale = Vec::new();
        for (j, drift) in self.drift.iter_mut().enumerate() {
            *drift += moved * squares[j].sqrt();
            let l1 = penalties[j].l1;
            let near = at[j] != 0.0 || self.gradient[j].abs() + *drift > (1.0 - ROUNDING) * l1;
            if near && *drift > EXACT * l1 {
                stale.push(j);
            }
        }
        self.recompute(columns, &stale);
    }

    /// Makes the chosen correlations exact.
    pub(super) fn make_exact(&mut self, columns: &Columns, chosen: &[usize]) {
        let stale: Vec<usize> = chosen.iter().copied().filter(|&j| self.drift[j] > 0.0).collect();
        self.recompute(columns, &stale);
    }

    /// Recomputes the chosen correlations.
    fn recompute(&mut self, columns: &Columns, stale: &[usize]) {
        let computed = columns.dots(stale, &self.slopes);
        for (&j, computed) in stale.iter().zip(computed) {
            (self.gradient[j], self.drift[j]) = (computed, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wstar_data::Design;
    use wstar_data::linear::Layout;

    proptest! {
        #[test]
        fn correlations_that_may_matter_are_exact(
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
            let mut correlations = Correlations::new(&columns, 12, &slopes);
            for (length, step) in &steps {
                slopes.iter_mut().zip(step).for_each(|(slope, by)| *slope += length * by);
                correlations.update(&columns, &squares, &slopes, &at, &penalties);
                for (j, &w) in at.iter().enumerate() {
                    let now = columns.dot(j, &slopes);
                    if w != 0.0 || now.abs() > l1 {
                        prop_assert!((correlations.gradient[j] - now).abs() <= 1e-12 * l1.max(1.0));
                    } else {
                        prop_assert!(correlations.gradient[j].abs() <= (1.0 + 1e-12) * l1);
                    }
                }
            }
            correlations.make_exact(&columns, &[3, 5]);
            prop_assert_eq!(correlations.gradient[3], columns.dot(3, &slopes));
        }
    }
}

//! The iterate of the method for piecewise losses, and one predictor–corrector step.

use crate::best_intercept;
use crate::fixed_order::{add, pass};
use crate::interior_point::complementarity::{Entry, Reach};
use crate::interior_point::piecewise_loss::PiecewiseLoss;
use crate::kink::Kink;
use crate::newton_system::Normal;
use crate::newton_system::column_scales;
use crate::newton_system::scalar::Scalar;
use wstar_data::linear::Layout;
use wstar_numeric::linalg::power_of_two::power_of_two;
use wstar_problem::objective::Objective;
use wstar_problem::objective::Rows;
use wstar_problem::problem::Intercept;

/// Smallest residual that the initial τ assumes for an entry, as a fraction of the residual at score 0.
/// Heuristic: a start that fits better would place τ, and with it the iterate, too close to the boundary; not
/// measured yet.
const MIN_RESIDUAL_FRACTION: f64 = 1e-3;

/// The sums that one pass over the entries computes.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals<S> {
    /// The lower triangle of X̃ᵀ diag(c·g) X̃.
    gram: Vec<S>,
    /// X̃ᵀ(c·s).
    pub(super) column_products: Vec<S>,
    /// X̃ᵀ(c·g·(z − at − s/κ)).
    predictor: Vec<S>,
    /// X̃ᵀ(c·g·(1/p − 1/q)).
    centring: Vec<S>,
    /// Σ c ℓ(z) over the rows.
    pub(super) loss: f64,
    /// Σ c·ℓ\*(s) over the rows.
    pub(super) conjugate: S,
    /// Σ c(pu + qv).
    pub(super) complementarity: f64,
}

/// The iterate of the method. Parameters refer to columns scaled to size 1, so they are θ/scale.
pub(super) struct Iterate<'a, S> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) layout: Layout,
    /// The factor of each column, a power of two.
    pub(super) scale: Vec<f64>,
    /// l2 for the scaled columns.
    ridge: Vec<f64>,
    at: Vec<S>,
    along: Vec<S>,
    pub(super) entries: Vec<Entry<S>>,
    /// The entries of the ℓ1 penalty, with weight 0 where a parameter has none.
    pub(super) kinks: Vec<Entry<S>>,
    /// The sum of all weights, counted once for each finite end of the slope's interval.
    weight: f64,
}

impl<'a, S: Scalar> Iterate<'a, S> {
    /// Builds the iterate at `start`. `counts` is the number of rows that each row stands for; the barrier
    /// counts them all, so the central path is that of the original rows.
    pub(super) fn new(
        objective: &'a Objective<'a>,
        rows: &'a Rows<'a>,
        counts: Option<&[u32]>,
        start: &[f64],
    ) -> Self {
        let layout = objective.problem.layout();
        let scale = column_scales(rows, layout);
        let penalties: Vec<_> = (0..layout.len())
            .map(|j| objective.problem.penalty_of(j))
            .collect();
        let count = |i: usize| counts.map_or(1.0, |counts| f64::from(counts[i]));
        let weight = barrier_weight(rows, count);
        // The weight and the loss of a row; weight 0 if the row has none.
        let entry_of = |i: usize| {
            let (own, piecewise) = (
                rows.weights.get(i),
                PiecewiseLoss::new(objective.problem.loss(), rows.targets[i]),
            );
            let weight = weight * count(i);
            match piecewise {
                Some(piecewise) if own > 0.0 => (weight, piecewise.times(own / weight)),
                _ => (0.0, PiecewiseLoss::ABSOLUTE),
            }
        };
        let mut states: Vec<f64> = vec![0.0; rows.len()];
        let mut theta = start.to_vec();
        // The double-double run starts from 0, because a point at which another solver stopped is near the
        // boundary, which is a bad start for an interior point method.
        if S::EXTENDED || theta.iter().any(|w| !w.is_finite()) {
            theta.fill(0.0);
        }
        if theta.iter().any(|&w| w != 0.0) {
            pass(rows.design, &mut states, 1, |range, states, _: &mut ()| {
                f64::scores(rows.design, range, layout, &theta, states);
            });
        } else if objective.problem.intercept() == Intercept::Free && objective.problem.loss().is_absolute() {
            let targets = (0..rows.len()).filter_map(|i| {
                let kink = Kink::new(objective.problem.loss(), rows.targets[i])?;
                Some((rows.weights.get(i), kink, 0.0))
            });
            theta[layout.features] = best_intercept(targets);
            states.fill(theta[layout.features]);
        }
        // The initial τ makes the multipliers about as large as the residuals.
        let (mut size, mut total, mut finite_bounds) = (0.0, 0.0, 0.0);
        for (i, &z) in states.iter().enumerate() {
            let (weight, piecewise) = entry_of(i);
            size += weight * piecewise.size(z).max(MIN_RESIDUAL_FRACTION * piecewise.size(0.0));
            total += weight;
            finite_bounds += weight * piecewise.finite_bounds();
        }
        let tau = if size > 0.0 { size / total } else { 1.0 };
        let entries = states
            .iter()
            .enumerate()
            .map(|(i, &z)| {
                let (weight, piecewise) = entry_of(i);
                Entry::new(weight, piecewise, z, tau)
            })
            .collect();
        let at: Vec<f64> = theta.iter().zip(&scale).map(|(w, s)| w / s).collect();
        let kinks: Vec<Entry<S>> = penalties
            .iter()
            .zip(&scale)
            .zip(&at)
            .map(|((penalty, s), &w)| match penalty.l1 * s {
                0.0 => Entry::new(0.0, PiecewiseLoss::ABSOLUTE, w, tau),
                l1 => Entry::new(weight, PiecewiseLoss::ABSOLUTE.times(l1 / weight), w, tau),
            })
            .collect();
        finite_bounds += kinks
            .iter()
            .map(|kink| kink.weight * kink.piecewise.finite_bounds())
            .sum::<f64>();
        Iterate {
            rows,
            layout,
            ridge: penalties.iter().zip(&scale).map(|(p, s)| p.l2 * s * s).collect(),
            along: vec![S::default(); at.len()],
            scale,
            at: at.into_iter().map(S::from).collect(),
            entries,
            kinks,
            weight: finite_bounds,
        }
    }

    /// The parameters for the unscaled columns.
    pub(super) fn parameters(&self) -> Vec<f64> {
        self.unscaled(&self.at).iter().map(|w| w.value()).collect()
    }

    pub(super) fn unscaled(&self, at: &[S]) -> Vec<S> {
        at.iter().zip(&self.scale).map(|(&w, &s)| w * s).collect()
    }

    /// Takes the step along the direction, and computes the sums that the next step needs.
    pub(super) fn advance(&mut self, step: f64) -> Totals<S> {
        for (at, &along) in self.at.iter_mut().zip(&self.along) {
            *at += along * step;
        }
        let (design, layout, width) = (self.rows.design, self.layout, self.layout.len());
        let lanes = pass(
            design,
            &mut self.entries,
            width * width,
            |range, entries, sums: &mut Totals<S>| {
                sums.gram.resize(width * width, S::default());
                for sum in [&mut sums.column_products, &mut sums.predictor, &mut sums.centring] {
                    sum.resize(width, S::default());
                }
                let mut each = [(); 4].map(|()| vec![S::default(); entries.len()]);
                for (i, entry) in entries.iter_mut().enumerate() {
                    let c = entry.weight;
                    if c == 0.0 {
                        continue;
                    }
                    entry.advance(step);
                    let g = entry.curvature() * c;
                    each[0][i] = g;
                    each[1][i] = entry.slope() * c;
                    each[2][i] = g * entry.residual();
                    each[3][i] = g * entry.centring();
                    sums.loss += c * entry.loss();
                    sums.conjugate += entry.conjugate() * c;
                    sums.complementarity += c * entry.complementarity();
                }
                S::add_gram(design, range.clone(), layout, &each[0], &mut sums.gram);
                S::add_column_products(design, range.clone(), layout, &each[1], &mut sums.column_products);
                S::add_column_products(design, range.clone(), layout, &each[2], &mut sums.predictor);
                S::add_column_products(design, range, layout, &each[3], &mut sums.centring);
            },
        );
        let mut total = Totals::default();
        for sums in &lanes {
            add(&mut total.gram, &sums.gram);
            add(&mut total.column_products, &sums.column_products);
            add(&mut total.predictor, &sums.predictor);
            add(&mut total.centring, &sums.centring);
            total.loss += sums.loss;
            total.conjugate += sums.conjugate;
            total.complementarity += sums.complementarity;
        }
        for kink in self.kinks.iter_mut().filter(|kink| kink.weight > 0.0) {
            kink.advance(step);
            total.complementarity += kink.weight * kink.complementarity();
        }
        total
    }

    /// The factored normal equations of this iteration.
    pub(super) fn normal(&self, sums: &Totals<S>) -> Option<Normal<S>> {
        let width = self.layout.len();
        let mut matrix = sums.gram.clone();
        matrix.resize(width * width, S::default());
        for j in 0..width {
            for i in j..width {
                matrix[j * width + i] = matrix[j * width + i] * (self.scale[i] * self.scale[j]);
            }
            let kink = &self.kinks[j];
            let own = if kink.weight > 0.0 {
                kink.curvature() * kink.weight
            } else {
                S::default()
            };
            matrix[j * width + j] += own + S::from(self.ridge[j]);
        }
        Normal::new(matrix, width)
    }

    /// Computes the next direction by predictor and corrector. Returns the length of the step, or `None` if
    /// no usable step exists.
    pub(super) fn step(&mut self, sums: &Totals<S>, normal: &Normal<S>, first: f64) -> Option<f64> {
        let width = self.layout.len();
        let zero = vec![S::default(); width];
        let sum = |sums: &[S], j: usize| sums.get(j).map_or(S::default(), |&sum| sum * self.scale[j]);
        let mut predictor = zero.clone();
        let mut centring = zero.clone();
        for j in 0..width {
            let ridge = S::from(self.ridge[j]);
            predictor[j] = -ridge * self.at[j] - sum(&sums.column_products, j) - sum(&sums.predictor, j);
            centring[j] = -sum(&sums.centring, j);
            let kink = &self.kinks[j];
            if kink.weight > 0.0 {
                let g = kink.curvature() * kink.weight;
                predictor[j] += -(kink.slope() * kink.weight + g * kink.residual());
                centring[j] += -(g * kink.centring());
            }
        }
        let (second, reach) = self.predict(&normal.solve(&predictor));
        // A loss whose slopes have no bounds has no complementarity conditions.
        let finite_bounds = self.weight.max(f64::MIN_POSITIVE);
        let mean = sums.complementarity / finite_bounds;
        let after = reach.at(reach.step.min(1.0)) / finite_bounds;
        // From Mehrotra 1992: the centring parameter is the cube of this ratio.
        let tau = if mean > 0.0 {
            mean * (after / mean).clamp(0.0, 1.0).powi(3)
        } else {
            0.0
        };
        let right: Vec<S> = (0..width)
            .map(|j| predictor[j] + centring[j] * tau - second[j])
            .collect();
        let along = normal.solve(&right);
        let reach = self.correct(&along, tau);
        self.along = along;
        // The fraction to the boundary (Nocedal and Wright, Numerical Optimization, chapter 14) tends to
        // 1 with the complementarity. Heuristic: its limits are not measured yet.
        let fraction = (1.0 - sums.complementarity / first).clamp(0.99, 1.0 - 1e-10);
        let step = (fraction * reach.step).min(1.0);
        // Cap: a shorter step is rounding, and the method stops.
        (step.is_finite() && step > 1e-12 && reach.along[1].is_finite()).then_some(step)
    }

    /// Sets the predictor's direction in all entries. Returns X̃ᵀ of the second-order terms.
    fn predict(&mut self, along: &[S]) -> (Vec<S>, Reach) {
        let (design, layout) = (self.rows.design, self.layout);
        let at = self.unscaled(along);
        type Sums<S> = (Vec<S>, Reach);
        let lanes = pass(
            design,
            &mut self.entries,
            at.len(),
            |range, entries, (sum, reach): &mut Sums<S>| {
                sum.resize(layout.len(), S::default());
                let mut each = vec![S::default(); entries.len()];
                S::scores(design, range.clone(), layout, &at, &mut each);
                for (entry, each) in entries.iter_mut().zip(&mut each) {
                    let c = entry.weight;
                    if c == 0.0 {
                        *each = S::default();
                        continue;
                    }
                    entry.predict(*each);
                    entry.reach(reach);
                    *each = entry.curvature() * c * entry.second_order();
                }
                S::add_column_products(design, range, layout, &each, sum);
            },
        );
        let mut total = Reach::default();
        let mut second = Vec::new();
        for (sum, reach) in &lanes {
            add(&mut second, sum);
            total.merge(reach);
        }
        second.resize(at.len(), S::default());
        for (j, kink) in self.kinks.iter_mut().enumerate() {
            second[j] = second[j] * self.scale[j];
            if kink.weight > 0.0 {
                kink.predict(along[j]);
                kink.reach(&mut total);
                second[j] += kink.curvature() * kink.weight * kink.second_order();
            }
        }
        (second, total)
    }

    /// Sets the corrector's direction in all entries.
    fn correct(&mut self, along: &[S], tau: f64) -> Reach {
        let (design, layout) = (self.rows.design, self.layout);
        let at = self.unscaled(along);
        let lanes = pass(
            design,
            &mut self.entries,
            1,
            |range, entries, reach: &mut Reach| {
                let mut each = vec![S::default(); entries.len()];
                S::scores(design, range, layout, &at, &mut each);
                for (entry, &dz) in entries.iter_mut().zip(&each) {
                    if entry.weight > 0.0 {
                        entry.correct(dz, tau);
                        entry.reach(reach);
                    }
                }
            },
        );
        let mut total = Reach::default();
        lanes.iter().for_each(|reach| total.merge(reach));
        for (kink, &dz) in self.kinks.iter_mut().zip(along) {
            if kink.weight > 0.0 {
                kink.correct(dz, tau);
                kink.reach(&mut total);
            }
        }
        total
    }
}

/// The power of two near the mean weight of the rows of nonzero weight, where row i counts `count(i)` times.
pub(super) fn barrier_weight(rows: &Rows<'_>, count: impl Fn(usize) -> f64) -> f64 {
    let positive = (0..rows.len()).filter(|&i| rows.weights.get(i) > 0.0);
    let mean = rows.total_weight() / positive.map(count).sum::<f64>().max(1.0);
    if mean > 0.0 { 1.0 / power_of_two(mean) } else { 1.0 }
}

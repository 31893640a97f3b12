//! The interior point method for a smooth loss under ℓ1 or the elastic net.
//!
//! Problem: minimise f(θ) + l2/2·‖θ‖² + Σⱼ l1ⱼ|θⱼ|. The kinks of ℓ1 have slopes and multipliers; the loss
//! f enters by its gradient and Hessian.
//!
//! Method: predictor and corrector as in the parent module (Mehrotra 1992). The optimality conditions are
//! l2·θ + ∇f + c·s = 0, v − u = θ, pu = qv = 0. Each step solves (l2 + ∇²f + diag(c·g)) dθ = …. The step
//! is shortened where the slope along it rises faster than the Hessian predicts, which safeguards
//! Newton's method.
//!
//! If columns are badly scaled and nearly dependent, this method still takes some tens of steps, while
//! coordinate descent and orthant-wise Newton become slow.

use crate::SolverName;
use crate::interior_point::complementarity::{Entry, Reach};
use crate::interior_point::iterate::barrier_weight;
use crate::interior_point::piecewise_loss::PiecewiseLoss;
use crate::interior_point::predictor_corrector::{InteriorPoint, PATIENCE, complementarity_matters};
use crate::newton_system::Normal;
use crate::newton_system::column_scales;
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_numeric::dense::dot;
use wstar_problem::objective::Query;
use wstar_problem::objective::{Evaluated, Objective};

use crate::{Control, Solution};
use wstar_data::run::Status;

/// Largest ratio of the actual to the predicted rise of the slope along a step. Heuristic: trades the length
/// of a step against its reliability; not measured yet.
const MAX_SLOPE_RATIO: f64 = 2.0;
/// Maximum number of halvings of a step. Cap: if the shortest step fails too, the method stops.
const MAX_HALVINGS: i32 = 12;

/// Minimises, starting from 0.
pub(super) fn run(
    options: &InteriorPoint,
    objective: &mut Objective<'_>,
    control: &mut Control<'_>,
) -> Result<Solution> {
    let mut state = SmoothL1Iterate::new(objective)?;
    let mut best = (f64::INFINITY, vec![0.0; state.at.len()]);
    let (mut iterations, mut since_best, mut least) = (0, 0, f64::INFINITY);
    let mut first = None;
    let status = loop {
        let theta = state.parameters();
        let here = objective.hessian(&theta)?;
        let gap = objective.gap(&theta, &here);
        let complementarity = state.complementarity();
        let matters = complementarity_matters(complementarity, here.objective, control.tolerance);
        // Heuristic: as for piecewise losses in the parent module.
        let nearer = gap < 0.9 * best.0 || (matters && complementarity < 0.9 * least);
        since_best = if nearer { 0 } else { since_best + 1 };
        least = least.min(complementarity);
        if gap < best.0 {
            best = (gap, theta.clone());
        }
        if let Some(status) = control.iterate(objective, &theta, here.objective, gap) {
            break status;
        }
        iterations += 1;
        if iterations > options.max_iterations || since_best > PATIENCE {
            break Status::IterationLimit;
        }
        let first = *first.get_or_insert(complementarity);
        let Some(reach) = state.direct(&here, complementarity) else {
            break Status::IterationLimit;
        };
        // The fraction to the boundary, as in `iterate.rs`.
        let fraction = (1.0 - complementarity / first).clamp(0.99, 1.0 - 1e-10);
        let Some(step) = state.length(objective, &theta, &here, (fraction * reach).min(1.0))? else {
            break Status::IterationLimit;
        };
        state.advance(step);
    };
    let sparse = state.sparse(&best.1);
    let there = objective.gradient(&sparse)?;
    let target = control.tolerance.gap(there.objective);
    let parameters = match objective.gap(&sparse, &there) <= best.0.max(target) {
        true => sparse,
        false => best.1,
    };
    Ok(Solution {
        parameters,
        dual: None,
        gram: None,
        status,
        iterations,
    })
}

/// The iterate. Parameters refer to columns scaled to size 1, so they are θ/scale.
struct SmoothL1Iterate {
    scale: Vec<f64>,
    ridge: Vec<f64>,
    at: Vec<f64>,
    along: Vec<f64>,
    kinks: Vec<Entry<f64>>,
    /// The sum of all weights, counted once for each bound of a slope.
    weight: f64,
}

impl SmoothL1Iterate {
    fn new(objective: &mut Objective<'_>) -> Result<Self> {
        let layout = objective.problem.layout();
        let length = layout.len();
        let loss = objective.gradient(&vec![0.0; length])?.loss;
        let rows = SolverName::InteriorPoint.rows_of(objective)?;
        let one = Layout { outputs: 1, ..layout };
        let scale = column_scales(rows, one).repeat(layout.outputs);
        let weight = barrier_weight(rows, |_| 1.0);
        let total = objective.sums.total_weight();
        let tau = if loss > 0.0 { loss / total } else { 1.0 };
        let kink = |j: usize| match objective.problem.penalty_of(j).l1 * scale[j] {
            0.0 => Entry::new(0.0, PiecewiseLoss::ABSOLUTE, 0.0, tau),
            l1 => Entry::new(weight, PiecewiseLoss::ABSOLUTE.times(l1 / weight), 0.0, tau),
        };
        let kinks: Vec<Entry<f64>> = (0..length).map(kink).collect();
        Ok(SmoothL1Iterate {
            ridge: (0..length)
                .map(|j| objective.problem.penalty_of(j).l2 * scale[j] * scale[j])
                .collect(),
            weight: kinks
                .iter()
                .map(|kink| kink.weight * kink.piecewise.finite_bounds())
                .sum(),
            at: vec![0.0; length],
            along: vec![0.0; length],
            scale,
            kinks,
        })
    }

    fn parameters(&self) -> Vec<f64> {
        self.at.iter().zip(&self.scale).map(|(w, s)| w * s).collect()
    }

    fn complementarity(&self) -> f64 {
        self.kinks
            .iter()
            .map(|kink| kink.weight * kink.complementarity())
            .sum()
    }

    /// Computes the next direction by predictor and corrector. Returns the longest step that keeps the slopes
    /// and multipliers nonnegative.
    fn direct(&mut self, here: &Evaluated, complementarity: f64) -> Option<f64> {
        let length = self.at.len();
        let mut matrix = here.hessian.clone();
        let (mut predictor, mut centring) = (vec![0.0; length], vec![0.0; length]);
        for j in 0..length {
            for i in j..length {
                matrix[j * length + i] *= self.scale[i] * self.scale[j];
            }
            matrix[j * length + j] += self.ridge[j];
            predictor[j] = -self.scale[j] * here.gradient[j] - self.ridge[j] * self.at[j];
            let kink = &self.kinks[j];
            if kink.weight > 0.0 {
                let g = kink.weight * kink.curvature();
                matrix[j * length + j] += g;
                predictor[j] -= kink.weight * kink.slope() + g * kink.residual();
                centring[j] = -g * kink.centring();
            }
        }
        let normal = Normal::new(matrix, length)?;
        let along = normal.solve(&predictor);
        let mut reach = Reach::default();
        let mut second = vec![0.0; length];
        for (j, kink) in self
            .kinks
            .iter_mut()
            .enumerate()
            .filter(|(_, kink)| kink.weight > 0.0)
        {
            kink.predict(along[j]);
            kink.reach(&mut reach);
            second[j] = kink.weight * kink.curvature() * kink.second_order();
        }
        let mean = complementarity / self.weight;
        let after = reach.at(reach.step.min(1.0)) / self.weight;
        // From Mehrotra 1992: the centring parameter is the cube of this ratio.
        let tau = mean * (after / mean).clamp(0.0, 1.0).powi(3);
        let right: Vec<f64> = (0..length)
            .map(|j| predictor[j] + tau * centring[j] - second[j])
            .collect();
        self.along = normal.solve(&right);
        let mut reach = Reach::default();
        for (kink, &along) in self.kinks.iter_mut().zip(&self.along) {
            if kink.weight > 0.0 {
                kink.correct(along, tau);
                kink.reach(&mut reach);
            }
        }
        (reach.along[1].is_finite() && self.along.iter().all(|d| d.is_finite())).then_some(reach.step)
    }

    /// The length of the step, at most `most`: the longest for which the Hessian at the point predicts the
    /// slope well enough.
    fn length(
        &self,
        objective: &mut Objective<'_>,
        theta: &[f64],
        here: &Evaluated,
        most: f64,
    ) -> Result<Option<f64>> {
        let along: Vec<f64> = self.along.iter().zip(&self.scale).map(|(d, s)| d * s).collect();
        let slope = dot(&here.gradient, &along);
        let length = along.len();
        let products = here.hessian.chunks_exact(length).zip(&along);
        let curvature: f64 = products.map(|(column, d)| d * dot(column, &along)).sum();
        let steps: Vec<f64> = (0..=MAX_HALVINGS).map(|k| most * 0.5f64.powi(k)).collect();
        let line = objective.sums.ask(Query::Line {
            at: theta,
            along: &along,
            steps: &steps,
        })?;
        // Heuristic: the rounding error of a slope; not measured yet.
        let noise = 1e-12 * slope.abs();
        let found = steps
            .iter()
            .zip(&line.line)
            .find(|(step, point)| point.slope - slope <= MAX_SLOPE_RATIO * *step * curvature + noise);
        // Cap: a shorter step is rounding, and the method stops.
        Ok(found.map(|(&step, _)| step).filter(|step| *step > 1e-12))
    }

    fn advance(&mut self, step: f64) {
        for (at, along) in self.at.iter_mut().zip(&self.along) {
            *at += step * along;
        }
        let kinks = self.kinks.iter_mut().filter(|kink| kink.weight > 0.0);
        kinks.for_each(|kink| kink.advance(step));
    }

    /// The point with every weight set to 0 whose slope is not at a bound.
    fn sparse(&self, theta: &[f64]) -> Vec<f64> {
        let weights = theta.iter().zip(&self.kinks);
        weights
            .map(|(&w, kink)| if kink.is_at_bound() { w } else { 0.0 })
            .collect()
    }
}

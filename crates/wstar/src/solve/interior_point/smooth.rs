//! The method for a smooth loss under ℓ1 or the elastic net: the kinks of ℓ1 have slopes and multipliers, the loss
//! enters by its gradient and Hessian.
//!
//! Optimal is l2·θ + ∇f + c·s = 0, v − u = θ, pu = qv = 0; each step solves (l2 + ∇²f + diag(c·g)) dθ = …. It is
//! shortened where the loss bends upwards more than its Hessian told, so that Newton's method stays one.
//!
//! Where columns are badly scaled and nearly dependent it takes some tens of steps, however slowly coordinates or
//! orthants would get ahead.

use super::entry::{Entry, Reach};
use super::normal::Normal;
use super::piece::Piece;
use super::run::{barrier_weight, column_scales};
use super::{InteriorPoint, PATIENCE, counts};
use crate::error::{Error, Result};
use crate::kernel::dense::dot;
use crate::oracle::{Layout, Query};
use crate::problem::{Evaluated, Problem};
use crate::solve::{Control, Solution};
use crate::watch::Status;

/// How many times as much as the Hessian tells the slope along a step may rise.
const MOST_BEND: f64 = 2.0;
/// Halvings of a step.
const HALVINGS: i32 = 12;

/// Minimises from 0.
pub(super) fn run(
    options: &InteriorPoint,
    problem: &mut Problem<'_>,
    control: &mut Control<'_>,
) -> Result<Solution> {
    let mut state = State::new(problem)?;
    let mut best = (f64::INFINITY, vec![0.0; state.at.len()]);
    let (mut iterations, mut since_best, mut least) = (0, 0, f64::INFINITY);
    let mut first = None;
    let status = loop {
        let theta = state.parameters();
        let here = problem.hessian(&theta)?;
        let gap = problem.gap(&theta, &here);
        let complementarity = state.complementarity();
        let counts = counts(complementarity, here.objective, control.tol);
        let nearer = gap < 0.9 * best.0 || (counts && complementarity < 0.9 * least);
        since_best = if nearer { 0 } else { since_best + 1 };
        least = least.min(complementarity);
        if gap < best.0 {
            best = (gap, theta.clone());
        }
        if let Some(status) = control.iterate(problem, &theta, here.objective, gap) {
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
        let fraction = (1.0 - complementarity / first).clamp(0.99, 1.0 - 1e-10);
        let Some(step) = state.length(problem, &theta, &here, (fraction * reach).min(1.0))? else {
            break Status::IterationLimit;
        };
        state.advance(step);
    };
    let sparse = state.sparse(&best.1);
    let there = problem.gradient(&sparse)?;
    let target = control.tol * there.objective.abs().max(1.0);
    let parameters = match problem.gap(&sparse, &there) <= best.0.max(target) {
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

/// Where the method is. Parameters are those of columns of size 1: θ/scale.
struct State {
    scale: Vec<f64>,
    ridge: Vec<f64>,
    at: Vec<f64>,
    along: Vec<f64>,
    kinks: Vec<Entry<f64>>,
    /// Σ of all weights, once for each end of a slope.
    weight: f64,
}

impl State {
    fn new(problem: &mut Problem<'_>) -> Result<Self> {
        let layout = problem.layout();
        let length = layout.len();
        let loss = problem.gradient(&vec![0.0; length])?.loss;
        let Some(rows) = &problem.rows else {
            return Err(Error::settings(
                "the interior point solver needs all rows in memory",
            ));
        };
        let one = Layout { outputs: 1, ..layout };
        let scale = column_scales(rows, one).repeat(layout.outputs);
        let weight = barrier_weight(rows, |_| 1.0);
        let total = problem.oracle.total_weight();
        let tau = if loss > 0.0 { loss / total } else { 1.0 };
        let kink = |j: usize| match problem.penalty_of(j).l1 * scale[j] {
            0.0 => Entry::new(0.0, Piece::ABSOLUTE, 0.0, tau),
            l1 => Entry::new(weight, Piece::ABSOLUTE.times(l1 / weight), 0.0, tau),
        };
        let kinks: Vec<Entry<f64>> = (0..length).map(kink).collect();
        Ok(State {
            ridge: (0..length)
                .map(|j| problem.penalty_of(j).l2 * scale[j] * scale[j])
                .collect(),
            weight: kinks.iter().map(|kink| kink.weight * kink.piece.ends()).sum(),
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

    /// Finds the next direction, predictor and corrector; gives how far the kinks let it go.
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

    /// How far to go, up to `most`: as far as the Hessian at the point can be trusted.
    fn length(
        &self,
        problem: &mut Problem<'_>,
        theta: &[f64],
        here: &Evaluated,
        most: f64,
    ) -> Result<Option<f64>> {
        let along: Vec<f64> = self.along.iter().zip(&self.scale).map(|(d, s)| d * s).collect();
        let slope = dot(&here.gradient, &along);
        let length = along.len();
        let products = here.hessian.chunks_exact(length).zip(&along);
        let curvature: f64 = products.map(|(column, d)| d * dot(column, &along)).sum();
        let steps: Vec<f64> = (0..=HALVINGS).map(|k| most * 0.5f64.powi(k)).collect();
        let line = problem.oracle.ask(Query::Line {
            at: theta,
            along: &along,
            steps: &steps,
        })?;
        // What rounding does to a slope.
        let noise = 1e-12 * slope.abs();
        let found = steps
            .iter()
            .zip(&line.line)
            .find(|(step, point)| point.slope - slope <= MOST_BEND * *step * curvature + noise);
        Ok(found.map(|(&step, _)| step).filter(|step| *step > 1e-12))
    }

    fn advance(&mut self, step: f64) {
        for (at, along) in self.at.iter_mut().zip(&self.along) {
            *at += step * along;
        }
        let kinks = self.kinks.iter_mut().filter(|kink| kink.weight > 0.0);
        kinks.for_each(|kink| kink.advance(step));
    }

    /// The point with all weights at 0 whose slopes are not at an end.
    fn sparse(&self, theta: &[f64]) -> Vec<f64> {
        let weights = theta.iter().zip(&self.kinks);
        weights
            .map(|(&w, kink)| if kink.is_at_end() { w } else { 0.0 })
            .collect()
    }
}

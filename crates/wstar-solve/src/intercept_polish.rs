//! Moves free intercepts to their optimum for the final weights, so that the sum Σα of the dual point is
//! 0 up to rounding.
//!
//! Problem: min over b of Σ cᵢ ℓ(yᵢ, zᵢ + b) for fixed scores z, with one b for each output. Method: an
//! order statistic for a loss with a kink (`intercept.rs`), a bracketed Newton method for one smooth
//! output, and Newton's method on the K intercepts of softmax.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use rayon::prelude::*;

use crate::intercept::{best_intercept, root};
use crate::kink::Kink;
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_problem::loss::{LossName, Softmax, VectorLoss};
use wstar_problem::objective::Objective;
use wstar_problem::objective::{Query, Rows, products};
use wstar_problem::problem::Intercept;

/// The most Newton steps. Cap: the last point is kept; convergence takes a handful, so more means that
/// rounding prevents it.
const MOST_STEPS: usize = 50;
/// The gradient norm, relative to the total weight, below which the iteration stops. Derived: a few machine
/// epsilons, the rounding error of the sums.
const ROUNDING: f64 = 1e-15;

/// Rows summed by one task. Heuristic: task overhead against parallelism; not measured yet. It is fixed, so
/// that the sum does not depend on the number of threads.
const BLOCK: usize = 4096;

/// Moves the intercepts to their optimum for fixed weights.
pub fn polish(objective: &mut Objective<'_>, parameters: &mut [f64]) -> Result<()> {
    if objective.problem.intercept() != Intercept::Free {
        return Ok(());
    }
    match (objective.problem.loss(), &objective.rows) {
        // The multipliers of squared loss are unbounded, so any residual sum can be corrected. The digits of
        // a direct solver are better than those that another step would give.
        (LossName::Squared, _) => Ok(()),
        (LossName::Softmax, rows) => {
            if let Some(rows) = rows {
                polish_softmax(objective, rows, parameters);
            }
            centre(objective.problem.layout(), parameters);
            Ok(())
        }
        // For streamed rows the solver's own intercept is kept.
        (LossName::Hinge | LossName::Absolute | LossName::Quantile(_), None) => Ok(()),
        (LossName::Hinge | LossName::Absolute | LossName::Quantile(_), Some(rows)) => {
            let features = objective.problem.layout().features;
            let weights = &parameters[..features];
            let scored = (0..rows.len()).filter_map(|i| {
                let kink = Kink::new(objective.problem.loss(), rows.targets[i])?;
                Some((rows.weights.get(i), kink, rows.design.row(i).dot(weights)))
            });
            let best = best_intercept(scored);
            parameters[features] = best;
            Ok(())
        }
        _ => polish_smooth(objective, parameters),
    }
}

/// Shifts all intercepts of softmax by a constant so that their mean is 0. No probability changes, and all
/// solvers give the same answer.
fn centre(layout: Layout, parameters: &mut [f64]) {
    let mean = (0..layout.outputs)
        .map(|k| layout.output(parameters, k).1)
        .sum::<f64>()
        / layout.outputs as f64;
    let intercepts = parameters
        .iter_mut()
        .skip(layout.features)
        .step_by(layout.width());
    intercepts.for_each(|intercept| *intercept -= mean);
}

/// Minimises along b by finding the root of the slope.
fn polish_smooth(objective: &mut Objective<'_>, parameters: &mut [f64]) -> Result<()> {
    let mut along = vec![0.0; parameters.len()];
    let Some(last) = along.last_mut() else {
        return Ok(());
    };
    *last = 1.0;
    let start = parameters.last().copied().unwrap_or(0.0);
    let best = root(start, |intercept| {
        let query = Query::Line {
            at: parameters,
            along: &along,
            steps: &[intercept - start],
        };
        let line = objective.sums.ask(query)?.line[0];
        Ok((line.slope, line.curvature))
    })?;
    if let Some(intercept) = parameters.last_mut() {
        *intercept = best;
    }
    Ok(())
}

/// Newton's method on the K intercepts, over stored scores.
fn polish_softmax(objective: &Objective<'_>, rows: &Rows<'_>, parameters: &mut [f64]) {
    let layout = objective.problem.layout();
    let k = layout.outputs;
    let mut scores = vec![0.0; rows.len() * k];
    let mut weights = parameters.to_vec();
    weights
        .iter_mut()
        .skip(layout.features)
        .step_by(layout.width())
        .for_each(|intercept| *intercept = 0.0);
    let blocks = scores.par_chunks_mut(BLOCK * k).enumerate();
    blocks.for_each(|(block, out)| {
        let first = block * BLOCK;
        products::scores(rows.design, first..first + out.len() / k, layout, &weights, out);
    });
    let mut intercepts: Vec<f64> = (0..k).map(|k| layout.output(parameters, k).1).collect();
    let mut sums = InterceptSums::at(rows, &scores, &intercepts);
    for _ in 0..MOST_STEPS {
        if norm(&sums.gradient) <= ROUNDING * rows.total_weight() {
            break;
        }
        // A common shift of all intercepts changes nothing, so the Hessian is singular in that direction. It
        // gets the mean curvature of the other directions.
        let curvature = rows.total_weight() / k as f64;
        let hessian = Mat::from_fn(k, k, |i, j| sums.hessian[i * k + j] + curvature / k as f64);
        let Ok(factor) = hessian.llt(Side::Lower) else {
            break;
        };
        let step = factor.solve(Mat::from_fn(k, 1, |i, _| -sums.gradient[i]));
        let mut length = 1.0;
        let next = loop {
            let moved: Vec<f64> = (0..k).map(|i| intercepts[i] + length * step[(i, 0)]).collect();
            let next = InterceptSums::at(rows, &scores, &moved);
            // Far from the optimum the gradient may grow while the loss decreases. Near it rounding hides the
            // decrease of the loss, and the gradient decides.
            // Cap: steps shorter than about 1e-3 are not tried; the intercepts then stay as they are.
            let improves = next.value < sums.value || norm(&next.gradient) < norm(&sums.gradient);
            if improves || length < 1e-3 {
                break improves.then_some((next, moved));
            }
            length *= 0.5;
        };
        let Some(next) = next else {
            break;
        };
        (sums, intercepts) = next;
    }
    for (k, intercept) in intercepts.into_iter().enumerate() {
        parameters[k * layout.width() + layout.features] = intercept;
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The loss and its gradient and Hessian with respect to the intercepts.
struct InterceptSums {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl InterceptSums {
    /// The sums over all rows for these intercepts.
    fn at(rows: &Rows<'_>, scores: &[f64], intercepts: &[f64]) -> InterceptSums {
        let k = intercepts.len();
        let zero = || InterceptSums {
            value: 0.0,
            gradient: vec![0.0; k],
            hessian: vec![0.0; k * k],
        };
        let parts: Vec<InterceptSums> = scores
            .par_chunks(BLOCK * k)
            .enumerate()
            .map(|(block, scores)| {
                let mut sums = zero();
                let mut row = vec![0.0; k];
                for (at, scores) in scores.chunks_exact(k).enumerate() {
                    let i = block * BLOCK + at;
                    let (class, weight) = (rows.targets[i] as usize, rows.weights.get(i));
                    row.iter_mut()
                        .zip(scores)
                        .zip(intercepts)
                        .for_each(|((row, s), b)| *row = s + b);
                    sums.value += weight * Softmax.value_and_gradient(class, &mut row);
                    for (sum, slope) in sums.gradient.iter_mut().zip(&row) {
                        *sum += weight * slope;
                    }
                    row[class] += 1.0;
                    for a in 0..k {
                        for b in 0..k {
                            let own = if a == b { row[a] } else { 0.0 };
                            sums.hessian[a * k + b] += weight * (own - row[a] * row[b]);
                        }
                    }
                }
                sums
            })
            .collect();
        parts.into_iter().fold(zero(), |mut total, part| {
            total.value += part.value;
            total
                .gradient
                .iter_mut()
                .zip(part.gradient)
                .for_each(|(to, from)| *to += from);
            total
                .hessian
                .iter_mut()
                .zip(part.hessian)
                .for_each(|(to, from)| *to += from);
            total
        })
    }
}

//! Puts free intercepts where they are best for the weights, so that the dual point's Σα is 0 up to rounding.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use rayon::prelude::*;

use crate::error::Result;
use crate::loss::{LossName, Softmax, VectorLoss};
use crate::oracle::{Layout, Query, Rows, products};
use crate::problem::{Intercept, Problem};
use crate::solve::intercept::{best_intercept, root};
use crate::solve::kink::Kink;

/// Newton steps on a few intercepts converge in a handful; more means that rounding has the last word.
const MOST_STEPS: usize = 50;
/// Slopes below this share of all weights are nothing but the rounding of their sums.
const ROUNDING: f64 = 1e-15;

/// Rows summed by one task; a fixed number, so that the sum does not depend on the threads.
const BLOCK: usize = 4096;

/// Moves the intercepts of these parameters to their best place, weights fixed.
pub(super) fn polish(problem: &mut Problem<'_>, parameters: &mut [f64]) -> Result<()> {
    if problem.intercept != Intercept::Free {
        return Ok(());
    }
    match (problem.loss, &problem.rows) {
        // Multipliers of squares have no ends, so any residual can be made up for; and a direct solver's
        // digits are better than one more step could leave them.
        (LossName::Squared, _) => Ok(()),
        (LossName::Softmax, rows) => {
            if let Some(rows) = rows {
                polish_softmax(problem, rows, parameters);
            }
            centre(problem.layout(), parameters);
            Ok(())
        }
        // A stream's intercepts are the solver's own.
        (LossName::Hinge | LossName::Absolute | LossName::Quantile(_), None) => Ok(()),
        (LossName::Hinge | LossName::Absolute | LossName::Quantile(_), Some(rows)) => {
            let features = problem.layout().features;
            let weights = &parameters[..features];
            let scored = (0..rows.len()).filter_map(|i| {
                let kink = Kink::new(problem.loss, rows.targets[i])?;
                Some((rows.weights.get(i), kink, rows.design.row(i).dot(weights)))
            });
            let best = best_intercept(scored);
            parameters[features] = best;
            Ok(())
        }
        _ => polish_smooth(problem, parameters),
    }
}

/// Moves all intercepts of softmax together, which changes no probability, until their mean is 0: one answer for all
/// solvers.
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

/// The root of the slope along b.
fn polish_smooth(problem: &mut Problem<'_>, parameters: &mut [f64]) -> Result<()> {
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
        let line = problem.oracle.ask(query)?.line[0];
        Ok((line.slope, line.curvature))
    })?;
    if let Some(intercept) = parameters.last_mut() {
        *intercept = best;
    }
    Ok(())
}

/// Newton's method on the K intercepts over stored scores.
fn polish_softmax(problem: &Problem<'_>, rows: &Rows<'_>, parameters: &mut [f64]) {
    let layout = problem.layout();
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
    let mut sums = Sums::at(rows, &scores, &intercepts);
    for _ in 0..MOST_STEPS {
        if norm(&sums.gradient) <= ROUNDING * rows.total_weight() {
            break;
        }
        // All intercepts together move nothing, so that direction is made as stiff as the others are on average.
        let stiff = rows.total_weight() / k as f64;
        let hessian = Mat::from_fn(k, k, |i, j| sums.hessian[i * k + j] + stiff / k as f64);
        let Ok(factor) = hessian.llt(Side::Lower) else {
            break;
        };
        let step = factor.solve(Mat::from_fn(k, 1, |i, _| -sums.gradient[i]));
        let mut length = 1.0;
        let next = loop {
            let moved: Vec<f64> = (0..k).map(|i| intercepts[i] + length * step[(i, 0)]).collect();
            let next = Sums::at(rows, &scores, &moved);
            // Far away the slopes may rise while the loss falls; near the end rounding hides what the loss does.
            let nearer = next.value < sums.value || norm(&next.gradient) < norm(&sums.gradient);
            if nearer || length < 1e-3 {
                break nearer.then_some((next, moved));
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

/// Loss, gradient and Hessian by the intercepts.
struct Sums {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl Sums {
    fn at(rows: &Rows<'_>, scores: &[f64], intercepts: &[f64]) -> Sums {
        let k = intercepts.len();
        let zero = || Sums {
            value: 0.0,
            gradient: vec![0.0; k],
            hessian: vec![0.0; k * k],
        };
        let parts: Vec<Sums> = scores
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

//! Hinge loss on many rows: only those near the margin are solved.
//!
//! As in `least_absolute/preprocess.rs`, after Portnoy and Koenker (Statistical Science 12, 1997): the optimum of a
//! sample is near that of all rows, and tells of most rows on which side of the margin they end. Those beyond it
//! have no part in the solution, those inside it enter by the mean row of each class with their whole
//! weight, whose loss is the sum of theirs as long as none of them leaves. One pass afterwards tells
//! whether any did; such strays join the band. The result is a point and multipliers of the whole problem.

use std::ops::ControlFlow;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::InteriorPoint;
use crate::data::{Csr, Dense, Design, Row};
use crate::error::Result;
use crate::oracle::{Layout, Local, Rows, Weights};
use crate::problem::{Intercept, Problem};
use crate::solve::intercept::balance;
use crate::solve::least_absolute::preprocess::Frame;
use crate::solve::{Control, Solution};
use crate::watch::{Budget, Iteration, Status, Watch};

/// Rows are left out if there are at least so many times as many as are kept.
const LEAST_SHARE: usize = 3;
/// Rounds in which strays join the band; then the whole problem is solved.
const MOST_ROUNDS: usize = 4;
/// A sample's optimum is only to be near.
const SAMPLE_TOL: f64 = 1e-3;
/// The share of the tolerance that is left to the strays, and to the band.
const STRAYS: f64 = 0.2;
const BAND: f64 = 0.5;
/// Rows that one task passes over.
const CHUNK: usize = 1 << 14;

/// Solves by a band; nothing where rows are too few for it, or where it did not hold.
pub(super) fn solve(
    options: &InteriorPoint,
    problem: &Problem<'_>,
    rows: &Rows<'_>,
    start: &[f64],
    control: &mut Control<'_>,
) -> Result<Option<Solution>> {
    let layout = problem.layout();
    let frame = Frame::new(rows, layout, (-1.0, 1.0));
    let (size, count) = (frame.band_size(), frame.active.len());
    if count == 0 || LEAST_SHARE * size > count {
        return Ok(None);
    }
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let sample = frame.sample(size, &mut random);
    let mut reduced = Reduced::new(rows, layout, &sample, &[])?;
    reduced
        .weights
        .iter_mut()
        .for_each(|weight| *weight *= count as f64 / size as f64);
    let run = |reduced: &Reduced, start: &[f64], tol: f64, control: &mut Control<'_>| {
        reduced.solve(options, problem, rows, start, tol, control)
    };
    let (near, ended) = run(&reduced, start, SAMPLE_TOL, control);
    drop(reduced);
    if let Some(status) = ended {
        // Its multipliers are those of the sample.
        return Ok(Some(Solution {
            gram: None,
            status,
            dual: None,
            ..near
        }));
    }
    let mut at = near.parameters;
    let mut band = frame.nearest(&at, size, &frame.gather(&sample, None)?);
    control.passed(1);
    let mut sides = vec![Side::Beyond; rows.len()];
    sides.par_iter_mut().enumerate().for_each(|(i, side)| {
        if loss(rows, layout, i, &at) > 0.0 {
            *side = Side::Inside;
        }
    });
    for _ in 0..MOST_ROUNDS {
        band.iter().for_each(|&i| sides[i] = Side::Band);
        let globs = globs(rows, layout, &sides);
        let reduced = Reduced::new(rows, layout, &band, &globs)?;
        let (found, ended) = run(&reduced, &at, BAND * control.tol, control);
        at = found.parameters;
        let (strays, cost, objective) = strays(rows, problem, &sides, &at);
        control.passed(2);
        let scale = control.tol * objective.abs().max(1.0);
        if ended.is_none() && cost > STRAYS * scale {
            band.extend(strays);
            continue;
        }
        let status = match (ended, found.status) {
            (Some(ended), _) => ended,
            // What the band and the strays leave are all that is left.
            (None, Status::Converged) => control
                .iterate(problem, &at, objective, BAND * scale + cost)
                .unwrap_or(Status::IterationLimit),
            (None, _) => return Ok(None),
        };
        let mut dual: Vec<f64> = (0..rows.len())
            .map(|i| match sides[i] {
                Side::Inside => rows.targets[i].signum() * rows.weights.get(i),
                _ => 0.0,
            })
            .collect();
        let own = found.dual.unwrap_or_default();
        band.iter().zip(own).for_each(|(&i, alpha)| dual[i] = alpha);
        // Those of the means are a little short of their bounds, and those of their rows are at them.
        if problem.intercept == Intercept::Free {
            balance(&mut dual, |i| {
                let bound = rows.targets[i].signum() * rows.weights.get(i);
                (bound.min(0.0), bound.max(0.0))
            });
        }
        return Ok(Some(Solution {
            parameters: at,
            dual: Some(dual),
            gram: None,
            status,
            iterations: found.iterations,
        }));
    }
    Ok(None)
}

/// Where a row is thought to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Near the margin.
    Band,
    /// Inside it: its multiplier is at its bound.
    Inside,
    /// Beyond it: its multiplier is 0.
    Beyond,
}

/// 1 − y·z: the hinge before it is cut off at 0.
fn loss(rows: &Rows<'_>, layout: Layout, i: usize, at: &[f64]) -> f64 {
    let (w, b) = layout.output(at, 0);
    1.0 - rows.targets[i].signum() * (rows.design.row(i).dot(w) + b)
}

/// The mean of each class's rows inside the margin, with its class and their weight.
fn globs(rows: &Rows<'_>, layout: Layout, sides: &[Side]) -> Vec<Glob> {
    let parts: Vec<[Glob; 2]> = sides
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, sides)| {
            let mut both = [1.0, -1.0].map(|class| Glob {
                class,
                weight: 0.0,
                row: vec![0.0; layout.features],
            });
            for (offset, _) in (0..).zip(sides).filter(|(_, side)| **side == Side::Inside) {
                let i = chunk * CHUNK + offset;
                let (weight, own) = (rows.weights.get(i), usize::from(rows.targets[i] < 0.0));
                both[own].weight += weight;
                rows.design.row(i).add_to(weight, &mut both[own].row);
            }
            both
        })
        .collect();
    let mut globs = Vec::new();
    for own in 0..2 {
        let mut total: Option<Glob> = None;
        for part in parts.iter().map(|part| &part[own]) {
            match &mut total {
                None => total = Some(part.clone()),
                Some(total) => {
                    total.weight += part.weight;
                    total
                        .row
                        .iter_mut()
                        .zip(&part.row)
                        .for_each(|(to, from)| *to += from);
                }
            }
        }
        if let Some(mut glob) = total.filter(|glob| glob.weight > 0.0) {
            glob.row.iter_mut().for_each(|x| *x /= glob.weight);
            globs.push(glob);
        }
    }
    globs
}

/// Rows that count as one.
#[derive(Debug, Clone)]
struct Glob {
    class: f64,
    weight: f64,
    row: Vec<f64>,
}

/// Rows that are not where they were thought to be, what that costs, and the objective of all rows.
fn strays(rows: &Rows<'_>, problem: &Problem<'_>, sides: &[Side], at: &[f64]) -> (Vec<usize>, f64, f64) {
    let layout = problem.layout();
    let parts: Vec<(Vec<usize>, f64, f64)> = sides
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, sides)| {
            let (mut strays, mut cost, mut total) = (Vec::new(), 0.0, 0.0);
            for (offset, side) in sides.iter().enumerate() {
                let i = chunk * CHUNK + offset;
                let weight = rows.weights.get(i);
                if weight == 0.0 {
                    continue;
                }
                let loss = loss(rows, layout, i, at);
                total += weight * loss.max(0.0);
                let strayed = match side {
                    Side::Band => 0.0,
                    Side::Inside => (-loss).max(0.0),
                    Side::Beyond => loss.max(0.0),
                };
                if strayed > 0.0 {
                    strays.push(i);
                    cost += weight * strayed;
                }
            }
            (strays, cost, total)
        })
        .collect();
    let (mut all, mut cost, mut objective) = (Vec::new(), 0.0, problem.penalty_value(at));
    for (strays, own, total) in parts {
        all.extend(strays);
        cost += own;
        objective += total;
    }
    (all, cost, objective)
}

/// Some of the rows, and those that stand for others.
struct Reduced {
    design: Design,
    targets: Vec<f64>,
    weights: Vec<f64>,
}

impl Reduced {
    fn new(rows: &Rows<'_>, layout: Layout, list: &[usize], globs: &[Glob]) -> Result<Self> {
        let mut targets: Vec<f64> = list.iter().map(|&i| rows.targets[i]).collect();
        let mut weights: Vec<f64> = list.iter().map(|&i| rows.weights.get(i)).collect();
        targets.extend(globs.iter().map(|glob| glob.class));
        weights.extend(globs.iter().map(|glob| glob.weight));
        let features = layout.features;
        let design = if rows.design.is_sparse() {
            let means = globs.iter().map(|glob| Row::Dense64(&glob.row));
            let stored =
                list.iter().map(|&i| rows.design.row(i).stored()).sum::<usize>() + globs.len() * features;
            let (mut indices, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
            let mut starts = vec![0];
            for row in list.iter().map(|&i| rows.design.row(i)).chain(means) {
                row.for_each(|j, x| {
                    indices.push(j as u32);
                    values.push(x);
                });
                starts.push(indices.len());
            }
            Design::Sparse64(Csr::new(starts, indices, values, features)?)
        } else {
            let mut values = Vec::with_capacity(targets.len() * features);
            for &i in list {
                rows.design.row(i).for_each(|_, x| values.push(x));
            }
            globs.iter().for_each(|glob| values.extend(&glob.row));
            Design::Dense64(Dense::new(values, targets.len(), features)?)
        };
        Ok(Reduced {
            design,
            targets,
            weights,
        })
    }

    /// The optimum of these rows, and a status if the fit is to end.
    fn solve(
        &self,
        options: &InteriorPoint,
        whole: &Problem<'_>,
        all: &Rows<'_>,
        start: &[f64],
        tol: f64,
        control: &mut Control<'_>,
    ) -> (Solution, Option<Status>) {
        let rows = Rows {
            design: &self.design,
            targets: (&self.targets).into(),
            weights: Weights::Each((&self.weights).into()),
        };
        let problem = Problem {
            loss: whole.loss,
            penalty: whole.penalty,
            intercept: whole.intercept,
            oracle: Box::new(Local::new(rows.borrowed(), whole.loss, whole.layout())),
            rows: None,
        };
        let mut relay = Relay {
            whole,
            control,
            ended: None,
        };
        let mut inner = Control::new(tol, Budget::default(), &mut relay);
        let solution = options.run::<f64>(&problem, &rows, start, &mut inner);
        let share = self.targets.len() as f64 / all.len() as f64;
        let passes = (inner.passes() as f64 * share).ceil() as u64;
        let ended = relay.ended;
        control.passed(passes);
        (solution, ended)
    }
}

/// Tells of the band's iterations as if they were of the whole problem, whose gap is not known yet.
struct Relay<'r, 'a, 'c> {
    whole: &'r Problem<'a>,
    control: &'r mut Control<'c>,
    ended: Option<Status>,
}

impl Watch for Relay<'_, '_, '_> {
    fn iterate(&mut self, iteration: &Iteration<'_>) -> ControlFlow<()> {
        self.ended = self.control.iterate(
            self.whole,
            iteration.parameters,
            iteration.objective,
            f64::INFINITY,
        );
        match self.ended {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

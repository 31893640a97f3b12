//! Hinge loss on many rows, solved over the rows near the margin.
//!
//! Problem: minimise R(θ) + Σᵢ cᵢ max(0, 1 − yᵢzᵢ) with an ℓ2 penalty, as in `interior_point`.
//!
//! Method: as in `row_reduction`, after Portnoy and Koenker (Statistical Science 12, 1997). The optimum of a
//! sample is near that of all rows, and it predicts for most rows on which side of the margin they end. Rows
//! beyond the margin have the multiplier 0 and are left out. Rows inside the margin enter as one mean row per
//! class with their total weight, whose loss is the sum of their losses as long as all of them stay inside.
//! The rows near the margin, the band, are solved individually. A pass over all rows afterwards checks the
//! assumed sides, and violating rows join the band. The result is a point and multipliers of the full
//! problem.

use std::ops::ControlFlow;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::intercept::balance;
use crate::interior_point::predictor_corrector::InteriorPoint;
use crate::row_reduction::Frame;
use crate::{Control, Solution};
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_data::run::{Budget, Iteration, Status, Watch};
use wstar_data::{Csr, Dense, Design, Row};
use wstar_problem::objective::Objective;
use wstar_problem::objective::{InMemory, Rows, Weights};
use wstar_problem::problem::Intercept;
use wstar_problem::tolerance::Tolerance;

/// Smallest ratio of all rows to the rows in the band at which the reduction is used. Heuristic: below it the
/// sample and the extra passes cost more than they save; not measured yet.
const MIN_REDUCTION: usize = 3;
/// Maximum number of rounds in which violating rows join the band. Cap: beyond it the full problem is solved.
const MAX_ROUNDS: usize = 4;
/// Relative tolerance of the sample's optimum. Heuristic: the sample's optimum only has to predict the sides
/// of the rows; not measured yet.
const SAMPLE_TOL: f64 = 1e-3;
/// How the tolerance is split: the fraction for rows that violate their assumed side. Heuristic: trades
/// iterations on the band against further rounds; not measured yet.
const VIOLATION_SHARE: f64 = 0.2;
/// The fraction of the tolerance for the gap of the band's own problem. Heuristic: as `VIOLATION_SHARE`; not
/// measured yet.
const BAND_SHARE: f64 = 0.5;
/// Rows that one parallel task processes. Heuristic: trades the cost of a task against parallelism; not
/// measured yet.
const CHUNK: usize = 1 << 14;

/// Solves over the rows near the margin. `None` if there are too few rows for it, or if the assumed sides did
/// not hold.
pub(super) fn solve(
    options: &InteriorPoint,
    objective: &Objective<'_>,
    rows: &Rows<'_>,
    start: &[f64],
    control: &mut Control<'_>,
) -> Result<Option<Solution>> {
    let layout = objective.problem.layout();
    let frame = Frame::new(rows, layout, (-1.0, 1.0));
    let (size, count) = (frame.band_size(), frame.active.len());
    if count == 0 || MIN_REDUCTION * size > count {
        return Ok(None);
    }
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let sample = frame.sample(size, &mut random);
    let mut reduced = Reduced::new(rows, layout, &sample, &[])?;
    reduced
        .weights
        .iter_mut()
        .for_each(|weight| *weight *= count as f64 / size as f64);
    let run = |reduced: &Reduced, start: &[f64], tolerance: Tolerance, control: &mut Control<'_>| {
        reduced.solve(options, objective, rows, start, tolerance, control)
    };
    let (near, ended) = run(&reduced, start, control.tolerance.of(SAMPLE_TOL), control);
    drop(reduced);
    if let Some(status) = ended {
        // The multipliers are those of the sample, not of the problem.
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
    let mut sides = vec![MarginSide::Beyond; rows.len()];
    sides.par_iter_mut().enumerate().for_each(|(i, side)| {
        if loss(rows, layout, i, &at) > 0.0 {
            *side = MarginSide::Inside;
        }
    });
    for _ in 0..MAX_ROUNDS {
        band.iter().for_each(|&i| sides[i] = MarginSide::Band);
        let class_means = class_means(rows, layout, &sides);
        let reduced = Reduced::new(rows, layout, &band, &class_means)?;
        let (found, ended) = run(&reduced, &at, control.tolerance.times(BAND_SHARE), control);
        at = found.parameters;
        let (violating_rows, cost, value) = violating_rows(rows, objective, &sides, &at);
        control.passed(2);
        let scale = control.tolerance.gap(value);
        if ended.is_none() && cost > VIOLATION_SHARE * scale {
            band.extend(violating_rows);
            continue;
        }
        let status = match (ended, found.status) {
            (Some(ended), _) => ended,
            // The gap that remains is that of the band plus the cost of the violating rows.
            (None, Status::Converged) => control
                .iterate(objective, &at, value, BAND_SHARE * scale + cost)
                .unwrap_or(Status::IterationLimit),
            (None, _) => return Ok(None),
        };
        let mut dual: Vec<f64> = (0..rows.len())
            .map(|i| match sides[i] {
                MarginSide::Inside => rows.targets[i].signum() * rows.weights.get(i),
                _ => 0.0,
            })
            .collect();
        let own = found.dual.unwrap_or_default();
        band.iter().zip(own).for_each(|(&i, alpha)| dual[i] = alpha);
        // The multipliers of the mean rows are slightly inside their bounds, but those of the rows behind
        // them are set to the bounds, so the balance Σα = 0 must be restored.
        if objective.problem.intercept() == Intercept::Free {
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

/// The assumed position of a row at the optimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarginSide {
    /// Near the margin.
    Band,
    /// Inside the margin: the multiplier is at its bound.
    Inside,
    /// Beyond the margin: the multiplier is 0.
    Beyond,
}

/// 1 − y·z, the hinge loss before the maximum with 0.
fn loss(rows: &Rows<'_>, layout: Layout, i: usize, at: &[f64]) -> f64 {
    let (w, b) = layout.output(at, 0);
    1.0 - rows.targets[i].signum() * (rows.design.row(i).dot(w) + b)
}

/// The weighted mean of each class's rows inside the margin.
fn class_means(rows: &Rows<'_>, layout: Layout, sides: &[MarginSide]) -> Vec<ClassMean> {
    let chunks: Vec<[ClassMean; 2]> = sides
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, sides)| {
            let mut both = [1.0, -1.0].map(|class| ClassMean {
                class,
                weight: 0.0,
                row: vec![0.0; layout.features],
            });
            for (offset, _) in (0..).zip(sides).filter(|(_, side)| **side == MarginSide::Inside) {
                let i = chunk * CHUNK + offset;
                let (weight, own) = (rows.weights.get(i), usize::from(rows.targets[i] < 0.0));
                both[own].weight += weight;
                rows.design.row(i).add_to(weight, &mut both[own].row);
            }
            both
        })
        .collect();
    let mut class_means = Vec::new();
    for own in 0..2 {
        let mut total: Option<ClassMean> = None;
        for chunk in chunks.iter().map(|chunk| &chunk[own]) {
            match &mut total {
                None => total = Some(chunk.clone()),
                Some(total) => {
                    total.weight += chunk.weight;
                    total
                        .row
                        .iter_mut()
                        .zip(&chunk.row)
                        .for_each(|(to, from)| *to += from);
                }
            }
        }
        if let Some(mut mean) = total.filter(|mean| mean.weight > 0.0) {
            mean.row.iter_mut().for_each(|x| *x /= mean.weight);
            class_means.push(mean);
        }
    }
    class_means
}

/// The mean of a class's rows inside the margin, with their total weight.
#[derive(Debug, Clone)]
struct ClassMean {
    class: f64,
    weight: f64,
    row: Vec<f64>,
}

/// The rows that violate their assumed side, the loss that this costs, and the objective over all rows.
fn violating_rows(
    rows: &Rows<'_>,
    objective: &Objective<'_>,
    sides: &[MarginSide],
    at: &[f64],
) -> (Vec<usize>, f64, f64) {
    let layout = objective.problem.layout();
    let chunks: Vec<(Vec<usize>, f64, f64)> = sides
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, sides)| {
            let (mut violating_rows, mut cost, mut total) = (Vec::new(), 0.0, 0.0);
            for (offset, side) in sides.iter().enumerate() {
                let i = chunk * CHUNK + offset;
                let weight = rows.weights.get(i);
                if weight == 0.0 {
                    continue;
                }
                let loss = loss(rows, layout, i, at);
                total += weight * loss.max(0.0);
                let violation = match side {
                    MarginSide::Band => 0.0,
                    MarginSide::Inside => (-loss).max(0.0),
                    MarginSide::Beyond => loss.max(0.0),
                };
                if violation > 0.0 {
                    violating_rows.push(i);
                    cost += weight * violation;
                }
            }
            (violating_rows, cost, total)
        })
        .collect();
    let (mut all, mut cost, mut objective) = (Vec::new(), 0.0, objective.problem.penalty_value(at));
    for (violating_rows, own, total) in chunks {
        all.extend(violating_rows);
        cost += own;
        objective += total;
    }
    (all, cost, objective)
}

/// Selected rows, followed by the class means.
struct Reduced {
    design: Design,
    targets: Vec<f64>,
    weights: Vec<f64>,
}

impl Reduced {
    fn new(rows: &Rows<'_>, layout: Layout, list: &[usize], class_means: &[ClassMean]) -> Result<Self> {
        let mut targets: Vec<f64> = list.iter().map(|&i| rows.targets[i]).collect();
        let mut weights: Vec<f64> = list.iter().map(|&i| rows.weights.get(i)).collect();
        targets.extend(class_means.iter().map(|mean| mean.class));
        weights.extend(class_means.iter().map(|mean| mean.weight));
        let features = layout.features;
        let design = if rows.design.is_sparse() {
            let means = class_means.iter().map(|mean| Row::Dense64(&mean.row));
            let stored = list.iter().map(|&i| rows.design.row(i).stored()).sum::<usize>()
                + class_means.len() * features;
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
            class_means.iter().for_each(|mean| values.extend(&mean.row));
            Design::Dense64(Dense::new(values, targets.len(), features)?)
        };
        Ok(Reduced {
            design,
            targets,
            weights,
        })
    }

    /// The optimum of these rows, and a status if the whole fit should end.
    fn solve(
        &self,
        options: &InteriorPoint,
        whole: &Objective<'_>,
        all: &Rows<'_>,
        start: &[f64],
        tolerance: Tolerance,
        control: &mut Control<'_>,
    ) -> (Solution, Option<Status>) {
        let rows = Rows {
            design: &self.design,
            targets: (&self.targets).into(),
            weights: Weights::Each((&self.weights).into()),
        };
        let problem = whole.problem;
        let objective = Objective {
            problem,
            rows: None,
            sums: Box::new(InMemory::new(rows.borrowed(), problem.loss(), problem.layout())),
        };
        let mut watch = BandWatch {
            whole,
            control,
            ended: None,
        };
        let mut inner = Control::new(tolerance, Budget::default(), &mut watch);
        let solution = options.run::<f64>(&objective, &rows, start, &mut inner);
        let share = self.targets.len() as f64 / all.len() as f64;
        let passes = (inner.passes() as f64 * share).ceil() as u64;
        let ended = watch.ended;
        control.passed(passes);
        (solution, ended)
    }
}

/// Reports the iterations on the band as iterations of the whole problem, whose gap is not known yet.
struct BandWatch<'r, 'a, 'c> {
    whole: &'r Objective<'a>,
    control: &'r mut Control<'c>,
    pub(crate) ended: Option<Status>,
}

impl Watch for BandWatch<'_, '_, '_> {
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

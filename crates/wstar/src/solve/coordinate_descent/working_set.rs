//! Prox-Newton on working sets of columns, for many weights of which few will not be 0.
//!
//! The weights that are not 0 and those nearest to being pulled away from it (Massias, Gramfort and Salmon
//! 2018; Johnson and Guestrin 2015) make a problem of their own, which is solved until its own gap is a
//! fraction of the whole one; a pass over all columns then says how far the whole has come, and who is
//! next. The set grows with the support, so the columns outside are read once for every set.

use rayon::prelude::*;

use crate::error::Result;
use crate::kernel::dense::{axpy, dot};
use crate::loss::LossName;
use crate::oracle::{Layout, Rows};
use crate::penalty::Penalty;
use crate::problem::{Evaluated, Intercept, Problem};
use crate::solve::coordinate_descent::CoordinateDescent;
use crate::solve::coordinate_descent::columns::Columns;
use crate::solve::coordinate_descent::scores::Scores;
use crate::solve::coordinate_descent::shared::SetGram;
use crate::solve::orthant::{Curved, Effort, Gram, MOST_FAILED, Model, Stepped, least_along};
use crate::solve::{Control, Solution};
use crate::watch::Status;

/// The smallest working set.
const SMALLEST_SET: usize = 100;
/// How much of the whole gap a set's own gap may keep.
const SET_SHARE: f64 = 0.1;
/// How much of a set's gap its quadratic model's may keep.
const MODEL_SHARE: f64 = 0.01;
/// Newton steps on one set at most.
const MOST_STEPS: usize = 50;
/// How much larger a set's Gram matrix may be for least squares, where most of it is known from the last set's.
const CONSTANT_GRAM: usize = 4;
/// The largest set whose Gram matrix is made after all where sweeps over its columns do not arrive.
const LAST_RESORT: usize = 4000;
/// Sets without a better gap, after which rounding has the last word.
const PATIENCE: u32 = 5;

/// A quadratic by the columns of a working set.
struct ColumnModel<'a> {
    columns: &'a Columns,
    set: &'a [usize],
    /// The curvature of every row.
    rows: &'a [f64],
    diagonal: &'a [f64],
    gradient: &'a [f64],
    /// The curvature of every row times how far its score has moved.
    pulls: Vec<f64>,
}

impl Curved for ColumnModel<'_> {
    fn curvature(&self, j: usize) -> f64 {
        self.diagonal[j]
    }

    fn slopes(&self) -> Vec<f64> {
        let all = (0..self.set.len()).into_par_iter();
        all.map(|j| self.slope(j)).collect()
    }

    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let pulls = self.pulls_of(face, along);
        let columns = face.par_iter().map(|&j| self.columns.dot(self.set[j], &pulls));
        Ok(columns.collect())
    }

    fn shift(&mut self, face: &[usize], by: &[f64]) -> Result<()> {
        let pulls = self.pulls_of(face, by);
        axpy(1.0, &pulls, &mut self.pulls);
        Ok(())
    }

    fn effort(&self) -> Effort {
        Effort {
            face_tol: 1e-4,
            most_products: 100,
            most_stops: 10,
            most_faces: 3,
            most_rounds: 30,
        }
    }
}

impl Stepped for ColumnModel<'_> {
    fn slope(&self, j: usize) -> f64 {
        self.gradient[j] + self.columns.dot(self.set[j], &self.pulls)
    }

    fn step(&mut self, j: usize, by: f64) {
        self.columns
            .add_weighted(self.set[j], by, self.rows, &mut self.pulls);
    }
}

impl ColumnModel<'_> {
    fn pulls_of(&self, face: &[usize], along: &[f64]) -> Vec<f64> {
        let chosen: Vec<usize> = face.iter().map(|&j| self.set[j]).collect();
        let mut pulls = self.columns.combine(&chosen, along);
        pulls.iter_mut().zip(self.rows).for_each(|(pull, h)| *pull *= h);
        pulls
    }
}

/// The state of the descent.
struct Descent<'a> {
    columns: &'a Columns,
    loss: LossName,
    layout: Layout,
    /// The penalty of every parameter.
    penalties: Vec<Penalty>,
    /// Σᵢ cᵢ xᵢⱼ² times the greatest curvature of the loss.
    sizes: Vec<f64>,
    scores: Scores<'a>,
    at: Vec<f64>,
    /// The last set's Gram matrix, where it stays the same: for least squares.
    gram: SetGram,
    /// The largest set that gets one.
    largest_gram: usize,
    /// The share of the greatest curvature that is added to a model which promised too much.
    damping: f64,
    /// Steps in a row that were too long.
    failed: u32,
}

/// Minimises set by set; the rows are those of the problem.
pub(super) fn solve(
    problem: &mut Problem<'_>,
    rows: &Rows<'_>,
    start: &[f64],
    control: &mut Control<'_>,
    settings: &CoordinateDescent,
) -> Result<Solution> {
    let layout = problem.layout();
    let (shared, largest_gram) = (
        settings.shared.clone().unwrap_or_default(),
        settings.largest_set_gram,
    );
    let columns = shared.columns(rows, layout)?;
    let all: Vec<usize> = (0..layout.len()).collect();
    let steepest = steepest(problem.loss);
    let squares = shared.squares(columns, rows, layout);
    let constant = problem.loss == LossName::Squared;
    let mut descent = Descent {
        columns,
        loss: problem.loss,
        layout,
        penalties: all.iter().map(|&j| problem.penalty_of(j)).collect(),
        sizes: squares.iter().map(|square| steepest * square).collect(),
        scores: Scores::new(rows, problem.loss, columns.combine(&all, start)),
        at: start.to_vec(),
        gram: if constant {
            shared.take_gram(&rows.weights)
        } else {
            SetGram::default()
        },
        largest_gram: if constant {
            CONSTANT_GRAM * largest_gram
        } else {
            largest_gram
        },
        damping: 1e-13,
        failed: 0,
    };
    let free_intercept = problem.intercept == Intercept::Free && layout.intercept;
    let mut best_gap = f64::INFINITY;
    let mut best_objective = f64::INFINITY;
    let mut waited = 0;
    let mut size = SMALLEST_SET;
    let status = loop {
        if free_intercept {
            descent.at[layout.features] += descent.scores.centre();
        }
        let here = problem.gradient(&descent.at)?;
        let gap = problem.gap(&descent.at, &here);
        if let Some(status) = control.iterate(problem, &descent.at, here.objective, gap) {
            break status;
        }
        if gap < 0.9 * best_gap || here.objective < best_objective - 1e-12 * best_objective.abs() {
            waited = 0;
        } else {
            waited += 1;
            if waited > PATIENCE {
                break Status::IterationLimit;
            }
        }
        best_gap = best_gap.min(gap);
        best_objective = best_objective.min(here.objective);
        let set = descent.choose(&here, &mut size);
        let aim = 0.3 * control.tol * here.objective.abs().max(1.0);
        descent.solve_set(&set, aim.max(SET_SHARE * gap), control)?;
        // Steps add up their rounding; the scores of the set's few columns are cheap.
        let support: Vec<usize> = set.into_iter().filter(|&j| descent.at[j] != 0.0).collect();
        let weights: Vec<f64> = support.iter().map(|&j| descent.at[j]).collect();
        descent.scores.scores = columns.combine(&support, &weights);
        descent.scores.differentiate();
    };
    if constant {
        shared.keep_gram(&rows.weights, descent.gram);
    }
    Ok(Solution {
        parameters: descent.at,
        dual: None,
        gram: None,
        status,
        iterations: control.iterations(),
    })
}

impl Descent<'_> {
    /// The support and the weights nearest to leaving 0, in order.
    fn choose(&self, here: &Evaluated, size: &mut usize) -> Vec<usize> {
        let mut set = Vec::new();
        let mut others: Vec<(f64, usize)> = Vec::new();
        let mut pulled = 0;
        for (j, &w) in self.at.iter().enumerate() {
            let penalty = self.penalties[j];
            if w != 0.0 || penalty.l1 == 0.0 {
                set.push(j);
            } else if self.sizes[j] > 0.0 {
                let slack = penalty.l1 - here.gradient[j].abs();
                pulled += usize::from(slack < 0.0);
                others.push((slack / self.sizes[j].sqrt(), j));
            }
        }
        // A support of some size is mostly the one that will stay; one in the making may double.
        *size = SMALLEST_SET.max(set.len() + (set.len() / 4).max(SMALLEST_SET) + pulled.min(*size));
        let more = size.saturating_sub(set.len()).min(others.len());
        if more > 0 && more < others.len() {
            others.select_nth_unstable_by(more, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        set.extend(others[..more].iter().map(|&(_, j)| j));
        set.sort_unstable();
        set
    }

    /// Newton steps on the set until its own gap is at most `target`.
    fn solve_set(&mut self, set: &[usize], target: f64, control: &Control<'_>) -> Result<()> {
        let penalties: Vec<Penalty> = set.iter().map(|&j| self.penalties[j]).collect();
        let intercept = self.layout.intercept && penalties.last().is_some_and(|penalty| penalty.is_none());
        for _ in 0..MOST_STEPS {
            let gradient: Vec<f64> = set
                .par_iter()
                .map(|&j| self.columns.dot(j, &self.scores.slopes))
                .collect();
            let start: Vec<f64> = set.iter().map(|&j| self.at[j]).collect();
            let penalty: f64 = start.iter().zip(&penalties).map(|(&w, p)| p.of(w)).sum();
            let objective = self.scores.value + penalty;
            let gap = objective - self.dual(&start, &gradient, &penalties);
            if gap <= target || control.out_of_budget().is_some() {
                break;
            }
            let model_target = if self.loss == LossName::Squared {
                0.5 * target
            } else {
                (MODEL_SHARE * gap).max(0.1 * target)
            };
            let next = self.minimise_model(set, &penalties, &start, &gradient, model_target)?;
            let along: Vec<f64> = next.iter().zip(&start).map(|(next, w)| next - w).collect();
            let moved = self.columns.combine(set, &along);
            let next_penalty: f64 = next.iter().zip(&penalties).map(|(&w, p)| p.of(w)).sum();
            let promised = (dot(&gradient, &along) + next_penalty - penalty).min(0.0);
            let noise = 1e-14 * objective.abs();
            let there = self.scores.along(&moved, 1.0).value + next_penalty;
            let step = if there <= objective + 0.01 * promised + noise {
                self.failed = 0;
                self.damping = (0.1 * self.damping).max(1e-13);
                1.0
            } else {
                self.failed += 1;
                if self.failed > MOST_FAILED || self.loss.is_twice_smooth() {
                    self.damping = (10.0 * self.damping).max(1e-4);
                }
                let scores = &self.scores;
                let (step, least) = least_along(&penalties, &start, &along, 1, |steps| {
                    Ok(steps.iter().map(|&step| scores.along(&moved, step)).collect())
                })?;
                if least >= objective {
                    continue;
                }
                step
            };
            self.scores.advance(&moved, step);
            for (k, &j) in set.iter().enumerate() {
                self.at[j] = if step == 1.0 {
                    next[k]
                } else {
                    start[k] + step * along[k]
                };
            }
            if intercept {
                self.at[self.layout.features] += self.scores.centre();
            }
            if -promised <= noise && gap <= 0.0 {
                break;
            }
        }
        Ok(())
    }

    /// The minimum of the quadratic model on the set, to a gap of `target`.
    fn minimise_model(
        &mut self,
        set: &[usize],
        penalties: &[Penalty],
        start: &[f64],
        gradient: &[f64],
        target: f64,
    ) -> Result<Vec<f64>> {
        let ridge: Vec<f64> = set.iter().map(|&j| self.damping * self.sizes[j]).collect();
        let curvatures = &self.scores.curvatures;
        let loss = self.scores.value;
        if set.len() <= self.largest_gram {
            let constant = self.loss == LossName::Squared;
            let known = constant.then_some((self.gram.0.as_slice(), self.gram.1.as_slice()));
            self.gram = (set.to_vec(), self.columns.gram(set, curvatures, known));
            let gram = Gram::new(&self.gram.1, gradient.to_vec());
            let model = Model::new(gram, penalties, &ridge, start, loss, gradient);
            return Ok(model.by_sweeps(target)?.at);
        }
        let diagonal: Vec<f64> = set
            .par_iter()
            .map(|&j| self.columns.square(j, curvatures))
            .collect();
        let model = ColumnModel {
            columns: self.columns,
            set,
            rows: curvatures,
            diagonal: &diagonal,
            gradient,
            pulls: vec![0.0; curvatures.len()],
        };
        let minimum = Model::new(model, penalties, &ridge, start, loss, gradient).by_sweeps(target)?;
        if !minimum.reached && set.len() <= LAST_RESORT {
            // Dependent or stiff columns leave conjugate gradients without an end; a factorisation has one.
            self.largest_gram = self.largest_gram.max(set.len());
        }
        Ok(minimum.at)
    }

    /// The dual value of the set's problem at its own slopes.
    fn dual(&self, weights: &[f64], gradient: &[f64], penalties: &[Penalty]) -> f64 {
        let mut shrink = 1.0f64;
        let mut conjugate = 0.0;
        for (&g, penalty) in gradient.iter().zip(penalties) {
            if penalty.l2 > 0.0 {
                conjugate += penalty.conjugate(g);
            } else if penalty.l1 > 0.0 && g.abs() > penalty.l1 {
                shrink = shrink.min(penalty.l1 / g.abs());
            }
        }
        shrink * (self.scores.value - dot(weights, gradient)) - conjugate
    }
}

/// The greatest curvature of a loss.
fn steepest(loss: LossName) -> f64 {
    match loss {
        LossName::Logistic => 0.25,
        LossName::SquaredHinge | LossName::ModifiedHuber => 2.0,
        _ => 1.0,
    }
}

//! Prox-Newton on working sets of columns, for problems with many weights of which few will be nonzero.
//!
//! Problem: min l1·‖w‖₁ + l2·½‖w‖² + Σ cᵢ ℓ(yᵢ, zᵢ), ℓ smooth and convex.
//!
//! Method: a working set consists of the nonzero weights and those whose correlation is nearest to l1 (M.
//! Massias, A. Gramfort and J. Salmon, Celer: a fast solver for the lasso with dual extrapolation, ICML
//! 2018; T. B. Johnson and C. Guestrin, Blitz: a principled meta-algorithm for scaling sparse
//! optimization, ICML 2015). The subproblem over the set is solved until its own gap is a fraction of the
//! full one. A pass over the columns whose correlation could exceed l1 then gives the full gap and the
//! next set. The set grows with the support, so the columns outside it are read at most once per set.
//!
//! A least-squares fit to the same rows under another penalty starts from the end of the last fit and
//! reuses its products of columns.

use rayon::prelude::*;

use crate::l1::column_quadratic::ColumnModel;
use crate::l1::columns::Columns;
use crate::l1::correlations::Correlations;
use crate::l1::orthant_newton::{Gram, MOST_FAILED, QuadraticModel, least_along};
use crate::l1::row_state::Scores;
use crate::l1::shared_columns::{LeastSquaresPoint, SharedColumns};
use crate::l1::working_set_gram::SetGram;
use crate::{Control, Solution};
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_data::run::Status;
use wstar_numeric::dense::dot;
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Evaluated, Objective};
use wstar_problem::objective::{Rows, Weights};
use wstar_problem::penalty::Penalty;
use wstar_problem::problem::Intercept;

/// The least size of a working set. Heuristic: work on the set against the number of sets; not measured yet.
const SMALLEST_SET: usize = 100;
/// The gap of a set, as a fraction of the full gap. Heuristic: work on a set against the number of sets; not
/// measured yet.
const SET_SHARE: f64 = 0.1;
/// A set that decreased the objective by less than this fraction of the gap may not have been solved far
/// enough. Heuristic: a more accurate set against another one; not measured yet.
const LITTLE_PROGRESS: f64 = 0.01;
/// Such a set is followed by a more accurate one if more than this fraction of the gap remained. Heuristic:
/// as [`LITTLE_PROGRESS`]; not measured yet.
const MOST_LEFT: f64 = 0.5;
/// The gap of the quadratic model, as a fraction of the set's gap. Heuristic: accuracy of a model against the
/// number of models; not measured yet.
const MODEL_SHARE: f64 = 0.01;
/// The most Newton steps on one set. Cap: the next set is chosen.
const MOST_STEPS: usize = 50;
/// For least squares the limit on sets with a Gram matrix is multiplied by this factor, because most of the
/// matrix is known from the last set. Heuristic: memory and time of a Gram matrix against sweeps over columns;
/// not measured yet.
const CONSTANT_GRAM: usize = 4;
/// The largest set whose Gram matrix is formed after sweeps over its columns failed. Cap: larger sets are
/// solved by columns only.
const LAST_RESORT: usize = 4000;
/// Sets without a better gap after which only rounding is left. Heuristic: rounding against slow progress;
/// not measured yet.
const PATIENCE: u32 = 5;

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
    /// The Gram matrix of the set, with unit weights for least squares and otherwise with the curvatures of
    /// the rows.
    gram: SetGram,
    /// The factor of that Gram matrix if it is constant: for least squares with equal weights.
    constant: Option<f64>,
    /// The largest set whose Gram matrix is formed.
    largest_gram: usize,
    /// The fraction of the greatest curvature that is added to a model after steps that were too long.
    damping: f64,
    /// Successive steps that were too long.
    failed: u32,
}

/// Minimises set by set; the rows are those of the problem. `largest_gram` is the largest set whose Gram matrix is
/// formed.
pub(super) fn solve(
    objective: &mut Objective<'_>,
    rows: &Rows<'_>,
    start: &[f64],
    control: &mut Control<'_>,
    shared: &SharedColumns,
    largest_gram: usize,
) -> Result<Solution> {
    let layout = objective.problem.layout();
    let columns = shared.columns(rows, layout)?;
    let squares = shared.squares(columns);
    let greatest_curvature = greatest_curvature(objective.problem.loss());
    let constant = match &rows.weights {
        &Weights::Same(weight) if objective.problem.loss() == LossName::Squared && weight > 0.0 => {
            Some(weight)
        }
        _ => None,
    };
    let end = constant.and_then(|weight| {
        let mut end = shared.take_end(start)?;
        end.correlations.scale(weight / end.weight);
        Some(end)
    });
    let mut previous = None;
    let mut extrapolated = None;
    let (scores, correlations) = match end {
        Some(end) => {
            // With a small support, the linear system of the first face gives this point as well.
            let many = start.iter().filter(|w| **w != 0.0).count() > CONSTANT_GRAM * largest_gram;
            extrapolated = constant
                .filter(|_| many)
                .and_then(|weight| end.extrapolated(weight));
            previous = Some((end.weight, end.at));
            (end.scores, Some(end.correlations))
        }
        None => {
            let all: Vec<usize> = (0..layout.len()).collect();
            (columns.combine(&all, start), None)
        }
    };
    let mut descent = Descent {
        columns,
        loss: objective.problem.loss(),
        layout,
        penalties: (0..layout.len())
            .map(|j| objective.problem.penalty_of(j))
            .collect(),
        sizes: match &rows.weights {
            Weights::Same(weight) => squares
                .iter()
                .map(|square| greatest_curvature * weight * square)
                .collect(),
            Weights::Each(weights) => {
                let squares = columns.squares(Some(weights));
                squares.iter().map(|square| greatest_curvature * square).collect()
            }
        },
        scores: Scores::new(rows, objective.problem.loss(), scores),
        at: start.to_vec(),
        gram: constant.map(|_| shared.take_gram()).unwrap_or_default(),
        constant,
        largest_gram: match constant {
            Some(_) => CONSTANT_GRAM * largest_gram,
            None => largest_gram,
        },
        // Heuristic: as `LEAST_DAMPING` of `prox_newton`.
        damping: 1e-13,
        failed: 0,
    };
    let mut correlations = correlations.unwrap_or_else(|| {
        control.passed(1);
        Correlations::new(columns, layout.len(), &descent.scores.slopes)
    });
    if let Some(extrapolated) = extrapolated {
        descent.move_if_lower(extrapolated);
    }
    let free_intercept = objective.problem.intercept() == Intercept::Free && layout.intercept;
    let mut best_gap = f64::INFINITY;
    let mut best_objective = f64::INFINITY;
    let mut waited = 0;
    let mut size = SMALLEST_SET;
    let (mut share, mut last) = (SET_SHARE, (f64::INFINITY, f64::INFINITY));
    let status = loop {
        if free_intercept {
            descent.at[layout.features] += descent.scores.optimise_intercept();
        }
        control.passed(1);
        let slopes = &descent.scores.slopes;
        correlations.update(columns, squares, slopes, &descent.at, &descent.penalties);
        let here = Evaluated {
            objective: descent.scores.value + objective.problem.penalty_value(&descent.at),
            loss: descent.scores.value,
            gradient: std::mem::take(&mut correlations.gradient),
            hessian: Vec::new(),
        };
        let gap = objective.gap(&descent.at, &here);
        let ended = control.iterate(objective, &descent.at, here.objective, gap);
        correlations.gradient = here.gradient;
        if let Some(status) = ended {
            break status;
        }
        // Heuristic: a decrease of the gap by less than a tenth, or of the objective by less than 1e-12 of it,
        // counts as none; not measured yet.
        if gap < 0.9 * best_gap || here.objective < best_objective - 1e-12 * best_objective.abs() {
            waited = 0;
        } else {
            waited += 1;
            if waited > PATIENCE {
                break Status::IterationLimit;
            }
        }
        let (last_gap, last_objective) = std::mem::replace(&mut last, (gap, here.objective));
        share = match last_objective - here.objective < LITTLE_PROGRESS * gap && gap > MOST_LEFT * last_gap {
            // The intercept is optimised after each set, which can undo part of the set's progress.
            true => SET_SHARE * share,
            false => SET_SHARE,
        };
        best_gap = best_gap.min(gap);
        best_objective = best_objective.min(here.objective);
        let mut set = descent.choose(&correlations.gradient, &mut size);
        if constant.is_some() && set.len() <= descent.largest_gram {
            // All columns whose products are known join the set.
            let most = descent.largest_gram;
            descent.gram.include(columns, &set, None, most);
            set.clone_from(&descent.gram.set);
        }
        correlations.make_exact(columns, &set);
        // Heuristic: as in `prox_newton`.
        let target_gap = 0.3 * control.tolerance.gap(here.objective);
        let gradient = set.iter().map(|&j| correlations.gradient[j]).collect();
        // A set with a Gram matrix is solved by direct factorisations, so it is solved to the end.
        let exact = constant.is_some() && set.len() <= descent.largest_gram;
        let target = if exact {
            target_gap
        } else {
            target_gap.max(share * gap)
        };
        descent.solve_set(&set, gradient, target, control)?;
        // Damped steps and shifts of the intercept accumulate rounding in the scores. Recomputing them from
        // the few columns of the set is cheap.
        if objective.problem.loss() != LossName::Squared || layout.intercept {
            descent.recompute_scores(&set);
        }
    };
    if let Some(weight) = constant {
        shared.store_gram(descent.gram);
        shared.store_end(LeastSquaresPoint {
            weight,
            at: descent.at.clone(),
            previous,
            scores: descent.scores.scores,
            correlations,
        });
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
    /// Moves to another point if the objective is lower there.
    fn move_if_lower(&mut self, to: Vec<f64>) {
        let penalty = |at: &[f64]| -> f64 { at.iter().zip(&self.penalties).map(|(&w, p)| p.of(w)).sum() };
        let all: Vec<usize> = (0..to.len()).collect();
        let scores = self.columns.combine(&all, &to);
        let here = self.scores.value + penalty(&self.at);
        let there = Scores::new(self.scores.rows, self.loss, scores);
        if there.value + penalty(&to) < here {
            (self.scores, self.at) = (there, to);
        }
    }

    /// Recomputes the scores of weights that are 0 outside the set.
    fn recompute_scores(&mut self, set: &[usize]) {
        let support: Vec<usize> = set.iter().copied().filter(|&j| self.at[j] != 0.0).collect();
        let weights: Vec<f64> = support.iter().map(|&j| self.at[j]).collect();
        self.scores.replace(self.columns.combine(&support, &weights));
    }

    /// The working set, in order: the support and the weights whose correlations are nearest to l1, relative
    /// to the norm of the column.
    fn choose(&self, gradient: &[f64], size: &mut usize) -> Vec<usize> {
        let mut set = Vec::new();
        let mut others: Vec<(f64, usize)> = Vec::new();
        let mut violating = 0;
        for (j, &w) in self.at.iter().enumerate() {
            let penalty = self.penalties[j];
            if w != 0.0 || penalty.l1 == 0.0 {
                set.push(j);
            } else if self.sizes[j] > 0.0 {
                let slack = penalty.l1 - gradient[j].abs();
                violating += usize::from(slack < 0.0);
                others.push((slack / self.sizes[j].sqrt(), j));
            }
        }
        // A support larger than the least set is usually nearly final; a smaller one may double. Heuristic: a
        // quarter of the support is added; not measured yet.
        *size = SMALLEST_SET.max(set.len() + (set.len() / 4).max(SMALLEST_SET) + violating.min(*size));
        let more = size.saturating_sub(set.len()).min(others.len());
        if more > 0 && more < others.len() {
            others.select_nth_unstable_by(more, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        set.extend(others[..more].iter().map(|&(_, j)| j));
        set.sort_unstable();
        set
    }

    /// Newton steps on the set until its own gap is at most `target`, from a point with this gradient.
    fn solve_set(
        &mut self,
        set: &[usize],
        mut gradient: Vec<f64>,
        target: f64,
        control: &Control<'_>,
    ) -> Result<()> {
        self.columns.load(set);
        let penalties: Vec<Penalty> = set.iter().map(|&j| self.penalties[j]).collect();
        let intercept = penalties.iter().any(|penalty| penalty.is_none());
        for _ in 0..MOST_STEPS {
            let start: Vec<f64> = set.iter().map(|&j| self.at[j]).collect();
            let penalty: f64 = start.iter().zip(&penalties).map(|(&w, p)| p.of(w)).sum();
            let objective = self.scores.value + penalty;
            let gap = objective - self.dual(&start, &gradient, &penalties);
            if gap <= target || control.out_of_budget().is_some() {
                break;
            }
            let squared = self.loss == LossName::Squared;
            // Heuristic: the fractions 0.5 and 0.1 of the target are not measured yet.
            let model_target = if squared {
                0.5 * target
            } else {
                (MODEL_SHARE * gap).max(0.1 * target)
            };
            let next = self.minimise_model(set, &penalties, &start, &gradient, model_target)?;
            let along: Vec<f64> = next.iter().zip(&start).map(|(next, w)| next - w).collect();
            // Computed from scratch, because updates would accumulate rounding.
            let (chosen, weights): (Vec<usize>, Vec<f64>) =
                set.iter().zip(&next).filter(|(_, w)| **w != 0.0).unzip();
            let scores = self.columns.combine(&chosen, &weights);
            let pairs = scores.iter().zip(&self.scores.scores);
            let moved: Vec<f64> = pairs.map(|(new, old)| new - old).collect();
            let next_penalty: f64 = next.iter().zip(&penalties).map(|(&w, p)| p.of(w)).sum();
            let predicted = (dot(&gradient, &along) + next_penalty - penalty).min(0.0);
            // Derived: 50 machine epsilons, the rounding of a sum over the rows.
            let noise = 1e-14 * objective.abs();
            let there = self.scores.along(&moved, 1.0).value + next_penalty;
            // Heuristic: the fraction of the predicted decrease, and the damping below, as in
            // `prox_newton`.
            let step = if there <= objective + 0.01 * predicted + noise {
                self.failed = 0;
                self.damping = (0.1 * self.damping).max(1e-13);
                self.scores.replace(scores);
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
                self.scores.advance(&moved, step);
                step
            };
            for (k, &j) in set.iter().enumerate() {
                self.at[j] = if step == 1.0 {
                    next[k]
                } else {
                    start[k] + step * along[k]
                };
            }
            if intercept {
                self.at[self.layout.features] += self.scores.optimise_intercept();
            }
            // For least squares the model equals the loss, and its minimisation has already reached the gap.
            if (squared && step == 1.0) || (-predicted <= noise && gap <= 0.0) {
                break;
            }
            gradient = self.columns.dots(set, &self.scores.slopes);
        }
        Ok(())
    }

    /// The minimiser of the quadratic model on the set, to a gap of `target`.
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
            if self.constant.is_none() {
                self.gram = SetGram::default();
                self.gram.include(self.columns, set, Some(curvatures), set.len());
            }
            let times = self.constant.unwrap_or(1.0);
            let (matrix, factor) = (self.gram.matrix.view(), &mut self.gram.factor);
            let gram = Gram::new(matrix, times, gradient.to_vec(), factor);
            let model = QuadraticModel::new(gram, penalties, &ridge, start, loss, gradient);
            let minimum = match self.constant {
                Some(_) => model.by_face_and_sweeps(target)?,
                None => model.by_sweeps(target)?,
            };
            return Ok(minimum.at);
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
            row_slopes: vec![0.0; curvatures.len()],
            is_loss: self.loss == LossName::Squared,
            last: start.iter().map(|w| *w != 0.0).collect(),
        };
        let minimum =
            QuadraticModel::new(model, penalties, &ridge, start, loss, gradient).by_sweeps(target)?;
        if !minimum.reached && set.len() <= LAST_RESORT {
            // With dependent or stiff columns conjugate gradients may not converge; a factorisation always
            // terminates.
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
fn greatest_curvature(loss: LossName) -> f64 {
    match loss {
        LossName::Logistic => 0.25,
        LossName::SquaredHinge | LossName::ModifiedHuber => 2.0,
        _ => 1.0,
    }
}

//! Prox-Newton on working sets of columns, for many weights of which few will not be 0.
//!
//! The weights that are not 0 and those nearest to being pulled away from it (Massias, Gramfort and Salmon
//! 2018; Johnson and Guestrin 2015) make a problem of their own, which is solved until its own gap is a
//! fraction of the whole one; a pass over the columns that could be pulled then says how far the whole has come, and who is
//! next. The set grows with the support, so the columns outside are read once for every set, at most.
//!
//! Least squares on the same rows under another penalty begin where the last fit ended, with its products of columns.

use rayon::prelude::*;

use crate::error::Result;
use crate::kernel::dense::dot;
use crate::loss::LossName;
use crate::oracle::{Layout, Rows, Weights};
use crate::penalty::Penalty;
use crate::problem::{Evaluated, Intercept, Problem};
use crate::solve::coordinate_descent::CoordinateDescent;
use crate::solve::coordinate_descent::column_model::ColumnModel;
use crate::solve::coordinate_descent::columns::Columns;
use crate::solve::coordinate_descent::pulls::Pulls;
use crate::solve::coordinate_descent::scores::Scores;
use crate::solve::coordinate_descent::set_gram::SetGram;
use crate::solve::coordinate_descent::shared::End;
use crate::solve::orthant::{Gram, MOST_FAILED, Model, least_along};
use crate::solve::{Control, Solution};
use crate::watch::Status;

/// The smallest working set.
const SMALLEST_SET: usize = 100;
/// How much of the whole gap a set's own gap may keep.
const SET_SHARE: f64 = 0.1;
/// A set that gained no more than this part of the gap, and left more than the other part of it, was not solved far enough.
const LITTLE: f64 = 0.01;
const MOST_LEFT: f64 = 0.5;
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
    /// The products of the set's columns, of rows that count once or as much as they curve the loss.
    gram: SetGram,
    /// What those are to be multiplied by, where they stay the same: for least squares.
    constant: Option<f64>,
    /// The largest set that gets them.
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
    let squares = shared.squares(columns);
    let steepest = steepest(problem.loss);
    let constant = match &rows.weights {
        &Weights::Same(weight) if problem.loss == LossName::Squared && weight > 0.0 => Some(weight),
        _ => None,
    };
    let end = constant.and_then(|weight| {
        let mut end = shared.take_end(start)?;
        end.pulls.multiply(weight / end.weight);
        Some(end)
    });
    let mut before = None;
    let mut expected = None;
    let (scores, pulls) = match end {
        Some(end) => {
            // A linear system leads there as well.
            let many = start.iter().filter(|w| **w != 0.0).count() > CONSTANT_GRAM * largest_gram;
            expected = constant.filter(|_| many).and_then(|weight| end.expected(weight));
            before = Some((end.weight, end.at));
            (end.scores, Some(end.pulls))
        }
        None => {
            let all: Vec<usize> = (0..layout.len()).collect();
            (columns.combine(&all, start), None)
        }
    };
    let mut descent = Descent {
        columns,
        loss: problem.loss,
        layout,
        penalties: (0..layout.len()).map(|j| problem.penalty_of(j)).collect(),
        sizes: match &rows.weights {
            Weights::Same(weight) => squares.iter().map(|square| steepest * weight * square).collect(),
            Weights::Each(weights) => {
                let squares = columns.squares(Some(weights));
                squares.iter().map(|square| steepest * square).collect()
            }
        },
        scores: Scores::new(rows, problem.loss, scores),
        at: start.to_vec(),
        gram: constant.map(|_| shared.take_gram()).unwrap_or_default(),
        constant,
        largest_gram: match constant {
            Some(_) => CONSTANT_GRAM * largest_gram,
            None => largest_gram,
        },
        damping: 1e-13,
        failed: 0,
    };
    let mut pulls = pulls.unwrap_or_else(|| {
        control.passed(1);
        Pulls::new(columns, layout.len(), &descent.scores.slopes)
    });
    if let Some(expected) = expected {
        descent.go_if_lower(expected);
    }
    let free_intercept = problem.intercept == Intercept::Free && layout.intercept;
    let mut best_gap = f64::INFINITY;
    let mut best_objective = f64::INFINITY;
    let mut waited = 0;
    let mut size = SMALLEST_SET;
    let (mut share, mut last) = (SET_SHARE, (f64::INFINITY, f64::INFINITY));
    let status = loop {
        if free_intercept {
            descent.at[layout.features] += descent.scores.centre();
        }
        control.passed(1);
        let slopes = &descent.scores.slopes;
        pulls.follow(columns, squares, slopes, &descent.at, &descent.penalties);
        let here = Evaluated {
            objective: descent.scores.value + problem.penalty_value(&descent.at),
            loss: descent.scores.value,
            gradient: std::mem::take(&mut pulls.gradient),
            hessian: Vec::new(),
        };
        let gap = problem.gap(&descent.at, &here);
        let ended = control.iterate(problem, &descent.at, here.objective, gap);
        pulls.gradient = here.gradient;
        if let Some(status) = ended {
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
        let (last_gap, last_objective) = std::mem::replace(&mut last, (gap, here.objective));
        share = match last_objective - here.objective < LITTLE * gap && gap > MOST_LEFT * last_gap {
            // An intercept that is put in its place afterwards can undo what the set's own gap says.
            true => SET_SHARE * share,
            false => SET_SHARE,
        };
        best_gap = best_gap.min(gap);
        best_objective = best_objective.min(here.objective);
        let mut set = descent.choose(&pulls.gradient, &mut size);
        if constant.is_some() && set.len() <= descent.largest_gram {
            // Columns whose products are known may as well take part.
            let most = descent.largest_gram;
            descent.gram.include(columns, &set, None, most);
            set.clone_from(&descent.gram.set);
        }
        pulls.settle(columns, &set);
        let aim = 0.3 * control.tol * here.objective.abs().max(1.0);
        let gradient = set.iter().map(|&j| pulls.gradient[j]).collect();
        // Linear systems are solved exactly or not at all.
        let exact = constant.is_some() && set.len() <= descent.largest_gram;
        let target = if exact { aim } else { aim.max(share * gap) };
        descent.solve_set(&set, gradient, target, control)?;
        // Parts of steps, and those of an intercept, add up their rounding; the scores of the set's few columns are cheap.
        if problem.loss != LossName::Squared || layout.intercept {
            descent.score_afresh(&set);
        }
    };
    if let Some(weight) = constant {
        shared.keep_gram(descent.gram);
        shared.keep_end(End {
            weight,
            at: descent.at.clone(),
            before,
            scores: descent.scores.scores,
            pulls,
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
    /// Goes to another point, if the objective is lower there.
    fn go_if_lower(&mut self, to: Vec<f64>) {
        let penalty = |at: &[f64]| -> f64 { at.iter().zip(&self.penalties).map(|(&w, p)| p.of(w)).sum() };
        let all: Vec<usize> = (0..to.len()).collect();
        let scores = self.columns.combine(&all, &to);
        let here = self.scores.value + penalty(&self.at);
        let there = Scores::new(self.scores.rows, self.loss, scores);
        if there.value + penalty(&to) < here {
            (self.scores, self.at) = (there, to);
        }
    }

    /// Computes the scores of weights that are 0 outside a set.
    fn score_afresh(&mut self, set: &[usize]) {
        let support: Vec<usize> = set.iter().copied().filter(|&j| self.at[j] != 0.0).collect();
        let weights: Vec<f64> = support.iter().map(|&j| self.at[j]).collect();
        self.scores.replace(self.columns.combine(&support, &weights));
    }

    /// The support and the weights nearest to leaving 0, in order.
    fn choose(&self, gradient: &[f64], size: &mut usize) -> Vec<usize> {
        let mut set = Vec::new();
        let mut others: Vec<(f64, usize)> = Vec::new();
        let mut pulled = 0;
        for (j, &w) in self.at.iter().enumerate() {
            let penalty = self.penalties[j];
            if w != 0.0 || penalty.l1 == 0.0 {
                set.push(j);
            } else if self.sizes[j] > 0.0 {
                let slack = penalty.l1 - gradient[j].abs();
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

    /// Newton steps on the set until its own gap is at most `target`, from a point where its gradient is known.
    fn solve_set(
        &mut self,
        set: &[usize],
        mut gradient: Vec<f64>,
        target: f64,
        control: &Control<'_>,
    ) -> Result<()> {
        self.columns.keep(set);
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
            let model_target = if squared {
                0.5 * target
            } else {
                (MODEL_SHARE * gap).max(0.1 * target)
            };
            let next = self.minimise_model(set, &penalties, &start, &gradient, model_target)?;
            let along: Vec<f64> = next.iter().zip(&start).map(|(next, w)| next - w).collect();
            // Afresh, for steps would add up their rounding.
            let (chosen, weights): (Vec<usize>, Vec<f64>) =
                set.iter().zip(&next).filter(|(_, w)| **w != 0.0).unzip();
            let scores = self.columns.combine(&chosen, &weights);
            let pairs = scores.iter().zip(&self.scores.scores);
            let moved: Vec<f64> = pairs.map(|(new, old)| new - old).collect();
            let next_penalty: f64 = next.iter().zip(&penalties).map(|(&w, p)| p.of(w)).sum();
            let promised = (dot(&gradient, &along) + next_penalty - penalty).min(0.0);
            let noise = 1e-14 * objective.abs();
            let there = self.scores.along(&moved, 1.0).value + next_penalty;
            let step = if there <= objective + 0.01 * promised + noise {
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
                self.at[self.layout.features] += self.scores.centre();
            }
            // The model of squares is the loss itself, and has seen to the gap.
            if (squared && step == 1.0) || (-promised <= noise && gap <= 0.0) {
                break;
            }
            gradient = self.columns.dots(set, &self.scores.slopes);
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
            if self.constant.is_none() {
                self.gram = SetGram::default();
                self.gram.include(self.columns, set, Some(curvatures), set.len());
            }
            let times = self.constant.unwrap_or(1.0);
            let (matrix, factor) = (self.gram.matrix.view(), &mut self.gram.factor);
            let gram = Gram::new(matrix, times, gradient.to_vec(), factor);
            let model = Model::new(gram, penalties, &ridge, start, loss, gradient);
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
            pulls: vec![0.0; curvatures.len()],
            is_loss: self.loss == LossName::Squared,
            last: start.iter().map(|w| *w != 0.0).collect(),
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

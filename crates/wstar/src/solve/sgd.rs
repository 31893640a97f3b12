//! Stochastic and mini-batch gradient descent with momentum (Robbins and Monro, Annals of Mathematical
//! Statistics 22, 1951; Polyak 1964), for every loss and penalty, where the rows are at hand.
//!
//! Problem: min P(θ). With f = P/Σcᵢ, and gₖ the gradient of f as m of the n rows tell it, (n/m) times their
//! own share, the step is
//! θₖ₊₁ = θₖ − aₖ gₖ(θₖ) + β (θₖ − θₖ₋₁),
//! with a subgradient at a kink of the loss, and for ℓ1 the penalty's prox in place of its slope. The points
//! jitter about the optimum, so their average over the later epochs is looked at too (Polyak and Juditsky,
//! SIAM J. Control and Optimization 30, 1992), and the better one is taken.
//!
//! With neither momentum nor ℓ1 a step costs the entries that its rows store: the weights are a factor times
//! a vector, and a penalty changes the factor only. The average is kept in the same way (Xu, Towards optimal
//! one pass large scale learning with averaged stochastic gradient descent, 2011).

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::{Loss, LossName, Softmax, VectorLoss, on_loss};
use crate::oracle::{Layout, Rows};
use crate::penalty::Penalty;
use crate::problem::{Evaluated, Intercept, Problem};
use crate::schedule::Schedule;
use crate::solve::gradient_descent::check_rates;
use crate::solve::smooth::{self, Run};
use crate::solve::{Control, Solution, Solver, SolverName, newton_cg};
use crate::watch::{Status, Stride};

/// The factor below which it is multiplied out, long before anything underflows.
const SMALLEST_FACTOR: f64 = 1e-100;
/// Epochs at the full rate before the default schedule halves it.
const FULL_EPOCHS: u64 = 2;

/// Which rows make a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Each row once an epoch, in the order of the data.
    InOrder,
    /// Each row once an epoch, shuffled anew each time.
    #[default]
    Shuffled,
    /// Any row at any time.
    WithReplacement,
}

/// Stochastic gradient descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// a₁, for the objective divided by the total weight; without one, 1 over the largest curvature that a
    /// single row can give.
    pub learning_rate: Option<f64>,
    /// How aₖ changes with the step; without one, a given rate is constant and the default one is halved,
    /// first after two epochs.
    pub schedule: Option<Schedule>,
    /// β.
    pub momentum: f64,
    /// m, the rows of a step.
    pub batch: usize,
    /// Which rows they are.
    pub sampling: Sampling,
    /// What the random order comes from.
    pub seed: u64,
    /// The most epochs.
    pub epochs: u64,
}

impl Default for Sgd {
    fn default() -> Self {
        Sgd {
            learning_rate: None,
            schedule: None,
            momentum: 0.0,
            batch: 1,
            sampling: Sampling::Shuffled,
            seed: 0,
            epochs: 100,
        }
    }
}

impl Sgd {
    /// The steps, one at a time, from a start; an error without rows at hand.
    pub fn walk<'a>(&self, problem: &Problem<'a>, start: &[f64]) -> Result<Walk<'a>> {
        check_rates(self.learning_rate, self.momentum)?;
        if self.batch == 0 {
            return Err(Error::settings("a batch must have at least one row"));
        }
        let Some(rows) = problem.rows.clone() else {
            return Err(
                Error::settings("sgd goes row by row, and these rows are not in memory")
                    .hint("newton, newton-cg and lbfgs take streamed rows"),
            );
        };
        // Rows of weight 0 do not exist.
        let order: Vec<usize> = (0..rows.len()).filter(|&i| rows.weights.get(i) > 0.0).collect();
        let total = rows.total_weight().max(f64::MIN_POSITIVE);
        let batch = self.batch.min(order.len().max(1));
        let mut walk = Walk {
            loss: problem.loss,
            penalty: problem.penalty,
            intercept: problem.intercept,
            layout: problem.layout(),
            rows,
            total,
            rate: 0.0,
            schedule: Schedule::Constant,
            momentum: self.momentum,
            batch,
            sampling: self.sampling,
            seed: self.seed,
            order,
            epoch: 0,
            position: 0,
            steps: 0,
            factor: 1.0,
            vector: start.to_vec(),
            before: start.to_vec(),
            average: Average::new(start.len()),
            chosen: Vec::new(),
            pulls: Vec::new(),
        };
        walk.rate = self.learning_rate.unwrap_or_else(|| walk.safe_rate());
        walk.schedule = self.schedule.unwrap_or(match self.learning_rate {
            Some(_) => Schedule::Constant,
            None => Schedule::Halving {
                first: FULL_EPOCHS * walk.steps_an_epoch(),
            },
        });
        Ok(walk)
    }

    fn gap(&self, problem: &mut Problem<'_>, at: &[f64], evaluated: &Evaluated, target: f64) -> Result<f64> {
        if problem.loss.is_convex() && !problem.penalty.is_none() {
            return Ok(problem.gap(at, evaluated));
        }
        if !problem.loss.is_smooth() || !problem.penalty.is_smooth() {
            return Ok(f64::INFINITY);
        }
        let gradient = problem.full_gradient(at, evaluated);
        newton_cg::gap(problem, at, evaluated, &gradient, 0.0, target)
    }
}

impl Solver for Sgd {
    fn name(&self) -> SolverName {
        SolverName::Sgd
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        let start = vec![0.0; problem.layout().len()];
        self.walk(problem, &start).map(|_| ())
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        let mut walk = self.walk(problem, start)?;
        let mut run = Run::new(problem, control, self.name(), self.epochs, u64::MAX).by_gap_alone();
        let mut at = start.to_vec();
        let mut evaluated = problem.gradient(&at)?;
        loop {
            let target = run.target(evaluated.objective);
            let gap = self.gap(problem, &at, &evaluated, target)?;
            if let Some(status) = run.reached(problem, &at, &evaluated, gap) {
                return Ok(run.end(status, at));
            }
            if walk.order.is_empty() {
                return Ok(run.end(Status::IterationLimit, at));
            }
            // From each power of two on, so that it covers up to half of all epochs and forgets the start.
            if run.steps().is_power_of_two() {
                walk.average.clear();
            }
            if let Some(status) = walk.epoch(run.control()) {
                return Ok(run.end(status, at));
            }
            at = walk.parameters();
            evaluated = problem.gradient(&at)?;
            let average = walk.averaged();
            let smoother = problem.gradient(&average)?;
            if smoother.objective < evaluated.objective || !evaluated.objective.is_finite() {
                (at, evaluated) = (average, smoother);
            }
        }
    }
}

/// The points of stochastic gradient descent, one step after another.
pub struct Walk<'a> {
    loss: LossName,
    penalty: Penalty,
    intercept: Intercept,
    layout: Layout,
    rows: Rows<'a>,
    total: f64,
    rate: f64,
    schedule: Schedule,
    momentum: f64,
    batch: usize,
    sampling: Sampling,
    seed: u64,
    /// Rows of positive weight, in the epoch's order.
    order: Vec<usize>,
    epoch: u64,
    position: usize,
    steps: u64,
    /// Weights are `factor` times those of `vector`; intercepts are as they are.
    factor: f64,
    vector: Vec<f64>,
    /// The point before; only kept with momentum.
    before: Vec<f64>,
    average: Average,
    chosen: Vec<usize>,
    pulls: Vec<f64>,
}

impl Walk<'_> {
    /// Steps that look at as many rows as there are.
    pub fn steps_an_epoch(&self) -> u64 {
        self.order.len().div_ceil(self.batch) as u64
    }

    /// As many steps, each told to whoever follows them; gives the status to end with, if it is time.
    fn epoch(&mut self, control: &mut Control<'_>) -> Option<Status> {
        let followed = control.wants_strides();
        for _ in 0..self.steps_an_epoch() {
            let rate = self.rate();
            self.step();
            if followed {
                let status = control.stride(&Stride {
                    step: self.steps,
                    rate,
                    parameters: &self.parameters(),
                    layout: self.layout,
                });
                if status.is_some() {
                    return status;
                }
            }
        }
        None
    }

    /// The rate of the next step.
    pub fn rate(&self) -> f64 {
        self.rate * self.schedule.factor(self.steps + 1)
    }

    /// The point reached.
    pub fn parameters(&self) -> Vec<f64> {
        let scaled = self.vector.iter().enumerate();
        scaled
            .map(|(j, &v)| {
                if self.layout.is_intercept(j) {
                    v
                } else {
                    self.factor * v
                }
            })
            .collect()
    }

    /// Makes one step.
    pub fn step(&mut self) {
        if self.order.is_empty() {
            return;
        }
        let rate = self.rate();
        self.steps += 1;
        self.choose();
        self.pull();
        if self.momentum == 0.0 && self.penalty.l1 == 0.0 {
            self.step_by_factor(rate);
        } else {
            self.step_by_weight(rate);
        }
    }

    /// 1/L, with L the most that the slope of f can change with θ if any one row is taken for all.
    fn safe_rate(&self) -> f64 {
        let curvature = match self.loss {
            LossName::Squared | LossName::Hinge | LossName::Absolute | LossName::Quantile(_) => 1.0,
            LossName::Logistic | LossName::SigmoidMse => 0.25,
            LossName::SquaredHinge | LossName::ModifiedHuber => 2.0,
            LossName::Softmax => 0.5,
        };
        let one = f64::from(u8::from(self.layout.intercept));
        let sizes = self.order.iter().map(|&i| {
            let row = self.rows.design.row(i);
            self.rows.weights.get(i) * (row.squared_norm() + one)
        });
        let largest = sizes.fold(0.0, f64::max);
        let steepest = (self.order.len() as f64 * curvature * largest + self.penalty.l2) / self.total;
        if steepest > 0.0 { 1.0 / steepest } else { 1.0 }
    }

    /// Chooses the rows of this step.
    fn choose(&mut self) {
        self.chosen.clear();
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        if self.sampling == Sampling::WithReplacement {
            random.set_stream(self.steps);
            for _ in 0..self.batch {
                self.chosen
                    .push(self.order[random.random_range(0..self.order.len())]);
            }
            return;
        }
        if self.position == 0 && self.sampling == Sampling::Shuffled {
            random.set_stream(self.epoch);
            // From the same start each time, so that an epoch depends on its number alone.
            self.order.sort_unstable();
            self.order.shuffle(&mut random);
        }
        let end = (self.position + self.batch).min(self.order.len());
        self.chosen.extend_from_slice(&self.order[self.position..end]);
        self.position = end;
        if end == self.order.len() {
            self.position = 0;
            self.epoch += 1;
        }
    }

    /// What the chosen rows add to the gradient of f by their scores.
    fn pull(&mut self) {
        let (layout, factor) = (self.layout, self.factor);
        let share = self.order.len() as f64 / self.chosen.len() as f64 / self.total;
        self.pulls.clear();
        for &i in &self.chosen {
            let row = self.rows.design.row(i);
            let scale = share * self.rows.weights.get(i);
            let target = self.rows.targets[i];
            let from = self.pulls.len();
            for k in 0..layout.outputs {
                let (w, b) = layout.output(&self.vector, k);
                self.pulls.push(factor * row.dot(w) + b);
            }
            let scores = &mut self.pulls[from..];
            on_loss!(self.loss, loss => {
                scores.iter_mut().for_each(|score| *score = scale * loss.slope(target, *score));
            }, softmax => {
                Softmax.value_and_gradient(target as usize, scores);
                scores.iter_mut().for_each(|slope| *slope *= scale);
            });
        }
    }

    /// A step without momentum and ℓ1, in time proportional to the rows' entries.
    fn step_by_factor(&mut self, rate: f64) {
        let (width, features) = (self.layout.width(), self.layout.features);
        let decay = 1.0 - rate * self.penalty.l2 / self.total;
        self.factor *= decay;
        if self.factor.abs() < SMALLEST_FACTOR {
            self.average.settle(self.layout, &self.vector);
            for (j, v) in self.vector.iter_mut().enumerate() {
                if !self.layout.is_intercept(j) {
                    *v *= self.factor;
                }
            }
            self.factor = 1.0;
        }
        let outputs = self.vector.chunks_exact_mut(width.max(1)).enumerate();
        for (k, own) in outputs {
            let (w, b) = own.split_at_mut(features);
            if let Some(b) = b.first_mut()
                && self.intercept == Intercept::Penalized
            {
                *b *= decay;
            }
            let late = &mut self.average.late[k * width..k * width + features];
            for (&i, pulls) in self
                .chosen
                .iter()
                .zip(self.pulls.chunks_exact(self.layout.outputs))
            {
                let row = self.rows.design.row(i);
                let change = -rate * pulls[k];
                if change == 0.0 {
                    continue;
                }
                row.add_to(change / self.factor, w);
                row.add_to(change / self.factor * self.average.factors, late);
                if let Some(b) = b.first_mut() {
                    *b += change;
                }
            }
        }
        self.average.count(self.layout, &self.vector, self.factor);
    }

    /// A step that touches every weight.
    fn step_by_weight(&mut self, rate: f64) {
        let layout = self.layout;
        let mut next = self.vector.clone();
        for (j, next) in next.iter_mut().enumerate() {
            let now = *next;
            *next += self.momentum * (now - self.before[j]);
            // ℓ1 has no slope, so it and what comes with it are left to the prox.
            if self.penalty.l1 == 0.0 && self.penalised(j) {
                *next -= rate * self.penalty.l2 / self.total * now;
            }
        }
        let outputs = next.chunks_exact_mut(layout.width().max(1)).enumerate();
        for (k, own) in outputs {
            let (w, b) = own.split_at_mut(layout.features);
            for (&i, pulls) in self.chosen.iter().zip(self.pulls.chunks_exact(layout.outputs)) {
                self.rows.design.row(i).add_to(-rate * pulls[k], w);
                if let Some(b) = b.first_mut() {
                    *b -= rate * pulls[k];
                }
            }
        }
        if self.penalty.l1 > 0.0 {
            for (j, next) in next.iter_mut().enumerate() {
                if self.penalised(j) {
                    *next = self.penalty.prox(*next, rate / self.total);
                }
            }
        }
        self.before = std::mem::replace(&mut self.vector, next);
        self.average.add(&self.vector);
    }

    fn penalised(&self, j: usize) -> bool {
        self.intercept != Intercept::Free || !self.layout.is_intercept(j)
    }

    /// The average of the points since it was last cleared.
    fn averaged(&mut self) -> Vec<f64> {
        self.average.settle(self.layout, &self.vector);
        let points = self.average.points.max(1) as f64;
        self.average.sum.iter().map(|sum| sum / points).collect()
    }
}

/// The sum of points fₜ·vₜ. With F = Σfₜ, it is F·v − Σ Fₜ₋₁·(vₜ − vₜ₋₁): only what changes is touched.
struct Average {
    points: u64,
    sum: Vec<f64>,
    /// F.
    factors: f64,
    /// Σ Fₜ₋₁·(vₜ − vₜ₋₁).
    late: Vec<f64>,
}

impl Average {
    fn new(length: usize) -> Self {
        Average {
            points: 0,
            sum: vec![0.0; length],
            factors: 0.0,
            late: vec![0.0; length],
        }
    }

    fn clear(&mut self) {
        *self = Average::new(self.sum.len());
    }

    /// Adds a whole point.
    fn add(&mut self, point: &[f64]) {
        self.points += 1;
        smooth::advance(&mut self.sum, 1.0, point);
    }

    /// Adds the point `factor·vector`, whose changes were put into `late`; intercepts are as they are.
    fn count(&mut self, layout: Layout, vector: &[f64], factor: f64) {
        self.points += 1;
        self.factors += factor;
        if layout.intercept {
            let ends = (layout.features..vector.len()).step_by(layout.width());
            ends.for_each(|j| self.sum[j] += vector[j]);
        }
    }

    /// Brings what was put off into the sum, before the vector is measured anew.
    fn settle(&mut self, layout: Layout, vector: &[f64]) {
        for (j, sum) in self.sum.iter_mut().enumerate() {
            if !layout.is_intercept(j) {
                *sum += self.factors * vector[j] - self.late[j];
            }
        }
        self.factors = 0.0;
        self.late.fill(0.0);
    }
}

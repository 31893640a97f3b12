//! Stochastic gradient descent with mini-batches and momentum (H. Robbins and S. Monro, Annals of Mathematical
//! Statistics 22, 1951; B. T. Polyak 1964).
//!
//! Problem: min P(θ) for every loss and penalty, over rows in memory. Let f = P/Σcᵢ, and let gₖ be the estimate
//! of ∇f from a batch of m of the n rows. The step is
//!
//! θₖ₊₁ = θₖ − aₖ gₖ(θₖ) + β (θₖ − θₖ₋₁),
//!
//! with a subgradient at a kink of the loss, and a proximal step for ℓ1. The iterates fluctuate about the
//! optimum, so their average is evaluated too (Polyak and Juditsky, SIAM J. Control and Optimization 30, 1992)
//! and the better one kept. Without momentum and ℓ1 a step costs O(nnz) of its rows: weights, and likewise
//! their average, are a factor times a vector, and ℓ2 changes only the factor (W. Xu, arXiv 1107.2490).

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use wstar_problem::on_loss;

use crate::gradient_descent::check_rates;
use crate::learning_rate::Schedule;
use crate::smooth_stopping;
use crate::smooth_stopping::SmoothRun;
use crate::{Control, Solution, Solver, SolverName, newton_cg};
use wstar_data::error::{Error, Range, Result};
use wstar_data::linear::Layout;
use wstar_data::run::{Status, Stride};
use wstar_data::setting::Setting;
use wstar_problem::loss::{Loss, LossName, Softmax, VectorLoss};
use wstar_problem::objective::Rows;
use wstar_problem::objective::{Evaluated, Objective};
use wstar_problem::penalty::Penalty;
use wstar_problem::problem::Intercept;

/// The `factor` below which it is multiplied into `vector`. Derived: far above the underflow of f64, 1e-308.
const SMALLEST_FACTOR: f64 = 1e-100;
/// Epochs at the full rate before it is halved by default. Heuristic: speed against noise; not measured yet.
const FULL_EPOCHS: u64 = 2;

/// How the rows of a batch are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Each row once an epoch, in the order of the data.
    InOrder,
    /// Each row once an epoch, in a new random order every epoch.
    #[default]
    Shuffled,
    /// Each row drawn at random, with replacement.
    WithReplacement,
}

/// Stochastic gradient descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// a₁, for f; by default 1 over the largest curvature that a single row can have.
    pub learning_rate: Option<f64>,
    /// How aₖ changes with k; by default a given rate is constant, and the default rate is `Halving`.
    pub schedule: Option<Schedule>,
    /// β.
    pub momentum: f64,
    /// m, the rows of a batch.
    pub batch: usize,
    /// How the rows of a batch are chosen.
    pub sampling: Sampling,
    /// The seed of the random order.
    pub seed: u64,
    /// The limit on epochs. Cap: the run ends there with the iteration limit as its status.
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
    /// The steps one by one, from a start; an error if the rows are not in memory.
    pub fn walk<'a>(&self, objective: &Objective<'a>, start: &[f64]) -> Result<Walk<'a>> {
        check_rates(self.learning_rate, self.momentum)?;
        if self.batch == 0 {
            return Err(Error::out_of_range(Setting::Batch, Range::AtLeast(1.0), 0));
        }
        let Some(rows) = objective.rows.clone() else {
            return Err(SolverName::Sgd
                .refuses("goes row by row, and these rows are not in memory")
                .remedy(SolverName::any([
                    SolverName::Newton,
                    SolverName::NewtonCg,
                    SolverName::Lbfgs,
                ])));
        };
        // Rows of weight 0 are skipped.
        let order: Vec<usize> = (0..rows.len()).filter(|&i| rows.weights.get(i) > 0.0).collect();
        let total = rows.total_weight().max(f64::MIN_POSITIVE);
        let batch = self.batch.min(order.len().max(1));
        let mut walk = Walk {
            loss: objective.problem.loss(),
            penalty: objective.problem.penalty(),
            intercept: objective.problem.intercept(),
            layout: objective.problem.layout(),
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
            slopes: Vec::new(),
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

    /// The duality gap, or else the decrease that a Newton step predicts; +∞ where neither exists.
    fn gap(
        &self,
        objective: &mut Objective<'_>,
        at: &[f64],
        evaluated: &Evaluated,
        target: f64,
    ) -> Result<f64> {
        if objective.problem.loss().is_convex() && !objective.problem.penalty().is_none() {
            return Ok(objective.gap(at, evaluated));
        }
        if !objective.problem.loss().is_smooth() || !objective.problem.penalty().is_smooth() {
            return Ok(f64::INFINITY);
        }
        let gradient = objective.full_gradient(at, evaluated);
        newton_cg::gap(objective, at, evaluated, &gradient, 0.0, target)
    }
}

impl Solver for Sgd {
    fn name(&self) -> SolverName {
        SolverName::Sgd
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        let start = vec![0.0; objective.problem.layout().len()];
        self.walk(objective, &start).map(|_| ())
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        let mut walk = self.walk(objective, start)?;
        let mut run = SmoothRun::new(objective, control, self.name(), self.epochs, u64::MAX).by_gap_alone();
        let mut at = start.to_vec();
        let mut evaluated = objective.gradient(&at)?;
        loop {
            let target = run.target(evaluated.objective);
            let gap = self.gap(objective, &at, &evaluated, target)?;
            if let Some(status) = run.reached(objective, &at, &evaluated, gap) {
                return Ok(run.end(status, at));
            }
            if walk.order.is_empty() {
                return Ok(run.end(Status::IterationLimit, at));
            }
            // The average covers up to half of all epochs and forgets the start.
            if run.steps().is_power_of_two() {
                walk.average.clear();
            }
            if let Some(status) = walk.epoch(run.control()) {
                return Ok(run.end(status, at));
            }
            at = walk.parameters();
            evaluated = objective.gradient(&at)?;
            let average = walk.averaged();
            let averaged_sums = objective.gradient(&average)?;
            if averaged_sums.objective < evaluated.objective || !evaluated.objective.is_finite() {
                (at, evaluated) = (average, averaged_sums);
            }
        }
    }
}

/// The iterates of stochastic gradient descent, one step after another.
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
    /// The rows of positive weight, in the order of this epoch.
    order: Vec<usize>,
    epoch: u64,
    position: usize,
    steps: u64,
    /// The weights are `factor` times those of `vector`; the intercepts are not scaled.
    factor: f64,
    vector: Vec<f64>,
    /// The previous point; only kept up to date with momentum.
    before: Vec<f64>,
    average: Average,
    chosen: Vec<usize>,
    slopes: Vec<f64>,
}

impl Walk<'_> {
    /// The number of steps of an epoch: ⌈n/m⌉.
    pub fn steps_an_epoch(&self) -> u64 {
        self.order.len().div_ceil(self.batch) as u64
    }

    /// Makes and reports the steps of one epoch; returns the status if the run is to stop.
    fn epoch(&mut self, control: &mut Control<'_>) -> Option<Status> {
        let reports_steps = control.wants_strides();
        for _ in 0..self.steps_an_epoch() {
            let rate = self.rate();
            self.step();
            if reports_steps {
                let status = control.stride(&Stride::new(self.steps, rate, &self.parameters(), self.layout));
                if status.is_some() {
                    return status;
                }
            }
        }
        None
    }

    /// The learning rate of the next step.
    pub fn rate(&self) -> f64 {
        self.rate * self.schedule.factor(self.steps + 1)
    }

    /// The current point.
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
        self.compute_slopes();
        if self.momentum == 0.0 && self.penalty.l1 == 0.0 {
            self.step_by_factor(rate);
        } else {
            self.step_by_weight(rate);
        }
    }

    /// 1/L, where L is the largest Lipschitz constant that ∇f would have if all rows were equal to one of them.
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

    /// Chooses the rows of the batch.
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
            // Shuffles from the sorted order, so that the order of an epoch depends only on its number.
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

    /// Computes the derivative of the estimate of f with respect to each score of the batch.
    fn compute_slopes(&mut self) {
        let (layout, factor) = (self.layout, self.factor);
        let share = self.order.len() as f64 / self.chosen.len() as f64 / self.total;
        self.slopes.clear();
        for &i in &self.chosen {
            let row = self.rows.design.row(i);
            let scale = share * self.rows.weights.get(i);
            let target = self.rows.targets[i];
            let from = self.slopes.len();
            for k in 0..layout.outputs {
                let (w, b) = layout.output(&self.vector, k);
                self.slopes.push(factor * row.dot(w) + b);
            }
            let scores = &mut self.slopes[from..];
            on_loss!(self.loss, loss => {
                scores.iter_mut().for_each(|score| *score = scale * loss.slope(target, *score));
            }, softmax => {
                Softmax.value_and_gradient(target as usize, scores);
                scores.iter_mut().for_each(|slope| *slope *= scale);
            });
        }
    }

    /// A step without momentum and ℓ1, in O(nnz) of the batch.
    fn step_by_factor(&mut self, rate: f64) {
        let (width, features) = (self.layout.width(), self.layout.features);
        let decay = 1.0 - rate * self.penalty.l2 / self.total;
        self.factor *= decay;
        if self.factor.abs() < SMALLEST_FACTOR {
            self.average.flush(self.layout, &self.vector);
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
            let deferred = &mut self.average.deferred[k * width..k * width + features];
            for (&i, slopes) in self
                .chosen
                .iter()
                .zip(self.slopes.chunks_exact(self.layout.outputs))
            {
                let row = self.rows.design.row(i);
                let change = -rate * slopes[k];
                if change == 0.0 {
                    continue;
                }
                row.add_to(change / self.factor, w);
                row.add_to(change / self.factor * self.average.factors, deferred);
                if let Some(b) = b.first_mut() {
                    *b += change;
                }
            }
        }
        self.average.add_scaled(self.layout, &self.vector, self.factor);
    }

    /// A step in O(d), which updates every weight.
    fn step_by_weight(&mut self, rate: f64) {
        let layout = self.layout;
        let mut next = self.vector.clone();
        for (j, next) in next.iter_mut().enumerate() {
            let now = *next;
            *next += self.momentum * (now - self.before[j]);
            // With ℓ1 the proximal operator handles the whole penalty, ℓ2 included.
            if self.penalty.l1 == 0.0 && self.penalised(j) {
                *next -= rate * self.penalty.l2 / self.total * now;
            }
        }
        let outputs = next.chunks_exact_mut(layout.width().max(1)).enumerate();
        for (k, own) in outputs {
            let (w, b) = own.split_at_mut(layout.features);
            for (&i, slopes) in self.chosen.iter().zip(self.slopes.chunks_exact(layout.outputs)) {
                self.rows.design.row(i).add_to(-rate * slopes[k], w);
                if let Some(b) = b.first_mut() {
                    *b -= rate * slopes[k];
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

    /// The average of the iterates since it was last cleared.
    fn averaged(&mut self) -> Vec<f64> {
        self.average.flush(self.layout, &self.vector);
        let points = self.average.points.max(1) as f64;
        self.average.sum.iter().map(|sum| sum / points).collect()
    }
}

/// The sum of the iterates fₜ·vₜ: F·v − Σ Fₜ₋₁·(vₜ − vₜ₋₁) with F = Σfₜ, updated in O(nnz).
struct Average {
    points: u64,
    sum: Vec<f64>,
    /// F.
    factors: f64,
    /// Σ Fₜ₋₁·(vₜ − vₜ₋₁).
    deferred: Vec<f64>,
}

impl Average {
    fn new(length: usize) -> Self {
        Average {
            points: 0,
            sum: vec![0.0; length],
            factors: 0.0,
            deferred: vec![0.0; length],
        }
    }

    fn clear(&mut self) {
        *self = Average::new(self.sum.len());
    }

    /// Adds a point given in full.
    fn add(&mut self, point: &[f64]) {
        self.points += 1;
        smooth_stopping::advance(&mut self.sum, 1.0, point);
    }

    /// Adds the point `factor·vector`, whose changes are already in `deferred`; intercepts are not scaled.
    fn add_scaled(&mut self, layout: Layout, vector: &[f64], factor: f64) {
        self.points += 1;
        self.factors += factor;
        if layout.intercept {
            let ends = (layout.features..vector.len()).step_by(layout.width());
            ends.for_each(|j| self.sum[j] += vector[j]);
        }
    }

    /// Adds the deferred terms to the sum, before the vector is rescaled.
    fn flush(&mut self, layout: Layout, vector: &[f64]) {
        for (j, sum) in self.sum.iter_mut().enumerate() {
            if !layout.is_intercept(j) {
                *sum += self.factors * vector[j] - self.deferred[j];
            }
        }
        self.factors = 0.0;
        self.deferred.fill(0.0);
    }
}

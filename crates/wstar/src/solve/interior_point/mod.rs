//! A primal–dual interior point method (Mehrotra 1992) for losses with one kink a row: hinge, absolute.
//!
//! Minimise R(θ) + Σᵢ cᵢ max(loᵢ(zᵢ − atᵢ), hiᵢ(zᵢ − atᵢ)) with z = X̃θ, for R of ℓ2, ℓ1, the elastic net or
//! none. ℓ1 is of the same kind, a kink of weight l1 at θⱼ = 0, so it adds d entries to the n of the rows.
//! For each entry a slope s = lo + p = hi − q and multipliers u, v are kept inside their bounds; optimal is
//!
//! > l2·θ + X̃ᵀ(c·s) = 0,  v − u = z − at,  pu = qv = 0,
//!
//! and each iteration makes a Newton step towards pu = qv = τ. Eliminating everything but θ leaves
//! (l2 + X̃ᵀ diag(c·g) X̃) dθ = …, g = 1/(u/p + v/q): one Gram matrix and three passes an iteration. The
//! barrier is weighted by c, so that a row of weight 2 is a row twice. Columns are brought to size 1 by
//! powers of two, which is exact; the penalty keeps its meaning.

mod bounds;
mod entry;
mod normal;

use bounds::Bounds;
use entry::{Entry, Reach};
use normal::Normal;

use crate::error::{Error, Result};
use crate::loss::LossName;
use crate::oracle::products::{add_gram, add_pulls, scores};
use crate::oracle::{Layout, Rows};
use crate::problem::{Intercept, Problem};
use crate::solve::kink::Kink;
use crate::solve::lanes::{add, pass};
use crate::solve::{Control, Solution, Solver, SolverName, best_intercept};
use crate::watch::Status;

/// Iterations without a better gap before it is rounding that is in the way.
const PATIENCE: u32 = 12;

/// A primal–dual interior point method for hinge and absolute loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InteriorPoint {
    /// The most parameters: a matrix of their square is factored in every iteration.
    pub max_parameters: usize,
    /// The most iterations.
    pub max_iterations: u64,
}

impl Default for InteriorPoint {
    fn default() -> Self {
        InteriorPoint {
            max_parameters: 4096,
            max_iterations: 200,
        }
    }
}

impl Solver for InteriorPoint {
    fn name(&self) -> SolverName {
        SolverName::InteriorPoint
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        if problem.loss != LossName::Hinge && !problem.loss.is_absolute() {
            return Err(Error::settings(format!(
                "the interior point solver is for hinge and absolute loss, not {}",
                problem.loss.name()
            ))
            .hint("newton and lbfgs solve smooth losses"));
        }
        if problem.rows.is_none() {
            return Err(
                Error::settings("the interior point solver needs all rows in memory")
                    .hint("sgd reads a file in chunks"),
            );
        }
        let parameters = problem.layout().len();
        if parameters > self.max_parameters {
            return Err(Error::settings(format!(
                "the interior point solver factors a matrix of {parameters} × {parameters} in every iteration; {} is the most",
                self.max_parameters
            ))
            .hint("dual-coordinate-descent is made for many columns"));
        }
        Ok(())
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        control.enter(self.name());
        let problem = &*problem;
        let Some(rows) = &problem.rows else {
            return Err(Error::settings(
                "the interior point solver needs all rows in memory",
            ));
        };
        let mut run = Run::new(problem, rows, start);
        let mut bounds = Bounds::new(problem, rows);
        let mut step = 0.0;
        let (mut iterations, mut since_best) = (0, 0);
        let (mut first, mut last_gap) = (None, f64::INFINITY);
        let mut least = f64::INFINITY;
        let status = loop {
            let sums = run.advance(step);
            let normal = run.normal(&sums);
            let gap = bounds.update(&mut run, &sums, normal.as_ref(), control.tol);
            iterations += 1;
            // Residuals, the normal matrix with the predictor, and the corrector.
            control.passed(3);
            let point = bounds.point(&run);
            if let Some(status) = control.iterate(problem, &point, bounds.objective(&sums, &run), gap) {
                break status;
            }
            // Far from the end no dual point may be feasible yet, while complementarity goes down all the same.
            let nearer = gap < 0.9 * last_gap || sums.complementarity < 0.9 * least;
            since_best = if nearer { 0 } else { since_best + 1 };
            last_gap = last_gap.min(gap);
            least = least.min(sums.complementarity);
            if iterations >= self.max_iterations || since_best > PATIENCE {
                break Status::IterationLimit;
            }
            let Some(normal) = normal else {
                break Status::IterationLimit;
            };
            let first = *first.get_or_insert(sums.complementarity);
            let Some(next) = run.step(&sums, &normal, first) else {
                break Status::IterationLimit;
            };
            step = next;
        };
        let (parameters, dual) = bounds.finish(&mut run);
        Ok(Solution {
            parameters,
            dual: Some(dual),
            status,
            iterations,
        })
    }
}

/// What one pass over the entries sums up.
#[derive(Debug, Clone, Default)]
struct Totals {
    /// The lower triangle of X̃ᵀ diag(c·g) X̃.
    gram: Vec<f64>,
    /// X̃ᵀ(c·s).
    pull: Vec<f64>,
    /// X̃ᵀ(c·g·(z − at)).
    predictor: Vec<f64>,
    /// X̃ᵀ(c·g·(1/p − 1/q)).
    centring: Vec<f64>,
    /// Σ c ℓ(z) over the rows.
    loss: f64,
    /// Σ c·s·at over the rows.
    conjugate: f64,
    /// Σ c(pu + qv).
    complementarity: f64,
}

/// The state of the method. Parameters are those of columns of size 1: θ/scale.
struct Run<'a> {
    rows: &'a Rows<'a>,
    layout: Layout,
    /// What each column is multiplied by: powers of two.
    scale: Vec<f64>,
    /// l2 on the scaled columns.
    ridge: Vec<f64>,
    at: Vec<f64>,
    along: Vec<f64>,
    entries: Vec<Entry>,
    /// The kinks of ℓ1: of weight 0 where a parameter has none.
    kinks: Vec<Entry>,
    /// Σ of all weights.
    weight: f64,
}

impl<'a> Run<'a> {
    fn new(problem: &'a Problem<'a>, rows: &'a Rows<'a>, start: &[f64]) -> Self {
        let layout = problem.layout();
        let scale = column_scales(rows, layout);
        let penalties: Vec<_> = (0..layout.len()).map(|j| problem.penalty_of(j)).collect();
        let kink_of = |i: usize| Kink::new(problem.loss, rows.targets[i]).unwrap_or(Kink::absolute(0.0));
        let mut states: Vec<f64> = vec![0.0; rows.len()];
        let mut theta = start.to_vec();
        if theta.iter().any(|w| !w.is_finite()) {
            theta.fill(0.0);
        }
        if theta.iter().any(|&w| w != 0.0) {
            pass(rows.design, &mut states, 1, |range, states, _: &mut ()| {
                scores(rows.design, range, layout, &theta, states);
            });
        } else if problem.intercept == Intercept::Free && problem.loss.is_absolute() {
            let targets = (0..rows.len()).map(|i| (rows.weights.get(i), kink_of(i), 0.0));
            theta[layout.features] = best_intercept(targets);
            states.fill(theta[layout.features]);
        }
        // τ starts where the multipliers are about as large as the residuals.
        let (mut size, mut total) = (0.0, 0.0);
        for (i, z) in states.iter().enumerate() {
            let (weight, kink) = (rows.weights.get(i), kink_of(i));
            size += weight * (z - kink.at).abs() * kink.width();
            total += weight;
        }
        let tau = if size > 0.0 { size / total } else { 1.0 };
        let entries = states
            .iter()
            .enumerate()
            .map(|(i, &z)| Entry::new(rows.weights.get(i), kink_of(i), z, tau))
            .collect();
        let at: Vec<f64> = theta.iter().zip(&scale).map(|(w, s)| w / s).collect();
        let kinks: Vec<Entry> = penalties
            .iter()
            .zip(&scale)
            .zip(&at)
            .map(|((penalty, s), &w)| Entry::new(penalty.l1 * s, Kink::absolute(0.0), w, tau))
            .collect();
        total += kinks.iter().map(|kink| kink.weight).sum::<f64>();
        Run {
            rows,
            layout,
            ridge: penalties.iter().zip(&scale).map(|(p, s)| p.l2 * s * s).collect(),
            along: vec![0.0; at.len()],
            scale,
            at,
            entries,
            kinks,
            weight: total,
        }
    }

    /// The parameters on the columns as they are.
    fn parameters(&self) -> Vec<f64> {
        self.unscaled(&self.at)
    }

    fn unscaled(&self, at: &[f64]) -> Vec<f64> {
        at.iter().zip(&self.scale).map(|(w, s)| w * s).collect()
    }

    /// Follows the direction and sums up what the next one needs.
    fn advance(&mut self, step: f64) -> Totals {
        for (at, along) in self.at.iter_mut().zip(&self.along) {
            *at += step * along;
        }
        let (design, layout, width) = (self.rows.design, self.layout, self.layout.len());
        let lanes = pass(
            design,
            &mut self.entries,
            width * width,
            |range, entries, sums: &mut Totals| {
                sums.gram.resize(width * width, 0.0);
                for sum in [&mut sums.pull, &mut sums.predictor, &mut sums.centring] {
                    sum.resize(width, 0.0);
                }
                let mut each = [(); 4].map(|()| vec![0.0; entries.len()]);
                for (i, entry) in entries.iter_mut().enumerate() {
                    let c = entry.weight;
                    if c == 0.0 {
                        continue;
                    }
                    entry.advance(step);
                    let (g, s) = (c * entry.curvature(), c * entry.slope());
                    each[0][i] = g;
                    each[1][i] = s;
                    each[2][i] = g * entry.residual();
                    each[3][i] = g * entry.centring();
                    sums.loss += c * entry.loss();
                    sums.conjugate += s * entry.kink.at;
                    sums.complementarity += c * entry.complementarity();
                }
                add_gram(design, range.clone(), layout, &each[0], &mut sums.gram);
                add_pulls(design, range.clone(), layout, &each[1], &mut sums.pull);
                add_pulls(design, range.clone(), layout, &each[2], &mut sums.predictor);
                add_pulls(design, range, layout, &each[3], &mut sums.centring);
            },
        );
        let mut total = Totals::default();
        for sums in &lanes {
            add(&mut total.gram, &sums.gram);
            add(&mut total.pull, &sums.pull);
            add(&mut total.predictor, &sums.predictor);
            add(&mut total.centring, &sums.centring);
            total.loss += sums.loss;
            total.conjugate += sums.conjugate;
            total.complementarity += sums.complementarity;
        }
        for kink in self.kinks.iter_mut().filter(|kink| kink.weight > 0.0) {
            kink.advance(step);
            total.complementarity += kink.weight * kink.complementarity();
        }
        total
    }

    /// The factored system of this iteration.
    fn normal(&self, sums: &Totals) -> Option<Normal> {
        let width = self.layout.len();
        let mut matrix = sums.gram.clone();
        matrix.resize(width * width, 0.0);
        for j in 0..width {
            for i in j..width {
                matrix[j * width + i] *= self.scale[i] * self.scale[j];
            }
            let kink = &self.kinks[j];
            let own = if kink.weight > 0.0 {
                kink.weight * kink.curvature()
            } else {
                0.0
            };
            matrix[j * width + j] += self.ridge[j] + own;
        }
        Normal::new(matrix, width)
    }

    /// Finds the next direction, and how far to follow it: predictor, then corrector.
    fn step(&mut self, sums: &Totals, normal: &Normal, first: f64) -> Option<f64> {
        let width = self.layout.len();
        let zero = vec![0.0; width];
        let sum = |sums: &[f64], j: usize| sums.get(j).map_or(0.0, |sum| sum * self.scale[j]);
        let mut predictor = zero.clone();
        let mut centring = zero.clone();
        for j in 0..width {
            predictor[j] = -self.ridge[j] * self.at[j] - sum(&sums.pull, j) - sum(&sums.predictor, j);
            centring[j] = -sum(&sums.centring, j);
            let kink = &self.kinks[j];
            if kink.weight > 0.0 {
                let g = kink.weight * kink.curvature();
                predictor[j] -= kink.weight * kink.slope() + g * kink.residual();
                centring[j] -= g * kink.centring();
            }
        }
        let (second, reach) = self.predict(&normal.solve(&predictor));
        let mean = sums.complementarity / (2.0 * self.weight);
        let after = reach.at(reach.step.min(1.0)) / (2.0 * self.weight);
        let tau = mean * (after / mean).clamp(0.0, 1.0).powi(3);
        let right: Vec<f64> = (0..width)
            .map(|j| predictor[j] + tau * centring[j] - second[j])
            .collect();
        let along = normal.solve(&right);
        let reach = self.correct(&along, tau);
        self.along = along;
        let fraction = (1.0 - sums.complementarity / first).clamp(0.99, 1.0 - 1e-10);
        let step = (fraction * reach.step).min(1.0);
        (step.is_finite() && step > 1e-12 && reach.along[1].is_finite()).then_some(step)
    }

    /// Gives all entries the predictor's direction; X̃ᵀ of the second-order terms.
    fn predict(&mut self, along: &[f64]) -> (Vec<f64>, Reach) {
        let (design, layout) = (self.rows.design, self.layout);
        let at = self.unscaled(along);
        type Sums = (Vec<f64>, Reach);
        let lanes = pass(
            design,
            &mut self.entries,
            at.len(),
            |range, entries, (sum, reach): &mut Sums| {
                sum.resize(layout.len(), 0.0);
                let mut each = vec![0.0; entries.len()];
                scores(design, range.clone(), layout, &at, &mut each);
                for (entry, each) in entries.iter_mut().zip(&mut each) {
                    let c = entry.weight;
                    if c == 0.0 {
                        *each = 0.0;
                        continue;
                    }
                    entry.predict(*each);
                    entry.reach(reach);
                    *each = c * entry.curvature() * entry.second_order();
                }
                add_pulls(design, range, layout, &each, sum);
            },
        );
        let mut total = Reach::default();
        let mut second = Vec::new();
        for (sum, reach) in &lanes {
            add(&mut second, sum);
            total.merge(reach);
        }
        second.resize(at.len(), 0.0);
        for (j, kink) in self.kinks.iter_mut().enumerate() {
            second[j] *= self.scale[j];
            if kink.weight > 0.0 {
                kink.predict(along[j]);
                kink.reach(&mut total);
                second[j] += kink.weight * kink.curvature() * kink.second_order();
            }
        }
        (second, total)
    }

    /// Gives all entries the corrector's direction.
    fn correct(&mut self, along: &[f64], tau: f64) -> Reach {
        let (design, layout) = (self.rows.design, self.layout);
        let at = self.unscaled(along);
        let lanes = pass(
            design,
            &mut self.entries,
            1,
            |range, entries, reach: &mut Reach| {
                let mut each = vec![0.0; entries.len()];
                scores(design, range, layout, &at, &mut each);
                for (entry, &dz) in entries.iter_mut().zip(&each) {
                    if entry.weight > 0.0 {
                        entry.correct(dz, tau);
                        entry.reach(reach);
                    }
                }
            },
        );
        let mut total = Reach::default();
        lanes.iter().for_each(|reach| total.merge(reach));
        for (kink, &dz) in self.kinks.iter_mut().zip(along) {
            if kink.weight > 0.0 {
                kink.correct(dz, tau);
                kink.reach(&mut total);
            }
        }
        total
    }
}

/// Powers of two near 1/√(mean square of a column's non-zeros).
fn column_scales(rows: &Rows<'_>, layout: Layout) -> Vec<f64> {
    let width = layout.len();
    let mut nothing = vec![(); rows.len()];
    type Sums = (Vec<f64>, Vec<f64>);
    let lanes = pass(
        rows.design,
        &mut nothing,
        width,
        |range, _, (squares, counts): &mut Sums| {
            squares.resize(width, 0.0);
            counts.resize(width, 0.0);
            for i in range.filter(|&i| rows.weights.get(i) > 0.0) {
                rows.design.row(i).for_each(|j, v| {
                    if v != 0.0 {
                        squares[j] += v * v;
                        counts[j] += 1.0;
                    }
                });
            }
        },
    );
    let (mut squares, mut counts) = (vec![0.0; width], vec![0.0; width]);
    for (square, count) in &lanes {
        add(&mut squares, square);
        add(&mut counts, count);
    }
    let scale = |square: f64, count: f64| {
        if square > 0.0 && square.is_finite() {
            (-0.5 * (square / count).log2()).round().exp2()
        } else {
            1.0
        }
    };
    squares.iter().zip(&counts).map(|(&s, &c)| scale(s, c)).collect()
}

//! Dual coordinate descent with shrinking (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; for the
//! logistic loss Yu, Huang and Lin 2011), and conjugate gradients on the face that it finds.
//!
//! Minimise ‖X̃ᵀα‖²/(2·l2) + Σᵢ cᵢ ℓ\*(yᵢ, −αᵢ/cᵢ), the dual of an ℓ2 penalty, one multiplier after another in
//! random order, with w = X̃ᵀα/l2 kept beside it: an epoch costs two reads of the rows that are still active.
//! Rows at an end of their box whose slope keeps them there are left out until the next evaluation.
//!
//! A penalised intercept is a feature of 1. A free one is the multiplier of Σα = 0, sought by an augmented
//! Lagrangian (Hestenes 1969; Powell 1969): b = β + ρ·Σα, which again is a feature of √ρ beside an offset.
//! One thread, so the answer depends on the seed alone.

mod coordinate;
mod face;

use coordinate::Coordinate;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};
use crate::kernel::dense::squared_norm;
use crate::loss::{Loss, LossName, on_loss};
use crate::oracle::products::{add_pulls, scores};
use crate::oracle::{Layout, Rows};
use crate::problem::{Intercept, Problem};
use crate::solve::intercept::{balance, best_intercept, best_intercept_smooth};
use crate::solve::kink::Kink;
use crate::solve::lanes::{add, pass};
use crate::solve::{Control, Solution, Solver, SolverName};
use crate::watch::Status;

/// Epochs between two evaluations of the gap, each of which costs about an epoch.
const EVALUATE_EVERY: u64 = 4;
/// ρ in units of the mean of ‖x‖²/l2: much more, and every row fights for the intercept.
const AUGMENTATION: f64 = 0.1;
/// Epochs after which the offset of a free intercept is set to the best one for the weights: later that
/// would undo what its own updates have found.
const OFFSET_UNTIL: u64 = 6;

/// Dual coordinate descent for an ℓ2 penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DualCoordinateDescent {
    /// Of the random order.
    pub seed: u64,
    /// The most epochs.
    pub max_epochs: u64,
}

impl Default for DualCoordinateDescent {
    fn default() -> Self {
        DualCoordinateDescent {
            seed: 0,
            max_epochs: 1000,
        }
    }
}

impl Solver for DualCoordinateDescent {
    fn name(&self) -> SolverName {
        SolverName::DualCoordinateDescent
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        let convex = problem.loss.is_convex() && problem.loss != LossName::Softmax;
        if !convex {
            return Err(Error::settings(format!(
                "dual coordinate descent is for convex losses of one score, not {}",
                problem.loss.name()
            ))
            .hint("lbfgs solves it"));
        }
        if problem.penalty.l1 > 0.0 || problem.penalty.l2.is_nan() || problem.penalty.l2 <= 0.0 {
            let hint = if problem.loss.is_smooth() {
                "coordinate-descent is for l1 and elastic-net, newton for none"
            } else {
                "interior-point takes any penalty"
            };
            return Err(
                Error::settings("dual coordinate descent needs the l2 penalty and no other").hint(hint),
            );
        }
        if problem.rows.is_none() {
            return Err(
                Error::settings("dual coordinate descent needs all rows in memory")
                    .hint("lbfgs reads a file in chunks"),
            );
        }
        Ok(())
    }

    /// The start is not used: what this method would need to start from is a dual point.
    fn solve(
        &self,
        problem: &mut Problem<'_>,
        _start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(problem)?;
        control.enter(self.name());
        let problem = &*problem;
        let Some(rows) = &problem.rows else {
            return Err(Error::settings(
                "dual coordinate descent needs all rows in memory",
            ));
        };
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut state = State::new(problem, rows);
        let mut best = Best::default();
        let mut active = state.counting();
        let mut violations = Violations::default();
        let (mut epochs, mut evaluated) = (0, 0);
        let status = loop {
            active.shuffle(&mut random);
            let before = violations;
            violations = state.epoch(&mut active, before);
            epochs += 1;
            control.passed(1);
            if epochs <= 2 || epochs - evaluated >= EVALUATE_EVERY || violations.are_small() {
                evaluated = epochs;
                control.passed(1);
                let scores = state.evaluate(problem, &mut best);
                let relative = Problem::relative(best.objective - best.dual, best.objective);
                if epochs <= OFFSET_UNTIL && problem.intercept == Intercept::Free {
                    state.offset = best.point.last().copied().unwrap_or(0.0);
                }
                if problem.loss != LossName::Logistic && relative > control.tol {
                    state.search_face();
                }
                active = state.still_active(&scores, violations);
            }
            if let Some(status) =
                control.iterate(problem, &best.point, best.objective, best.objective - best.dual)
            {
                break status;
            }
            if epochs >= self.max_epochs {
                break Status::IterationLimit;
            }
        };
        Ok(Solution {
            parameters: best.point,
            dual: Some(best.multipliers),
            status,
            iterations: epochs,
        })
    }
}

/// The best point and the best dual point so far.
#[derive(Debug, Clone)]
struct Best {
    objective: f64,
    point: Vec<f64>,
    dual: f64,
    multipliers: Vec<f64>,
}

impl Default for Best {
    fn default() -> Self {
        Best {
            objective: f64::INFINITY,
            point: Vec::new(),
            dual: f64::NEG_INFINITY,
            multipliers: Vec::new(),
        }
    }
}

/// How far the slopes of an epoch reached above and below 0 where the box did not forbid to follow them.
#[derive(Debug, Clone, Copy)]
struct Violations {
    above: f64,
    below: f64,
}

impl Default for Violations {
    fn default() -> Self {
        Violations {
            above: f64::INFINITY,
            below: f64::NEG_INFINITY,
        }
    }
}

impl Violations {
    /// Whether a multiplier at the end of its box stays there for now.
    fn leave_out(&self, coordinate: &Coordinate, multiplier: f64, slope: f64) -> bool {
        (multiplier == coordinate.low && slope > self.above.max(0.0))
            || (multiplier == coordinate.high && slope < self.below.min(0.0))
    }

    fn are_small(&self) -> bool {
        self.above - self.below < 1e-12
    }
}

struct State<'a> {
    rows: &'a Rows<'a>,
    loss: LossName,
    layout: Layout,
    intercept: Intercept,
    l2: f64,
    coordinates: Vec<Coordinate>,
    multipliers: Vec<f64>,
    /// Xᵀα/l2.
    w: Vec<f64>,
    /// Σα.
    sum: f64,
    /// The intercept is `offset + share·sum`.
    offset: f64,
    share: f64,
}

impl<'a> State<'a> {
    fn new(problem: &'a Problem<'a>, rows: &'a Rows<'a>) -> Self {
        let l2 = problem.penalty.l2;
        let norms: Vec<f64> = rows.design.iter().map(|row| row.squared_norm() / l2).collect();
        let share = match problem.intercept {
            Intercept::Absent => 0.0,
            Intercept::Penalized => 1.0 / l2,
            Intercept::Free => {
                let mean = norms.iter().sum::<f64>() / norms.len().max(1) as f64;
                // Where C is small, it takes more to move an intercept by 1.
                let total = rows.total_weight();
                let reaching = if total > 0.0 { 10.0 / total } else { 0.0 };
                (AUGMENTATION * mean).max(reaching)
            }
        };
        let coordinates: Vec<Coordinate> = norms
            .iter()
            .enumerate()
            .map(|(i, norm)| {
                Coordinate::new(problem.loss, rows.targets[i], rows.weights.get(i), norm + share)
            })
            .collect();
        State {
            rows,
            loss: problem.loss,
            layout: problem.layout(),
            intercept: problem.intercept,
            l2,
            multipliers: vec![0.0; coordinates.len()],
            coordinates,
            w: vec![0.0; problem.layout().features],
            sum: 0.0,
            offset: 0.0,
            share,
        }
    }

    /// The rows whose weight is not 0.
    fn counting(&self) -> Vec<usize> {
        (0..)
            .zip(&self.coordinates)
            .filter(|(_, coordinate)| coordinate.weight > 0.0)
            .map(|(i, _)| i)
            .collect()
    }

    fn intercept(&self) -> f64 {
        self.offset + self.share * self.sum
    }

    fn score(&self, i: usize) -> f64 {
        self.rows.design.row(i).dot(&self.w) + self.intercept()
    }

    fn change(&mut self, i: usize, by: f64) {
        self.rows.design.row(i).add_to(by / self.l2, &mut self.w);
        self.sum += by;
    }

    /// Goes through the active rows once; drops those that a bound holds.
    fn epoch(&mut self, active: &mut Vec<usize>, before: Violations) -> Violations {
        let mut seen = Violations {
            above: 0.0,
            below: 0.0,
        };
        active.retain(|&i| {
            let (coordinate, multiplier) = (self.coordinates[i], self.multipliers[i]);
            let z = self.score(i);
            let next = if self.loss == LossName::Logistic {
                let next = coordinate.best_logistic(multiplier, z);
                let change = (next - multiplier) * coordinate.norm;
                seen.above = seen.above.max(change);
                seen.below = seen.below.min(change);
                next
            } else {
                let slope = coordinate.slope(multiplier, z);
                if before.leave_out(&coordinate, multiplier, slope) {
                    return false;
                }
                let blocked = (multiplier == coordinate.low && slope > 0.0)
                    || (multiplier == coordinate.high && slope < 0.0);
                if blocked {
                    return true;
                }
                seen.above = seen.above.max(slope);
                seen.below = seen.below.min(slope);
                coordinate.best(multiplier, slope)
            };
            if next != multiplier {
                self.multipliers[i] = next;
                self.change(i, next - multiplier);
            }
            true
        });
        if self.intercept == Intercept::Free {
            self.offset += self.share * self.sum;
        }
        seen
    }

    /// Makes w anew from the multipliers and offers the point that they give, and themselves; gives the
    /// scores without intercept.
    fn evaluate(&mut self, problem: &Problem<'_>, best: &mut Best) -> Vec<f64> {
        if self.intercept == Intercept::Free {
            let coordinates = &self.coordinates;
            balance(&mut self.multipliers, |i| {
                (coordinates[i].low, coordinates[i].high)
            });
        }
        self.refresh();
        let (design, layout) = (self.rows.design, self.layout);
        let mut point = self.w.clone();
        point.resize(layout.len(), 0.0);
        let mut z = vec![0.0; self.rows.len()];
        pass(design, &mut z, 1, |range, z, _: &mut ()| {
            scores(design, range, layout, &point, z);
        });
        if layout.intercept {
            point[layout.features] = match self.intercept {
                Intercept::Free => self.best_intercept(&z),
                _ => self.intercept(),
            };
        }
        let b = point.get(layout.features).copied().unwrap_or(0.0);
        let (mut loss_sum, mut conjugates) = (0.0, 0.0);
        on_loss!(self.loss, loss => {
            for ((coordinate, &a), z) in self.coordinates.iter().zip(&self.multipliers).zip(&z) {
                let c = coordinate.weight;
                if c > 0.0 {
                    loss_sum += c * loss.value(coordinate.y, z + b);
                    conjugates += c * loss.conjugate(coordinate.y, -a / c);
                }
            }
        }, softmax => {});
        let objective = loss_sum + problem.penalty_value(&point);
        let squares = squared_norm(&self.w)
            + if self.intercept == Intercept::Penalized {
                b * b
            } else {
                0.0
            };
        let dual = -0.5 * self.l2 * squares - conjugates;
        if objective < best.objective {
            (best.objective, best.point) = (objective, point);
        }
        if dual > best.dual {
            best.dual = dual;
            best.multipliers.clone_from(&self.multipliers);
        }
        z
    }

    /// w and Σα from the multipliers, without the rounding of all the steps that led to them.
    fn refresh(&mut self) {
        let (design, layout) = (self.rows.design, self.layout);
        let lanes = pass(
            design,
            &mut self.multipliers,
            layout.len(),
            |range, a, sum: &mut Vec<f64>| {
                sum.resize(layout.len(), 0.0);
                add_pulls(design, range, layout, a, sum);
            },
        );
        let mut pull = Vec::new();
        lanes.iter().for_each(|sum| add(&mut pull, sum));
        pull.resize(layout.len(), 0.0);
        self.sum = pull.get(layout.features).copied().unwrap_or(0.0);
        pull.truncate(layout.features);
        pull.iter_mut().for_each(|w| *w /= self.l2);
        self.w = pull;
    }

    fn best_intercept(&self, z: &[f64]) -> f64 {
        let rows = || self.coordinates.iter().zip(z);
        if !self.loss.is_smooth() {
            let kink = |y: f64| Kink::new(self.loss, y).unwrap_or(Kink::absolute(y));
            return best_intercept(rows().map(|(c, &z)| (c.weight, kink(c.y), z)));
        }
        on_loss!(self.loss, loss => best_intercept_smooth(
            loss,
            |visit| rows().for_each(|(c, &z)| visit(c.weight, c.y, z)),
            self.intercept(),
        ), softmax => 0.0)
    }

    /// All rows but those that a bound holds, by their scores without intercept.
    fn still_active(&self, z: &[f64], violations: Violations) -> Vec<usize> {
        let mut active = self.counting();
        if self.loss != LossName::Logistic {
            let b = self.intercept();
            active.retain(|&i| {
                let (coordinate, a) = (&self.coordinates[i], self.multipliers[i]);
                !violations.leave_out(coordinate, a, coordinate.slope(a, z[i] + b))
            });
        }
        active
    }
}

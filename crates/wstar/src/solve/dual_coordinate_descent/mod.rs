//! Dual coordinate descent with shrinking (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; for the
//! logistic loss Yu, Huang and Lin 2011), with momentum between epochs, and conjugate gradients on the face that it
//! finds, where that is slow.
//!
//! Minimise ‖X̃ᵀα‖²/(2·l2) + Σᵢ cᵢ ℓ\*(yᵢ, −αᵢ/cᵢ), the dual of an ℓ2 penalty, one multiplier after another in
//! random order, with w = X̃ᵀα/l2 kept beside it: an epoch costs two reads of the rows that are still active.
//! Rows at an end of their box whose slope keeps them there are left out until the next evaluation.
//!
//! A penalised intercept is a feature of 1. A free one is the multiplier of Σα = 0, sought by an augmented
//! Lagrangian (Hestenes 1969; Powell 1969): b = β + ρ·Σα, which again is a feature of √ρ beside an offset.
//! The answer depends on the seed alone, not on the number of threads.

mod coordinate;
mod course;
mod epoch;
mod face;
mod momentum;

use coordinate::Coordinate;
use course::Course;
use epoch::{Active, Seen};
use momentum::Momentum;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel::dense::squared_norm;
use crate::loss::{Loss, LossName, on_loss};
use crate::oracle::products::{add_pulls, scores, total};
use crate::oracle::{Layout, Rows};
use crate::problem::{Intercept, Problem};
use crate::solve::intercept::{balance, best_intercept, best_intercept_smooth};
use crate::solve::kink::Kink;
use crate::solve::lanes::pass;
use crate::solve::{Control, Solution, Solver, SolverName};
use crate::watch::Status;

/// Epochs after which the weights are made anew: what their steps have rounded off is nothing beside any gap before.
const REFRESH_AFTER: u64 = 16;
/// ρ in units of the mean of ‖x‖²/l2: much more, and every row fights for the intercept.
const AUGMENTATION: f64 = 0.1;
/// Epochs after which the offset of a free intercept is set to the best one for the weights: later that
/// would undo what its own updates have found.
const OFFSET_UNTIL: u64 = 6;

/// The relative gap from which a face is worth searching: before, it is not yet the right one.
const FACE_FROM: f64 = 1e-3;
/// Epochs after which faces are searched all the same, and where the conjugate is curved too: by then most problems
/// would have arrived.
const EPOCHS_ALONE: u64 = 20;

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
        let mut state = State::new(problem, rows);
        let mut best = Best::default();
        let mut active = Active::new(&state, self.seed, false);
        let mut momentum = Momentum::default();
        // The offset of a free intercept makes every epoch's problem another one.
        let steady = problem.intercept != Intercept::Free && problem.loss != LossName::Logistic;
        let mut course = Course::new(steady, self.max_epochs);
        let status = 'descent: loop {
            while !course.advance(&mut state, &mut active, &mut momentum, control) {
                // No new point: it is only asked whether the time is over.
                let gap = best.objective - best.dual;
                if let Some(status) = control.iterate(problem, &best.point, best.objective, gap) {
                    break 'descent status;
                }
            }
            control.passed(1);
            let (scores, dual) = state.evaluate(problem, &mut best);
            let relative = Problem::relative(best.objective - best.dual, best.objective);
            let slow = course.evaluated(relative);
            if slow && steady {
                active.slow_down();
            }
            let last = course.is_last();
            if course.epochs <= OFFSET_UNTIL && problem.intercept == Intercept::Free {
                state.offset = best.point.last().copied().unwrap_or(0.0);
            }
            if active.walkers() > 1 && dual < best.dual {
                // Rows that are too much alike: what one walker does, the other does again.
                active = Active::new(&state, self.seed, true);
                state.go_back(&best);
                course.seen = Seen::UNKNOWN;
            } else {
                let flat = !problem.loss.is_smooth() && relative <= FACE_FROM || course.epochs > EPOCHS_ALONE;
                if flat && slow && !last && problem.loss != LossName::Logistic && relative > control.tol {
                    state.search_face();
                }
                state.reconsider(&mut active, &scores, course.left_out());
            }
            if let Some(status) =
                control.iterate(problem, &best.point, best.objective, best.objective - best.dual)
            {
                break status;
            }
            if last {
                break Status::IterationLimit;
            }
        };
        Ok(Solution {
            parameters: best.point,
            dual: Some(best.multipliers),
            gram: None,
            status,
            iterations: course.epochs,
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
#[derive(Debug, Clone, Copy, Default)]
struct Violations {
    above: f64,
    below: f64,
}

impl Violations {
    /// Of an epoch that has not been.
    const UNKNOWN: Violations = Violations {
        above: f64::INFINITY,
        below: f64::NEG_INFINITY,
    };

    fn meet(&mut self, slope: f64) {
        self.above = self.above.max(slope);
        self.below = self.below.min(slope);
    }

    fn and(self, other: Violations) -> Violations {
        Violations {
            above: self.above.max(other.above),
            below: self.below.min(other.below),
        }
    }

    /// So many times as far.
    fn times(self, part: f64) -> Violations {
        Violations {
            above: part * self.above,
            below: part * self.below,
        }
    }

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
    /// Epochs since it was made anew.
    epochs: u64,
    /// Σα.
    sum: f64,
    /// The intercept is `offset + share·sum`.
    offset: f64,
    share: f64,
}

impl<'a> State<'a> {
    fn new(problem: &'a Problem<'a>, rows: &'a Rows<'a>) -> Self {
        let (l2, loss) = (problem.penalty.l2, problem.loss);
        let mut norms = vec![0.0; rows.len()];
        pass(rows.design, &mut norms, 1, |range, norms, _: &mut ()| {
            let own = range.zip(norms);
            own.for_each(|(i, norm)| *norm = rows.design.row(i).squared_norm() / l2);
        });
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
            .par_iter()
            .enumerate()
            .with_min_len(1 << 12)
            .map(|(i, norm)| Coordinate::new(loss, rows.targets[i], rows.weights.get(i), norm + share))
            .collect();
        State {
            rows,
            loss,
            layout: problem.layout(),
            intercept: problem.intercept,
            l2,
            multipliers: vec![0.0; coordinates.len()],
            coordinates,
            w: vec![0.0; problem.layout().features],
            epochs: 0,
            sum: 0.0,
            offset: 0.0,
            share,
        }
    }

    fn intercept(&self) -> f64 {
        self.offset + self.share * self.sum
    }

    fn score(&self, i: usize) -> f64 {
        self.rows.design.row(i).dot(&self.w) + self.intercept()
    }

    /// ½ l2 ‖w‖², a penalised intercept included.
    fn norm(&self) -> f64 {
        let b = match self.intercept {
            Intercept::Penalized => self.intercept(),
            _ => 0.0,
        };
        0.5 * self.l2 * (squared_norm(&self.w) + b * b)
    }

    /// To the best multipliers so far.
    fn go_back(&mut self, best: &Best) {
        self.multipliers.clone_from(&best.multipliers);
        self.refresh();
    }

    /// Makes w anew from the multipliers if that is due, and offers the point that they give, and themselves; gives the
    /// scores without intercept, and the dual value.
    fn evaluate(&mut self, problem: &Problem<'_>, best: &mut Best) -> (Vec<f64>, f64) {
        if self.intercept == Intercept::Free {
            let coordinates = &self.coordinates;
            balance(&mut self.multipliers, |i| {
                (coordinates[i].low, coordinates[i].high)
            });
        }
        if self.intercept == Intercept::Free || self.epochs >= REFRESH_AFTER {
            self.refresh();
        }
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
        let sums = pass(design, &mut z, 1, |range, z, sums: &mut (f64, f64)| {
            on_loss!(self.loss, loss => {
                for (i, z) in range.zip(z) {
                    let (coordinate, a) = (&self.coordinates[i], self.multipliers[i]);
                    let c = coordinate.weight;
                    if c > 0.0 {
                        sums.0 += c * loss.value(coordinate.y, *z + b);
                        sums.1 += c * loss.conjugate(coordinate.y, -a / c);
                    }
                }
            }, softmax => {});
        });
        let (loss_sum, conjugates) = sums
            .iter()
            .fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let objective = loss_sum + problem.penalty_value(&point);
        let dual = -self.norm() - conjugates;
        if objective < best.objective {
            (best.objective, best.point) = (objective, point);
        }
        if dual > best.dual {
            best.dual = dual;
            best.multipliers.clone_from(&self.multipliers);
        }
        (z, dual)
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
        let mut pull = total(&lanes);
        pull.resize(layout.len(), 0.0);
        self.epochs = 0;
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

    /// All rows are active but those that a bound holds, by their scores without intercept.
    fn reconsider(&self, active: &mut Active, z: &[f64], violations: Violations) {
        let (b, logistic) = (self.intercept(), self.loss == LossName::Logistic);
        active.fill(self, |i| {
            let (coordinate, a) = (&self.coordinates[i], self.multipliers[i]);
            logistic || !violations.leave_out(coordinate, a, coordinate.slope(a, z[i] + b))
        });
    }
}

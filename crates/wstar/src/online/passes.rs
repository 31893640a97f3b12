//! Runs a team of learners over passes of examples, until a pass makes no updates or for a fixed number of passes.

use std::ops::ControlFlow;

use crate::online::{Change, Example, Examples, Learner, label};
use wstar_data::error::Result;
use wstar_data::run::{Budget, BudgetClock, Progress, Status, Step, Watch};

/// The stopping rule for passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Passes {
    /// Stop after a pass without updates, or after a maximum number of passes.
    UntilClean {
        /// The maximum number of passes.
        at_most: u64,
    },
    /// Make exactly this many passes; a fraction is that fraction of the rows of one pass.
    Exactly(f64),
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassLimits {
    /// How many passes.
    pub(crate) passes: Passes,
    /// The budget of time and updates.
    pub(crate) budget: Budget,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Why the run ended.
    pub(crate) status: Status,
    /// Passes started.
    pub(crate) passes: u64,
    /// Examples processed, counting repetitions.
    pub(crate) seen: u64,
    /// Examples whose class was predicted wrongly just before their update.
    pub(crate) mistakes: u64,
    /// Updates made by each discriminant.
    pub(crate) updates: Vec<u64>,
    /// Mistakes made in each pass.
    pub(crate) mistakes_by_pass: Vec<u64>,
    /// Rows of the first pass, up to the point where it ended.
    pub(crate) rows: u64,
}

impl Run {
    pub(crate) fn new(discriminants: usize) -> Self {
        Run {
            status: Status::IterationLimit,
            passes: 0,
            seen: 0,
            mistakes: 0,
            updates: vec![0; discriminants],
            mistakes_by_pass: Vec::new(),
            rows: 0,
        }
    }

    /// Whether the run ended with a hyperplane (for each discriminant) that makes no mistake.
    pub fn separated(&self) -> bool {
        let clean_pass = self.updates.len() == 1 && self.mistakes_by_pass.last() == Some(&0);
        self.status == Status::Converged || (self.status == Status::Completed && clean_pass)
    }

    pub(crate) fn progress(&self, interval: Option<(f64, f64)>) -> Progress {
        let updates = self.updates.iter().sum();
        let mut progress = Progress::new(self.passes, self.seen, self.mistakes, updates);
        progress.interval = interval;
        progress
    }
}

/// Runs a team of learners, one for each discriminant, over the examples.
pub fn run<L: Learner>(
    team: &mut [L],
    examples: &mut dyn Examples,
    plan: &PassLimits,
    watch: &mut dyn Watch,
) -> Result<Run> {
    let spending = BudgetClock::start(plan.budget);
    let mut run = Run::new(team.len());
    let watched = watch.wants_steps();
    let mut steps = 0;
    let mut scores = vec![0.0; team.len()];
    let most_passes = match plan.passes {
        Passes::UntilClean { at_most } => at_most,
        Passes::Exactly(passes) => passes.ceil() as u64,
    };
    // A fractional number of passes is converted to a number of examples, so the rows are counted first.
    let mut limit = None;
    if let Passes::Exactly(passes) = plan.passes
        && passes.fract() > 0.0
    {
        let mut rows = 0u64;
        let _ = examples.pass(0, &mut |_| {
            rows += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        limit = Some((passes * rows as f64).round() as u64);
    }

    for pass in 0..most_passes {
        run.passes = pass + 1;
        let updates_before: u64 = run.updates.iter().sum();
        let mistakes_before = run.mistakes;
        let mut ended_by = None;
        let _ = examples.pass(pass, &mut |example: Example<'_>| {
            if limit.is_some_and(|limit| run.seen >= limit) {
                return Ok(ControlFlow::Break(()));
            }
            let discriminants = team.len();
            let mut wrong = false;
            let mut all_looked = true;
            for (k, learner) in team.iter_mut().enumerate() {
                let y = label(example.class, k, discriminants);
                let seen = learner.see(example.id, example.row, y, example.weight);
                scores[k] = seen.score;
                wrong |= seen.wrong;
                steps += 1;
                run.updates[k] += u64::from(seen.change != Change::None);
                if watched {
                    learner.settle();
                    let mut step = Step::new(steps, example.id, learner.hyperplane());
                    (step.discriminant, step.discriminants) = (k, discriminants);
                    (step.score, step.mistake) = (seen.score, seen.change != Change::None);
                    step.interval = learner.interval();
                    if watch.step(&step).is_break() {
                        ended_by = Some(Status::Stopped);
                    }
                }
                let most = plan.budget.max_updates;
                if most.is_some_and(|most| run.updates.iter().sum::<u64>() >= most) {
                    ended_by = ended_by.or(Some(Status::IterationLimit));
                    all_looked = k + 1 == discriminants;
                    break;
                }
            }
            if !all_looked {
                return Ok(ControlFlow::Break(()));
            }
            run.seen += 1;
            if discriminants > 1 {
                wrong = argmax(&scores) != example.class as usize;
            }
            run.mistakes += u64::from(wrong);
            // Heuristic: cost of a report against the delay of a stop; not measured yet.
            if run.seen.is_power_of_two() || run.seen.is_multiple_of(1024) {
                if watch.progress(&run.progress(interval(team))).is_break() {
                    ended_by = Some(Status::Stopped);
                }
                ended_by = ended_by.or(spending.used_up(0));
            }
            Ok(match ended_by {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            })
        })?;
        team.iter_mut().for_each(Learner::end_pass);
        run.mistakes_by_pass.push(run.mistakes - mistakes_before);
        if pass == 0 {
            run.rows = run.seen;
        }
        if let Some(status) = ended_by {
            run.status = status;
            return Ok(run);
        }
        let stop = watch.progress(&run.progress(interval(team)));
        let clean = run.updates.iter().sum::<u64>() == updates_before;
        if clean && matches!(plan.passes, Passes::UntilClean { .. }) {
            run.status = Status::Converged;
            return Ok(run);
        }
        if let Some(status) = stop.is_break().then_some(Status::Stopped).or(spending.used_up(0)) {
            run.status = status;
            return Ok(run);
        }
    }
    run.status = match plan.passes {
        Passes::UntilClean { .. } => Status::IterationLimit,
        Passes::Exactly(_) => Status::Completed,
    };
    Ok(run)
}

/// The widest of the team's margin intervals, which determines convergence.
fn interval<L: Learner>(team: &[L]) -> Option<(f64, f64)> {
    let width = |(lower, upper): (f64, f64)| upper - lower;
    team.iter()
        .filter_map(Learner::interval)
        .max_by(|&a, &b| width(a).total_cmp(&width(b)))
}

/// The position of the largest score; the first one on ties.
pub(crate) fn argmax(scores: &[f64]) -> usize {
    let mut best = 0;
    for (k, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = k;
        }
    }
    best
}

//! Runs a team of learners over passes of examples, until a pass has no mistakes or for a set number of passes.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::online::{Change, Example, Examples, Learner, label};
use crate::watch::{Budget, Progress, Spending, Status, Step, Watch};

/// How many passes to make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Passes {
    /// Until a whole pass changes nothing; give up after so many.
    UntilClean {
        /// The most passes to make.
        at_most: u64,
    },
    /// Exactly so many; a fraction is a part of a pass.
    Exactly(f64),
}

/// How much to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// How many passes.
    pub passes: Passes,
    /// When to give up.
    pub budget: Budget,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// How it ended.
    pub status: Status,
    /// Passes begun.
    pub passes: u64,
    /// Examples seen, repeats counted.
    pub seen: u64,
    /// Examples whose class was predicted wrongly just before they were learnt from.
    pub mistakes: u64,
    /// Updates made by each discriminant.
    pub updates: Vec<u64>,
    /// Mistakes made in each pass.
    pub mistakes_by_pass: Vec<u64>,
    /// Rows in a pass, as far as the first one went.
    pub rows: u64,
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
        Progress {
            passes: self.passes,
            seen: self.seen,
            mistakes: self.mistakes,
            updates: self.updates.iter().sum(),
            interval,
        }
    }
}

/// Runs a team of learners, one for each discriminant, over the examples.
pub fn run<L: Learner>(
    team: &mut [L],
    examples: &mut dyn Examples,
    plan: &Plan,
    watch: &mut dyn Watch,
) -> Result<Run> {
    let spending = Spending::start(plan.budget);
    let mut run = Run::new(team.len());
    let watched = watch.wants_steps();
    let mut steps = 0;
    let mut scores = vec![0.0; team.len()];
    let most_passes = match plan.passes {
        Passes::UntilClean { at_most } => at_most,
        Passes::Exactly(passes) => passes.ceil() as u64,
    };
    // A part of a pass is only known as a number of examples once a whole one has been counted, or
    // from the fraction of the first pass, which is counted before it is cut.
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
                    let step = Step {
                        step: steps,
                        row: example.id,
                        discriminant: k,
                        discriminants,
                        score: seen.score,
                        mistake: seen.change != Change::None,
                        hyperplane: learner.hyperplane(),
                        interval: learner.interval(),
                    };
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

/// The loosest of the team's margin intervals, which is the one still to be narrowed.
fn interval<L: Learner>(team: &[L]) -> Option<(f64, f64)> {
    let width = |(lower, upper): (f64, f64)| upper - lower;
    team.iter()
        .filter_map(Learner::interval)
        .max_by(|&a, &b| width(a).total_cmp(&width(b)))
}

/// The position of the largest score, the first one on ties.
pub(crate) fn argmax(scores: &[f64]) -> usize {
    let mut best = 0;
    for (k, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = k;
        }
    }
    best
}

//! The recorded steps of a fit, which the page replays, and the progress messages of a running fit.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use wstar::data::linear::Hyperplane;
use wstar::data::run::{Iteration, Progress, Step, Stride, Watch};

/// Number of recorded steps. Cap: beyond it, mistake-driven learners keep only their mistakes, and then every list
/// keeps every 2nd step, every 4th step, and so on.
const MOST_STEPS: usize = 2_000;
/// Least time between two progress messages. Cap: more frequent messages are dropped.
const OFTEN: Duration = Duration::from_millis(100);

/// The connection to the client of a running request: a channel for messages, and whether the client has disconnected.
pub(crate) struct Line<'a> {
    pub(crate) tell: &'a (dyn Fn(Value) + Sync),
    pub(crate) gone: Arc<AtomicBool>,
}

impl Line<'_> {
    /// Breaks if the client has disconnected.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        match self.gone.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// One step of a mistake-driven learner, which processes one example.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Look {
    pub(crate) step: u64,
    pub(crate) row: u64,
    /// Index of the discriminant that processed the example.
    pub(crate) k: usize,
    pub(crate) score: f64,
    pub(crate) mistake: bool,
    /// Number of mistakes up to and including this step.
    pub(crate) mistakes: u64,
    pub(crate) plane: Hyperplane,
    /// Upper bound on the margin of every hyperplane, for methods that compute one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upper: Option<f64>,
}

/// One iterate of a solver.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Iterate {
    pub(crate) step: u64,
    pub(crate) solver: &'static str,
    /// Unknown between the iterations of a stochastic solver.
    pub(crate) objective: Option<f64>,
    pub(crate) gap: Option<f64>,
    pub(crate) rate: Option<f64>,
    pub(crate) planes: Vec<Hyperplane>,
}

/// A list of bounded length: it keeps every step, and from `MOST_STEPS` on every 2nd, every 4th and so on.
#[derive(Debug)]
struct Thinned<T> {
    /// The steps kept so far.
    kept: Vec<T>,
    /// One step in `every` is kept; a power of two.
    every: u64,
    /// Number of steps pushed; decides which ones are kept.
    pushed: u64,
    /// The last step pushed, if it was not kept.
    last: Option<T>,
}

impl<T: Clone> Thinned<T> {
    fn new() -> Self {
        Thinned {
            kept: Vec::new(),
            every: 1,
            pushed: 0,
            last: None,
        }
    }

    fn push(&mut self, step: T) {
        self.pushed += 1;
        if !(self.pushed - 1).is_multiple_of(self.every) {
            self.last = Some(step);
            return;
        }
        self.last = None;
        self.kept.push(step);
        if self.kept.len() > MOST_STEPS {
            let mut position = 0;
            self.kept.retain(|_| {
                position += 1;
                position % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// The kept steps, followed by the last step if it was not kept.
    fn finish(mut self) -> Vec<T> {
        self.kept.extend(self.last);
        self.kept
    }
}

/// A [`Watch`] that records the steps of a fit and reports its progress.
pub(crate) struct Recorder<'a> {
    line: &'a Line<'a>,
    /// Whether the request asks for a trace.
    wanted: bool,
    looks: Thinned<Look>,
    mistakes: u64,
    /// Whether steps without a mistake are still kept.
    every_look: bool,
    iterates: Thinned<Iterate>,
    /// When the last progress message was sent.
    last_message: Instant,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(line: &'a Line<'a>, wanted: bool) -> Self {
        Recorder {
            line,
            wanted,
            looks: Thinned::new(),
            mistakes: 0,
            every_look: true,
            iterates: Thinned::new(),
            last_message: Instant::now(),
        }
    }

    /// Takes the recorded steps of a mistake-driven learner. The flag is true if no step was left out.
    pub(crate) fn looks(&mut self) -> (Vec<Look>, bool) {
        let looks = std::mem::replace(&mut self.looks, Thinned::new());
        let all = self.every_look && looks.every == 1;
        (looks.finish(), all)
    }

    /// Takes the recorded iterates of the solvers.
    pub(crate) fn iterates(&mut self) -> Vec<Iterate> {
        std::mem::replace(&mut self.iterates, Thinned::new()).finish()
    }

    fn report(&mut self, text: impl FnOnce() -> String) -> ControlFlow<()> {
        if self.last_message.elapsed() >= OFTEN {
            self.last_message = Instant::now();
            (self.line.tell)(json!({"progress": text()}));
        }
        self.line.flow()
    }
}

impl Watch for Recorder<'_> {
    fn wants_steps(&self) -> bool {
        self.wanted
    }

    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        self.mistakes += u64::from(step.mistake);
        if !step.mistake && !self.every_look {
            return self.line.flow();
        }
        if self.every_look && self.looks.kept.len() >= MOST_STEPS {
            self.every_look = false;
            self.looks.kept.retain(|look| look.mistake);
            self.looks.pushed = self.looks.kept.len() as u64;
            if !step.mistake {
                return self.line.flow();
            }
        }
        self.looks.push(Look {
            step: step.step,
            row: step.row,
            k: step.discriminant,
            score: step.score,
            mistake: step.mistake,
            mistakes: self.mistakes,
            plane: step.hyperplane.clone(),
            upper: step.interval.map(|(_, upper)| upper),
        });
        self.line.flow()
    }

    fn stride(&mut self, stride: &Stride<'_>) -> ControlFlow<()> {
        let layout = stride.layout;
        self.iterates.push(Iterate {
            step: stride.step,
            solver: "sgd",
            objective: None,
            gap: None,
            rate: Some(stride.rate),
            planes: planes(stride.parameters, layout),
        });
        self.line.flow()
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.report(|| {
            format!(
                "pass {}, {} examples, {} updates",
                progress.passes, progress.seen, progress.updates
            )
        })
    }

    fn iterate(&mut self, iteration: &Iteration<'_>) -> ControlFlow<()> {
        if self.wanted {
            let gap = iteration.relative_gap;
            self.iterates.push(Iterate {
                step: iteration.iteration,
                solver: iteration.solver,
                objective: iteration.objective.is_finite().then_some(iteration.objective),
                gap: gap.is_finite().then_some(gap),
                rate: None,
                planes: planes(iteration.parameters, iteration.layout),
            });
        }
        self.report(|| format!("{}, iteration {}", iteration.solver, iteration.iteration))
    }

    fn certifying(&mut self) {
        let _ = self.report(|| "checking the result against the data".into());
    }
}

fn planes(parameters: &[f64], layout: wstar::data::linear::Layout) -> Vec<Hyperplane> {
    let plane = |k: usize| {
        let (weights, intercept) = layout.output(parameters, k);
        Hyperplane::new(weights.to_vec(), intercept)
    };
    (0..layout.outputs).map(plane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_thinned_and_keeps_both_ends() {
        for length in [0, 1, MOST_STEPS, MOST_STEPS + 1, 10 * MOST_STEPS + 3] {
            let mut list = Thinned::new();
            (0..length).for_each(|step| list.push(step));
            let kept = list.finish();
            assert!(kept.len() <= MOST_STEPS + 2, "{} of {length}", kept.len());
            assert_eq!(kept.first(), (length > 0).then_some(&0));
            assert_eq!(kept.last().copied(), length.checked_sub(1));
            assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(length > MOST_STEPS || kept.len() == length);
        }
    }
}

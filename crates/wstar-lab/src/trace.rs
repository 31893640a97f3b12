//! The steps of a fit, kept so that the page can go through them; and word of how far it has got.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use wstar::model::Hyperplane;
use wstar::watch::{Iteration, Progress, Step, Stride, Watch};

/// More steps than this are thinned out: every look, then every mistake, then every second one ….
const MOST_STEPS: usize = 2_000;
/// Word of progress is given this often at most.
const OFTEN: Duration = Duration::from_millis(100);

/// Where word of a running question goes, and whether anyone still waits for its answer.
pub(crate) struct Line<'a> {
    pub(crate) tell: &'a (dyn Fn(Value) + Sync),
    pub(crate) gone: Arc<AtomicBool>,
}

impl Line<'_> {
    /// Whether to go on.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        match self.gone.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// One look of a mistake-driven learner at an example.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Look {
    pub(crate) step: u64,
    pub(crate) row: u64,
    /// Which discriminant looked.
    pub(crate) k: usize,
    pub(crate) score: f64,
    pub(crate) mistake: bool,
    /// Mistakes up to here.
    pub(crate) mistakes: u64,
    pub(crate) plane: Hyperplane,
    /// No hyperplane has a larger margin, for methods that know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upper: Option<f64>,
}

/// One point of a solver.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Iterate {
    pub(crate) step: u64,
    pub(crate) solver: &'static str,
    /// Not known between the iterations of a stochastic solver.
    pub(crate) objective: Option<f64>,
    pub(crate) gap: Option<f64>,
    pub(crate) rate: Option<f64>,
    pub(crate) planes: Vec<Hyperplane>,
}

/// A list that keeps every step, or every second, fourth … one when there are too many.
#[derive(Debug)]
struct Thinned<T> {
    kept: Vec<T>,
    every: u64,
    met: u64,
    last: Option<T>,
}

impl<T: Clone> Thinned<T> {
    fn new() -> Self {
        Thinned {
            kept: Vec::new(),
            every: 1,
            met: 0,
            last: None,
        }
    }

    fn push(&mut self, step: T) {
        self.met += 1;
        if !(self.met - 1).is_multiple_of(self.every) {
            self.last = Some(step);
            return;
        }
        self.last = None;
        self.kept.push(step);
        if self.kept.len() > MOST_STEPS {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// What was kept, and the last of all.
    fn finish(mut self) -> Vec<T> {
        self.kept.extend(self.last);
        self.kept
    }
}

/// Watches a fit.
pub(crate) struct Recorder<'a> {
    line: &'a Line<'a>,
    wanted: bool,
    looks: Thinned<Look>,
    mistakes: u64,
    /// Whether looks without a mistake are still kept.
    every_look: bool,
    iterates: Thinned<Iterate>,
    told: Instant,
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
            told: Instant::now(),
        }
    }

    /// The looks, and whether they are all.
    pub(crate) fn looks(&mut self) -> (Vec<Look>, bool) {
        let looks = std::mem::replace(&mut self.looks, Thinned::new());
        let all = self.every_look && looks.every == 1;
        (looks.finish(), all)
    }

    /// The points of solvers.
    pub(crate) fn iterates(&mut self) -> Vec<Iterate> {
        std::mem::replace(&mut self.iterates, Thinned::new()).finish()
    }

    fn tell(&mut self, text: impl FnOnce() -> String) -> ControlFlow<()> {
        if self.told.elapsed() >= OFTEN {
            self.told = Instant::now();
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
            self.looks.met = self.looks.kept.len() as u64;
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
        self.tell(|| {
            format!(
                "pass {}, {} looked at, {} updates",
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
        self.tell(|| format!("{}, iteration {}", iteration.solver, iteration.iteration))
    }

    fn certifying(&mut self) {
        let _ = self.tell(|| "checking the result against the data".into());
    }
}

fn planes(parameters: &[f64], layout: wstar::oracle::Layout) -> Vec<Hyperplane> {
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
        for many in [0, 1, MOST_STEPS, MOST_STEPS + 1, 10 * MOST_STEPS + 3] {
            let mut list = Thinned::new();
            (0..many).for_each(|step| list.push(step));
            let kept = list.finish();
            assert!(kept.len() <= MOST_STEPS + 2, "{} of {many}", kept.len());
            assert_eq!(kept.first(), (many > 0).then_some(&0));
            assert_eq!(kept.last().copied(), many.checked_sub(1));
            assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(many > MOST_STEPS || kept.len() == many);
        }
    }
}

//! A watch that records the history of a solver and forwards every event to another watch.

use std::ops::ControlFlow;

use crate::model::History;
use wstar_data::run::{Iteration, Progress, Step, Stride, Watch};

/// Forwards every event, and records points: every point at first, then every second, fourth, eighth ….
pub(super) struct Recorder<'a> {
    watch: &'a mut dyn Watch,
    history: History,
    every: u64,
    seen: u64,
    /// The last point, if it was not recorded.
    last: History,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(watch: &'a mut dyn Watch) -> Self {
        Recorder {
            watch,
            history: History::default(),
            every: 1,
            seen: 0,
            last: History::default(),
        }
    }

    /// The recorded points and the last point; `None` if there was no iteration.
    pub(super) fn history(self) -> Option<History> {
        let mut history = self.history;
        history.iterations.extend(self.last.iterations);
        history.passes.extend(self.last.passes);
        history.objectives.extend(self.last.objectives);
        history.gaps.extend(self.last.gaps);
        (!history.is_empty()).then_some(history)
    }
}

impl Watch for Recorder<'_> {
    fn wants_steps(&self) -> bool {
        self.watch.wants_steps()
    }

    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        self.watch.step(step)
    }

    fn stride(&mut self, stride: &Stride<'_>) -> ControlFlow<()> {
        self.watch.stride(stride)
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.watch.progress(progress)
    }

    fn iterate(&mut self, iteration: &Iteration<'_>) -> ControlFlow<()> {
        if iteration.objective.is_finite() {
            self.last = History::default();
            if self.seen.is_multiple_of(self.every) {
                if self.history.is_full() {
                    self.history.thin();
                    self.every *= 2;
                }
                // After thinning, the index of this point may not be a multiple of the new stride.
                if self.seen.is_multiple_of(self.every) {
                    self.history.push(iteration);
                } else {
                    self.last.push(iteration);
                }
            } else {
                self.last.push(iteration);
            }
            self.seen += 1;
        }
        self.watch.iterate(iteration)
    }

    fn certifying(&mut self) {
        self.watch.certifying();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_data::linear::Layout;
    use wstar_data::run::Unwatched;

    #[test]
    fn few_points_are_all_kept_and_many_evenly() {
        for count in [0u64, 1, 255, 256, 257, 258, 1000, 10_000] {
            let mut nobody = Unwatched;
            let mut recorder = Recorder::new(&mut nobody);
            for iteration in 1..=count {
                let gap = if iteration == 1 {
                    f64::INFINITY
                } else {
                    1.0 / iteration as f64
                };
                let layout = Layout {
                    features: 0,
                    outputs: 1,
                    intercept: false,
                };
                let mut event = Iteration::new("newton", iteration, -(iteration as f64), &[], layout);
                (event.passes, event.relative_gap) = (iteration, gap);
                let _ = recorder.iterate(&event);
            }
            let Some(history) = recorder.history() else {
                assert_eq!(count, 0);
                continue;
            };
            history.check().unwrap();
            assert!(history.len() <= 257 && history.len() as u64 >= count.min(128));
            assert_eq!((history.iterations[0], history.gaps[0]), (1, None));
            assert_eq!(history.iterations.last(), Some(&count));
            let steps: Vec<u64> = history
                .iterations
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .collect();
            let (_, even) = steps.split_last().unwrap_or((&0, &[]));
            assert!(
                even.windows(2).all(|pair| pair[0] == pair[1]),
                "{count}: {steps:?}"
            );
        }
    }
}

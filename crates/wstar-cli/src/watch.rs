//! Follows a running fit: progress bar, trace file, and stop on Ctrl-C.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use wstar::data::run::{Iteration, Progress, Step, Watch};

use crate::output;

/// Set by the first Ctrl-C. The fit then stops at its next step, and its current point is certified and written.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler of Ctrl-C. The first one requests a stop, the second one ends the program at once.
pub(crate) fn catch_interrupt() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            // The user has asked twice, so the process exits without unwinding.
            #[allow(clippy::exit)]
            std::process::exit(130);
        }
        output::complain(
            "stopping at the next step; the current model will be written (Ctrl-C again quits at once)",
        );
    })
    .context("Ctrl-C cannot be caught")
}

/// Number of features up to which a trace holds the weights. Cap: the weights of larger models are omitted.
const MOST_TRACED_FEATURES: usize = 100;

/// How the progress of a fit is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// No display.
    Nothing,
    /// A line that is redrawn, if standard error is a terminal.
    Bar,
    /// Lines at 1, 2, 4, 8 … examples, as online learners print them.
    Lines,
}

/// Displays and traces a fit.
pub(crate) struct Follower {
    bar: Option<ProgressBar>,
    lines: Option<Lines>,
    trace: Option<Trace>,
    started: Instant,
    /// Time spent on finished certificates.
    certified: Duration,
    /// Start of the certificate that is being computed, if any.
    certifying: Option<Instant>,
}

struct Lines {
    last: Progress,
}

struct Trace {
    writer: BufWriter<File>,
    path: String,
    failed: Option<std::io::Error>,
}

impl Follower {
    pub(crate) fn new(show: Show, trace: Option<&Path>) -> Result<Self> {
        let bar = (show == Show::Bar && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        let trace = trace
            .map(|path| {
                let file = File::create(path).with_context(|| path.display().to_string())?;
                anyhow::Ok(Trace {
                    writer: BufWriter::new(file),
                    path: path.display().to_string(),
                    failed: None,
                })
            })
            .transpose()?;
        let lines = (show == Show::Lines).then(|| {
            output::note("    examples    mistakes   error   since last");
            Lines {
                last: Progress::default(),
            }
        });
        Ok(Follower {
            bar,
            lines,
            trace,
            started: Instant::now(),
            certified: Duration::ZERO,
            certifying: None,
        })
    }

    /// Time spent by the method itself, without its certificates.
    pub(crate) fn solved(&self) -> Duration {
        let checking = self.certifying.map_or(Duration::ZERO, |since| since.elapsed());
        self.started.elapsed().saturating_sub(self.certified + checking)
    }

    /// Ends the display, and returns an error if the trace could not be written.
    pub(crate) fn finish(self) -> Result<()> {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        if let Some(mut trace) = self.trace {
            let written = match trace.failed {
                Some(error) => Err(error),
                None => trace.writer.flush(),
            };
            written.with_context(|| trace.path)?;
        }
        Ok(())
    }

    fn flow(&self) -> ControlFlow<()> {
        let trace_failed = self.trace.as_ref().is_some_and(|trace| trace.failed.is_some());
        if INTERRUPTED.load(Ordering::Relaxed) || trace_failed {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Watch for Follower {
    fn wants_steps(&self) -> bool {
        self.trace.is_some()
    }

    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        if let Some(trace) = &mut self.trace
            && trace.failed.is_none()
        {
            trace.failed = trace.write(step).err();
        }
        self.flow()
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        if let Some(bar) = &self.bar {
            let margin = progress
                .interval
                .map(|(_, upper)| format!(", margin at most {}", output::number(upper)))
                .unwrap_or_default();
            bar.set_message(format!(
                "pass {}: {} examples seen, {} updates{margin}",
                progress.passes,
                output::count(progress.seen),
                output::count(progress.updates),
            ));
            bar.tick();
        }
        if let Some(lines) = &mut self.lines
            && progress.seen.is_power_of_two()
            && progress.seen > lines.last.seen
        {
            lines.print(progress);
        }
        self.flow()
    }

    fn iterate(&mut self, iteration: &Iteration<'_>) -> ControlFlow<()> {
        if let Some(since) = self.certifying.take() {
            self.certified += since.elapsed();
        }
        if let Some(bar) = &self.bar {
            let gap = match iteration.relative_gap {
                gap if gap.is_finite() => format!(", relative gap {gap:.1e}"),
                _ => String::new(),
            };
            bar.set_message(format!(
                "{} {}: objective {}{gap}",
                iteration.solver,
                output::count(iteration.iteration),
                output::number(iteration.objective),
            ));
            bar.tick();
        }
        if let Some(trace) = &mut self.trace
            && trace.failed.is_none()
        {
            trace.failed = trace.write_iteration(iteration).err();
        }
        self.flow()
    }

    fn certifying(&mut self) {
        self.certifying.get_or_insert_with(Instant::now);
        if let Some(bar) = &self.bar {
            bar.set_message("checking the result against the data");
        }
    }
}

impl Lines {
    fn print(&mut self, progress: &Progress) {
        let since =
            (progress.mistakes - self.last.mistakes) as f64 / (progress.seen - self.last.seen).max(1) as f64;
        output::note(&format!(
            "{:>12} {:>11}  {:.4}       {since:.4}",
            output::count(progress.seen),
            output::count(progress.mistakes),
            progress.mistakes as f64 / progress.seen as f64,
        ));
        self.last = *progress;
    }
}

impl Trace {
    fn write_iteration(&mut self, iteration: &Iteration<'_>) -> std::io::Result<()> {
        let gap = iteration.relative_gap;
        let mut line = json!({
            "step": iteration.iteration,
            "solver": iteration.solver,
            "passes": iteration.passes,
            "objective": iteration.objective,
            "relative_gap": gap.is_finite().then_some(gap),
        });
        let layout = iteration.layout;
        if layout.features <= MOST_TRACED_FEATURES {
            let planes = || (0..layout.outputs).map(|k| layout.output(iteration.parameters, k));
            match layout.outputs {
                1 => {
                    let (weights, intercept) = layout.output(iteration.parameters, 0);
                    line["weights"] = weights.into();
                    line["intercept"] = intercept.into();
                }
                _ => {
                    line["weights"] = planes().map(|(weights, _)| weights).collect();
                    line["intercept"] = planes().map(|(_, intercept)| intercept).collect();
                }
            }
        }
        writeln!(self.writer, "{line}")
    }

    fn write(&mut self, step: &Step<'_>) -> std::io::Result<()> {
        let mut line = json!({
            "step": step.step,
            "row": step.row,
            "score": step.score,
            "mistake": step.mistake,
        });
        if step.discriminants > 1 {
            line["discriminant"] = step.discriminant.into();
        }
        if step.hyperplane.weights.len() <= MOST_TRACED_FEATURES {
            line["weights"] = step.hyperplane.weights.clone().into();
            line["intercept"] = step.hyperplane.intercept.into();
        }
        writeln!(self.writer, "{line}")
    }
}

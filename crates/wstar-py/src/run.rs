//! Runs long computations without Python's lock (the GIL), on their own threads, and stops them on Ctrl-C.
//!
//! Every call creates its own thread pool. A forked process does not inherit the threads of a process-wide pool, so
//! none is used, and forked processes work like any other.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use wstar::data::error::Error;
use wstar::data::run::{Iteration, Progress, Step, Watch};

use crate::wording::Keywords;

/// Interval between checks for signals. Heuristic: trades the delay after Ctrl-C for the number of wake-ups; not
/// measured yet.
const LOOK: Duration = Duration::from_millis(100);

/// Stops a fit at its next step after a signal.
pub(crate) struct Stopper<'a>(&'a AtomicBool);

/// The panic payload with which a stopped fit unwinds.
struct Stopped;

impl Stopper<'_> {
    /// Unwinds if the fit was stopped. Its result is discarded, so it need not be certified.
    fn flow(&self) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
        ControlFlow::Continue(())
    }
}

impl Watch for Stopper<'_> {
    fn step(&mut self, _: &Step<'_>) -> ControlFlow<()> {
        self.flow()
    }

    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        self.flow()
    }

    fn iterate(&mut self, _: &Iteration<'_>) -> ControlFlow<()> {
        self.flow()
    }

    fn certifying(&mut self) {
        let _ = self.flow();
    }
}

/// Runs `work` on `threads` threads without Python's lock. A signal (Ctrl-C) stops it and is raised after it has
/// stopped.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce(&mut Stopper<'_>) -> Result<R, Error> + Send,
) -> PyResult<R> {
    run_as(py, threads, &Keywords::default(), work)
}

/// Like [`run`], with this wording of errors.
pub(crate) fn run_as<R: Send>(
    py: Python<'_>,
    threads: usize,
    words: &Keywords,
    work: impl FnOnce(&mut Stopper<'_>) -> Result<R, Error> + Send,
) -> PyResult<R> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.max(1))
        .build()
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let stop = AtomicBool::new(false);
    let (done, signal) = py.detach(|| {
        let (sender, receiver) = channel();
        let mut signal = None;
        let done = pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                let done = catch_unwind(AssertUnwindSafe(|| work(&mut Stopper(&stop))));
                // Sending fails only if the receiver, and so this function, has ended.
                let _ = sender.send(done);
            });
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(done) => return Some(done),
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) if signal.is_none() => {
                        signal = Python::attach(|py| py.check_signals()).err();
                        stop.store(signal.is_some(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        });
        (done, signal)
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    match done {
        Some(Ok(result)) => result.map_err(|error| crate::raise_as(&error, words)),
        Some(Err(panic)) => Err(fault(panic.as_ref())),
        None => Err(PyRuntimeError::new_err("the engine gave no answer")),
    }
}

/// Runs `work` on this thread and without checks for signals, for work that takes less time than starting a thread.
pub(crate) fn run_here<R>(work: impl FnOnce() -> Result<R, Error>) -> PyResult<R> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| crate::raise(&error)),
        Err(panic) => Err(fault(panic.as_ref())),
    }
}

/// Converts a panic of the engine to a Python exception, which can be caught like any other.
fn fault(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    PyRuntimeError::new_err(format!("an internal error of wstar, please report it: {text}"))
}

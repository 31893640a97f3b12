//! Long work without Python's lock: on threads of its own, watched for Ctrl-C.
//!
//! Every call makes its own threads, and nothing uses those that a process shares, so that a process which has
//! been forked works like any other.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use wstar::Error;
use wstar::watch::{Iteration, Progress, Step, Watch};

/// How often a long run looks for signals.
const LOOK: Duration = Duration::from_millis(100);

/// Stops a fit at its next step once it has been told to.
pub(crate) struct Stopper<'a>(&'a AtomicBool);

/// What a stopped fit unwinds with.
struct Stopped;

impl Stopper<'_> {
    /// Nobody waits for what a stopped fit has found, so that it is left at once and not certified.
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

/// Runs `work` on so many threads without Python's lock. A signal (Ctrl-C) stops it, and is raised once it has
/// stopped.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    threads: usize,
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
                // Nobody is left to hear it only if this very function has ended.
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
        Some(Ok(result)) => result.map_err(|error| crate::raise(&error)),
        Some(Err(panic)) => Err(fault(panic.as_ref())),
        None => Err(PyRuntimeError::new_err("the engine gave no answer")),
    }
}

/// Runs `work` at once, on this thread: for what is done before a thread is made, or a signal looked for.
pub(crate) fn run_here<R>(work: impl FnOnce() -> Result<R, Error>) -> PyResult<R> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| crate::raise(&error)),
        Err(panic) => Err(fault(panic.as_ref())),
    }
}

/// A defect of the engine, which Python can catch like any other error.
fn fault(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    PyRuntimeError::new_err(format!("a defect of wstar, please report it: {text}"))
}

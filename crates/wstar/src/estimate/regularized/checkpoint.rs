//! Checkpoint files of long fits: the solved subproblems, and the current point of the one being solved.
//!
//! A checkpoint stores the point, not the internal state of the solver. A resumed fit reaches the same optimum and
//! certificate; it is bitwise equal for solvers without a memory of earlier steps, such as Newton's method.

use std::cell::RefCell;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::settings::Regularized;
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};
use wstar_data::write::write_json;
use wstar_solve::Keeper;

/// The `format` field of a checkpoint file.
const FORMAT: &str = "wstar-checkpoint";
/// Least time between two writes. Heuristic: trades repeated work after a crash against disk writes; not measured yet.
const EVERY: Duration = Duration::from_secs(2);

/// The contents of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    format: String,
    version: u32,
    /// A hash of the data and the settings, so that a different problem cannot resume from this file.
    fingerprint: String,
    /// The parameters of the subproblems begun so far, in order.
    parameters: Vec<Vec<f64>>,
}

/// A checkpoint file, or nothing if no path was given.
pub(super) struct Checkpoint {
    file: Option<Rc<RefCell<File>>>,
    resumed: Vec<Vec<f64>>,
}

struct File {
    path: PathBuf,
    state: State,
    written: Instant,
}

impl File {
    fn put(&mut self, part: usize, parameters: &[f64]) {
        self.state.parameters.resize(part + 1, Vec::new());
        self.state.parameters[part] = parameters.to_vec();
    }

    fn write(&mut self) -> Result<()> {
        self.written = Instant::now();
        write_json(&self.path, &self.state)
    }
}

impl Checkpoint {
    /// Opens the file, and reads its state if it exists.
    pub(super) fn open(path: Option<&Path>, data: &Dataset, settings: &Regularized) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Checkpoint {
                file: None,
                resumed: Vec::new(),
            });
        };
        let name = path.display().to_string();
        let fingerprint = fingerprint(data, settings);
        let mut state = State {
            format: FORMAT.into(),
            version: 1,
            fingerprint,
            parameters: Vec::new(),
        };
        if path.exists() {
            let bytes = std::fs::read(path).map_err(|cause| Error::io(&name, &cause))?;
            let found: State = serde_json::from_slice(&bytes)
                .map_err(|_| Error::model("not a whole checkpoint file").in_file(&name))?;
            if found.format != FORMAT || found.version != 1 {
                return Err(Error::model("not a checkpoint file of this program").in_file(&name));
            }
            if found.fingerprint != state.fingerprint {
                return Err(Error::model("the checkpoint is of another problem")
                    .remedy("its data or settings differ; name another file, or remove this one")
                    .in_file(&name));
            }
            state = found;
        } else {
            // A file that cannot be written is reported now, not after an hour of work.
            write_json(path, &state)?;
        }
        Ok(Checkpoint {
            resumed: state.parameters.clone(),
            file: Some(Rc::new(RefCell::new(File {
                path: path.to_path_buf(),
                state,
                written: Instant::now(),
            }))),
        })
    }

    /// The stored parameters of subproblem `part`, if there are any.
    pub(super) fn resume(&mut self, part: usize) -> Option<Vec<f64>> {
        let kept = self.resumed.get_mut(part)?;
        (!kept.is_empty()).then(|| std::mem::take(kept))
    }

    /// The callback that stores the point of a solver's iterations.
    pub(super) fn keeper(&self, part: usize) -> Option<Keeper> {
        let file = Rc::clone(self.file.as_ref()?);
        Some(Box::new(move |parameters: &[f64]| {
            let mut file = file.borrow_mut();
            if file.written.elapsed() < EVERY {
                return Ok(());
            }
            file.put(part, parameters);
            file.write()
        }))
    }

    /// Stores the solution of a subproblem. It is written with the next state.
    pub(super) fn finish(&mut self, part: usize, parameters: &[f64]) {
        if let Some(file) = &self.file {
            file.borrow_mut().put(part, parameters);
        }
    }

    /// Writes the state of a fit that stopped early.
    pub(super) fn save(&self) -> Result<()> {
        match &self.file {
            Some(file) => file.borrow_mut().write(),
            None => Ok(()),
        }
    }

    /// Removes the file of a finished fit.
    pub(super) fn remove(self) {
        if let Some(file) = self.file {
            // If the file remains, the next fit starts at the optimum and ends immediately.
            let _ = std::fs::remove_file(&file.borrow().path);
        }
    }
}

/// A hash of the data and the settings.
fn fingerprint(data: &Dataset, settings: &Regularized) -> String {
    // Limits on the fit do not change its optimum.
    let mut settings = settings.clone();
    (settings.max_iter, settings.common.max_seconds) = (None, None);
    let mut hash = FxHasher::default();
    hash.write(serde_json::to_string(&settings).unwrap_or_default().as_bytes());
    hash.write(data.digest().as_bytes());
    format!("{:016x}", hash.finish())
}

//! The state of a long fit in a file: which problems are solved, and where the current one stands.
//!
//! What is kept is the point, not the inner state of a solver: a fit that goes on from it ends with the same
//! certificate, at the same optimum, and for solvers without a memory of earlier steps (Newton's) at the same bits.

use std::cell::RefCell;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::write_whole;
use crate::settings::Settings;
use crate::solve::Keeper;

/// What a checkpoint file says it is.
const FORMAT: &str = "wstar-checkpoint";
/// How often it is written at most.
const EVERY: Duration = Duration::from_secs(2);

/// The document in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    format: String,
    version: u32,
    /// Of the data and the settings, so that no other problem goes on from here.
    fingerprint: String,
    /// The parameters of the problems that were begun, in order.
    parameters: Vec<Vec<f64>>,
}

/// A checkpoint file, or none.
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
        write_whole(&self.path, &self.state)
    }
}

impl Checkpoint {
    /// Opens the file, and reads what is in it if it is there.
    pub(super) fn open(path: Option<&Path>, data: &Dataset, settings: &Settings) -> Result<Self> {
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
                    .hint("its data or settings differ; name another file, or remove this one")
                    .in_file(&name));
            }
            state = found;
        } else {
            // Better to hear now than after an hour that the file cannot be written.
            write_whole(path, &state)?;
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

    /// Where problem `part` stood when the file was written.
    pub(super) fn resume(&mut self, part: usize) -> Option<Vec<f64>> {
        let kept = self.resumed.get_mut(part)?;
        (!kept.is_empty()).then(|| std::mem::take(kept))
    }

    /// What a solver's iterations are told to.
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

    /// Keeps the end of a problem, to be written with the next state.
    pub(super) fn finish(&mut self, part: usize, parameters: &[f64]) {
        if let Some(file) = &self.file {
            file.borrow_mut().put(part, parameters);
        }
    }

    /// Writes where the fit ended, for one that was stopped early.
    pub(super) fn save(&self) -> Result<()> {
        match &self.file {
            Some(file) => file.borrow_mut().write(),
            None => Ok(()),
        }
    }

    /// Removes the file of a fit that is done.
    pub(super) fn remove(self) {
        if let Some(file) = self.file {
            // If it stays, the next fit starts at the optimum and is done at once.
            let _ = std::fs::remove_file(&file.borrow().path);
        }
    }
}

/// A number that other data or other settings would hardly give.
fn fingerprint(data: &Dataset, settings: &Settings) -> String {
    let settings = Settings {
        // How long a fit may take does not change what it looks for.
        max_seconds: None,
        max_iter: None,
        ..settings.clone()
    };
    let mut hash = FxHasher::default();
    hash.write(serde_json::to_string(&settings).unwrap_or_default().as_bytes());
    hash.write(data.digest().as_bytes());
    format!("{:016x}", hash.finish())
}

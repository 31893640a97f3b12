//! The model file: one JSON document, versioned, written whole or not at all.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result, shown};
use crate::io;
use crate::model::{History, Model};

/// What a model file says it is.
const FORMAT: &str = "wstar-model";
/// The newest version that this program writes, and reads.
const VERSION: u32 = 1;

/// Read first, whatever else the document holds, so that a newer file is refused for its version and not
/// for some field that this program does not know.
#[derive(Deserialize)]
struct Heading {
    format: Option<String>,
    version: Option<u64>,
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'a str,
    version: u32,
    #[serde(flatten)]
    model: &'a Model,
}

/// Writes a JSON document to a file: complete, or not at all.
pub(crate) fn write_whole(path: &Path, document: &impl Serialize) -> Result<()> {
    io::write_whole(path, |writer| {
        serde_json::to_writer(&mut *writer, document)?;
        writer.write_all(b"\n")
    })
}

impl Model {
    /// Writes the model to a file: complete, or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        write_whole(
            path,
            &Document {
                format: FORMAT,
                version: VERSION,
                model: self,
            },
        )
    }

    /// The bytes of the model's file.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let document = Document {
            format: FORMAT,
            version: VERSION,
            model: self,
        };
        serde_json::to_vec(&document).map_err(|cause| Error::model(cause.to_string()))
    }

    /// Refuses a path that no model can be written to, without writing there.
    pub fn check_writable(path: &Path) -> Result<()> {
        io::check_writable(path)
    }

    /// Reads a model from a file.
    pub fn load(path: &Path) -> Result<Model> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(Error::new(ErrorKind::Io, "is a directory, not a model file").in_file(&name));
        }
        let bytes = fs::read(path).map_err(|cause| Error::io(&name, &cause))?;
        Model::from_json(&bytes).map_err(|error| error.in_file(&name))
    }

    /// Reads a model from the bytes of a file.
    pub fn from_json(bytes: &[u8]) -> Result<Model> {
        let damaged = |cause: serde_json::Error| {
            let message = cause.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            Error::model(format!("not a whole model file: {message}"))
                .at(cause.line() as u64, cause.column() as u64)
        };
        let heading: Heading = serde_json::from_slice(bytes).map_err(damaged)?;
        if heading.format.as_deref() != Some(FORMAT) {
            return Err(Error::model("not a wstar model file").hint("models are written by `wstar train`"));
        }
        match heading.version {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) if version > u64::from(VERSION) => {
                return Err(Error::model(format!(
                    "written by a newer wstar: version {version}, this one reads up to {VERSION}"
                ))
                .hint("update wstar, or train again"));
            }
            version => {
                let version = version.map_or_else(|| "none".to_string(), |version| version.to_string());
                return Err(Error::model(format!("unknown version {}", shown(&version))));
            }
        }
        let model: Model = serde_json::from_slice(bytes).map_err(damaged)?;
        model.check()?;
        Ok(model)
    }

    /// Refuses a model whose parts do not fit each other, so that nothing later has to ask.
    fn check(&self) -> Result<()> {
        if self.classes.len() < 2 && !self.predictor.is_regression() {
            return Err(Error::model("a classifier with fewer than two classes"));
        }
        self.schema.check()?;
        self.predictor.check(self.schema.features, self.classes.len())?;
        self.history.as_ref().map_or(Ok(()), History::check)?;
        self.certificate.check(self.schema.features, self.classes.len())
    }
}

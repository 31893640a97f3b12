//! The model file: a versioned JSON document, written atomically.

use std::fs;
use std::path::Path;
use wstar_data::error::Remedy;
use wstar_data::setting::Command;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::certificate::{Certificate, Enclosure};
use crate::inference::Inference;
use crate::model::{FitRecord, History, Model, Predictor};
use crate::settings::{Method, Options, Settings};
use std::sync::Arc;
use wstar_data::error::{Error, ErrorKind, Result, shown};
use wstar_data::write;
use wstar_data::write::write_json;
use wstar_data::{Classes, Schema};
use wstar_solve::LeastSquaresReport;

/// The `format` field of a model file.
const FORMAT: &str = "wstar-model";
/// The version of the file format that is written, and the newest that is read. `docs/model-file.md` describes it.
const VERSION: u32 = 2;

/// The fields that are parsed first. A newer file is then rejected because of its version, not because of a field that
/// this version does not know.
#[derive(Deserialize)]
struct Heading {
    format: Option<String>,
    version: Option<u64>,
}

/// The part of a version-1 file that version 2 stores differently: the method is stored next to the settings,
/// and the settings are one flat list of options.
#[derive(Deserialize)]
struct Version1 {
    method: Method,
    settings: Options,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// A model from the contents of a version-1 file.
fn from_version_1(file: Version1) -> Result<Unchecked> {
    let damaged = |cause: serde_json::Error| Error::model(format!("not a whole model file: {cause}"));
    // Version 1 accepted options that its method ignored. `take` leaves them.
    let mut options = file.settings;
    let settings = Settings::take(file.method, &mut options)?;
    let mut model = file.rest;
    model.insert(
        "settings".into(),
        serde_json::to_value(settings).map_err(damaged)?,
    );
    serde_json::from_value(Value::Object(model)).map_err(damaged)
}

/// A model as read, before its check.
#[derive(Deserialize)]
pub(crate) struct Unchecked {
    settings: Settings,
    schema: Arc<Schema>,
    classes: Classes,
    predictor: Predictor,
    fit: FitRecord,
    certificate: Certificate,
    inference: Option<Inference>,
    proved: Option<Vec<Enclosure>>,
    least_squares: Option<LeastSquaresReport>,
    history: Option<History>,
    digest: Option<String>,
}

impl TryFrom<Unchecked> for Model {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Model> {
        let model = Model {
            settings: read.settings,
            schema: read.schema,
            classes: read.classes,
            predictor: read.predictor,
            fit: read.fit,
            certificate: read.certificate,
            inference: read.inference,
            proved: read.proved,
            least_squares: read.least_squares,
            history: read.history,
            digest: read.digest,
        };
        model.check()?;
        Ok(model)
    }
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'a str,
    version: u32,
    #[serde(flatten)]
    model: &'a Model,
}

impl Model {
    /// Writes the model to a file. The file is written completely or not at all.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = wstar::read("@iris")?.dataset()?;
    /// let model = Softmax::l2().fit(&data)?;
    /// let path = std::env::temp_dir().join(format!("wstar-doc-{}.json", std::process::id()));
    /// model.save(&path)?;
    /// assert_eq!(Model::load(&path)?, model);
    /// # std::fs::remove_file(&path).expect("the file was written");
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn save(&self, path: &Path) -> Result<()> {
        write_json(
            path,
            &Document {
                format: FORMAT,
                version: VERSION,
                model: self,
            },
        )
    }

    /// The contents of the model file.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[[0.0], [1.0], [2.0]], vec![1.0, 3.0, 5.0])?;
    /// let model = LeastSquares::unpenalized().fit(&data)?;
    /// assert_eq!(Model::from_json(&model.to_json()?)?, model);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let document = Document {
            format: FORMAT,
            version: VERSION,
            model: self,
        };
        serde_json::to_vec(&document).map_err(|cause| Error::model(cause.to_string()))
    }

    /// Rejects a path that no model can be written to, without writing to it.
    pub fn check_writable(path: &Path) -> Result<()> {
        write::check_writable(path)
    }

    /// Reads a model from a file, as [`Model::save`] writes it.
    pub fn load(path: &Path) -> Result<Model> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(Error::new(ErrorKind::Io, "is a directory, not a model file").in_file(&name));
        }
        let bytes = fs::read(path).map_err(|cause| Error::io(&name, &cause))?;
        Model::from_json(&bytes).map_err(|error| error.in_file(&name))
    }

    /// Reads a model from the contents of a file, as [`Model::to_json`] gives them.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let error = Model::from_json(b"{}").expect_err("no model");
    /// assert_eq!(error.kind(), ErrorKind::Model);
    /// ```
    pub fn from_json(bytes: &[u8]) -> Result<Model> {
        let damaged = |cause: serde_json::Error| {
            let message = cause.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            Error::model(format!("not a whole model file: {message}"))
                .at(cause.line() as u64, cause.column() as u64)
        };
        let heading: Heading = serde_json::from_slice(bytes).map_err(damaged)?;
        if heading.format.as_deref() != Some(FORMAT) {
            return Err(Error::model("not a wstar model file")
                .remedy(Remedy::Run("models are written by".into(), Command::Train)));
        }
        match heading.version {
            Some(1 | 2) => {}
            Some(version) if version > u64::from(VERSION) => {
                return Err(Error::model(format!(
                    "written by a newer wstar: version {version}, this one reads up to {VERSION}"
                ))
                .remedy("update wstar, or train again"));
            }
            version => {
                let version = version.map_or_else(|| "none".to_string(), |version| version.to_string());
                return Err(Error::model(format!("unknown version {}", shown(&version))));
            }
        }
        let read: Unchecked = if heading.version == Some(1) {
            from_version_1(serde_json::from_slice(bytes).map_err(damaged)?)?
        } else {
            serde_json::from_slice(bytes).map_err(damaged)?
        };
        read.try_into()
    }

    /// Rejects enclosures that do not fit the hyperplanes.
    fn check_proved(&self) -> Result<()> {
        let Some(proved) = &self.proved else { return Ok(()) };
        let width = self.schema.features + usize::from(self.settings.has_intercept());
        let planes = match &self.predictor {
            Predictor::Linear { discriminants, .. } => discriminants.len(),
            _ => 0,
        };
        let fits = |part: &Enclosure| part.len() == width && part.is_finite();
        match proved.len() == planes && proved.iter().all(fits) {
            true => Ok(()),
            false => Err(Error::model("the proved digits do not fit the hyperplanes")),
        }
    }

    /// Rejects an inconsistent model, so that later code can rely on matching dimensions.
    fn check(&self) -> Result<()> {
        self.settings
            .check()
            .map_err(|error| error.of_kind(ErrorKind::Model))?;
        if self.classes.len() < 2 && !self.predictor.is_regression() {
            return Err(Error::model("a classifier with fewer than two classes"));
        }
        self.schema.check()?;
        self.predictor.check(self.schema.features, self.classes.len())?;
        self.history.as_ref().map_or(Ok(()), History::check)?;
        self.check_proved()?;
        self.certificate.check(self.schema.features, self.classes.len())
    }
}

//! The `compare` request: several methods on the same points, next to the least number of errors of any line.

use std::time::Instant;

use serde_json::{Value, json};
use wstar::data::Dataset;
use wstar::data::error::{Error, Result};
use wstar::fit;
use wstar::settings::{Method, Options};

use crate::fit::LONGEST;
use crate::judge::wrong_rows;
use crate::plane::Plane;
use crate::request::CompareRequest;
use crate::trace::{Line, Recorder};
use crate::wording::Controls;

/// Fits every method and sends one `row` message for each as it ends; the answer repeats all rows.
pub(crate) fn compare(request: CompareRequest, line: &Line<'_>) -> Result<Value> {
    if request.methods.len() > Method::ALL.len() {
        return Err(Error::settings("a method is listed twice"));
    }
    let data = Plane::of(request.data)?.dataset(false)?;
    data.require_classes()?;
    let mut rows = Vec::new();
    for method in request.methods {
        if line.flow().is_break() {
            break;
        }
        let settings = Options {
            // Cap: a quarter of the limit of a single fit.
            max_seconds: Some(LONGEST.as_secs_f64() / 4.0),
            seed: request.seed,
            ..Options::of(method)
        };
        let started = Instant::now();
        let outcome = one(&data, &settings, line);
        let mut row = outcome.unwrap_or_else(|error| json!({"message": error.worded(&Controls)}));
        row["method"] = json!(method);
        row["seconds"] = started.elapsed().as_secs_f64().into();
        (line.tell)(json!({"row": row}));
        rows.push(row);
    }
    Ok(json!({ "rows": rows }))
}

fn one(data: &Dataset, settings: &Options, line: &Line<'_>) -> Result<Value> {
    let model = fit(data, settings, &mut Recorder::new(line, false))?;
    let wrong = wrong_rows(data, &model.classify(data)?);
    Ok(json!({
        "errors": wrong.len(),
        "error": wrong.len() as f64 / data.rows().max(1) as f64,
        "kind": model.certificate().kind(),
        "holds": model.certificate().holds(),
        "status": model.record().status,
        "planes": model.predictor().hyperplanes(),
    }))
}

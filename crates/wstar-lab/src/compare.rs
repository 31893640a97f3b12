//! Several methods on the same points, beside the fewest errors that any line makes.

use std::time::Instant;

use serde_json::{Value, json};
use wstar::data::Dataset;
use wstar::settings::{Method, Settings};
use wstar::{Error, Result, fit};

use crate::fit::LONGEST;
use crate::judge::wrong_rows;
use crate::plane::Plane;
use crate::request::CompareRequest;
use crate::trace::{Line, Recorder};

/// One line for each method, told as it comes; all of them at the end.
pub(crate) fn compare(request: CompareRequest, line: &Line<'_>) -> Result<Value> {
    if request.methods.len() > Method::ALL.len() {
        return Err(Error::settings("each method once"));
    }
    let data = Plane::of(request.data)?.dataset(false)?;
    data.require_classes()?;
    let mut rows = Vec::new();
    for method in request.methods {
        if line.flow().is_break() {
            break;
        }
        let settings = Settings {
            max_seconds: Some(LONGEST.as_secs_f64() / 4.0),
            seed: request.seed,
            ..Settings::for_method(method)
        };
        let started = Instant::now();
        let outcome = one(&data, &settings, line);
        let mut row = outcome.unwrap_or_else(|error| json!({"message": error.to_string()}));
        row["method"] = json!(method);
        row["seconds"] = started.elapsed().as_secs_f64().into();
        (line.tell)(json!({"row": row}));
        rows.push(row);
    }
    Ok(json!({ "rows": rows }))
}

fn one(data: &Dataset, settings: &Settings, line: &Line<'_>) -> Result<Value> {
    let model = fit(data, settings, &mut Recorder::new(line, false))?;
    let wrong = wrong_rows(data, &model.predictor.classes(&data.design)?);
    Ok(json!({
        "errors": wrong.len(),
        "error": wrong.len() as f64 / data.rows().max(1) as f64,
        "kind": model.certificate.kind(),
        "holds": model.certificate.holds(),
        "status": model.fit.status,
        "planes": model.predictor.hyperplanes(),
    }))
}

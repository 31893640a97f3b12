//! The objective as a landscape over two of its parameters.

use serde_json::{Value, json};
use wstar::data::{Classes, Dataset};
use wstar::oracle::Local;
use wstar::problem::Problem;
use wstar::reduction::{Reduction, Totals};
use wstar::settings::Settings;
use wstar::{Error, Result};

use crate::plane::Plane;
use crate::request::SurfaceRequest;
use crate::trace::Line;

/// The most values along an axis.
const MOST_VALUES: usize = 200;
/// The most scores that a landscape may take; beyond it is looked at more coarsely.
const MOST_SCORES: usize = 30_000_000;

/// The values of the objective on a grid, row by row, the first axis across.
pub(crate) fn surface(request: SurfaceRequest, line: &Line<'_>) -> Result<Value> {
    let settings = request.settings;
    settings.check()?;
    let data = Plane::of(request.data)?.dataset(settings.method().is_regression())?;
    let mut problem = problem(&data, &settings)?;
    let parameters = problem.layout().len();
    let [first, second] = request.axes;
    if request.at.len() != parameters || first >= parameters || second >= parameters || first == second {
        return Err(Error::settings(format!(
            "the problem has {parameters} parameters, and two of them span a surface"
        )));
    }
    let ends = request.range.as_flattened();
    if ends.iter().any(|end| !end.is_finite()) || request.at.iter().any(|value| !value.is_finite()) {
        return Err(Error::settings("a surface needs finite numbers"));
    }
    let affordable = ((MOST_SCORES / data.rows().max(1)) as f64).sqrt() as usize;
    let steps = request.steps.min(MOST_VALUES).min(affordable).max(8);
    let value = |[least, most]: [f64; 2], i: usize| least + (most - least) * i as f64 / (steps - 1) as f64;
    let mut at = request.at;
    let mut values = Vec::with_capacity(steps * steps);
    for row in 0..steps {
        if line.flow().is_break() {
            break;
        }
        for column in 0..steps {
            at[first] = value(request.range[0], column);
            at[second] = value(request.range[1], row);
            values.push(problem.gradient(&at)?.objective);
        }
    }
    Ok(json!({"steps": steps, "range": request.range, "values": values}))
}

/// The one problem of settings whose rows have one score each.
pub(crate) fn problem<'a>(data: &'a Dataset, settings: &Settings) -> Result<Problem<'a>> {
    let classes = data.classes().cloned().unwrap_or(Classes::NONE);
    let totals = Totals::of(&mut &*data)?;
    let no_surface = || {
        Error::settings(format!(
            "{} has no objective over two parameters here",
            settings.method().name()
        ))
    };
    if !settings.method().is_convex() {
        return Err(no_surface());
    }
    let reduction = Reduction::new(settings, &classes, data.features(), &totals)?;
    let (&[part], 1) = (reduction.parts.as_slice(), reduction.definition.layout.outputs) else {
        return Err(no_surface());
    };
    let definition = &reduction.definition;
    let rows = reduction.rows(part, data)?;
    Ok(Problem {
        loss: definition.loss,
        penalty: definition.penalty,
        intercept: definition.intercept,
        oracle: Box::new(Local::new(rows, definition.loss, definition.layout)),
        rows: None,
    })
}

//! The objective on a grid over two of its parameters.

use serde_json::{Value, json};
use wstar::data::error::{Error, Result};
use wstar::data::{Classes, Dataset};
use wstar::problem::multiclass::Totals;
use wstar::problem::objective::{Objective, Validation};
use wstar::settings::{Method, Settings};

use crate::plane::Plane;
use crate::request::SurfaceRequest;
use crate::trace::Line;

/// Number of grid points along an axis. Cap: a finer grid is reduced to this.
const MOST_VALUES: usize = 200;
/// Number of scores computed for one surface, rows × grid points. Cap: beyond it the grid is coarser, but has at least
/// 8 points along an axis.
const MOST_SCORES: usize = 30_000_000;

/// The values of the objective on a grid, row by row; the first parameter varies fastest.
pub(crate) fn surface(request: SurfaceRequest, line: &Line<'_>) -> Result<Value> {
    let options = request.settings;
    let regression = options.method.is_some_and(Method::is_regression);
    let data = Plane::of(request.data)?.dataset(regression)?;
    let settings = options.for_target(data.target())?;
    let mut objective = objective(&data, &settings)?;
    let parameters = objective.problem.layout().len();
    let [first, second] = request.axes;
    if request.at.len() != parameters || first >= parameters || second >= parameters || first == second {
        return Err(Error::settings(format!(
            "the objective has {parameters} parameters, and two of them span a surface"
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
            values.push(objective.gradient(&at)?.objective);
        }
    }
    Ok(json!({"steps": steps, "range": request.range, "values": values}))
}

/// The objective of convex settings with a single subproblem and one score per row; an error for all other settings.
pub(crate) fn objective<'a>(data: &'a Dataset, settings: &Settings) -> Result<Objective<'a>> {
    let classes = data.classes().cloned().unwrap_or(Classes::NONE);
    let totals = Totals::of(&mut &*data)?;
    let no_surface = || {
        Error::settings(format!(
            "{} has no objective over two parameters here",
            settings.method().name()
        ))
    };
    let own = settings.regularized().ok_or_else(no_surface)?;
    let reduction = own.reduction(&classes, data.features(), &totals)?;
    let (&[part], 1) = (reduction.parts(), reduction.problem().layout().outputs) else {
        return Err(no_surface());
    };
    let rows = reduction.rows(part, data)?;
    Ok(Objective::in_memory(*reduction.problem(), rows, Validation::Done))
}

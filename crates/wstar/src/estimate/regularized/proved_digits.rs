//! Intervals for the optimum of every subproblem, and points with as many digits as the settings ask for.

use super::subproblem::{Solved, recertify};
use crate::certificate::{Enclosure, enclose_part, is_wanted};
use crate::model::Note;
use crate::settings::Regularized;
use wstar_data::Dataset;
use wstar_data::error::Result;
use wstar_data::run::Status;
use wstar_problem::multiclass::Subproblems;

/// Encloses the optima of all subproblems; nothing if one of them is not enclosed.
///
/// With `digits` a point that has fewer digits than asked for, and fewer than are proved, is replaced by the centre of its interval: the
/// enclosure has made the Newton steps that lead there.
pub(super) fn prove(
    solved: &mut [Solved],
    data: &Dataset,
    reduction: &Subproblems,
    settings: &Regularized,
) -> Result<Option<Vec<Enclosure>>> {
    let asked = settings.prove.is_some() || settings.digits.is_some();
    let ended = |status: Status| matches!(status, Status::Stopped | Status::TimeLimit | Status::Diverging);
    let is_useful = solved.iter().all(|fit| match asked {
        true => !ended(fit.status),
        false => fit.status == Status::Converged,
    });
    if !is_useful || !is_wanted(data, reduction, asked)? {
        return Ok(None);
    }
    let mut proved = Vec::new();
    for (&part, fit) in reduction.parts().iter().zip(solved.iter_mut()) {
        let Some(mut enclosure) = enclose_part(data, reduction, part, &fit.parameters)? else {
            return Ok(None);
        };
        let wanted = settings.digits.unwrap_or(0);
        if !has_digits(&fit.parameters, &enclosure, wanted) {
            let rows = reduction.rows(part, data)?;
            let nearer = recertify(rows, reduction.problem(), &enclosure.centre, settings.tol)?;
            if nearer.holds() {
                fit.parameters.clone_from(&enclosure.centre);
                fit.claim = nearer;
                fit.status = Status::Converged;
                // A verification starts from this point.
                if let Some(found) = enclose_part(data, reduction, part, &fit.parameters)? {
                    enclosure = found;
                }
            }
        }
        proved.push(enclosure.widened());
    }
    Ok(Some(proved))
}

/// A note if fewer digits are proved than the settings ask for.
pub(super) fn note(proved: Option<&[Enclosure]>, settings: &Regularized) -> Option<Note> {
    let asked = settings.prove.map(|_| 1).max(settings.digits)?;
    let parts = proved.unwrap_or_default();
    // Of a parameter that may be 0 there are no significant digits.
    let digits = parts.iter().flat_map(|part| {
        (0..part.len())
            .map(|j| part.digits(j))
            .filter(|&digits| digits > 0)
    });
    match (digits.min(), proved) {
        (Some(least), _) if least >= asked => None,
        (None, Some(_)) => None,
        (least, _) => Some(Note::FewerDigits {
            proved: least.unwrap_or(0),
        }),
    }
}

/// Whether the parameters agree with the centres to so many significant digits.
fn has_digits(parameters: &[f64], enclosure: &Enclosure, digits: u32) -> bool {
    let unit = 0.5 * 10f64.powi(-(digits as i32));
    let mut pairs = parameters.iter().zip(&enclosure.centre);
    digits == 0 || pairs.all(|(w, centre)| (w - centre).abs() <= unit * centre.abs())
}

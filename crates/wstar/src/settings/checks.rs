//! Checks that the settings of several families share.

use super::method::Method;
use super::rule::Rule;
use wstar_data::error::{Error, Range, Result};
use wstar_data::setting::Setting;
use wstar_problem::multiclass::ClassWeights;
use wstar_solve::learning_rate::Schedule;

/// Rejects a number that is not finite and greater than 0.
pub(super) fn positive(setting: Setting, value: Option<f64>) -> Result<()> {
    match value {
        Some(value) if !(value.is_finite() && value > 0.0) => {
            Err(Error::out_of_range(setting, Range::Positive, value))
        }
        _ => Ok(()),
    }
}

/// Rejects a limit, in passes or seconds, that is not positive or so large that it overflows. Cap: limits from 1e15
/// on are refused.
pub(super) fn limit(setting: Setting, value: Option<f64>) -> Result<()> {
    positive(setting, value)?;
    match value {
        Some(value) if value >= 1e15 => Err(Error::out_of_range(setting, Range::Positive, value)),
        _ => Ok(()),
    }
}

/// Rejects a count of 0.
pub(super) fn at_least_one(setting: Setting, value: Option<u64>) -> Result<()> {
    match value {
        Some(0) => Err(Error::out_of_range(setting, Range::AtLeast(1.0), 0)),
        _ => Ok(()),
    }
}

/// Rejects a halving schedule without a step at the full rate.
pub(super) fn check_schedule(schedule: Option<Schedule>) -> Result<()> {
    match schedule {
        Some(Schedule::Halving { first }) => at_least_one(Setting::HalvingSteps, Some(first)),
        _ => Ok(()),
    }
}

/// Rejects class weights that are negative or not finite.
pub(super) fn check_class_weight(weights: Option<&ClassWeights>) -> Result<()> {
    if let Some(ClassWeights::Given(weights)) = weights
        && let Some((class, weight)) = weights.iter().find(|(_, w)| !(w.is_finite() && *w >= 0.0))
    {
        let value = format!("{class}:{weight}");
        return Err(Error::out_of_range(
            Setting::ClassWeight,
            Range::AtLeast(0.0),
            value,
        ));
    }
    Ok(())
}

/// Rejects the rule of the worst-classified row for a multiset.
pub(super) fn check_multiset(multiset: bool, rule: Option<Rule>) -> Result<()> {
    if multiset && rule == Some(Rule::Worst) {
        return Err(
            Error::conflict(Setting::Rule.to("worst"), Setting::Multiset.given())
                .because("because the worst-classified row is one row"),
        );
    }
    Ok(())
}

/// The error for an option that does not belong to a method.
pub(super) fn misplaced(setting: Setting, method: Method) -> Error {
    let error = Error::conflict(setting.given(), Setting::Method.to(method.name()));
    match (setting, method) {
        (Setting::Schedule, Method::Kozinec) => error.because("which has no learning rate"),
        (Setting::Vote, Method::AveragedPerceptron | Method::Pocket) => {
            error.because("which has its own way to choose one hyperplane")
        }
        _ => error,
    }
}

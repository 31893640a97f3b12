//! Fits the methods that minimise a loss and a penalty: builds the subproblems, solves each until its certificate
//! holds, and assembles the model.
//!
//! - `subproblem`: solves one subproblem until its certificate holds.
//! - `start`, `checkpoint`: starting points of a fit, and checkpoint files of long fits.
//! - `existence`, `separation_note`: whether the maximum-likelihood estimate exists; notes on separable classes.
//! - `proved_digits`: intervals for the optimum, and digits on request.
//! - `statistics`: standard errors and the report of least squares.

mod checkpoint;
mod existence;
mod proved_digits;
mod separation_note;
mod start;
mod statistics;
mod subproblem;

pub use start::{SharedWork, Start};

use crate::certificate::Certificate;
use crate::estimate::outcome::Outcome;
use crate::model::{FitRecord, Link, Model, Note, Predictor};
use crate::online::Ties;
use crate::settings::{Method, Regularized};
use checkpoint::Checkpoint;
use existence::Existence;
use subproblem::{Claim, Solved, Source, solve};
use wstar_data::error::Remedy;
use wstar_data::error::{Error, ErrorKind, Result};
use wstar_data::linear::Hyperplane;
use wstar_data::read::dataset_stream::DatasetStream;
use wstar_data::run::{Status, Watch};
use wstar_data::setting::Setting;
use wstar_data::{Classes, Dataset, DatasetChunks, Target, refuse_huge_features};
use wstar_problem::multiclass::{SubproblemBlocks, Subproblems, Totals};
use wstar_problem::objective::Validation;
use wstar_solve::plan::Plan;
use wstar_solve::{Control, SharedColumns};

/// Stored numbers from which a fit with several outputs copies dense rows that are mostly zeros to CSR. Heuristic:
/// the copy costs time and memory and makes each pass cheaper; not measured yet.
const MANY: usize = 1 << 20;

/// Fits a model to data in memory.
pub(super) fn fit(
    data: &Dataset,
    settings: &Regularized,
    origin: &Start<'_>,
    watch: &mut dyn Watch,
) -> Result<Outcome> {
    let classes =
        classes_for(settings.method, data.target()).map_err(|error| error.in_file(data.source()))?;
    let nothing = SharedWork::default();
    let known = origin.known.unwrap_or(&nothing);
    let seen = known.totals.get().is_some();
    let totals = match known.totals.get() {
        Some(totals) => totals,
        None => {
            let counted = Totals::of_targets(data)?;
            known.totals.get_or_init(|| counted)
        }
    };
    let reduction = settings
        .reduction(classes, data.features(), totals)
        .and_then(|reduction| check_classes(totals, classes).map(|()| reduction))
        .map_err(|error| error.in_file(data.source()))?;
    let options = settings.solver_options();
    let plan = Plan::new(reduction.problem(), Some(data.design()), &options, &known.columns);
    let mut validation = if seen { Validation::Done } else { plan.validation };
    let validates = validation == Validation::FirstPass;
    if !seen && !validates {
        refuse_huge_features(data)?;
    }
    let mut checkpoint = Checkpoint::open(origin.checkpoint, data, settings)?;
    let starts = start::starts(origin, settings, &reduction, data.schema(), classes)?;
    let mut existing = Vec::new();
    for &part in reduction.parts() {
        existing.push(existence::inquire(
            data,
            &reduction,
            part,
            settings.budget().max_time,
            watch,
        )?);
    }
    let many = reduction.problem().layout().outputs > 1 && data.design().stored() >= MANY;
    let compressed = if many { data.design().compressed() } else { None };
    let mut control = Control::new(settings.tol.into(), settings.budget(), watch);
    let mut solved = Vec::new();
    for (at, (&part, start)) in reduction.parts().iter().zip(starts).enumerate() {
        if let Existence::Endless(direction) = &existing[at] {
            let rows = reduction.rows(part, data)?;
            solved.push(subproblem::unattained(
                rows,
                reduction.problem(),
                settings.tol,
                direction,
            )?);
            continue;
        }
        let start = checkpoint.resume(at).unwrap_or(start);
        control.keep(checkpoint.keeper(at));
        let mut source = Source::Memory {
            given: reduction.rows(part, data)?,
            compressed: compressed.as_ref(),
            validation: std::mem::take(&mut validation),
        };
        let fit = solve(
            &mut source,
            reduction.problem(),
            &plan,
            &options,
            start,
            &mut control,
        )
        .or_else(|error| match validates {
            // If an invalid number caused the error, this reports its row and column.
            true => refuse_huge_features(data).and(Err(error)),
            false => Err(error),
        })?;
        checkpoint.finish(at, &fit.parameters);
        solved.push(fit);
    }
    let (iterations, failed) = (control.iterations(), control.release());
    if let Some(error) = failed {
        return Err(error);
    }
    let proved = proved_digits::prove(&mut solved, data, &reduction, settings)?;
    let separated = separation_note::notes(&solved, data, &reduction)?;
    let gram = solved.first_mut().and_then(|first| first.gram.take());
    let mut outcome = put_together(solved, totals, &reduction, settings, iterations);
    let fewer = proved_digits::note(proved.as_deref(), settings);
    outcome.proved = proved;
    let notes = &mut outcome.fit.notes;
    notes.extend(fewer);
    notes.extend(existence::notes(&existing, data, &reduction, settings));
    notes.extend(separated);
    statistics::add(&mut outcome, data, &reduction, gram.as_deref());
    if outcome.fit.status == Status::Converged {
        checkpoint.remove();
    } else {
        checkpoint.save()?;
    }
    Ok(outcome)
}

/// Fits a model to a stream that can be read again, with the solvers that read each row once per pass.
pub(super) fn fit_stream(
    stream: &mut DatasetStream,
    settings: &Regularized,
    watch: &mut dyn Watch,
) -> Result<Model> {
    if !stream.can_rewind() {
        return Err(Error::misuse(
            Setting::Method.to(settings.method.name()),
            "makes several passes over the data, and standard input can be read only once",
        )
        .remedy(Remedy::Either(vec![
            "use a file".into(),
            Setting::Method
                .any(["online-perceptron", "averaged-perceptron"])
                .into(),
        ])));
    }
    for (setting, is_given) in [
        (Setting::Prove, settings.prove.is_some()),
        (Setting::Digits, settings.digits.is_some()),
    ] {
        if is_given {
            return Err(Error::conflict(setting.given(), Setting::Stream.given())
                .because("because it needs all rows in memory"));
        }
    }
    let mut real = false;
    let totals = {
        let chunks: &mut dyn DatasetChunks = stream;
        let mut first = true;
        chunks.each(&mut |chunk| {
            real |= first && matches!(chunk.target(), Target::Real(_));
            first = false;
            Ok(())
        })?;
        Totals::of(chunks)?
    };
    let classes = stream.classes().clone();
    if real != settings.method.is_regression() {
        let method = Setting::Method.to(settings.method.name());
        return Err(Error::misuse(method, "is for another kind of target").of_kind(ErrorKind::Data));
    }
    let schema = stream.schema().clone();
    let reduction = settings.reduction(&classes, schema.features, &totals)?;
    check_classes(&totals, &classes)?;
    let starts = start::starts(&Start::default(), settings, &reduction, &schema, &classes)?;
    let options = settings.solver_options();
    let plan = Plan::new(reduction.problem(), None, &options, &SharedColumns::default());
    let mut control = Control::new(settings.tol.into(), settings.budget(), watch);
    let mut solved = Vec::new();
    for (&part, start) in reduction.parts().iter().zip(starts) {
        let mut source = Source::Stream(SubproblemBlocks::new(stream, &reduction, part));
        let fit = solve(
            &mut source,
            reduction.problem(),
            &plan,
            &options,
            start,
            &mut control,
        )?;
        solved.push(fit);
    }
    let iterations = control.iterations();
    let outcome = put_together(solved, &totals, &reduction, settings, iterations);
    Ok(outcome.into_model(settings.clone().into(), schema, classes))
}

/// The classes of a classifier, empty for a regression. Returns an error if the target is of the other kind.
fn classes_for(method: Method, target: &Target) -> Result<&Classes> {
    const NO_CLASSES: &Classes = &Classes::NONE;
    match target {
        Target::Real(values) if values.is_empty() => Err(Error::data("there are no rows to learn from")),
        Target::Real(_) if method.is_regression() => Ok(NO_CLASSES),
        Target::Real(_) => Err(Error::misuse(
            Setting::Method.to(method.name()),
            "is for classes, and the target is a real number",
        )
        .of_kind(ErrorKind::Data)
        .remedy(Remedy::Either(vec![
            Remedy::Effect(Setting::Categorical.to("NAME"), "makes its values classes".into()),
            Setting::Method.any(["least-squares", "lad"]).into(),
        ]))),
        Target::Classes { .. } if method.is_regression() => Err(Error::misuse(
            Setting::Method.to(method.name()),
            "is for a real target, and this one has classes",
        )
        .of_kind(ErrorKind::Data)
        .remedy(Setting::Method.any(["logistic", "softmax", "svm"]))),
        Target::Classes { classes, .. } => match classes.names() {
            [] => Err(Error::data("there are no rows to learn from")),
            [only] => Err(Error::data(format!(
                "every row has the same class, {}: a classifier needs two",
                wstar_data::error::shown(only)
            ))),
            _ => Ok(classes),
        },
        Target::Unknown => Err(Error::data("the data have no target column")),
        _ => Err(Error::data(format!(
            "{} is not for a target of this kind",
            method.name()
        ))),
    }
}

/// Rejects a class without a row of positive weight: nothing can be learnt about it.
fn check_classes(totals: &Totals, classes: &Classes) -> Result<()> {
    let missing = totals.classes().iter().position(|&total| total <= 0.0);
    match missing {
        Some(code) if code < classes.len() => Err(Error::data(format!(
            "no row of class {} has a weight above 0",
            classes.name(code as u32)
        ))),
        _ => Ok(()),
    }
}

fn put_together(
    fits: Vec<Solved>,
    totals: &Totals,
    reduction: &Subproblems,
    settings: &Regularized,
    iterations: u64,
) -> Outcome {
    let layout = reduction.problem().layout();
    let discriminants = fits
        .iter()
        .flat_map(|fit| {
            (0..layout.outputs).map(|k| {
                let (weights, intercept) = layout.output(&fit.parameters, k);
                Hyperplane::new(weights.to_vec(), intercept)
            })
        })
        .collect();
    let passes = fits.iter().map(|fit| fit.passes).max().unwrap_or_default();
    // The first subproblem that did not converge determines the status and the reported solver of the fit.
    let worst = fits
        .iter()
        .find(|fit| fit.status != Status::Converged)
        .or(fits.last());
    let fit = FitRecord {
        status: worst.map_or(Status::Converged, |fit| fit.status),
        rows: totals.counted(),
        passes,
        iterations,
        seen: passes * totals.counted(),
        mistakes_by_pass: Vec::new(),
        objective: Some(fits.iter().map(|fit| fit.claim.objective()).sum()),
        solver: worst.and_then(|fit| fit.chosen.clone()),
        notes: notes(settings, reduction, worst),
    };
    let (mut gaps, mut slopes) = (Vec::new(), Vec::new());
    for fit in fits {
        match fit.claim {
            Claim::Gap(gap) => gaps.push(gap),
            Claim::Slope(slope) => slopes.push(slope),
        }
    }
    Outcome {
        predictor: Predictor::Linear {
            discriminants,
            ties: Ties::Mistake,
            link: Link::of(reduction),
        },
        fit,
        certificate: if reduction.problem().is_convex() {
            Certificate::DualityGap { parts: gaps }
        } else {
            Certificate::Stationarity { parts: slopes }
        },
        inference: None,
        proved: None,
        least_squares: None,
    }
}

fn notes(settings: &Regularized, reduction: &Subproblems, worst: Option<&Solved>) -> Vec<Note> {
    let mut notes = Vec::new();
    if reduction.problem().is_firth() {
        notes.push(Note::Firth);
    } else if !reduction.problem().is_convex() {
        notes.push(Note::NotConvex);
    }
    let endless = worst.is_some_and(|fit| fit.status == Status::Diverging && fit.chosen.is_some());
    if endless && reduction.problem().penalty().is_none() {
        notes.push(Note::Diverges {
            method: settings.method,
        });
    }
    notes
}

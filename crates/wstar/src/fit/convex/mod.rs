//! Fits the methods that minimise a loss and a penalty: makes the problems, solves each by the solvers chosen
//! for its shape until its certificate holds, and puts the model together.

mod checkpoint;
mod choose;
mod existence;
mod intercept;
mod origin;
mod overlap;
mod part;
mod point;
mod sample;
mod separated;
mod statistics;

pub use origin::{Known, Origin};

use crate::certify::Certificate;
use crate::data::{Classes, Dataset, Portions, Target, refuse_huge_features};
use crate::error::{Error, Result};
use crate::fit::Outcome;
use crate::loss::LossName;
use crate::model::{FitRecord, Hyperplane, Link, Model, Predictor};
use crate::online::{Streamed, Ties};
use crate::reduction::{Part, PartBlocks, Reduction, Totals};
use crate::settings::{Method, Settings};
use crate::solve::{Control, SharedColumns};
use crate::watch::{Budget, Status, Watch};
use checkpoint::Checkpoint;
use existence::Existence;
use part::{Claim, Feed, Solved, solve};

/// Numbers for which several outputs are worth a copy of the rows without their zeros.
const MANY: usize = 1 << 20;

/// Fits to data in memory.
pub(super) fn fit(
    data: &Dataset,
    settings: &Settings,
    origin: &Origin<'_>,
    watch: &mut dyn Watch,
) -> Result<Outcome> {
    let classes =
        classes_for(settings.method(), &data.target).map_err(|error| error.in_file(&data.source))?;
    let nothing = Known::default();
    let known = origin.known.unwrap_or(&nothing);
    let seen = known.totals.get().is_some();
    let totals = match known.totals.get() {
        Some(totals) => totals,
        None => {
            let counted = Totals::unseen(data)?;
            known.totals.get_or_init(|| counted)
        }
    };
    let reduction = Reduction::new(settings, classes, data.features(), totals)
        .and_then(|reduction| check_classes(totals, classes).map(|()| reduction))
        .map_err(|error| error.in_file(&data.source))?;
    // Rows that will be passed over at once need no pass of their own to be looked at.
    let unseen = !seen && choose::asks_first(&reduction.definition, &data.design, settings);
    if !seen && !unseen {
        refuse_huge_features(data)?;
    }
    let mut checkpoint = Checkpoint::open(origin.checkpoint, data, settings)?;
    let starts = origin::starts(origin, settings, &reduction, &data.schema, classes)?;
    let mut existing = Vec::new();
    for &part in &reduction.parts {
        existing.push(existence::inquire(
            data,
            &reduction,
            part,
            settings.max_time(),
            watch,
        )?);
    }
    let many = reduction.definition.layout.outputs > 1 && data.design.stored() >= MANY;
    let compressed = if many { data.design.compressed() } else { None };
    let mut control = Control::new(settings.tol(), budget(settings), watch);
    let mut solved = Vec::new();
    for (at, (&part, start)) in reduction.parts.iter().zip(starts).enumerate() {
        if let Existence::Endless(direction) = &existing[at] {
            let rows = reduction.rows(part, data)?;
            solved.push(part::unattained(
                rows,
                &reduction.definition,
                settings,
                direction,
            )?);
            continue;
        }
        let start = checkpoint.resume(at).unwrap_or(start);
        control.keep(checkpoint.keeper(at));
        let mut feed = Feed::Memory(
            reduction.rows(part, data)?,
            compressed.as_ref(),
            unseen && at == 0,
        );
        let fit = solve(
            &mut feed,
            &reduction.definition,
            settings,
            start,
            &known.columns,
            &mut control,
        )
        .or_else(|error| match unseen {
            // If a number was in the way, this says which and where.
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
    let separated = separated::notes(&solved, data, &reduction)?;
    let gram = solved.first_mut().and_then(|first| first.gram.take());
    let mut outcome = put_together(solved, totals, &reduction, settings, iterations);
    let notes = &mut outcome.fit.notes;
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

/// Fits to a stream that can be passed over again, with the solvers that need no row twice in one pass.
pub(super) fn fit_stream(stream: &mut Streamed, settings: &Settings, watch: &mut dyn Watch) -> Result<Model> {
    if !stream.can_rewind() {
        return Err(Error::settings(format!(
            "{} passes over the data again and again, and standard input goes by only once",
            settings.method().name()
        ))
        .hint("use a file, or a perceptron"));
    }
    let mut real = false;
    let totals = {
        let portions: &mut dyn Portions = stream;
        let mut first = true;
        portions.each(&mut |portion| {
            real |= first && matches!(portion.target, Target::Real(_));
            first = false;
            Ok(())
        })?;
        Totals::of(portions)?
    };
    let classes = stream.classes().clone();
    if real != settings.method().is_regression() {
        return Err(Error::data(format!(
            "{} is for another kind of target",
            settings.method().name()
        )));
    }
    let schema = stream.schema().clone();
    let reduction = Reduction::new(settings, &classes, schema.features, &totals)?;
    check_classes(&totals, &classes)?;
    let starts = origin::starts(&Origin::default(), settings, &reduction, &schema, &classes)?;
    let mut control = Control::new(settings.tol(), budget(settings), watch);
    let mut solved = Vec::new();
    for (&part, start) in reduction.parts.iter().zip(starts) {
        let mut feed = Feed::Stream(PartBlocks::new(stream, &reduction, part));
        solved.push(solve(
            &mut feed,
            &reduction.definition,
            settings,
            start,
            &SharedColumns::default(),
            &mut control,
        )?);
    }
    let iterations = control.iterations();
    let outcome = put_together(solved, &totals, &reduction, settings, iterations);
    Ok(outcome.into_model(settings, schema, classes))
}

fn budget(settings: &Settings) -> Budget {
    Budget {
        max_updates: settings.max_iter,
        max_time: settings.max_time(),
    }
}

/// The classes of a classifier, none of a regression; an error if the data have the other kind of target.
fn classes_for(method: Method, target: &Target) -> Result<&Classes> {
    const NO_CLASSES: &Classes = &Classes::NONE;
    match target {
        Target::Real(values) if values.is_empty() => Err(Error::data("there are no rows to learn from")),
        Target::Real(_) if method.is_regression() => Ok(NO_CLASSES),
        Target::Real(_) => Err(Error::data(format!(
            "the target is a real number, and {} is for classes",
            method.name()
        ))
        .hint("--categorical NAME makes its values classes; least-squares and lad are for real targets")),
        Target::Classes { .. } if method.is_regression() => Err(Error::data(format!(
            "the target has classes, and {} is for a real one",
            method.name()
        ))
        .hint("use logistic, softmax or svm")),
        Target::Classes { classes, .. } => match classes.names() {
            [] => Err(Error::data("there are no rows to learn from")),
            [only] => Err(Error::data(format!(
                "every row has the same class, {}: a classifier needs two",
                crate::error::shown(only)
            ))),
            _ => Ok(classes),
        },
        Target::Unknown => Err(Error::data("the data have no target column")),
    }
}

/// Refuses a class that no row with a weight has: nothing could be learnt about it.
fn check_classes(totals: &Totals, classes: &Classes) -> Result<()> {
    let missing = totals.classes.iter().position(|&total| total <= 0.0);
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
    reduction: &Reduction,
    settings: &Settings,
    iterations: u64,
) -> Outcome {
    let layout = reduction.definition.layout;
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
    // The worst of all ends tells how the fit ended.
    let worst = fits
        .iter()
        .find(|fit| fit.status != Status::Converged)
        .or(fits.last());
    let fit = FitRecord {
        status: worst.map_or(Status::Converged, |fit| fit.status),
        rows: totals.counted,
        passes,
        iterations,
        seen: passes * totals.counted,
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
            link: link(reduction),
        },
        fit,
        certificate: if reduction.definition.is_convex() {
            Certificate::DualityGap { parts: gaps }
        } else {
            Certificate::Stationarity { parts: slopes }
        },
        inference: None,
        least_squares: None,
    }
}

fn link(reduction: &Reduction) -> Link {
    match (reduction.parts.first(), reduction.definition.loss) {
        (Some(Part::Real), _) => Link::Identity,
        (_, LossName::Softmax) => Link::Softmax,
        (Some(Part::Pair { .. }), _) => Link::Pairs,
        (_, LossName::Logistic | LossName::SigmoidMse) => Link::Logit,
        _ => Link::Margin,
    }
}

fn notes(settings: &Settings, reduction: &Reduction, worst: Option<&Solved>) -> Vec<String> {
    let mut notes = Vec::new();
    if reduction.definition.firth {
        notes.push(
            "Firth's correction: the likelihood is weighted by Jeffreys' prior, and the optimum is finite"
                .into(),
        );
    } else if !reduction.definition.is_convex() {
        notes.push("the loss is not convex: there may be a better optimum elsewhere".into());
    }
    let endless = worst.is_some_and(|fit| fit.status == Status::Diverging && fit.chosen.is_some());
    if endless && reduction.definition.penalty.is_none() {
        notes.push(format!(
            "the classes can be separated, so no {} fit without a penalty exists: the weights grow without end",
            settings.method().name()
        ));
    }
    notes
}

//! The maximum-margin hyperplane of two classes, or of each class against the rest.

use crate::certificate::Certificate;
use crate::estimate::outcome::Outcome;
use crate::model::{FitRecord, Link, Predictor};
use crate::online::Ties;
use crate::settings;
use wstar_data::error::Remedy;
use wstar_data::error::{Error, Result};
use wstar_data::run::{Status, Watch};
use wstar_data::setting::Command;
use wstar_data::setting::Setting;
use wstar_data::{Classes, Dataset, refuse_huge};
use wstar_separate::exact::Signed;
use wstar_separate::margin::margin_certificate::LargestMargin;
use wstar_separate::margin::{MaximumMargin, Separated, hard_margin};
use wstar_separate::proof::{Sides, Verdict, all_sides};

/// Cap: rows of a proof that an error message names; further rows are left out.
const MOST_NAMED: usize = 8;

/// Finds and certifies the hyperplane, or returns an error with the reason why none exists.
pub(super) fn fit(
    data: &Dataset,
    settings: &settings::MaximumMargin,
    watch: &mut dyn Watch,
) -> Result<Outcome> {
    refuse_huge(data)?;
    let (_, classes) = data.require_classes()?;
    if classes.len() < 2 {
        return Err(Error::data("every row has the same class: a margin needs two").in_file(data.source()));
    }
    let (intercept, tol) = (settings.intercept, settings.tol);
    let budget = settings.budget();
    let (mut planes, mut claims) = (Vec::new(), Vec::new());
    let (mut status, mut passes, mut pivots) = (Status::Converged, 0, 0);
    for sides in all_sides(classes) {
        let signs = sides.signs(data)?;
        let signed = Signed {
            design: data.design(),
            signs: &signs,
            intercept,
        };
        let names = sides.names(classes);
        let found = match hard_margin(&signed, names, tol, budget, watch)? {
            MaximumMargin::Found(found) => found,
            MaximumMargin::Refused(separated) => return Err(refusal(&separated, sides, classes, data)),
        };
        watch.certifying();
        let claim = LargestMargin::new(tol, intercept, found.support);
        let claim = claim.recompute(data.design(), &signs, &found.hyperplane);
        if !claim.holds() && status == Status::Converged {
            status = match found.status {
                Status::Converged | Status::Completed => Status::IterationLimit,
                ended => ended,
            };
        }
        (passes, pivots) = (passes + found.passes, pivots + found.pivots);
        planes.push(found.hyperplane);
        claims.push(claim);
    }
    let rows = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    Ok(Outcome {
        predictor: Predictor::Linear {
            discriminants: planes,
            ties: Ties::Mistake,
            link: Link::Margin,
        },
        fit: FitRecord {
            status,
            rows,
            passes,
            iterations: pivots,
            seen: passes * rows,
            mistakes_by_pass: Vec::new(),
            objective: Some(claims.iter().map(|claim| claim.primal).sum()),
            solver: None,
            notes: Vec::new(),
        },
        certificate: Certificate::HardMargin { parts: claims },
        inference: None,
        proved: None,
        least_squares: None,
    })
}

/// The error for classes that no hyperplane separates, with the points that prove it.
fn refusal(separated: &Separated, sides: Sides, classes: &Classes, data: &Dataset) -> Error {
    let names = sides.names(classes);
    let (positive, negative) = (names.positive, names.negative);
    let Some(proof) = &separated.proof else {
        let why = separated.status.in_words();
        return Error::data(format!(
            "whether {positive} and {negative} can be separated was not decided ({why})"
        ))
        .remedy(Remedy::Either(vec![
            "give it more time".into(),
            Setting::Method.to("svm").into(),
        ]))
        .in_file(data.source());
    };
    let points = proof
        .proof
        .as_ref()
        .map_or(&[][..], |combination| combination.points.as_slice());
    let named: Vec<String> = points.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let more = if points.len() > MOST_NAMED { ", …" } else { "" };
    let how = match proof.verdict {
        Verdict::QuasiSeparable => "only touch",
        _ => "overlap",
    };
    Error::data(format!(
        "{positive} and {negative} {how}, so no hyperplane separates them: means of {} points of both coincide (rows {}{more})",
        points.len(),
        named.join(", ")
    ))
    .remedy(Remedy::Either(vec![
        Setting::Method.to("svm").into(),
        Remedy::Run("see the proof by".into(), Command::Separate),
    ]))
    .in_file(data.source())
}

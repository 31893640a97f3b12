//! Fits the maximum-margin hyperplane: of two classes, or of each class against the rest.

use crate::certify::proof::{Sides, Verdict};
use crate::certify::{Certificate, LargestMargin};
use crate::data::{Classes, Dataset, refuse_huge};
use crate::error::{Error, Result};
use crate::exact::Signed;
use crate::fit::Outcome;
use crate::margin::{MaximumMargin, Separated, hard_margin};
use crate::model::{FitRecord, Link, Predictor};
use crate::online::{Ties, discriminants};
use crate::settings::Settings;
use crate::watch::{Budget, Status, Watch};

/// The relative gap unless another is asked for: there is no reason to stop before all digits are right.
const TOL: f64 = 1e-8;
/// Rows of a circuit that are named.
const MOST_NAMED: usize = 8;

/// Finds and certifies the hyperplane, or says why there is none.
pub(super) fn fit(data: &Dataset, settings: &Settings, watch: &mut dyn Watch) -> Result<Outcome> {
    refuse_huge(data)?;
    let (_, classes) = data.require_classes()?;
    if classes.len() < 2 {
        return Err(Error::data("every row has the same class: a margin needs two").in_file(&data.source));
    }
    let (intercept, tol) = (!settings.no_intercept, settings.tol.unwrap_or(TOL));
    let budget = Budget {
        max_updates: settings.max_iter,
        max_time: settings.max_time(),
    };
    let (mut planes, mut claims) = (Vec::new(), Vec::new());
    let (mut status, mut passes, mut pivots) = (Status::Converged, 0, 0);
    for sides in all_sides(classes) {
        let signs = sides.signs(data)?;
        let signed = Signed {
            design: &data.design,
            signs: &signs,
            intercept,
        };
        let names = sides.names(classes);
        let found = match hard_margin(&signed, names, tol, budget, watch)? {
            MaximumMargin::Found(found) => found,
            MaximumMargin::Refused(separated) => return Err(refusal(&separated, sides, classes, data)),
        };
        watch.certifying();
        let claim = LargestMargin {
            primal: 0.0,
            dual: 0.0,
            relative_gap: 1.0,
            tol,
            rows: 0,
            intercept,
            support: found.support,
            slackness: 0.0,
            imbalance: 0.0,
        };
        let claim = claim.recompute(&data.design, &signs, &found.hyperplane);
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
        least_squares: None,
    })
}

/// Which classes are kept apart: the second from the first, or each from the rest.
pub(crate) fn all_sides(classes: &Classes) -> Vec<Sides> {
    let count = discriminants(classes.len()) as u32;
    let side = |positive| Sides {
        positive,
        negative: None,
    };
    match count {
        1 => vec![side(1)],
        count => (0..count).map(side).collect(),
    }
}

/// Why there is no hyperplane, with the points that prove it.
fn refusal(separated: &Separated, sides: Sides, classes: &Classes, data: &Dataset) -> Error {
    let names = sides.names(classes);
    let (positive, negative) = (names.positive, names.negative);
    let Some(proof) = &separated.proof else {
        let why = separated.status.in_words();
        return Error::data(format!(
            "whether {positive} and {negative} can be separated was not settled ({why})"
        ))
        .hint("give it more time, or use --method svm")
        .in_file(&data.source);
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
    .hint("use --method svm; `wstar separate --proof` writes the proof")
    .in_file(&data.source)
}

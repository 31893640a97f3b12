//! `wstar verify`: re-checks a model's certificate, or a proof of separation, from the data alone.

use std::fs;
use std::io::Write;

use anyhow::{Result, bail};
use wstar::Model;
use wstar::data::error::Error;
use wstar::data::read;
use wstar::data::read::Source;
use wstar::data::{self, Applied};
use wstar::model::verify;
use wstar::model::verify_stream;
use wstar::separate::proof::Proof;
use wstar_report::claim;

use crate::answer::Answer;
use crate::args::VerifyArgs;
use crate::independent;
use crate::input::{self, Purpose};
use crate::json;
use crate::output::{self, Style};

pub(crate) fn run(args: &VerifyArgs) -> Result<Answer> {
    if args.independent {
        return independent::run(args);
    }
    if fs::read(&args.model).is_ok_and(|bytes| Proof::is_one(&bytes)) {
        return check_proof(&Proof::load(&args.model)?, args);
    }
    let model = Model::load(&args.model)?;
    let verdict = if args.stream {
        verify_stream(&model, &mut input::stream_for(&model, &args.data, &args.file)?)?
    } else {
        let data = input::read_for(&model, &args.data, &args.file, None, Purpose::Verify)?;
        verify(&model, &data)?
    };
    if args.json {
        json::print(&json::verified(&verdict, model.classes()))?;
        return Ok(Answer::from(verdict.holds()));
    }
    let style = Style::for_results();
    let mut results = output::results();
    let (word, claimed) = (
        verdict.certificate().kind(),
        claim(verdict.certificate(), model.classes()),
    );
    if verdict.holds() {
        writeln!(results, "{}   {word}: {claimed}", style.good("holds"))?;
    } else {
        writeln!(results, "{}   {word}", style.bad("does not hold"))?;
        for objection in verdict.objections() {
            writeln!(results, "  {objection}")?;
        }
    }
    results.flush()?;
    Ok(Answer::from(verdict.holds()))
}

/// Checks a proof that classes are separable or inseparable.
fn check_proof(proof: &Proof, args: &VerifyArgs) -> Result<Answer> {
    let Some(points) = &proof.points else {
        return Err(Error::model(
            "the proof does not describe how its points are computed from the rows of a file",
        )
        .in_file(args.model.display().to_string())
        .into());
    };
    if args.stream || args.holdout.is_some() {
        bail!("--stream and --holdout are for models, and this is a proof");
    }
    let source = Source::parse(&args.data)?;
    let raw = read::read(
        &source,
        &input::read_options(&args.file)?.matching(&points.schema, None),
    )?;
    let how = Applied {
        drop_missing: true,
        with_target: true,
        with_weights: true,
        ..Applied::default()
    };
    let data = data::prepare_with(raw, &points.schema, Some(&points.classes), &how)?;
    let checked = proof.check(data.design(), &points.sides.signs(&data)?)?;
    if args.json {
        json::print(&serde_json::json!({
            "holds": checked.holds, "kind": "separation", "verdict": proof.verdict.name(),
            "exact": checked.exact, "margin": checked.margin, "reason": checked.reason,
        }))?;
        return Ok(Answer::from(checked.holds));
    }
    let style = Style::for_results();
    let mut results = output::results();
    let classes = &proof.classes;
    let (positive, negative) = (&classes.positive, &classes.negative);
    match &checked.reason {
        None => {
            let how = if checked.exact {
                "checked exactly"
            } else {
                "checked to the bound of its margin"
            };
            let verdict = proof.verdict.name();
            writeln!(
                results,
                "{}   {positive} and {negative} are {verdict}, {how}",
                style.good("holds")
            )?;
        }
        Some(reason) => {
            writeln!(
                results,
                "{}   that {positive} and {negative} are {}",
                style.bad("does not hold"),
                proof.verdict.name()
            )?;
            writeln!(results, "  {reason}")?;
        }
    }
    results.flush()?;
    Ok(Answer::from(checked.holds))
}

//! `wstar verify`: re-checks a model's certificate from the data alone.

use std::io::Write;

use anyhow::Result;
use wstar::{Model, verify};

use crate::args::VerifyArgs;
use crate::input::{self, Purpose};
use crate::output::{self, Style};
use crate::{Answer, json, summary};

pub(crate) fn run(args: &VerifyArgs) -> Result<Answer> {
    let model = Model::load(&args.model)?;
    let data = input::read_for(&model, &args.data, &args.file, None, Purpose::Verify)?;
    let verdict = verify(&model, &data)?;
    if args.json {
        json::print(&json::verified(&verdict, &model.classes))?;
        return Ok(Answer::from(verdict.holds()));
    }
    let style = Style::for_results();
    let mut results = output::results();
    let (word, claim) = (
        verdict.certificate.kind(),
        summary::claim(&verdict.certificate, &model.classes),
    );
    if verdict.holds() {
        writeln!(results, "{}   {word}: {claim}", style.good("holds"))?;
    } else {
        writeln!(results, "{}   {word}", style.bad("does not hold"))?;
        for objection in &verdict.objections {
            writeln!(results, "  {objection}")?;
        }
    }
    results.flush()?;
    Ok(Answer::from(verdict.holds()))
}

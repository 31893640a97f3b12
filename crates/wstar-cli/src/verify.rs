//! `wstar verify`: re-checks a model's certificate from the data alone.

use std::io::Write;

use anyhow::Result;
use wstar::model::verify_stream;
use wstar::{Model, verify};

use crate::args::VerifyArgs;
use crate::input::{self, Purpose};
use crate::output::{self, Style};
use crate::{Answer, claim, json};

pub(crate) fn run(args: &VerifyArgs) -> Result<Answer> {
    let model = Model::load(&args.model)?;
    let verdict = if args.stream {
        verify_stream(&model, &mut input::stream_for(&model, &args.data, &args.file)?)?
    } else {
        let data = input::read_for(&model, &args.data, &args.file, None, Purpose::Verify)?;
        verify(&model, &data)?
    };
    if args.json {
        json::print(&json::verified(&verdict, &model.classes))?;
        return Ok(Answer::from(verdict.holds()));
    }
    let style = Style::for_results();
    let mut results = output::results();
    let (word, claimed) = (
        verdict.certificate.kind(),
        claim::claim(&verdict.certificate, &model.classes),
    );
    if verdict.holds() {
        writeln!(results, "{}   {word}: {claimed}", style.good("holds"))?;
    } else {
        writeln!(results, "{}   {word}", style.bad("does not hold"))?;
        for objection in &verdict.objections {
            writeln!(results, "  {objection}")?;
        }
    }
    results.flush()?;
    Ok(Answer::from(verdict.holds()))
}

//! `wstar inspect`: what is in a model.

use std::io::Write;

use anyhow::Result;
use wstar::Model;
use wstar_report::claim;
use wstar_report::words::passes;

use crate::args::InspectArgs;
use crate::output::{self, plural};
use crate::{Answer, json, summary, weights};

pub(crate) fn run(args: &InspectArgs) -> Result<Answer> {
    let model = Model::load(&args.model)?;
    if args.json {
        json::print(&json::inspected(&model))?;
        return Ok(Answer::Yes);
    }
    let mut results = output::results();
    writeln!(
        results,
        "{}: {}, {}, {}",
        model.method.name(),
        plural(model.fit.rows, "row"),
        plural(model.schema.features as u64, "feature"),
        if model.predictor.is_regression() {
            "a real target".to_string()
        } else {
            format!("classes {}", model.classes.names().join(", "))
        }
    )?;
    writeln!(results, "settings: {}", summary::settings(&model.settings))?;
    writeln!(
        results,
        "fit: {} after {} and {}",
        model.fit.status.in_words(),
        passes(model.fit.passes),
        plural(model.fit.iterations, "update")
    )?;
    writeln!(
        results,
        "claim ({}): {}",
        model.certificate.kind(),
        claim(&model.certificate, &model.classes)
    )?;
    writeln!(results)?;
    results.write_all(weights::weights(&model, args.top).as_bytes())?;
    results.flush()?;
    Ok(Answer::Yes)
}

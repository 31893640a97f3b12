//! `wstar verify --independent`: the check of `wstar-check`, which shares no code with the engine.
//!
//! `wstar-check` reads the file by itself if it can. Otherwise the engine reads it, and `wstar-check` gets canonical rows; its
//! report states which of the two was done.

use std::fs;
use std::io::Write;

use anyhow::{Context, Result};
use wstar::Model;
use wstar::data::read::Source;
use wstar::data::write::write_canonical_rows;
use wstar_check::check;
use wstar_check::report;
use wstar_check::table::TableOptions;
use wstar_check::verdict::Options;

use crate::answer::Answer;
use crate::args::VerifyArgs;
use crate::input::{self, Purpose};
use crate::output;

pub(crate) fn run(args: &VerifyArgs) -> Result<Answer> {
    let name = args.model.display().to_string();
    let bytes = fs::read(&args.model).with_context(|| name.clone())?;
    let model = wstar_check::model::Model::read(&bytes, &name)?;
    let source = match read_here(&model, args) {
        Some(source) => source,
        None => {
            let data = input::read_for(
                &Model::load(&args.model)?,
                &args.data,
                &args.file,
                None,
                Purpose::Verify,
            )?;
            let mut rows = Vec::new();
            write_canonical_rows(&data, &mut rows)?;
            check::Source::canonical(&model, &rows, &format!("{} (canonical rows)", args.data))?
        }
    };
    let options = Options {
        tol: args.tol,
        digits: args.digits,
    };
    let verdict = check::check(&model, &source.rows, options)?;
    let text = match args.json {
        true => report::json(&model, &source, &verdict),
        false => report::text(&model, &name, &source, &verdict),
    };
    let mut results = output::results();
    results.write_all(text.as_bytes())?;
    results.flush()?;
    Ok(Answer::from(verdict.is_proved()))
}

/// The rows as `wstar-check` reads them, if it can read this file and no option says how to read it.
fn read_here(model: &wstar_check::model::Model, args: &VerifyArgs) -> Option<check::Source> {
    if !args.file.is_default() || !matches!(Source::parse(&args.data), Ok(Source::Path(_))) {
        return None;
    }
    let bytes = fs::read(&args.data).ok()?;
    // The command line leaves out rows with missing values where the model was trained without them.
    let options = TableOptions {
        drop_missing: true,
        ..TableOptions::default()
    };
    check::Source::file(model, &bytes, &args.data, options).ok()
}

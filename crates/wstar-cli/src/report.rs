//! `wstar report`: writes one page with a model, its certificate and its pictures.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use wstar::Model;
use wstar::data::read::Source;
use wstar::data::write;
use wstar_report::{Made, Standing, Subject, page};

use crate::answer::Answer;
use crate::drawing::ReportArgs;
use crate::input;
use crate::output;
use crate::title::title;
use crate::wording::CommandLine;

pub(crate) fn run(args: &ReportArgs) -> Result<Answer> {
    let model = Model::load(&args.model)?;
    let out = args.out.clone().unwrap_or_else(|| default_path(&args.model));
    write::check_writable(&out)?;
    let parts = input::read_parts(&model, &args.data, &args.file, &args.matching)?;
    let standing = Standing::find(&model, parts.training.as_ref().unwrap_or(&parts.judged));
    let subject = Subject::new(&model, &parts.judged)?;
    let unused = input::unused_columns(&model, &args.data, &args.file);
    let page = page(
        &subject,
        &standing,
        &Made {
            model: &args.model.display().to_string(),
            data: &args.data,
            title: &title(&Source::parse(&args.data)?),
            held_out: parts.training.is_some(),
            unused: &unused,
            version: env!("CARGO_PKG_VERSION"),
        },
        &CommandLine,
    )?;
    write::write_whole(&out, |writer| writer.write_all(page.as_bytes()))?;
    let (holds, outcome) = match &standing {
        Standing::Checked(verdict) if verdict.holds() => (true, "the proof was checked again, and holds"),
        Standing::Checked(_) => (false, "the proof was checked again, and does not hold"),
        Standing::Elsewhere => (
            true,
            "not the rows of the training, so the proof was not checked again",
        ),
        Standing::Unknown(_) => (
            true,
            "the proof does not hold on these rows, which may not be those of the training",
        ),
    };
    if !args.quiet {
        let mut results = output::results();
        writeln!(results, "report: {}          {outcome}", out.display())?;
        results.flush()?;
    }
    Ok(Answer::from(holds))
}

/// The default path of the page: `iris.report.html` for `models/iris.wstar.json`.
fn default_path(model: &Path) -> PathBuf {
    let name = model.file_name().unwrap_or(model.as_os_str()).to_string_lossy();
    let known = [".wstar.json", ".json"];
    let stem = known
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    format!("{stem}.report.html").into()
}

//! `wstar rows`: writes the rows that a model was trained on as canonical rows, which `wstar-check` reads.

use std::io::Write;

use anyhow::Result;
use wstar::Model;
use wstar::data::write;

use crate::answer::Answer;
use crate::args::RowsArgs;
use crate::input::{self, Purpose};
use crate::output;

pub(crate) fn run(args: &RowsArgs) -> Result<Answer> {
    let model = Model::load(&args.model)?;
    write::check_writable(&args.out)?;
    let data = input::read_for(&model, &args.data, &args.file, None, Purpose::Verify)?;
    write::write_whole(&args.out, |to| write::write_canonical_rows(&data, to))?;
    let mut results = output::results();
    writeln!(
        results,
        "wrote {}: {} rows, {} columns, as the model encodes them",
        args.out.display(),
        data.rows(),
        data.features()
    )?;
    results.flush()?;
    Ok(Answer::Yes)
}

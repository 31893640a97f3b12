//! `wstar lab`: starts the server of the lab and opens its page.

use std::io::Write;

use anyhow::{Context, Result};
use wstar_lab::Lab;

use crate::answer::Answer;
use crate::args::LabArgs;
use crate::output;

pub(crate) fn run(args: &LabArgs) -> Result<Answer> {
    let lab = Lab::bind(args.port).with_context(|| format!("port {} is not available", args.port))?;
    let address = lab.address();
    // A parent process may read the address from a pipe and wait for the complete line, so the output is flushed.
    let mut results = output::results();
    writeln!(results, "{address}")?;
    results.flush()?;
    drop(results);
    output::note("the lab is open, for this machine only; Ctrl-C closes it");
    if !args.no_open && open::that_detached(&address).is_err() {
        output::note("no browser could be started: open the address above");
    }
    lab.run().context("the lab")?;
    Ok(Answer::Yes)
}

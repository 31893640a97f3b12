//! `cargo xtask test`: everything that must hold before a change lands.

use anyhow::Result;

use crate::fuzz;
use crate::lint;
use crate::page;
use crate::python;
use crate::step::{Steps, cargo, succeed};

/// Executions of each fuzz target in the bounded run: a few seconds each.
const FUZZ_RUNS: u64 = 20_000;

/// What `cargo xtask test` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Skip the fuzz run.
    #[arg(long)]
    fast: bool,
}

/// Runs every step in order and stops at the first failure.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut steps = Steps::default();
    lint::tools(&mut steps)?;
    steps.run("tests", || succeed(&mut cargo(&["test", "--workspace"])))?;
    python::test(&mut steps)?;
    page::test(&mut steps)?;
    lint::gates(&mut steps)?;
    if !options.fast {
        steps.run("bounded fuzz run", || fuzz::bounded(FUZZ_RUNS))?;
    }
    steps.finish();
    Ok(())
}

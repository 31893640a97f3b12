//! `cargo xtask long`: the checks that take too long for every change: tests marked as ignored, and the fuzz targets.

use anyhow::Result;

use crate::fuzz;
use crate::step::{Steps, cargo, succeed};

/// The options of `cargo xtask long`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Executions of each fuzz target.
    #[arg(long, default_value_t = 1_000_000)]
    fuzz_runs: u64,
}

/// Runs every step in order and stops at the first failure.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut steps = Steps::default();
    steps.run("ignored tests", || {
        succeed(&mut cargo(&[
            "test",
            "--release",
            "--workspace",
            "--all-features",
            "--",
            "--ignored",
            "--test-threads=1",
        ]))
    })?;
    steps.run("fuzz run", || fuzz::all(options.fuzz_runs))?;
    steps.finish();
    Ok(())
}

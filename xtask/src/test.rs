//! `cargo xtask test`: everything that must hold before a change lands.

use std::process::Command;

use anyhow::Result;

use crate::fuzz;
use crate::lint;
use crate::page;
use crate::python;
use crate::step::{Steps, cargo, root, succeed};

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
    steps.run("tests", workspace)?;
    python::test(&mut steps)?;
    page::test(&mut steps)?;
    lint::gates(&mut steps)?;
    if !options.fast {
        steps.run("bounded fuzz run", || fuzz::bounded(FUZZ_RUNS))?;
    }
    steps.finish();
    Ok(())
}

/// All tests of the workspace. What random cases proptest draws is decided by the commit, so that every commit sees new
/// ones and a failure is met again by whoever runs the same commit.
fn workspace() -> Result<()> {
    const SEED: &str = "PROPTEST_RNG_SEED";
    let mut tests = cargo(&["test", "--workspace"]);
    if std::env::var_os(SEED).is_none()
        && let Some(seed) = commit().and_then(|commit| u64::from_str_radix(commit.get(..16)?, 16).ok())
    {
        println!("{SEED}={seed}");
        tests.env(SEED, seed.to_string());
    }
    succeed(&mut tests)
}

/// The commit that is checked out, where there is one.
fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["rev-parse", "HEAD"]).current_dir(root());
    let output = git.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

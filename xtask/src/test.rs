//! `cargo xtask test`: all checks that a change must pass.

use std::process::Command;

use anyhow::{Context, Result};

use crate::api;
use crate::fuzz;
use crate::lint;
use crate::page;
use crate::python;
use crate::step::{Steps, cargo, root, succeed, target};

/// Executions of each fuzz target in the bounded run, which take a few seconds. Heuristic: trades coverage for running
/// time; not measured yet.
const FUZZ_RUNS: u64 = 20_000;

/// The options of `cargo xtask test`.
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
    steps.run("time limits", time_limits)?;
    steps.run("examples", examples)?;
    api::test(&mut steps)?;
    python::test(&mut steps)?;
    page::test(&mut steps)?;
    lint::gates(&mut steps)?;
    if !options.fast {
        steps.run("bounded fuzz run", || fuzz::bounded(FUZZ_RUNS))?;
    }
    steps.finish();
    Ok(())
}

/// Runs all tests of the workspace. The seed of proptest is derived from the commit: every commit draws new random
/// cases, and a failure is reproduced by running the same commit.
fn workspace() -> Result<()> {
    const SEED: &str = "PROPTEST_RNG_SEED";
    let mut tests = cargo(&["test", "--workspace", "--all-features"]);
    if std::env::var_os(SEED).is_none()
        && let Some(seed) = commit().and_then(|commit| u64::from_str_radix(commit.get(..16)?, 16).ok())
    {
        println!("{SEED}={seed}");
        tests.env(SEED, seed.to_string());
    }
    succeed(&mut tests)
}

/// Runs the tests that measure time, with nothing beside them.
fn time_limits() -> Result<()> {
    succeed(&mut cargo(&[
        "test",
        "--workspace",
        "--all-features",
        "--test",
        "behaviour",
        "--",
        "--ignored",
        "time_limits::",
        "--test-threads=1",
    ]))
}

/// Runs the examples of the library, which the tests have built.
fn examples() -> Result<()> {
    let sources = std::fs::read_dir(root().join("crates/wstar/examples"))?;
    for source in sources {
        let name = source?.path().with_extension("");
        let name = name.file_name().context("an example without a name")?;
        succeed(&mut Command::new(target().join("debug/examples").join(name)))?;
    }
    Ok(())
}

/// The hash of the checked-out commit, if there is one.
fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["rev-parse", "HEAD"]).current_dir(root());
    let output = git.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

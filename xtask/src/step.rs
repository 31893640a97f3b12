//! Steps of a check, each printed with a headline and its seconds, and the commands that steps run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// A sequence of steps that stops at the first failure and counts the steps that passed.
#[derive(Default)]
pub(crate) struct Steps {
    passed: usize,
}

impl Steps {
    /// Runs one step under its headline. After a failure it prints the summary line and returns the error.
    pub(crate) fn run(&mut self, title: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n── {title}");
        let start = Instant::now();
        let outcome = work();
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                println!("── ok: {title} ({seconds:.1} s)");
                self.passed += 1;
                Ok(())
            }
            Err(error) => {
                println!("── FAILED: {title} ({seconds:.1} s)\n");
                println!("{} passed, 1 failed", self.passed);
                Err(error.context(title.to_string()))
            }
        }
    }

    /// Prints the summary line of a run without failures.
    pub(crate) fn finish(self) {
        println!("\n{} passed, 0 failed", self.passed);
    }
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A cargo command with the given arguments, run at the repository's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end. If it does not succeed, the error contains the command line.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command
        .status()
        .with_context(|| format!("`{shown}` could not be started"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Whether a command can be started and succeeds; its output is discarded (`cargo fmt --version` …).
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command line, as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    std::iter::once(program.file_name().unwrap_or(program.as_os_str()))
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

//! Steps: a headline, the work, its seconds; and the commands that steps are made of.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// A run of steps that stops at the first failure and counts what passed.
#[derive(Default)]
pub(crate) struct Steps {
    passed: usize,
}

impl Steps {
    /// Does one step under its headline. A failure also ends the run, with its summary line.
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

    /// The summary line of a run in which nothing failed.
    pub(crate) fn finish(self) {
        println!("\n{} passed, 0 failed", self.passed);
    }
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Cargo with the given arguments, at the repository's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end; anything but success is an error that shows the command.
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

/// Whether a command can be run at all and says so quietly (`cargo fmt --version` …).
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    std::iter::once(program.file_name().unwrap_or(program.as_os_str()))
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

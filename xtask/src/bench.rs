//! `cargo xtask bench`: builds ours, makes the peers' environment, and hands over to `bench/run.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{cargo, root, succeed, works};

/// What `cargo xtask bench` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// One suite only (`readers`, `geometry` …).
    #[arg(long)]
    only: Option<String>,
    /// Small workloads, to see that everything runs; nothing is written to the README.
    #[arg(long)]
    quick: bool,
    /// The folder of `bench/runs` to write to, as YYYY-MM-DD; by default today.
    #[arg(long)]
    date: Option<String>,
}

/// Builds, installs, measures.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("── building ours (release)");
    succeed(&mut cargo(&["build", "--release", "--package", "wstar-cli"]))?;
    let python = environment()?;
    liblinear()?;
    let mut command = Command::new(python);
    command.current_dir(root().join("bench")).arg("run.py");
    if let Some(only) = &options.only {
        command.args(["--only", only]);
    }
    if options.quick {
        command.arg("--quick");
    }
    if let Some(date) = &options.date {
        command.args(["--date", date]);
    }
    succeed(&mut command)
}

/// The Python of the benchmark's own environment, with the pinned peers in it.
fn environment() -> Result<PathBuf> {
    let work = root().join("bench/work");
    let venv = work.join("venv");
    let python = venv.join("bin/python");
    let wanted = root().join("bench/requirements.txt");
    // A copy of the list beside the environment says what is installed in it.
    let installed = venv.join("requirements.txt");
    if same_text(&wanted, &installed) {
        return Ok(python);
    }
    println!("── installing the peers into {}", venv.display());
    fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))
        .context("the peers need Python 3.11 or newer with its venv module")?;
    succeed(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
            ])
            .arg(&wanted),
    )?;
    fs::copy(&wanted, &installed).with_context(|| installed.display().to_string())?;
    Ok(python)
}

fn same_text(a: &Path, b: &Path) -> bool {
    matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

/// LIBLINEAR's own command line, from the system's packages.
fn liblinear() -> Result<()> {
    // Without a file it prints its usage and fails, so only starting it tells.
    let present = || Command::new("liblinear-train").output().is_ok();
    if present() {
        return Ok(());
    }
    println!("── installing liblinear-tools");
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    if !works(Command::new("sh").args(["-c", "test \"$(id -u)\" = 0 && command -v apt-get"])) {
        bail!("liblinear-train is absent (run: sudo apt-get install liblinear-tools)");
    }
    // The list of packages may be old or empty on a fresh machine.
    if succeed(&mut apt(&["install", "-y", "-q", "liblinear-tools"])).is_err() {
        succeed(&mut apt(&["update", "-q"]))?;
        succeed(&mut apt(&["install", "-y", "-q", "liblinear-tools"]))?;
    }
    if !present() {
        bail!("liblinear-train is still absent after installing liblinear-tools");
    }
    Ok(())
}

//! `cargo xtask bench`: builds ours, makes the peers' environment, and hands over to `bench/run.py`.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::python::environment;
use crate::step::{cargo, root, succeed, works};
use crate::wheel;

/// What `cargo xtask bench` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// One suite (`fits`, `geometry` …) or one workload (`dense-logistic` …) only.
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
    // The peers have an environment of their own.
    let bench = root().join("bench");
    let python = environment(&bench.join("work/venv"), &bench.join("requirements.txt"))?;
    package(&python)?;
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

/// Our Python package of this checkout beside the peers, built as users get it.
fn package(python: &Path) -> Result<()> {
    wheel::run()?;
    let mut pip = Command::new(python);
    pip.current_dir(root()).args(["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--force-reinstall", "--no-deps"]);
    // From what has just been built, and nothing else of that name.
    pip.args(["--no-index", "--find-links", "target/wheels", "wstar"]);
    succeed(&mut pip)
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

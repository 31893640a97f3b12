//! `cargo xtask bench`: builds wstar, creates the environment of the peers, and runs `bench/run.py`.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::python::environment;
use crate::step::{cargo, root, succeed, works};
use crate::wheel;

/// The options of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only one suite (`fits`, `geometry` …) or one workload (`dense-logistic` …).
    #[arg(long)]
    only: Option<String>,
    /// Run small workloads as a smoke test; nothing is written to the README.
    #[arg(long)]
    quick: bool,
    /// The folder of `bench/runs` to write to, as YYYY-MM-DD; today by default.
    #[arg(long)]
    date: Option<String>,
}

/// Builds wstar, installs the peers and runs the benchmarks.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("── building ours (release)");
    let packages = ["--package", "wstar-cli", "--package", "wstar-check"];
    succeed(cargo(&["build", "--release"]).args(packages))?;
    // The peers are installed in a separate environment.
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

/// Installs the Python package of this checkout in the environment of the peers, built in the same way as for users.
fn package(python: &Path) -> Result<()> {
    wheel::run()?;
    let mut pip = Command::new(python);
    pip.current_dir(root()).args(["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--force-reinstall", "--no-deps"]);
    // Install the wheel that was just built, not a package of the same name from PyPI.
    pip.args(["--no-index", "--find-links", "target/wheels", "wstar"]);
    succeed(&mut pip)
}

/// Installs LIBLINEAR's command line from the system's packages if it is absent.
fn liblinear() -> Result<()> {
    // Without a file it prints its usage and fails, so the test is only whether it can be started.
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
    // The package list may be outdated or empty on a new system.
    if succeed(&mut apt(&["install", "-y", "-q", "liblinear-tools"])).is_err() {
        succeed(&mut apt(&["update", "-q"]))?;
        succeed(&mut apt(&["install", "-y", "-q", "liblinear-tools"]))?;
    }
    if !present() {
        bail!("liblinear-train is still absent after installing liblinear-tools");
    }
    Ok(())
}

//! The tests of the lab's page in a real browser.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::python::environment;
use crate::step::{Steps, cargo, root, succeed, works};

/// The names under which a Chromium may be installed.
const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Finds or installs a browser and runs the tests of the page in it.
pub(crate) fn test(steps: &mut Steps) -> Result<()> {
    let folder = root().join("crates/wstar-lab/browser");
    let venv = root().join("target/lab-venv");
    let python = environment(&venv, &folder.join("requirements.txt"))?;
    steps.run("lab: page in a browser", || {
        browser()?;
        lint(&venv, &folder)?;
        // These are the targets of `cargo test`, with the same features, so nothing is compiled twice.
        succeed(&mut cargo(&[
            "build",
            "--workspace",
            "--all-targets",
            "--all-features",
        ]))?;
        let mut command = Command::new(&python);
        command
            .current_dir(root())
            .args(["-m", "pytest", "--quiet", "-n", "2", "--durations", "5"])
            .args(["-p", "no:cacheprovider"])
            .arg(&folder);
        succeed(&mut command)
    })
}

fn lint(venv: &Path, folder: &Path) -> Result<()> {
    let ruff = |arguments: &[&str]| {
        let mut command = Command::new(venv.join("bin/ruff"));
        succeed(command.args(arguments).arg(folder))
    };
    ruff(&["format", "--check", "--quiet"])?;
    ruff(&["check", "--quiet"])
}

/// Finds an installed Chromium, or installs Debian's package if the user is root.
fn browser() -> Result<()> {
    let named = std::env::var_os("CHROMIUM").is_some();
    let found = || {
        BROWSERS
            .iter()
            .any(|name| works(Command::new(name).arg("--version")))
    };
    if named || found() {
        return Ok(());
    }
    if works(Command::new("apt-get").arg("--version")) && is_root() {
        succeed(Command::new("apt-get").args(["update", "--quiet"]))?;
        let mut install = Command::new("apt-get");
        install
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["install", "--yes", "--quiet", "--no-install-recommends"])
            .args(["chromium", "fonts-dejavu-core"]);
        succeed(&mut install)?;
    }
    if !found() {
        bail!("the tests of the page need Chromium (install it, or name it in CHROMIUM)");
    }
    Ok(())
}

fn is_root() -> bool {
    let answer = Command::new("id").arg("-u").output();
    answer.is_ok_and(|answer| answer.stdout.trim_ascii() == b"0")
}

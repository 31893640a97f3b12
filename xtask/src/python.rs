//! Python environments with pinned packages, and the tests of the Python package.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{Steps, cargo, root, succeed};

/// The Python of an environment at `venv` that holds what a list of requirements pins.
pub(crate) fn environment(venv: &Path, wanted: &Path) -> Result<PathBuf> {
    let python = venv.join("bin/python");
    // A copy of the list beside the environment says what is installed in it.
    let installed = venv.join("requirements.txt");
    if same_text(wanted, &installed) {
        return Ok(python);
    }
    println!("── installing {} into {}", wanted.display(), venv.display());
    if let Some(folder) = venv.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))
        .context("needs Python 3.11 or newer with its venv module")?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
    ];
    succeed(Command::new(&python).args(pip).arg(wanted))?;
    fs::copy(wanted, &installed).with_context(|| installed.display().to_string())?;
    Ok(python)
}

fn same_text(a: &Path, b: &Path) -> bool {
    matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

/// Builds the extension in place, and lints and tests the package.
pub(crate) fn test(steps: &mut Steps) -> Result<()> {
    let folder = root().join("python");
    let venv = root().join("target/python/venv");
    let python = environment(&venv, &folder.join("requirements-test.txt"))?;
    steps.run("Python: format and lints", || {
        let ruff =
            |arguments: &[&str]| succeed(Command::new(venv.join("bin/ruff")).args(arguments).arg(&folder));
        ruff(&["format", "--check", "--quiet"])?;
        ruff(&["check", "--quiet"])
    })?;
    steps.run("Python: tests", || {
        extension()?;
        let mut command = Command::new(&python);
        command
            .current_dir(root())
            .env("PYTHONPATH", search_path(&folder))
            .args(["-m", "pytest", "--quiet", "-n", "2", "--durations", "10"])
            .args([
                "-p",
                "no:cacheprovider",
                "--doctest-modules",
                "--doctest-glob",
                "*.md",
            ])
            .args(["python/tests", "python/wstar", "docs/python.md"]);
        succeed(&mut command)
    })
}

/// The package's folder, before whatever the caller looks in.
fn search_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("PYTHONPATH") {
        path.push(":");
        path.push(others);
    }
    path
}

/// Puts the extension where Python finds it beside the package's own files.
fn extension() -> Result<()> {
    // With the targets of `cargo test`, whose features it shares: nothing is compiled twice.
    succeed(&mut cargo(&["build", "--workspace", "--all-targets"]))?;
    let built = root().join("target/debug").join(format!(
        "{}_engine{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let place = root().join("python/wstar/_engine.abi3.so");
    // A new file, and not new bytes in one that a process may have mapped.
    let _ = fs::remove_file(&place);
    fs::copy(&built, &place).with_context(|| built.display().to_string())?;
    Ok(())
}

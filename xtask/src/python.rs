//! Python environments with pinned packages, and the tests of the Python package.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{Steps, cargo, root, succeed};

/// The Python interpreter of an environment at `venv` with the pinned packages of the requirements file `wanted`.
pub(crate) fn environment(venv: &Path, wanted: &Path) -> Result<PathBuf> {
    let python = venv.join("bin/python");
    // A copy of the requirements file in the environment records what is installed.
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

/// Builds the extension in place, and lints, type-checks and tests the package.
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
    steps.run("Python: types", || types(&folder, &venv))?;
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

/// Checks the types of the package with mypy and pyright, and that they accept right uses and reject wrong ones.
fn types(folder: &Path, venv: &Path) -> Result<()> {
    let python = venv.join("bin/python");
    let mut mypy = Command::new(venv.join("bin/mypy"));
    mypy.current_dir(root())
        .env("MYPYPATH", folder)
        .arg("--cache-dir")
        .arg(root().join("target/python/mypy"))
        .args([
            "--no-error-summary",
            "python/wstar",
            "python/tests/typing_examples.py",
        ]);
    succeed(&mut mypy)?;
    // The uses are checked with the settings of a user, with which pyright reads the source of scikit-learn.
    for project in ["pyproject.toml", "python/tests/pyrightconfig.json"] {
        let mut pyright = Command::new(venv.join("bin/pyright"));
        pyright
            .current_dir(root())
            // Otherwise pyright looks for a newer version of itself on PyPI.
            .env("PYRIGHT_PYTHON_IGNORE_WARNINGS", "1")
            .arg("--pythonpath")
            .arg(&python)
            .args(["--project", project]);
        succeed(&mut pyright)?;
    }
    Ok(())
}

/// `PYTHONPATH` with the package's folder in front.
fn search_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("PYTHONPATH") {
        path.push(":");
        path.push(others);
    }
    path
}

/// Builds the extension and copies it into the folder of the Python package.
fn extension() -> Result<()> {
    // These are the targets of `cargo test`, with the same features, so nothing is compiled twice.
    succeed(&mut cargo(&[
        "build",
        "--workspace",
        "--all-targets",
        "--all-features",
    ]))?;
    let built = root().join("target/debug").join(format!(
        "{}_engine{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let place = root().join("python/wstar/_engine.abi3.so");
    // The old file is removed first: overwriting it would change the memory of processes that have it mapped.
    let _ = fs::remove_file(&place);
    fs::copy(&built, &place).with_context(|| built.display().to_string())?;
    Ok(())
}

//! `cargo xtask wheel`: builds the Python package as one wheel for Python 3.10 and later.

use std::process::Command;

use anyhow::Result;

use crate::python::environment;
use crate::step::{root, succeed};

/// Builds the wheel into `target/wheels`.
pub(crate) fn run() -> Result<()> {
    let venv = root().join("target/python/build");
    environment(&venv, &root().join("python/requirements-build.txt"))?;
    let mut command = Command::new(venv.join("bin/maturin"));
    succeed(
        command
            .current_dir(root())
            .args(["build", "--release", "--out", "target/wheels"]),
    )
}

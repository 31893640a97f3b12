//! `cargo xtask api`: the public API of the crates that programs use, compared with the listing in `docs/public-api`.
//!
//! A change of the public API then shows in a diff, and a break of it is a decision. rustdoc writes the API as JSON, whose
//! format differs between toolchains. The crate `public-api` reads the format of the toolchain in `rust-version`.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{Steps, cargo, root, succeed, target};

/// The crates whose API is listed.
const LISTED: [&str; 6] = [
    "wstar",
    "wstar-certify",
    "wstar-data",
    "wstar-problem",
    "wstar-separate",
    "wstar-solve",
];

/// Set for the process that stands in for rustdoc.
const AS_RUSTDOC: &str = "WSTAR_XTASK_AS_RUSTDOC";

/// The options of `cargo xtask api`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the listing, after a change that is intended.
    #[arg(long)]
    write: bool,
}

/// Compares or writes the listing of every crate.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut changed = Vec::new();
    for name in LISTED {
        let listing = listing(name)?;
        let file = root().join("docs/public-api").join(format!("{name}.txt"));
        if options.write {
            fs::create_dir_all(root().join("docs/public-api"))?;
            fs::write(&file, listing)?;
            continue;
        }
        let expected = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        changed.extend(differences(&expected, &listing));
    }
    if changed.is_empty() {
        return Ok(());
    }
    changed.iter().for_each(|line| println!("{line}"));
    bail!(
        "{} lines of the public API changed (if this is intended: cargo xtask api --write, and a line in CHANGELOG.md)",
        changed.len()
    )
}

/// The step of `cargo xtask test`.
pub(crate) fn test(steps: &mut Steps) -> Result<()> {
    steps.run("public API as listed", || run(&Options { write: false }))
}

/// The public items of a crate, one per line, sorted.
fn listing(name: &str) -> Result<String> {
    let myself = std::env::current_exe()?;
    let mut command = cargo(&["rustdoc", "--quiet", "--lib", "--all-features", "--package", name]);
    command
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        .env("RUSTDOC", myself)
        .env(AS_RUSTDOC, "1");
    succeed(&mut command)?;
    let json = target()
        .join("doc")
        .join(format!("{}.json", name.replace('-', "_")));
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .context("the listing needs the toolchain that `rust-version` names")?;
    let mut lines: Vec<String> = api.items().map(|item| format!("{item}\n")).collect();
    lines.sort();
    lines.dedup();
    Ok(lines.concat())
}

/// The lines that are in one listing only, marked by − and +.
fn differences(expected: &str, found: &str) -> Vec<String> {
    let only = |one: &str, other: &str, mark: &str| -> Vec<String> {
        let other: std::collections::BTreeSet<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines.map(|line| format!("{mark} {line}")).collect()
    };
    [only(expected, found, "−"), only(found, expected, "+")].concat()
}

/// Runs rustdoc if this process stands in for it. JSON output is unstable, so rustdoc needs `RUSTC_BOOTSTRAP`. The
/// compiler must not see this variable, because it would build every dependency again.
pub(crate) fn stand_in() -> Option<std::io::Error> {
    std::env::var_os(AS_RUSTDOC)?;
    let mut rustdoc = Command::new("rustdoc");
    rustdoc
        .args(std::env::args_os().skip(1))
        .env("RUSTC_BOOTSTRAP", "1");
    Some(rustdoc.exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_is_shown_in_both_forms() {
        assert_eq!(differences("a\nb\n", "a\nc\n"), ["− b", "+ c"]);
        assert!(differences("a\n", "a\n").is_empty());
    }
}

//! `cargo xtask lint`: format, clippy, rustdoc, and the gates that no tool of the toolchain offers.
//!
//! The gates: no file outgrows [`LONGEST`] lines, `unsafe` stays in [`UNSAFE_ROOM`], and every
//! dependency says in `docs/dependencies.md` why it is there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::step::{Steps, cargo, root, succeed, works};

/// The most lines a source file may have before its tests.
const LONGEST: usize = 500;
/// The only folder in which `unsafe` may stand.
const UNSAFE_ROOM: &str = "crates/wstar/src/kernel";
/// Where each dependency has its line.
const DEPENDENCIES: &str = "docs/dependencies.md";
/// Folders that hold no source of ours.
const SKIPPED: [&str; 4] = ["target", ".git", "work", "node_modules"];

/// Runs every check that needs no test.
pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    tools(&mut steps)?;
    gates(&mut steps)?;
    steps.finish();
    Ok(())
}

/// Format, clippy and rustdoc, each with warnings denied.
pub(crate) fn tools(steps: &mut Steps) -> Result<()> {
    steps.run("format", || {
        component("fmt", "rustfmt")?;
        succeed(&mut cargo(&["fmt", "--all", "--check"]))
    })?;
    steps.run("clippy", || {
        component("clippy", "clippy")?;
        succeed(&mut cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    })?;
    steps.run("documentation", || {
        // The library and the binary are both called wstar, and so are the folders of their pages:
        // one after the other, the library last, so that its pages stay.
        for package in [["--package", "wstar-cli"], ["--workspace", "--exclude=wstar-cli"]] {
            let mut command = cargo(&["doc", "--no-deps"]);
            succeed(command.args(package).env("RUSTDOCFLAGS", "-D warnings"))?;
        }
        Ok(())
    })
}

/// The project's own rules, each a step of its own.
pub(crate) fn gates(steps: &mut Steps) -> Result<()> {
    let files = sources(&root())?;
    steps.run("gate: file sizes", || {
        refuse(each_file(&files, |path, text| {
            let lines = lines_before_tests(text);
            // A file of tests is only tests.
            let too_long = lines > LONGEST && !path.components().any(|part| part.as_os_str() == "tests");
            Vec::from_iter(too_long.then(|| {
                format!(
                    "{}: {lines} lines before its tests, at most {LONGEST}",
                    path.display()
                )
            }))
        })?)
    })?;
    steps.run("gate: unsafe only in the kernel", || {
        refuse(each_file(&files, |path, text| {
            if path.starts_with(UNSAFE_ROOM) {
                return Vec::new();
            }
            unsafe_lines(text)
                .into_iter()
                .map(|line| {
                    format!(
                        "{}:{line}: unsafe code may stand only in {UNSAFE_ROOM}",
                        path.display()
                    )
                })
                .collect()
        })?)
    })?;
    steps.run("gate: every dependency explained", || {
        let manifest = read(&root().join("Cargo.toml"))?;
        let explained = read(&root().join(DEPENDENCIES))?;
        refuse(
            unexplained(&manifest, &explained)
                .into_iter()
                .map(|name| format!("{DEPENDENCIES}: no line says why `{name}` is there"))
                .collect(),
        )
    })
}

/// Says how to get a component of the toolchain that is absent.
fn component(subcommand: &str, name: &str) -> Result<()> {
    if !works(&mut cargo(&[subcommand, "--version"])) {
        bail!("{name} is not installed (run: rustup component add {name})");
    }
    Ok(())
}

/// Fails with one line for each thing found.
fn refuse(found: Vec<String>) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    found.iter().for_each(|line| println!("{line}"));
    bail!("{} found", found.len())
}

/// Whatever a rule finds in any of the files; the rule sees paths relative to the root.
fn each_file(files: &[PathBuf], rule: impl Fn(&Path, &str) -> Vec<String>) -> Result<Vec<String>> {
    let root = root();
    let mut found = Vec::new();
    for file in files {
        found.extend(rule(file.strip_prefix(&root).unwrap_or(file), &read(file)?));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// Every Rust file below a folder, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                found.extend(sources(&path)?);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The number of lines before the test module (all of them if there is none).
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    // A single item compiled for tests only does not end what counts; the module of tests does.
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod "));
    tests.unwrap_or(lines.len())
}

/// The lines, from 1, on which code (not a comment or a text) says `unsafe`, or lifts the lint against it.
fn unsafe_lines(text: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.lines()
        .enumerate()
        .filter(|(_, line)| {
            code(line)
                .split(|c| !is_word(c))
                .any(|word| word == "unsafe" || word == "unsafe_code")
        })
        .map(|(at, _)| at + 1)
        .collect()
}

/// A line without its comment and without what stands in quotes.
fn code(line: &str) -> String {
    let line = line.replace("'\"'", "' '").replace("\\\"", "");
    let outside: String = line.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    outside.split("//").next().unwrap_or_default().to_string()
}

/// The dependencies of the workspace that no line of the explanation names in backticks.
fn unexplained(manifest: &str, explained: &str) -> Vec<String> {
    manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#') && !line.contains("path ="))
        .filter_map(|line| Some(line.split_once('=')?.0.trim().to_string()))
        .filter(|name| !explained.lines().any(|line| line.contains(&format!("`{name}`"))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_up_to_the_module_of_tests() {
        assert_eq!(lines_before_tests("a\nb\n#[cfg(test)]\nmod tests {\n}\n"), 2);
        assert_eq!(
            lines_before_tests("a\n#[cfg(test)]\nfn only_for_tests() {}\nb\n"),
            4
        );
        assert_eq!(lines_before_tests(""), 0);
    }

    #[test]
    fn unsafe_is_seen_in_code_and_only_there() {
        let text = "// unsafe\nlet a = \"unsafe\";\nunsafe { x() }\n#![allow(unsafe_code)]\nlet unsafely = '\"'; // \"\n";
        assert_eq!(unsafe_lines(text), [3, 4]);
        assert_eq!(unsafe_lines("f('\"'); unsafe fn g() {}"), [1]);
    }

    #[test]
    fn a_dependency_without_a_line_is_named() {
        let manifest = "[workspace.dependencies]\nown = { path = \"own\" }\nrayon = \"1\"\nserde = { version = \"1\" }\n\n[profile.dev]\nother = 1\n";
        assert_eq!(unexplained(manifest, "- `rayon`: threads"), ["serde"]);
        assert!(unexplained(manifest, "`rayon` …\n| `serde` | …").is_empty());
    }
}

//! `cargo xtask lint`: format, clippy, rustdoc, and the gates, which are checks that the toolchain does not offer.
//!
//! The gates require that no file has more than [`LONGEST`] lines, that `unsafe` occurs only in [`UNSAFE_CRATE`], that
//! the dependencies of crates, modules and files have no cycles, that no name occurs twice in a crate, that the library names
//! no option of the command line, and that every dependency is explained in `docs/dependencies.md`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::architecture;
use crate::step::{Steps, cargo, root, succeed, works};

/// Maximum number of lines of a source file before its tests. Cap: a longer file fails the gate.
const LONGEST: usize = 500;
/// The only folder in which `unsafe` is allowed.
const UNSAFE_CRATE: &str = "crates/wstar-numeric/src";
/// The file that explains each dependency.
const DEPENDENCIES: &str = "docs/dependencies.md";
/// Folders without source code of the project.
const SKIPPED: [&str; 4] = ["target", ".git", "work", "node_modules"];

/// The options of `cargo xtask lint`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only the gates, which take a second.
    #[arg(long)]
    gates: bool,
}

/// Runs all static checks.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut steps = Steps::default();
    if !options.gates {
        tools(&mut steps)?;
    }
    gates(&mut steps)?;
    steps.finish();
    Ok(())
}

/// Runs rustfmt, clippy and rustdoc, each with warnings denied.
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
            "--all-features",
            "--",
            "-D",
            "warnings",
        ]))
    })?;
    steps.run("documentation", || {
        // The library and the binary are both called wstar, so rustdoc writes them to the same folder. The
        // library is documented last, because its pages are the ones to keep.
        for package in [["--package", "wstar-cli"], ["--workspace", "--exclude=wstar-cli"]] {
            let mut command = cargo(&["doc", "--no-deps", "--all-features"]);
            succeed(command.args(package).env("RUSTDOCFLAGS", "-D warnings"))?;
        }
        Ok(())
    })
}

/// Checks the gates, one step per gate.
pub(crate) fn gates(steps: &mut Steps) -> Result<()> {
    let files = sources(&root())?;
    steps.run("gate: file sizes", || {
        refuse(each_file(&files, |path, text| {
            let lines = lines_before_tests(text);
            // Test files consist of tests only.
            let of_tests = |part: std::path::Component<'_>| {
                ["tests", "tests.rs"].map(OsStr::new).contains(&part.as_os_str())
            };
            let too_long = lines > LONGEST && !path.components().any(of_tests);
            Vec::from_iter(too_long.then(|| {
                format!(
                    "{}: {lines} lines before its tests, at most {LONGEST}",
                    path.display()
                )
            }))
        })?)
    })?;
    steps.run("gate: unsafe only in wstar-numeric", || {
        refuse(each_file(&files, |path, text| {
            if path.starts_with(UNSAFE_CRATE) {
                return Vec::new();
            }
            unsafe_lines(text)
                .into_iter()
                .map(|line| {
                    format!(
                        "{}:{line}: unsafe code is allowed only in {UNSAFE_CRATE}",
                        path.display()
                    )
                })
                .collect()
        })?)
    })?;
    steps.run("gate: crates depend downwards", || {
        refuse(architecture::forbidden_dependencies()?)
    })?;
    let crates = by_crate(&files)?;
    let in_each = |rule: CrateRule| -> Result<Vec<String>> {
        let mut found = Vec::new();
        for (name, inside) in &crates {
            let lines = rule(inside).with_context(|| name.clone())?;
            found.extend(lines.into_iter().map(|line| format!("{name}: {line}")));
        }
        Ok(found)
    };
    steps.run("gate: no cycles between files or modules", || {
        refuse(in_each(architecture::cycles)?)
    })?;
    steps.run("gate: each name once in a crate", || {
        refuse(in_each(|files| Ok(architecture::names_used_twice(files)))?)
    })?;
    steps.run("gate: the library names no option of the command line", || {
        refuse(each_file(&files, |path, text| {
            let lines = match architecture::is_library(path) {
                true => architecture::option_lines(text),
                false => Vec::new(),
            };
            let line = |line| format!("{}:{line}: an option; use `Setting`", path.display());
            lines.into_iter().map(line).collect()
        })?)
    })?;
    steps.run("gate: every dependency explained", || {
        let manifest = read(&root().join("Cargo.toml"))?;
        let explained = read(&root().join(DEPENDENCIES))?;
        refuse(
            unexplained(&manifest, &explained)
                .into_iter()
                .map(|name| format!("{DEPENDENCIES}: no line explains `{name}`"))
                .collect(),
        )
    })
}

/// A crate and its source files: their paths below `src`, and their texts.
type CrateFiles = (String, Vec<(String, String)>);

/// A rule about the files of one crate: one line for each finding.
type CrateRule = fn(&[(String, String)]) -> Result<Vec<String>>;

/// The source files of each crate.
fn by_crate(files: &[PathBuf]) -> Result<Vec<CrateFiles>> {
    let folders = fs::read_dir(root().join("crates"))?;
    let of_crate = |folder: fs::DirEntry| {
        let source = folder.path().join("src");
        let inside = files.iter().filter_map(|file| {
            let path = file.strip_prefix(&source).ok()?;
            Some(read(file).map(|text| (path.display().to_string(), text)))
        });
        Ok((
            folder.file_name().display().to_string(),
            inside.collect::<Result<_>>()?,
        ))
    };
    folders.map(|folder| of_crate(folder?)).collect()
}

/// Returns an error that names the install command if a component of the toolchain is absent.
fn component(subcommand: &str, name: &str) -> Result<()> {
    if !works(&mut cargo(&[subcommand, "--version"])) {
        bail!("{name} is not installed (run: rustup component add {name})");
    }
    Ok(())
}

/// Fails with one line per finding; succeeds if there is none.
fn refuse(found: Vec<String>) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    found.iter().for_each(|line| println!("{line}"));
    bail!("{} found", found.len())
}

/// Collects the findings of a rule in all files. The rule receives paths relative to the root.
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

/// All Rust files below a folder, sorted.
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

/// The number of lines before the test module (all lines if there is none).
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    // Only a test module ends the count, not a single item that is compiled for tests.
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod "));
    tests.unwrap_or(lines.len())
}

/// The line numbers, from 1, of code (not comments or strings) that contains `unsafe` or allows the `unsafe_code` lint.
fn unsafe_lines(text: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.lines()
        .enumerate()
        .filter(|(_, line)| {
            let code = code(line);
            // A crate may forbid what the gate forbids.
            !code.contains("forbid(unsafe_code)")
                && code
                    .split(|c| !is_word(c))
                    .any(|word| word == "unsafe" || word == "unsafe_code")
        })
        .map(|(at, _)| at + 1)
        .collect()
}

/// A line without its comment and without the contents of string literals.
fn code(line: &str) -> String {
    let line = line.replace("'\"'", "' '").replace("\\\"", "");
    let outside: String = line.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    outside.split("//").next().unwrap_or_default().to_string()
}

/// The dependencies of the workspace that the explanation does not name in backticks.
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
    fn unsafe_is_found_in_code_only() {
        let text = "// unsafe\nlet a = \"unsafe\";\nunsafe { x() }\n#![allow(unsafe_code)]\nlet unsafely = '\"'; // \"\n";
        assert_eq!(unsafe_lines(text), [3, 4]);
        assert_eq!(unsafe_lines("f('\"'); unsafe fn g() {}"), [1]);
    }

    #[test]
    fn an_unexplained_dependency_is_reported() {
        let manifest = "[workspace.dependencies]\nown = { path = \"own\" }\nrayon = \"1\"\nserde = { version = \"1\" }\n\n[profile.dev]\nother = 1\n";
        assert_eq!(unexplained(manifest, "- `rayon`: threads"), ["serde"]);
        assert!(unexplained(manifest, "`rayon` …\n| `serde` | …").is_empty());
    }
}

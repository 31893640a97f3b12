//! `cargo xtask golden`: compares numbers (bit for bit) and, optionally, speed with another commit.
//!
//! The command builds the command line of a base commit and of the working tree, runs both on the fits of `cases.txt`,
//! and compares every number of the fit, its certificate, the predictions and the evaluation. A refactoring must not
//! change any of them. The bits depend on the processor, because the SIMD width decides the order of sums. Both results
//! are therefore computed on the same processor and stored in `target/golden`, not in the repository. The comparison
//! guards a refactoring; it does not show that the numbers are correct.

mod data;
mod numbers;
mod speed;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{cargo, root, succeed};

/// The fits that are compared.
const CASES: &str = include_str!("cases.txt");

/// The options of `cargo xtask golden`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The commit to compare with.
    #[arg(long, default_value = "HEAD")]
    base: String,
    /// Only cases whose line contains this text.
    #[arg(long)]
    only: Option<String>,
    /// Also count instructions (callgrind, one thread).
    #[arg(long)]
    instructions: bool,
    /// Also measure wall time, with base and working tree interleaved.
    #[arg(long)]
    time: bool,
}

/// Compares the working tree with the base commit.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = root().join("target/golden");
    fs::create_dir_all(&folder)?;
    let base = base_binary(&options.base, &folder)?;
    let ours = our_binary()?;
    let changed = compare(&base, &ours, &folder, options.only.as_deref())?;
    let mut slower = 0;
    if options.instructions {
        slower += speed::instructions(&base, &ours, &folder)?;
    }
    if options.time {
        slower += speed::wall_time(&base, &ours, &folder)?;
    }
    if changed + slower > 0 {
        bail!("{changed} cases with other numbers, {slower} runs slower than allowed");
    }
    Ok(())
}

/// Runs every case with both binaries and returns the number of cases that differ.
fn compare(base: &Path, ours: &Path, folder: &Path, only: Option<&str>) -> Result<usize> {
    let cases: Vec<&str> = CASES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|line| only.is_none_or(|text| line.contains(text)))
        .collect();
    let mut changed = 0;
    for case in &cases {
        let expected = kept(base, case, folder)?;
        let found = outcome(ours, case, folder)?;
        let differences = differences(&expected, &found);
        if !differences.is_empty() {
            changed += 1;
            println!("changed: {case}");
            differences.iter().for_each(|line| println!("    {line}"));
        }
    }
    println!("golden: {} cases, {changed} changed", cases.len());
    Ok(changed)
}

/// The numbers that one case printed, by command, without times.
type Outcome = BTreeMap<String, Vec<String>>;

/// The outcome of a case for the base commit, read from the folder if it was stored by an earlier run.
fn kept(base: &Path, case: &str, folder: &Path) -> Result<Outcome> {
    let store = base.with_extension("outcomes");
    fs::create_dir_all(&store)?;
    let name: String = case
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    let file = store.join(format!("{name}.json"));
    if let Ok(text) = fs::read_to_string(&file) {
        return Ok(serde_json::from_str(&text)?);
    }
    let outcome = outcome(base, case, folder)?;
    fs::write(&file, serde_json::to_string(&outcome)?)?;
    Ok(outcome)
}

/// Runs a case and extracts the numbers from its output and its model file.
fn outcome(program: &Path, case: &str, folder: &Path) -> Result<Outcome> {
    let mut words = split(case, folder)?;
    let mut outcome = Outcome::new();
    if words[0] == "separate" || words[0] == "compare" {
        let (status, printed) = output(program, &words, &["--json"])?;
        outcome.insert(words[0].clone(), numbers::of_json(&printed, status)?);
        return Ok(outcome);
    }
    let model = folder.join("model.json");
    let _ = fs::remove_file(&model);
    words.insert(0, "train".into());
    let out = model.display().to_string();
    let (status, printed) = output(program, &words, &["--json", "--weights", "--out", &out])?;
    if status > 1 {
        bail!("`wstar {}` ended with exit code {status}", words.join(" "));
    }
    outcome.insert("train".into(), numbers::of_json(&printed, status)?);
    let data = words[1].clone();
    let option = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        Some([name.to_string(), words.get(at + 1)?.clone()])
    };
    let with = |command: &str| vec![command.to_string(), out.clone(), data.clone()];

    let mut verify = with("verify");
    verify.extend(option("--holdout").into_iter().flatten());
    verify.extend(words.iter().filter(|word| *word == "--stream").cloned());
    let (status, printed) = output(program, &verify, &["--json"])?;
    outcome.insert("verify".into(), numbers::of_json(&printed, status)?);
    let (status, printed) = output(program, &with("evaluate"), &["--json"])?;
    outcome.insert("evaluate".into(), numbers::of_json(&printed, status)?);
    for kind in ["--scores", "--proba"] {
        let (status, printed) = output(program, &with("predict"), &[kind])?;
        outcome.insert(format!("predict {kind}"), numbers::of_text(&printed, status));
    }
    outcome.insert("model".into(), numbers::of_model(&fs::read_to_string(&model)?)?);
    Ok(outcome)
}

/// The arguments of a case, with generated data sets replaced by their paths.
fn split(case: &str, folder: &Path) -> Result<Vec<String>> {
    let word = |word: &str| match word.strip_prefix('%') {
        Some(name) => Ok(data::generated(name, folder)?.display().to_string()),
        None => Ok(word.to_string()),
    };
    case.split_whitespace().map(word).collect()
}

/// Exit code and standard output of a command.
fn output(program: &Path, words: &[String], more: &[&str]) -> Result<(i32, String)> {
    let output = Command::new(program).args(words).args(more).output()?;
    let status = output.status.code().context("ended by a signal")?;
    Ok((status, String::from_utf8(output.stdout)?))
}

/// One line per command that differs, with the first pair of different numbers.
fn differences(expected: &Outcome, found: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    for (command, before) in expected {
        let empty = Vec::new();
        let after = found.get(command).unwrap_or(&empty);
        if before == after {
            continue;
        }
        let at = before.iter().zip(after).position(|(a, b)| a != b);
        let at = at.unwrap_or(before.len().min(after.len()));
        let show = |values: &[String]| values.get(at).map_or("nothing", String::as_str).to_string();
        lines.push(format!("{command}: {} became {}", show(before), show(after)));
    }
    lines
}

/// The path of the base commit's binary, which is built once per commit.
fn base_binary(revision: &str, folder: &Path) -> Result<PathBuf> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git").args(arguments).current_dir(root()).output()?;
        if !output.status.success() {
            bail!(
                "git {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_string())
    };
    let commit = git(&["rev-parse", "--short=12", &format!("{revision}^{{commit}}")])?;
    let binary = folder.join(format!("wstar-{commit}"));
    if binary.exists() {
        return Ok(binary);
    }
    println!("── building {commit}");
    let tree = folder.join("base");
    let shown = tree.display().to_string();
    if !tree.exists() {
        git(&["worktree", "prune"])?;
        git(&["worktree", "add", "--detach", &shown, &commit])?;
    }
    succeed(
        Command::new("git")
            .args(["checkout", "--quiet", "--detach", &commit])
            .current_dir(&tree),
    )?;
    let mut build = cargo(&["build", "--release", "--package", "wstar-cli"]);
    build
        .current_dir(&tree)
        .env("CARGO_TARGET_DIR", folder.join("base-target"));
    succeed(&mut build)?;
    fs::copy(folder.join("base-target/release/wstar"), &binary)?;
    Ok(binary)
}

/// The path of the working tree's binary.
fn our_binary() -> Result<PathBuf> {
    succeed(&mut cargo(&["build", "--release", "--package", "wstar-cli"]))?;
    Ok(root().join("target/release/wstar"))
}

//! `cargo xtask fuzz`: coverage-guided fuzzing with libFuzzer; and the bounded run of `cargo xtask test`.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::step::{cargo, root, succeed, works};

/// The pinned version of cargo-fuzz, the driver of libFuzzer.
const CARGO_FUZZ: &str = "0.13.2";
/// The package with one libFuzzer binary per target.
const HARNESS: &str = "fuzz/libfuzzer";
/// Maximum length of an input in bytes, equal to that of the bounded run. Cap: libFuzzer generates no longer inputs.
const LONGEST_INPUT: usize = 4096;

/// The options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this target; by default all targets in turn.
    target: Option<String>,
    /// Executions per target.
    #[arg(long, default_value_t = 1_000_000, conflicts_with = "seconds")]
    runs: u64,
    /// Seconds per target, instead of a number of executions.
    #[arg(long)]
    seconds: Option<u64>,
}

/// The bounded run: the mutational runner of `fuzz/`, which needs only the stable toolchain.
pub(crate) fn bounded(runs: u64) -> Result<()> {
    let runner = ["run", "--quiet", "--package", "wstar-fuzz", "--bin", "bounded"];
    succeed(cargo(&runner).args(["--", "--runs", &runs.to_string()]))
        // This also holds if the process was killed and could not print the input's name.
        .context("the input is stored in fuzz/artifacts/<target>; reproduce the finding with: cargo run -p wstar-fuzz --bin bounded -- TARGET --input FILE")
}

/// All targets under libFuzzer, with this many executions each.
pub(crate) fn all(runs: u64) -> Result<()> {
    run(&Options {
        target: None,
        runs,
        seconds: None,
    })
}

/// The long run: all targets, or the named one, under libFuzzer.
pub(crate) fn run(options: &Options) -> Result<()> {
    let targets = targets()?;
    let chosen: Vec<&String> = match &options.target {
        None => targets.iter().collect(),
        Some(wanted) => targets.iter().filter(|name| *name == wanted).collect(),
    };
    if chosen.is_empty() {
        bail!("no such target (there are: {})", targets.join(", "));
    }
    let driver = driver()?;
    let mut summary = Vec::new();
    for target in chosen {
        println!("\n── fuzz {target}");
        let start = Instant::now();
        let executions = one(&driver, target, options).with_context(|| format!("fuzz target {target}"))?;
        let seconds = start.elapsed().as_secs_f64();
        summary.push(format!(
            "{target:<12} {executions:>12} executions, {seconds:.0} s, nothing found"
        ));
    }
    println!();
    summary.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// The names of the targets, which are the file names of the harness.
fn targets() -> Result<Vec<String>> {
    let folder = root().join(HARNESS).join("fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// The path of cargo-fuzz in the pinned version, which is installed below `target/` if absent.
fn driver() -> Result<PathBuf> {
    let tools = root()
        .join("target/tools")
        .join(format!("cargo-fuzz-{CARGO_FUZZ}"));
    let driver = tools.join("bin/cargo-fuzz");
    if !works(std::process::Command::new(&driver).arg("--version")) {
        println!("── installing cargo-fuzz {CARGO_FUZZ} into {}", tools.display());
        succeed(
            cargo(&[
                "install",
                "cargo-fuzz",
                "--locked",
                "--version",
                CARGO_FUZZ,
                "--root",
            ])
            .arg(&tools),
        )?;
    }
    Ok(driver)
}

/// Runs one target to its end and returns the number of executions that libFuzzer counted.
fn one(driver: &PathBuf, target: &str, options: &Options) -> Result<u64> {
    let fuzz = root().join("fuzz");
    // libFuzzer writes new inputs to the first folder and only reads the second one, the seeds.
    let corpus = fuzz.join("corpus").join(target);
    let seeds = fuzz.join("seeds").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let log = artifacts.join("libfuzzer.log");
    let bound = match options.seconds {
        Some(seconds) => format!("-max_total_time={seconds}"),
        None => format!("-runs={}", options.runs),
    };
    let mut command = std::process::Command::new(driver);
    command
        .current_dir(root())
        .args([
            "fuzz",
            "run",
            "--fuzz-dir",
            HARNESS,
            "--target-dir",
            "target/fuzz",
        ])
        // The sanitizers need the nightly toolchain, and have little to find because `unsafe` is confined to one crate.
        .args(["--sanitizer", "none", "--debug-assertions", target])
        .arg(&corpus);
    if seeds.is_dir() {
        command.arg(&seeds);
    }
    command
        .args([
            "--",
            &bound,
            "-print_final_stats=1",
            "-timeout=10",
            "-rss_limit_mb=2048",
        ])
        .arg(format!("-max_len={LONGEST_INPUT}"))
        .arg(format!("-dict={}", fuzz.join("dictionary.txt").display()))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .stderr(fs::File::create(&log).with_context(|| log.display().to_string())?);
    succeed(&mut command).with_context(|| format!("see {}", log.display()))?;
    let text = fs::read_to_string(&log).with_context(|| log.display().to_string())?;
    executions(&text).with_context(|| format!("{}: no count of executions", log.display()))
}

/// The number of executions in libFuzzer's final statistics.
fn executions(log: &str) -> Option<u64> {
    let line = log
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_final_statistics() {
        assert_eq!(
            executions("Done 5 runs\nstat::number_of_executed_units: 1000000\nstat::peak_rss_mb: 44\n"),
            Some(1_000_000)
        );
        assert_eq!(executions("BINGO"), None);
    }
}

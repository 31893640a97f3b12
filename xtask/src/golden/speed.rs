//! Two checks of speed: instruction counts of small fits, and wall time of large ones.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{output, split};

/// Largest allowed ratio of instruction counts. Cap: a larger ratio is reported as a regression.
const MOST_INSTRUCTIONS: f64 = 1.03;
/// Largest allowed ratio of wall times. Cap: a larger ratio is reported as a regression.
const MOST_TIME: f64 = 1.05;
/// Interleaved runs of each large case, whose medians are compared. Heuristic: trades running time for less noise in
/// the medians; not measured yet.
const ROUNDS: usize = 9;

/// Fits whose instructions are counted, written as in `cases.txt`.
const COUNTED: [&str; 20] = [
    "@iris",
    "@iris --method svm",
    "@iris --multiclass ovo --method logistic",
    "@wine --method lda",
    "@breast-cancer",
    "@breast-cancer --penalty l1",
    "@breast-cancer --method svm --C 10",
    "@breast-cancer --method averaged-perceptron --epochs 10",
    "@breast-cancer --standardize --solver lbfgs",
    "@digits --method softmax --C 0.01",
    "@diabetes",
    "@diabetes --penalty l1 --lambda 1",
    "@diabetes --method lad",
    "@spam",
    "@spam --method naive-bayes --density multinomial",
    "%sparse --penalty l1 --C 0.3",
    "%sparse --method svm",
    "%categories --method svm --loss squared-hinge",
    "%dense",
    "%regression",
];

/// Large fits whose times are compared: the storage formats and solvers of the headline rows of `bench/`.
const TIMED: [&str; 9] = [
    "%large-dense",
    "%large-dense --method svm",
    "%large-dense --method svm --loss squared-hinge",
    "%large-regression",
    "%large-regression --method lad",
    "%large-sparse",
    "%large-sparse --method svm",
    "%large-sparse --penalty l1",
    "%large-sparse --method svm --loss squared-hinge",
];

/// Counts the instructions of both binaries and returns the number of fits above [`MOST_INSTRUCTIONS`].
pub(super) fn instructions(base: &Path, ours: &Path, folder: &Path) -> Result<usize> {
    let mut slower = 0;
    for case in COUNTED {
        let before = kept_count(base, case, folder)?;
        let after = count(ours, case, folder)?;
        let ratio = after as f64 / before as f64;
        let verdict = if ratio > MOST_INSTRUCTIONS { "  MORE" } else { "" };
        slower += usize::from(ratio > MOST_INSTRUCTIONS);
        println!(
            "{before:>14} {after:>14} {:>6.1} %  {case}{verdict}",
            100.0 * ratio
        );
    }
    println!(
        "instructions: {} runs, {slower} above {:.0} %",
        COUNTED.len(),
        100.0 * MOST_INSTRUCTIONS
    );
    Ok(slower)
}

/// The instruction count of the base commit, read from its file if it was stored by an earlier run.
fn kept_count(base: &Path, case: &str, folder: &Path) -> Result<u64> {
    let file = base.with_extension("instructions.json");
    let text = fs::read_to_string(&file).unwrap_or_else(|_| "{}".into());
    let mut counts: serde_json::Map<String, Value> = serde_json::from_str(&text)?;
    if let Some(count) = counts.get(case).and_then(Value::as_u64) {
        return Ok(count);
    }
    let counted = count(base, case, folder)?;
    counts.insert(case.to_string(), counted.into());
    fs::write(&file, serde_json::to_string_pretty(&counts)?)?;
    Ok(counted)
}

/// The number of instructions of one training with one thread.
fn count(program: &Path, case: &str, folder: &Path) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg("train")
        .args(split(case, folder)?)
        .args(["--threads", "1", "--quiet", "--out"])
        .arg(folder.join("model.json"))
        .output()
        .context("counting instructions needs valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    match line.and_then(|(_, count)| count.trim().parse().ok()) {
        Some(count) => Ok(count),
        None => bail!("valgrind counted nothing: {text}"),
    }
}

/// Times both binaries, interleaved, and returns the number of fits above [`MOST_TIME`].
pub(super) fn wall_time(base: &Path, ours: &Path, folder: &Path) -> Result<usize> {
    let mut slower = 0;
    for case in TIMED {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (program, times) in [base, ours].into_iter().zip(&mut times) {
                times.push(seconds(program, case, folder)?);
            }
        }
        let [before, after] = times.map(median);
        let ratio = after / before;
        let verdict = if ratio > MOST_TIME { "  SLOWER" } else { "" };
        slower += usize::from(ratio > MOST_TIME);
        println!(
            "{before:>9.4} s {after:>9.4} s {:>6.1} %  {case}{verdict}",
            100.0 * ratio
        );
    }
    println!(
        "wall time: {} runs, {slower} above {:.0} %",
        TIMED.len(),
        100.0 * MOST_TIME
    );
    Ok(slower)
}

/// Seconds of the fit and its certificate, without reading the data.
fn seconds(program: &Path, case: &str, folder: &Path) -> Result<f64> {
    let mut words = split(case, folder)?;
    words.insert(0, "train".into());
    let out = folder.join("model.json").display().to_string();
    let (_, printed) = output(program, &words, &["--json", "--out", &out])?;
    let value: Value = serde_json::from_str(&printed)?;
    let of = |name: &str| value["seconds"][name].as_f64();
    Ok(of("solve").context("no seconds")? + of("certify").unwrap_or(0.0))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

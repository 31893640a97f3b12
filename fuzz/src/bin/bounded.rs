//! The bounded fuzz run: mutations of the seeds, on the stable toolchain, with the same inputs in every run.
//!
//! The run ends with exit code 1 after a panic, after an execution longer than [`SLOWEST`], or if an execution
//! needs more than [`MOST_MEMORY`]; the input that caused it is stored under `fuzz/artifacts/`.
// The runner reports to the terminal, and its watchdog can only end the process.
#![allow(clippy::print_stdout, clippy::exit)]

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use wstar_fuzz::mutate::{Mutator, dictionary};
use wstar_fuzz::{TARGETS, Target};

/// Maximum duration of an execution. Cap: a longer execution is a finding and ends the run.
const SLOWEST: Duration = Duration::from_secs(2);
/// Maximum memory of the process in bytes. Cap: an input that needs more is a finding and ends the run.
const MOST_MEMORY: u64 = 512 << 20;

/// Runs mutations of the seeds through every fuzz target.
#[derive(Parser)]
struct Arguments {
    /// Only this target; by default all targets in turn.
    target: Option<String>,
    /// Executions per target, in addition to the seeds.
    #[arg(long, default_value_t = 20_000)]
    runs: u64,
    /// The seed of the mutations.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Run the target only on this file, to reproduce a finding.
    #[arg(long, requires = "target")]
    input: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| {
            arguments
                .target
                .as_ref()
                .is_none_or(|wanted| wanted == target.name)
        })
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("no such target (there are: {})", names.join(", "));
    }
    if let (Some(path), [target]) = (&arguments.input, &chosen[..]) {
        (target.run)(&read(path)?);
        println!("{}: nothing found", path.display());
        return Ok(ExitCode::SUCCESS);
    }
    for target in chosen {
        if let Some(finding) = fuzz(target, &arguments)? {
            println!("{}: {finding}", target.name);
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

/// The seeds of a target, sorted by name so that every run is the same.
fn seeds(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Fuzzes one target. A finding is returned as a line that names the input.
fn fuzz(target: &Target, arguments: &Arguments) -> Result<Option<String>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let seeds = seeds(&here.join("seeds").join(target.name))?;
    let words = dictionary(&String::from_utf8(read(&here.join("dictionary.txt"))?)?);
    let mut mutator = Mutator::new(ChaCha8Rng::seed_from_u64(arguments.seed), seeds.clone(), words);
    let mut watched = Watched::new(&here.join("artifacts").join(target.name))?;

    // Writing 5 resets the peak memory to the current usage (Linux); on other systems memory is not monitored.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let start = Instant::now();
    let mut executions = 0u64;
    let mut longest = Duration::ZERO;
    let mutations = (0..arguments.runs).map(|_| mutator.next_input());
    for input in seeds.iter().cloned().chain(mutations) {
        let began = Instant::now();
        if let Some(finding) = watched.execute(target, &input)? {
            return Ok(Some(finding));
        }
        longest = longest.max(began.elapsed());
        executions += 1;
    }
    let rate = executions as f64 / start.elapsed().as_secs_f64();
    println!(
        "{:<12} {executions:>9} executions, {rate:>8.0} a second, the slowest {:.1} ms, peak memory {} MB",
        target.name,
        longest.as_secs_f64() * 1e3,
        peak_memory().unwrap_or_default() >> 20,
    );
    watched.finish()?;
    Ok(None)
}

/// Executions under a watchdog. Each input is written to disk before its execution starts, so that it
/// is kept even after an abort.
struct Watched {
    folder: PathBuf,
    running: File,
    epoch: Instant,
    /// Start of the current execution in milliseconds since `epoch`, plus 1; 0 between executions.
    began: Arc<AtomicU64>,
}

impl Watched {
    fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let path = folder.join("running");
        let running = File::create(&path).with_context(|| path.display().to_string())?;
        let (epoch, began) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let seen = Arc::clone(&began);
        let folder = folder.to_path_buf();
        let kept = folder.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(20));
                let now = epoch.elapsed().as_millis() as u64 + 1;
                match seen.load(Ordering::Acquire) {
                    u64::MAX => return,
                    0 => {}
                    began if now.saturating_sub(began) > SLOWEST.as_millis() as u64 => {
                        end("slow", &kept, "takes more than 2 s");
                    }
                    _ if peak_memory() > Some(MOST_MEMORY) => {
                        end("memory", &kept, "needs more than 512 MB");
                    }
                    _ => {}
                }
            }
        });
        Ok(Watched {
            folder,
            running,
            epoch,
            began,
        })
    }

    fn execute(&mut self, target: &Target, input: &[u8]) -> Result<Option<String>> {
        self.running.rewind()?;
        self.running.set_len(0)?;
        self.running.write_all(input)?;
        let now = self.epoch.elapsed().as_millis() as u64 + 1;
        self.began.store(now, Ordering::Release);
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
        self.began.store(0, Ordering::Release);
        if outcome.is_err() {
            return Ok(Some(format!(
                "panicked on {}",
                keep("panic", &self.folder).display()
            )));
        }
        if peak_memory() > Some(MOST_MEMORY) {
            let kept = keep("memory", &self.folder);
            return Ok(Some(format!("needs more than 512 MB for {}", kept.display())));
        }
        Ok(None)
    }

    fn finish(self) -> Result<()> {
        self.began.store(u64::MAX, Ordering::Release);
        fs::remove_file(self.folder.join("running")).context("artifacts")
    }
}

/// Renames the file of the running input so that it is kept, and returns its path.
fn keep(finding: &str, folder: &Path) -> PathBuf {
    let running = folder.join("running");
    let kept = (0u32..)
        .map(|number| folder.join(format!("{finding}-{number}")))
        .find(|path| !path.exists())
        .unwrap_or_else(|| running.clone());
    match fs::rename(&running, &kept) {
        Ok(()) => kept,
        Err(_) => running,
    }
}

/// Keeps the input and ends the process; called by the watchdog.
fn end(finding: &str, folder: &Path, what: &str) -> ! {
    println!("{what}: {}", keep(finding, folder).display());
    std::process::exit(1)
}

/// The peak memory of this process in bytes, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

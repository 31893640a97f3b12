//! The project's own chores: `cargo xtask test · lint · fuzz · bench · wheel`.
// A chore reports to the terminal it was started from.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod fuzz;
mod lint;
mod page;
mod python;
mod step;
mod test;
mod wheel;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that must hold before a change lands: format, lints, documentation, tests, gates, a bounded fuzz run.
    Test(test::Options),
    /// The part of `test` that runs nothing: format, lints, documentation, gates.
    Lint,
    /// The long coverage-guided fuzz run (libFuzzer), on the stable toolchain.
    Fuzz(fuzz::Options),
    /// The benchmarks: ours and the peers, interleaved in one run.
    Bench(bench::Options),
    /// The Python package as a wheel, into target/wheels.
    Wheel,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Test(options) => test::run(&options),
        Chore::Lint => lint::run(),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Bench(options) => bench::run(&options),
        Chore::Wheel => wheel::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

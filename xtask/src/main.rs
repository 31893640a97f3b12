//! The development commands of the project: `cargo xtask test · long · lint · api · golden · fuzz · bench · wheel`.
// These commands report to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod api;
mod architecture;
mod bench;
mod file_uses;
mod fuzz;
mod golden;
mod lint;
mod long;
mod page;
mod python;
mod step;
mod test;
mod wheel;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The development commands of the project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// All checks that a change must pass: format, lints, documentation, tests, gates, a bounded fuzz run.
    Test(test::Options),
    /// The checks that take too long for every change: ignored tests and a long fuzz run.
    Long(long::Options),
    /// The static checks of `test`: format, lints, documentation, gates.
    Lint(lint::Options),
    /// Compare the public API of the library with its listing in docs/public-api, or write it.
    Api(api::Options),
    /// A long coverage-guided fuzz run (libFuzzer), on the stable toolchain.
    Fuzz(fuzz::Options),
    /// Compare all numbers with another commit, bit for bit; optionally also instruction counts and times.
    Golden(golden::Options),
    /// Run the benchmarks of wstar and of its peers, interleaved.
    Bench(bench::Options),
    /// Build the Python package as a wheel in target/wheels.
    Wheel,
}

fn main() -> ExitCode {
    if let Some(error) = api::stand_in() {
        eprintln!("cargo xtask: rustdoc: {error}");
        return ExitCode::FAILURE;
    }
    let outcome = match Arguments::parse().chore {
        Chore::Test(options) => test::run(&options),
        Chore::Long(options) => long::run(&options),
        Chore::Lint(options) => lint::run(&options),
        Chore::Api(options) => api::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Golden(options) => golden::run(&options),
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

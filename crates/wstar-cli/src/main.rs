//! The command line of wstar: parse, do, say, and end with an exit code.
//!
//! 0: done, and it holds. 1: done, and the answer is no. 2: bad usage or bad input.

mod args;
mod compare;
mod datasets;
mod drawing;
mod evaluate;
mod input;
mod inspect;
mod json;
mod lab;
mod learning;
mod output;
mod plot;
mod predict;
mod report;
mod separate;
mod stream;
mod summary;
mod support;
mod train;
mod verify;
mod watch;
mod weights;

use std::panic;
use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

/// What a command ends with, when it ends well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Done, and it holds.
    Yes,
    /// Done, and the answer is no.
    No,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        if yes { Answer::Yes } else { Answer::No }
    }
}

fn main() -> ExitCode {
    // A defect must not greet a user with a stack trace.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        output::complain(&format!(
            "internal error at {place}: please report it with the command that led here"
        ));
    }));
    let arguments = Arguments::parse();
    match panic::catch_unwind(|| run(&arguments)) {
        Ok(Ok(Answer::Yes)) => ExitCode::SUCCESS,
        Ok(Ok(Answer::No)) => ExitCode::from(1),
        // Whoever reads our output has seen enough (`wstar predict … | head`).
        Ok(Err(error)) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            output::complain(&format!("{error:#}"));
            ExitCode::from(2)
        }
        Err(_) => ExitCode::from(2),
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<Answer> {
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build_global()?;
    }
    match &arguments.command {
        Command::Train(train) => train::run(train),
        Command::Predict(predict) => predict::run(predict),
        Command::Evaluate(evaluate) => evaluate::run(evaluate),
        Command::Verify(verify) => verify::run(verify),
        Command::Separate(separate) => separate::run(separate),
        Command::Compare(compare) => compare::run(compare),
        Command::Inspect(inspect) => inspect::run(inspect),
        Command::Datasets(datasets) => datasets::run(datasets),
        Command::Report(report) => report::run(report),
        Command::Plot(plot) => plot::run(plot),
        Command::Lab(lab) => lab::run(lab),
    }
}

//! The command line of wstar: parses the arguments, runs a command and ends with an exit code.
//!
//! 0: success, and the result holds. 1: success, and the answer is no. 2: bad usage or bad input.
//!
//! - `train`, `predict`, `evaluate`, `verify`, `separate`, `compare`, `inspect`, `datasets`, `rows`, `report`, `plot`, `lab`: the
//!   commands, one file each; `stream`: training on a stream.
//! - `rows`: the rows of a model as canonical rows; `independent`: the check of `verify --independent`.
//! - `answer`, `trained`: the answer of a command; a finished training.
//! - `args`, `file_args`, `learning`, `drawing`: the arguments of the command line.
//! - `input`: reads data as the arguments specify.
//! - `watch`: the progress bar, the trace file, and Ctrl-C.
//! - `output`, `summary`, `weights`, `support`, `json`: what is printed, as text and as JSON.
//! - `title`: the name of a data source in titles and file names.
//! - `wording`: the command line's names of settings and commands.

mod answer;
mod args;
mod compare;
mod datasets;
mod drawing;
mod evaluate;
mod file_args;
mod independent;
mod input;
mod inspect;
mod json;
mod lab;
mod learning;
mod output;
mod plot;
mod predict;
mod report;
mod rows;
mod separate;
mod stream;
mod summary;
mod support;
mod title;
mod train;
mod trained;
mod verify;
mod watch;
mod weights;
mod wording;

use std::panic;
use std::process::ExitCode;

use clap::Parser;

use answer::Answer;
use args::{Arguments, Command};

fn main() -> ExitCode {
    // An internal error prints one line with its location instead of a stack trace.
    panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        output::complain(&format!(
            "internal error at {location}: please report it with the command that caused it"
        ));
    }));
    let arguments = Arguments::parse();
    match panic::catch_unwind(|| run(&arguments)) {
        Ok(Ok(Answer::Yes)) => ExitCode::SUCCESS,
        Ok(Ok(Answer::No)) => ExitCode::from(1),
        // A reader that closes the pipe early is not an error (`wstar predict … | head`).
        Ok(Err(error)) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            output::complain(&wording::worded(&error));
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
        Command::Rows(rows) => rows::run(rows),
        Command::Report(report) => report::run(report),
        Command::Plot(plot) => plot::run(plot),
        Command::Lab(lab) => lab::run(lab),
    }
}

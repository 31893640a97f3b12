//! `wstar train --stream`: trains on a file larger than memory, or on an endless standard input.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use wstar::data::Classes;
use wstar::data::read::dataset_stream::DatasetStream;
use wstar::data::read::{Chunks, Source};
use wstar::estimate::fit_stream;
use wstar::settings::{Method, Options};

use crate::args::TrainArgs;
use crate::input;
use crate::title::title;
use crate::trained::{Seconds, Trained};
use crate::watch::{Follower, Show};

pub(crate) fn train(args: &TrainArgs, settings: &Options, source: &Source, path: PathBuf) -> Result<Trained> {
    let started = Instant::now();
    let options = input::training_options(&args.file, &args.columns)?;
    let chunks = Chunks::open(source, &options, Chunks::BYTES)?;
    let classes = (!args.classes.is_empty()).then(|| Classes::new(args.classes.iter().cloned()));
    let mut stream = DatasetStream::open(
        chunks,
        &input::preparation(&args.columns, settings.method),
        classes,
    )?;
    let read = started.elapsed();

    let settings = &Options {
        method: Some(settings.method.unwrap_or_else(|| first_choice(stream.classes()))),
        ..settings.clone()
    };
    let fitting = Instant::now();
    let show = match (args.quiet, settings.method.is_some_and(Method::is_online)) {
        (true, _) => Show::Nothing,
        (_, true) => Show::Lines,
        (_, false) => Show::Bar,
    };
    let mut follower = Follower::new(show, args.trace.as_deref())?;
    let model = fit_stream(&mut stream, settings, &mut follower)?;
    let fitted = fitting.elapsed();
    let solve = follower.solved();
    follower.finish()?;
    Ok(Trained {
        margins: Vec::new(),
        name: title(source),
        path,
        model,
        class_counts: Vec::new(),
        // Evaluation would take another pass, and the mistakes during training predict the error on new rows better.
        train: None,
        test: None,
        seconds: Seconds {
            read,
            solve,
            certify: fitted.saturating_sub(solve),
            ..Seconds::default()
        },
    })
}

/// The default method of a stream: the averaged perceptron for classes, in one pass, and least squares for a real
/// target.
fn first_choice(classes: &Classes) -> Method {
    if classes.is_empty() {
        Method::LeastSquares
    } else {
        Method::AveragedPerceptron
    }
}

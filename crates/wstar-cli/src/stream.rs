//! `wstar train --stream`: learning from a file larger than memory, or from an endless standard input.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use wstar::data::Classes;
use wstar::fit::fit_stream;
use wstar::io::{Chunks, Source};
use wstar::online::Streamed;
use wstar::settings::{Method, Settings};

use crate::args::TrainArgs;
use crate::input;
use crate::train::{Seconds, Trained, title};
use crate::watch::{Follower, Show};

pub(crate) fn train(
    args: &TrainArgs,
    settings: &Settings,
    source: &Source,
    path: PathBuf,
) -> Result<Trained> {
    let started = Instant::now();
    let options = input::training_options(&args.file, &args.columns)?;
    let chunks = Chunks::open(source, &options, Chunks::BYTES)?;
    let classes = (!args.classes.is_empty()).then(|| Classes::new(args.classes.iter().cloned()));
    let mut stream = Streamed::open(
        chunks,
        &input::preparation(&args.columns, settings.method),
        classes,
    )?;
    let read = started.elapsed();

    let settings = &Settings {
        method: Some(settings.method.unwrap_or_else(|| first_choice(stream.classes()))),
        ..settings.clone()
    };
    settings.check()?;
    let fitting = Instant::now();
    let show = match (args.quiet, settings.method().is_online()) {
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
        // Judging would take another pass; what was mistaken while learning tells more about new rows.
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

/// What a stream is learnt by if no method is named: in one pass over examples, or by passes over numbers.
fn first_choice(classes: &Classes) -> Method {
    if classes.is_empty() {
        Method::LeastSquares
    } else {
        Method::AveragedPerceptron
    }
}

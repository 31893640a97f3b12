//! `wstar train`: reads data, fits and certifies a model, evaluates it, writes it to a file and prints a summary.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use wstar::Model;
use wstar::data::error::Error;
use wstar::data::read;
use wstar::data::read::Source;
use wstar::data::{self, Applied, Dataset, Target, Unseen};
use wstar::estimate::{Start, fit_from};
use wstar::model::{Predictor, judge};
use wstar::online::{Committee, Ties, Voters};
use wstar::problem::loss::Quantile;
use wstar::problem::multiclass::{ClassWeights, Multiclass};
use wstar::problem::penalty::PenaltyName;
use wstar::settings::{Density, Method, Options, Prove, Rule};
use wstar::solve::SolverName;
use wstar::solve::learning_rate::Schedule;

use crate::answer::Answer;
use crate::args::TrainArgs;
use crate::learning::{
    DensityArg, MulticlassArg, PenaltyArg, ProveArg, RuleArg, ScheduleArg, TiesArg, VoteArg,
};
use crate::title::title;
use crate::trained::{Seconds, Trained};
use crate::watch::{Follower, Show, catch_interrupt};
use crate::{input, json, stream, summary, support};

pub(crate) fn run(args: &TrainArgs) -> Result<Answer> {
    let started = Instant::now();
    let settings = options(args)?;
    // A wrong option is reported before the data are read, because reading may take long.
    settings.for_target(&Target::Unknown)?;
    if args.support.is_some() && settings.method != Some(Method::Svm) {
        bail!("--support is for --method svm, whose points have multipliers");
    }
    let source = Source::parse(&args.data)?;
    let path = args.out.clone().unwrap_or_else(|| default_path(&source));
    // A model file that cannot be written is reported before the training, because training may take hours.
    Model::check_writable(&path)?;
    catch_interrupt()?;
    let mut trained = if args.stream {
        let trained = stream::train(args, &settings, &source, path)?;
        trained.model.save(&trained.path)?;
        trained
    } else {
        train(args, &settings, &source, path)?
    };
    trained.seconds.total = started.elapsed();
    if args.json {
        json::print(&json::trained(&trained, args.weights))?;
    } else if !args.quiet {
        summary::trained(&trained, args)?;
    }
    Ok(Answer::from(trained.model.record().status.is_success()))
}

/// Fits a model to rows in memory and writes it.
fn train(args: &TrainArgs, settings: &Options, source: &Source, path: PathBuf) -> Result<Trained> {
    let started = Instant::now();
    let mut raw = read::read(source, &input::training_options(&args.file, &args.columns)?)?;
    let preparation = input::preparation(&args.columns, settings.method);
    let mut held_out = None;
    if let Some(fraction) = args.holdout {
        let (train, test) = data::split_raw(raw, &preparation, fraction, settings.seed)?;
        (raw, held_out) = (train, Some(test));
    }
    let data = input::prepare(raw, &preparation)?;
    let read = started.elapsed();

    let fitting = Instant::now();
    let start = args.start_from.as_deref().map(Model::load).transpose()?;
    let origin = Start {
        model: start.as_ref(),
        checkpoint: args.checkpoint.as_deref(),
        ..Start::default()
    };
    let show = if args.quiet { Show::Nothing } else { Show::Bar };
    let mut follower = Follower::new(show, args.trace.as_deref())?;
    let fit = |follower: &mut Follower| {
        let model = fit_from(&data, settings, &origin, follower);
        (model, fitting.elapsed())
    };
    let ((model, fitted), digest) = if settings.method.is_some_and(Method::is_online) {
        // An online learner uses one core, so the digest is computed on another one.
        thread::scope(|scope| {
            let digest = scope.spawn(|| data.digest());
            (fit(&mut follower), digest.join().ok())
        })
    } else {
        (fit(&mut follower), Some(data.digest()))
    };
    let model = model
        .map_err(|error| error.in_file(source.name()))?
        .with_digest(digest);
    let solve = follower.solved();
    follower.finish()?;

    let applied = Applied {
        // A category that only the test rows have must not discard the model.
        unseen: Unseen::Ignore,
        with_target: true,
        with_weights: true,
        ..Applied::default()
    };
    let test: Option<Dataset> = match (held_out, &args.test) {
        (Some(raw), _) => Some(input::prepare_for(&model, raw, &applied)?),
        (None, Some(name)) => {
            let mut options = input::read_options(&args.file)?.matching(model.schema(), None);
            options.labels = args.test_labels.clone().or(options.labels);
            let raw = read::read(&Source::parse(name)?, &options)?;
            Some(input::prepare_for(&model, raw, &applied)?)
        }
        (None, None) => None,
    };
    let margins = support::soft(&model, &data, args.support.as_deref())?;
    // The model is written while it is evaluated; neither changes it.
    let (train, saved) = thread::scope(|scope| {
        let saving = scope.spawn(|| model.save(&path));
        let quickly = judges_quickly(&model, data.rows());
        let train = quickly.then(|| judge(&model, &data, None)).transpose();
        (train, saving.join())
    });
    saved.map_err(|_| anyhow!("the model could not be written"))??;
    let trained = Trained {
        name: title(source),
        margins,
        path,
        class_counts: data.class_counts(),
        train: train?,
        test: test.map(|test| judge(&model, &test, None)).transpose()?,
        model,
        seconds: Seconds {
            read,
            solve,
            certify: fitted.saturating_sub(solve),
            total: Duration::ZERO,
        },
    };
    // Freeing the memory of many rows takes as long as writing the model, so it runs on a thread that nothing joins.
    thread::spawn(|| drop(data));
    Ok(trained)
}

/// Whether evaluating the training rows takes no longer than the training did. A committee needs one dot product per
/// row and kept example.
fn judges_quickly(model: &Model, rows: usize) -> bool {
    /// Most dot products of an evaluation. Heuristic: trades the training error in the summary for time; not measured
    /// yet.
    const MOST_PRODUCTS: usize = 20_000_000;
    match model.predictor() {
        Predictor::Committee { committees } => {
            let kept: usize = committees.iter().map(Committee::kept_rows).sum();
            rows.saturating_mul(kept) <= MOST_PRODUCTS
        }
        _ => true,
    }
}

fn default_path(source: &Source) -> PathBuf {
    format!("{}.wstar.json", title(source)).into()
}

fn options(args: &TrainArgs) -> Result<Options> {
    let learning = &args.learning;
    if learning.start.as_ref().is_some_and(Vec::is_empty) {
        return Err(Error::settings("--start needs numbers: b,w1,w2,…").into());
    }
    // Only least absolute deviations have a quantile, so a quantile without a method selects them.
    let method = args.method.or(learning.quantile.map(|_| Method::Lad));
    if args.trace.is_some() && method.is_some_and(Method::is_bayes) {
        return Err(Error::settings("--trace is for methods that learn step by step")
            .remedy("all but gaussian, lda, naive-bayes and minimax")
            .into());
    }
    Ok(Options {
        method,
        epochs: learning.epochs,
        max_iter: learning.max_iter,
        max_seconds: learning.max_seconds,
        learning_rate: learning.learning_rate,
        schedule: learning.schedule.map(|schedule| match schedule {
            ScheduleArg::Constant => Schedule::Constant,
            ScheduleArg::Inverse => Schedule::Inverse,
            ScheduleArg::Halving => Schedule::Halving {
                first: learning.halving_steps,
            },
        }),
        rule: learning.rule.map(|rule| match rule {
            RuleArg::Cyclic => Rule::Cyclic,
            RuleArg::Shuffled => Rule::Shuffled,
            RuleArg::Worst => Rule::Worst,
        }),
        multiset: learning.multiset,
        ties: learning.ties.map(|ties| match ties {
            TiesArg::Mistake => Ties::Mistake,
            TiesArg::Positive => Ties::Positive,
        }),
        start: learning.start.clone(),
        vote: learning.vote.map(|vote| match vote {
            VoteArg::All => Voters::All,
            VoteArg::LastHalf => Voters::LastHalf,
        }),
        epsilon: learning.epsilon,
        density: learning.density.map(|density| match density {
            DensityArg::Gaussian => Density::Gaussian,
            DensityArg::Bernoulli => Density::Bernoulli,
            DensityArg::Multinomial => Density::Multinomial,
        }),
        smoothing: learning.smoothing,
        shrinkage: learning.shrinkage,
        penalties: learning.penalties.as_deref().map(input::penalties).transpose()?,
        loss: learning.loss,
        quantile: learning.quantile.map(Quantile::new).transpose()?,
        penalty: learning.penalty.map(|penalty| match penalty {
            PenaltyArg::None => PenaltyName::None,
            PenaltyArg::L1 => PenaltyName::L1,
            PenaltyArg::L2 => PenaltyName::L2,
            PenaltyArg::ElasticNet => PenaltyName::ElasticNet,
        }),
        c: learning.c,
        lambda: learning.lambda,
        l1_ratio: learning.l1_ratio,
        solver: (learning.solver.as_deref())
            .and_then(|name| SolverName::ALL.into_iter().find(|solver| solver.name() == name)),
        tol: learning.tol,
        momentum: learning.momentum,
        batch: learning.batch,
        multiclass: learning.multiclass.map(|multiclass| match multiclass {
            MulticlassArg::Softmax => Multiclass::Softmax,
            MulticlassArg::Ovr => Multiclass::Ovr,
            MulticlassArg::Ovo => Multiclass::Ovo,
        }),
        class_weight: learning.class_weight.as_deref().map(class_weights).transpose()?,
        prove: learning.prove.map(|what| match what {
            ProveArg::Digits => Prove::Digits,
        }),
        digits: learning.digits,
        penalize_intercept: learning.penalize_intercept,
        firth: learning.firth,
        no_intercept: learning.no_intercept,
        holdout: args.holdout,
        seed: learning.seed,
    })
}

/// Parses class weights: `balanced`, or a comma-separated list of `name:weight`.
fn class_weights(text: &str) -> Result<ClassWeights> {
    if text == "balanced" {
        return Ok(ClassWeights::Balanced);
    }
    let pair = |part: &str| {
        // Split at the last colon, because the name of a class may contain colons.
        let (name, weight) = part.rsplit_once(':')?;
        Some((name.trim().to_string(), weight.trim().parse().ok()?))
    };
    let given: Option<Vec<(String, f64)>> = text.split(',').map(pair).collect();
    given.map(ClassWeights::Given).ok_or_else(|| {
        Error::settings(format!("--class-weight {text} is neither balanced nor a list"))
            .remedy("write it as spam:5,ham:1")
            .into()
    })
}

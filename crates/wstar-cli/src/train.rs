//! `wstar train`: read, fit, certify, judge, write, tell.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use wstar::data::{self, Applied, Dataset, Unseen};
use wstar::fit::{Origin, fit_from};
use wstar::io::{self, Source};
use wstar::loss::Quantile;
use wstar::model::{Judgement, Predictor, SoftMargin, judge};
use wstar::online::{Committee, Ties, Voters};
use wstar::penalty::PenaltyName;
use wstar::schedule::Schedule;
use wstar::settings::{ClassWeights, Density, Method, Multiclass, Rule, Settings};
use wstar::solve::SolverName;
use wstar::{Error, Model};

use crate::args::TrainArgs;
use crate::learning::{DensityArg, MulticlassArg, PenaltyArg, RuleArg, ScheduleArg, TiesArg, VoteArg};
use crate::watch::{Follower, Show, catch_interrupt};
use crate::{Answer, input, json, output, stream, summary, support};

/// How long the parts of a training took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seconds {
    pub(crate) read: Duration,
    pub(crate) solve: Duration,
    pub(crate) certify: Duration,
    pub(crate) total: Duration,
}

/// A training that has ended, as it is told.
pub(crate) struct Trained {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) model: Model,
    /// How many rows each class has.
    pub(crate) class_counts: Vec<usize>,
    /// Left out where it would take another long pass.
    pub(crate) train: Option<Judgement>,
    pub(crate) test: Option<Judgement>,
    /// The points of a support vector machine's problems; none of a stream's.
    pub(crate) margins: Vec<SoftMargin>,
    pub(crate) seconds: Seconds,
}

pub(crate) fn run(args: &TrainArgs) -> Result<Answer> {
    let started = Instant::now();
    let settings = settings(args)?;
    settings.check()?;
    if args.support.is_some() && settings.method != Some(Method::Svm) {
        bail!("--support goes with --method svm, whose points have multipliers");
    }
    let source = Source::parse(&args.data)?;
    let path = args.out.clone().unwrap_or_else(|| default_path(&source));
    // Better to hear now than after an hour of training that the model has nowhere to go.
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
    Ok(Answer::from(trained.model.fit.status.is_success()))
}

/// Fits to all rows in memory, and writes the model.
fn train(args: &TrainArgs, settings: &Settings, source: &Source, path: PathBuf) -> Result<Trained> {
    let started = Instant::now();
    let mut raw = io::read(source, &input::training_options(&args.file, &args.columns)?)?;
    let preparation = input::preparation(&args.columns, settings.method);
    let mut held_out = None;
    if let Some(fraction) = args.holdout {
        let (train, test) = data::split_raw(raw, &preparation, fraction, settings.seed)?;
        (raw, held_out) = (train, Some(test));
    }
    let data = data::prepare(raw, &preparation)?;
    data.notes.iter().for_each(|note| output::complain(note));
    let read = started.elapsed();

    let fitting = Instant::now();
    let start = args.start_from.as_deref().map(Model::load).transpose()?;
    let origin = Origin {
        model: start.as_ref(),
        checkpoint: args.checkpoint.as_deref(),
        ..Origin::default()
    };
    let show = if args.quiet { Show::Nothing } else { Show::Bar };
    let mut follower = Follower::new(show, args.trace.as_deref())?;
    let fit = |follower: &mut Follower| {
        let model = fit_from(&data, settings, &origin, follower);
        (model, fitting.elapsed())
    };
    let ((model, fitted), digest) = if settings.method.is_some_and(Method::is_online) {
        // A learner that takes a row at a time leaves the other cores to the digest.
        thread::scope(|scope| {
            let digest = scope.spawn(|| data.digest());
            (fit(&mut follower), digest.join().ok())
        })
    } else {
        (fit(&mut follower), Some(data.digest()))
    };
    let model = Model {
        digest,
        ..model.map_err(|error| error.in_file(source.name()))?
    };
    let solve = follower.solved();
    follower.finish()?;

    let applied = Applied {
        // A level that only the test rows have is no reason to lose the model.
        unseen: Unseen::Ignore,
        with_target: true,
        with_weights: true,
        ..Applied::default()
    };
    let test: Option<Dataset> = match (held_out, &args.test) {
        (Some(raw), _) => Some(input::prepare_for(&model, raw, &applied)?),
        (None, Some(name)) => {
            let mut options = input::read_options(&args.file)?.matching(&model.schema, None);
            options.labels = args.test_labels.clone().or(options.labels);
            let raw = io::read(&Source::parse(name)?, &options)?;
            Some(input::prepare_for(&model, raw, &applied)?)
        }
        (None, None) => None,
    };
    let margins = support::soft(&model, &data, args.support.as_deref())?;
    // It is written while it is judged; neither changes it.
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
    // Giving back the memory of many rows takes as long as writing the model, and need not be waited for.
    thread::spawn(|| drop(data));
    Ok(trained)
}

/// Whether judging the training rows takes no longer than learning from them did. A committee takes a dot
/// product with every kept example for every row.
fn judges_quickly(model: &Model, rows: usize) -> bool {
    const MOST_PRODUCTS: usize = 20_000_000;
    match &model.predictor {
        Predictor::Committee { committees } => {
            let kept: usize = committees.iter().map(Committee::kept_rows).sum();
            rows.saturating_mul(kept) <= MOST_PRODUCTS
        }
        _ => true,
    }
}

/// What a source is called in titles and file names: `iris` for `@iris` and `data/iris.csv.gz`.
pub(crate) fn title(source: &Source) -> String {
    match source {
        Source::Stdin => "stdin".into(),
        Source::Embedded(set) => set.name.into(),
        Source::Path(path) => {
            let name = path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned();
            let known = [
                ".gz",
                ".csv",
                ".tsv",
                ".svm",
                ".libsvm",
                ".svmlight",
                ".txt",
                ".idx",
            ];
            let mut stem = name.as_str();
            while let Some(shorter) = known.iter().find_map(|ending| stem.strip_suffix(ending))
                && !shorter.is_empty()
            {
                stem = shorter;
            }
            stem.to_string()
        }
    }
}

fn default_path(source: &Source) -> PathBuf {
    format!("{}.wstar.json", title(source)).into()
}

fn settings(args: &TrainArgs) -> Result<Settings> {
    let learning = &args.learning;
    if learning.start.as_ref().is_some_and(Vec::is_empty) {
        return Err(Error::settings("--start needs numbers: b,w1,w2,…").into());
    }
    // Only least absolute deviations have other quantiles.
    let method = args.method.or(learning.quantile.map(|_| Method::Lad));
    if args.trace.is_some() && method.is_some_and(Method::is_bayes) {
        return Err(
            Error::settings("--trace goes with the methods that learn step by step")
                .hint("all but gaussian, lda, naive-bayes and minimax")
                .into(),
        );
    }
    Ok(Settings {
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
        penalize_intercept: learning.penalize_intercept,
        firth: learning.firth,
        no_intercept: learning.no_intercept,
        holdout: args.holdout,
        seed: learning.seed,
    })
}

/// The weights of classes as typed: `balanced`, or `name:weight` with commas between.
fn class_weights(text: &str) -> Result<ClassWeights> {
    if text == "balanced" {
        return Ok(ClassWeights::Balanced);
    }
    let pair = |part: &str| {
        // The last colon: the name of a class may hold others.
        let (name, weight) = part.rsplit_once(':')?;
        Some((name.trim().to_string(), weight.trim().parse().ok()?))
    };
    let given: Option<Vec<(String, f64)>> = text.split(',').map(pair).collect();
    given.map(ClassWeights::Given).ok_or_else(|| {
        Error::settings(format!("--class-weight {text} is neither balanced nor a list"))
            .hint("write it as spam:5,ham:1")
            .into()
    })
}

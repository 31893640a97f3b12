//! How a model was made: in a line, and as the command that makes it again.

use wstar::Model;
use wstar::data::{Encoding, Origin, Terms, Weighting};
use wstar::online::{Ties, Voters};
use wstar::penalty::PenaltyName;
use wstar::schedule::Schedule;
use wstar::settings::{ClassWeights, Density, Method, Multiclass, Rule};

use crate::words::{number, passes, plural};

/// The method, what was minimised and by which solver, in one line.
pub fn how(model: &Model) -> String {
    let mut text = model.method.name().to_string();
    if model.method.is_convex() {
        return minimised(model);
    }
    if let Some(rule) = model.settings.rule {
        text += &format!(", {rule:?} order").to_lowercase();
    }
    if model.method.is_online() {
        text += &format!(
            ", {}, {}",
            passes(model.fit.passes),
            plural(model.fit.iterations, "update")
        );
    }
    if model.method == Method::MinError {
        text += &format!(", {}", plural(model.fit.iterations, "node"));
    }
    text
}

/// How an objective was minimised.
fn minimised(model: &Model) -> String {
    let settings = &model.settings;
    let penalty = settings
        .penalty
        .unwrap_or(if model.method.is_regression() || settings.firth {
            PenaltyName::None
        } else {
            PenaltyName::L2
        });
    let mut text = model.method.name().to_string();
    if let Some(loss) = settings.loss {
        text += &format!(", {} loss", loss.name());
    }
    if let Some(quantile) = settings.quantile {
        text += &format!(", the {} quantile", number(quantile.value()));
    }
    let strength = match settings.lambda {
        Some(lambda) => format!("λ = {}", number(lambda)),
        None => format!("C = {}", number(settings.c.unwrap_or(1.0))),
    };
    text += &match penalty {
        PenaltyName::None => ", no penalty".to_string(),
        PenaltyName::L2 => format!(", ℓ2 with {strength}"),
        PenaltyName::L1 => format!(", ℓ1 with {strength}"),
        PenaltyName::ElasticNet => format!(
            ", elastic net (ρ = {}) with {strength}",
            number(settings.l1_ratio.unwrap_or(0.5))
        ),
    };
    if let Some(solver) = &model.fit.solver {
        text += &format!(", solver {} ({})", solver.name.name(), solver.why);
    }
    text
}

/// The command that makes the model again from these data. `unused` are columns of the data that the model does not
/// know. What a model file does not say (how a file is to be read, which model the fit started from) is not in it.
pub fn command(model: &Model, data: &str, unused: &[String]) -> String {
    let mut words = vec!["wstar".to_string(), "train".into(), quoted(data)];
    let mut add = |option: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(format!("--{option}"));
            words.push(quoted(&value));
        }
    };
    let settings = &model.settings;
    let plain = |value: Option<f64>| value.map(|value| value.to_string());
    add("method", Some(model.method.name().into()));
    add("loss", settings.loss.map(|loss| loss.name().into()));
    add(
        "quantile",
        settings.quantile.map(|quantile| quantile.value().to_string()),
    );
    let penalty = settings.penalty.map(|penalty| match penalty {
        PenaltyName::None => "none",
        PenaltyName::L1 => "l1",
        PenaltyName::L2 => "l2",
        PenaltyName::ElasticNet => "elastic-net",
    });
    add("penalty", penalty.map(String::from));
    add("C", plain(settings.c));
    add("lambda", plain(settings.lambda));
    add("l1-ratio", plain(settings.l1_ratio));
    add("solver", settings.solver.map(|solver| solver.name().into()));
    add("tol", plain(settings.tol));
    add("epochs", plain(settings.epochs));
    add("max-iter", settings.max_iter.map(|most| most.to_string()));
    add("max-seconds", plain(settings.max_seconds));
    add("learning-rate", plain(settings.learning_rate));
    if let Some(schedule) = settings.schedule {
        let (name, first) = match schedule {
            Schedule::Constant => ("constant", None),
            Schedule::Inverse => ("inverse", None),
            Schedule::Halving { first } => ("halving", Some(first.to_string())),
        };
        add("schedule", Some(name.into()));
        add("halving-steps", first);
    }
    add("momentum", plain(settings.momentum));
    add("batch", settings.batch.map(|batch| batch.to_string()));
    let rule = settings.rule.map(|rule| match rule {
        Rule::Cyclic => "cyclic",
        Rule::Shuffled => "shuffled",
        Rule::Worst => "worst",
    });
    add("rule", rule.map(String::from));
    let ties = settings.ties.map(|ties| match ties {
        Ties::Mistake => "mistake",
        Ties::Positive => "positive",
    });
    add("ties", ties.map(String::from));
    add("start", settings.start.as_deref().map(list));
    let vote = settings.vote.map(|vote| match vote {
        Voters::All => "all",
        Voters::LastHalf => "last-half",
    });
    add("vote", vote.map(String::from));
    add("epsilon", plain(settings.epsilon));
    let density = settings.density.map(|density| match density {
        Density::Gaussian => "gaussian",
        Density::Bernoulli => "bernoulli",
        Density::Multinomial => "multinomial",
    });
    add("density", density.map(String::from));
    add("smoothing", plain(settings.smoothing));
    add("shrinkage", plain(settings.shrinkage));
    let matrix = settings.penalties.as_ref();
    add(
        "penalties",
        matrix.map(|rows| rows.iter().map(|row| list(row)).collect::<Vec<_>>().join(";")),
    );
    let multiclass = settings.multiclass.map(|multiclass| match multiclass {
        Multiclass::Softmax => "softmax",
        Multiclass::Ovr => "ovr",
        Multiclass::Ovo => "ovo",
    });
    add("multiclass", multiclass.map(String::from));
    add("class-weight", settings.class_weight.as_ref().map(class_weights));
    add("holdout", plain(settings.holdout));
    add("seed", (settings.seed != 0).then(|| settings.seed.to_string()));
    for (given, option) in [
        (settings.multiset, "--multiset"),
        (settings.penalize_intercept, "--penalize-intercept"),
        (settings.firth, "--firth"),
        (settings.no_intercept, "--no-intercept"),
        (model.schema.scaling.is_some(), "--standardize"),
    ] {
        words.extend(given.then(|| option.to_string()));
    }
    words.extend(columns(model, unused));
    words.join(" ")
}

/// The options that say what the columns mean.
fn columns(model: &Model, unused: &[String]) -> Vec<String> {
    let schema = &model.schema;
    let mut words = Vec::new();
    let mut add = |option: &str, value: String| words.extend([format!("--{option}"), quoted(&value)]);
    if schema.origin == Origin::Table {
        schema.target.iter().for_each(|name| add("target", name.clone()));
    }
    schema
        .positive
        .iter()
        .for_each(|value| add("positive", value.clone()));
    schema
        .sample_weight
        .iter()
        .for_each(|name| add("sample-weight", name.clone()));
    if !unused.is_empty() {
        add("drop", unused.join(","));
    }
    // A category whose values all look like numbers is one only if it was said to be.
    let named = |levels: &[String]| levels.iter().all(|level| level.parse::<f64>().is_ok());
    let categorical: Vec<&str> = schema
        .columns
        .iter()
        .filter(|column| matches!(&column.encoding, Encoding::OneHot { levels, .. } if named(levels)))
        .map(|column| column.name.as_str())
        .collect();
    if !categorical.is_empty() {
        add("categorical", categorical.join(","));
    }
    let (mut texts, mut fills) = (Vec::new(), false);
    for column in &schema.columns {
        match &column.encoding {
            Encoding::Text(encoding) => texts.push((column.name.as_str(), encoding)),
            Encoding::Number { fill } => fills |= fill.is_some(),
            Encoding::OneHot { fill, .. } => fills |= fill.is_some(),
        }
    }
    if let Some((_, encoding)) = texts.first() {
        let names: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
        add("text", names.join(","));
        match encoding.weighting {
            Weighting::Counts => add("text-weighting", "counts".into()),
            Weighting::Binary => add("text-weighting", "binary".into()),
            Weighting::TfIdf => {}
        }
        add("ngrams", encoding.ngrams.to_string());
        if encoding.min_df > 1 {
            add("min-df", encoding.min_df.to_string());
        }
        if let Some(most) = encoding.max_features {
            add("max-terms", most.to_string());
        }
        if let Terms::Hashed(bits) = encoding.terms {
            add("hash-bits", bits.to_string());
        }
    }
    if fills {
        add("missing", "mean".into());
    }
    words
}

fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(f64::to_string).collect();
    texts.join(",")
}

fn class_weights(weights: &ClassWeights) -> String {
    match weights {
        ClassWeights::Balanced => "balanced".into(),
        ClassWeights::Given(pairs) => {
            let texts: Vec<String> = pairs
                .iter()
                .map(|(name, weight)| format!("{name}:{weight}"))
                .collect();
            texts.join(",")
        }
    }
}

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

//! How a model was trained: as one line of text, and as the command that reproduces it.

use wstar::Model;
use wstar::data::setting::Wording;
use wstar::data::{ColumnSource, Encoding, Terms, Weighting};
use wstar::problem::loss::LossName;
use wstar::problem::penalty::PenaltyName;
use wstar::settings::{Method, Regularized, Strength};

use crate::words::{number, passes, plural};

/// One line with the method, the objective and the solver. `wording` names settings.
pub fn how(model: &Model, wording: &dyn Wording) -> String {
    let mut text = model.method().name().to_string();
    if let Some(settings) = model.settings().regularized() {
        return minimised(model, settings, wording);
    }
    if let Some(rule) = model.settings().rule() {
        text += &format!(", {rule:?} order").to_lowercase();
    }
    if model.method().is_online() {
        text += &format!(
            ", {}, {}",
            passes(model.record().passes),
            plural(model.record().iterations, "update")
        );
    }
    if model.method() == Method::MinError {
        text += &format!(", {}", plural(model.record().iterations, "node"));
    }
    text
}

/// The objective of a method that minimises a loss and a penalty, and the solver that minimised it.
fn minimised(model: &Model, settings: &Regularized, wording: &dyn Wording) -> String {
    let mut text = model.method().name().to_string();
    match settings.loss {
        LossName::Quantile(quantile) => {
            text += &format!(", the {} quantile", number(quantile.value()));
        }
        loss if model.method().losses().first() != Some(&loss) => text += &format!(", {} loss", loss.name()),
        _ => {}
    }
    let strength = match settings.strength {
        Strength::Lambda(lambda) => format!("λ = {}", number(lambda)),
        Strength::C(c) => format!("C = {}", number(c)),
    };
    text += &match settings.penalty {
        PenaltyName::None => ", no penalty".to_string(),
        PenaltyName::L2 => format!(", ℓ2 with {strength}"),
        PenaltyName::L1 => format!(", ℓ1 with {strength}"),
        PenaltyName::ElasticNet => format!(
            ", elastic net (ρ = {}) with {strength}",
            number(settings.l1_ratio)
        ),
        other => format!(", {} with {strength}", other.name()),
    };
    if let Some(solver) = &model.record().solver {
        text += &format!(", solver {} ({})", solver.name.name(), solver.why.worded(wording));
    }
    text
}

/// The `wstar train` command that reproduces the model from `data`. `unused` lists the columns of the data that the
/// model does not use. The command lacks what a model file does not record: how the data file is parsed, and which
/// model the fit started from.
pub fn command(model: &Model, data: &str, unused: &[String]) -> String {
    let mut words = vec!["wstar".to_string(), "train".into(), quoted(data)];
    words.extend(["--method".into(), model.method().name().into()]);
    for choice in model.settings().options().given() {
        words.push(format!("--{}", choice.setting.name()));
        words.extend(choice.values.iter().map(|value| quoted(value)));
    }
    if model.schema().scaling.is_some() {
        words.push("--standardize".into());
    }
    words.extend(columns(model, unused));
    words.join(" ")
}

/// The options that assign roles and encodings to the columns.
fn columns(model: &Model, unused: &[String]) -> Vec<String> {
    let schema = model.schema();
    let mut words = Vec::new();
    let mut add = |option: &str, value: String| words.extend([format!("--{option}"), quoted(&value)]);
    if schema.origin == ColumnSource::Table {
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
    // A column whose values all parse as numbers is categorical only if the user declared it so.
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
            other => fills |= other.fills(),
        }
    }
    if let Some((_, encoding)) = texts.first() {
        let names: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
        add("text", names.join(","));
        if encoding.weighting() != Weighting::default() {
            add("text-weighting", encoding.weighting().name().into());
        }
        add("ngrams", encoding.ngrams().to_string());
        if encoding.min_df() > 1 {
            add("min-df", encoding.min_df().to_string());
        }
        if let Some(most) = encoding.max_features() {
            add("max-terms", most.to_string());
        }
        if let Terms::Hashed(bits) = encoding.terms() {
            add("hash-bits", bits.to_string());
        }
    }
    if fills {
        add("missing", "mean".into());
    }
    words
}

/// Quotes a word for a shell if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

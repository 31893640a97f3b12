//! `wstar predict`: prints one label per line, or scores, or probabilities.

use std::io::Write;

use anyhow::{Result, bail};
use wstar::Model;

use crate::answer::Answer;
use crate::args::PredictArgs;
use crate::input::{self, Purpose};
use crate::output::{self, csv_cell};

pub(crate) fn run(args: &PredictArgs) -> Result<Answer> {
    let model = Model::load(&args.model)?;
    let data = input::read_for(
        &model,
        &args.data,
        &args.file,
        Some(&args.matching),
        Purpose::Predict,
    )?;
    let scores = model.scores(&data)?;
    let mut results = output::results();
    let header = |names: &[String]| {
        names
            .iter()
            .map(|name| csv_cell(name))
            .collect::<Vec<_>>()
            .join(",")
    };
    let line = |numbers: &[f64]| {
        numbers
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",")
    };
    if args.proba {
        let Some(shares) = model.probabilities_of(&scores) else {
            bail!(
                "{} gives no probabilities (use --scores, or train logistic, softmax, gaussian, lda or naive-bayes)",
                model.method().name()
            );
        };
        writeln!(results, "{}", header(model.classes().names()))?;
        for row in shares.rows() {
            writeln!(results, "{}", line(row))?;
        }
    } else if args.scores {
        match scores.columns() {
            1 => writeln!(results, "score")?,
            _ => writeln!(results, "{}", header(model.classes().names()))?,
        }
        for row in scores.rows() {
            writeln!(results, "{}", line(row))?;
        }
    } else if model.predictor().is_regression() {
        for prediction in scores.values() {
            writeln!(results, "{prediction}")?;
        }
    } else {
        for class in model.decide(&scores) {
            writeln!(results, "{}", model.classes().name(class))?;
        }
    }
    results.flush()?;
    Ok(Answer::Yes)
}

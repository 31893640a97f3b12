//! `wstar predict`: one label a line, or scores, or probabilities.

use std::io::Write;

use anyhow::{Result, bail};
use wstar::Model;

use crate::Answer;
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
    let scores = model.predictor.scores(&data.design)?;
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
        let rows: Option<Vec<Vec<f64>>> = scores
            .rows()
            .map(|row| model.predictor.probabilities(row))
            .collect();
        let Some(rows) = rows else {
            bail!(
                "{} gives no probabilities (use --scores, or train logistic, softmax, gaussian, lda or naive-bayes)",
                model.method.name()
            );
        };
        writeln!(results, "{}", header(model.classes.names()))?;
        for row in rows {
            writeln!(results, "{}", line(&row))?;
        }
    } else if args.scores {
        match scores.columns {
            1 => writeln!(results, "score")?,
            _ => writeln!(results, "{}", header(model.classes.names()))?,
        }
        for row in scores.rows() {
            writeln!(results, "{}", line(row))?;
        }
    } else if model.predictor.is_regression() {
        for prediction in &scores.values {
            writeln!(results, "{prediction}")?;
        }
    } else {
        for row in scores.rows() {
            writeln!(results, "{}", model.classes.name(model.predictor.decide(row)))?;
        }
    }
    results.flush()?;
    Ok(Answer::Yes)
}

//! `wstar evaluate`: evaluates a model on data whose target is known.

use std::io::Write;

use anyhow::Result;
use wstar::Model;
use wstar::bayes::Penalties;
use wstar::model::{Deviations, Evaluation, Judgement, judge};

use crate::answer::Answer;
use crate::args::EvaluateArgs;
use crate::input::{self, Purpose};
use crate::output::{self, Style, number, percent, plural};
use crate::{json, weights};

pub(crate) fn run(args: &EvaluateArgs) -> Result<Answer> {
    let model = Model::load(&args.model)?;
    let penalties = args
        .penalties
        .as_deref()
        .map(|text| anyhow::Ok(Penalties::new(input::penalties(text)?)?))
        .transpose()?;
    let purpose = Purpose::Evaluate {
        drop_missing: args.drop_missing,
    };
    let data = input::read_for(&model, &args.data, &args.file, Some(&args.matching), purpose)?;
    let judgement = judge(&model, &data, penalties.as_ref())?;
    match &judgement {
        _ if args.json => json::print(&serde_json::json!(judgement))?,
        Judgement::Classes(evaluation) => print(evaluation)?,
        Judgement::Real(deviations) => print_deviations(deviations)?,
        other => json::print(&serde_json::json!(other))?,
    }
    Ok(Answer::Yes)
}

fn print_deviations(deviations: &Deviations) -> Result<()> {
    let mut results = output::results();
    writeln!(results, "{}", plural(deviations.rows() as u64, "row"))?;
    writeln!(results)?;
    writeln!(
        results,
        "  mean squared deviation    {}",
        number(deviations.mse())
    )?;
    writeln!(
        results,
        "  mean absolute deviation   {}",
        number(deviations.mae())
    )?;
    if let Some(r2) = deviations.r2() {
        writeln!(results, "  R²                        {}", number(r2))?;
    }
    results.flush()?;
    Ok(())
}

fn print(evaluation: &Evaluation) -> Result<()> {
    let style = Style::for_results();
    let mut results = output::results();
    writeln!(results, "{}", plural(evaluation.rows() as u64, "row"))?;
    writeln!(results)?;
    writeln!(
        results,
        "  error      {}",
        style.strong(&percent(evaluation.error()))
    )?;
    writeln!(results, "  accuracy   {}", percent(evaluation.accuracy()))?;
    if let Some(loss) = evaluation.log_loss() {
        writeln!(results, "  log loss   {}", number(loss))?;
    }
    if let Some(auc) = evaluation.auc() {
        writeln!(results, "  AUC        {auc:.4}")?;
    }
    if let Some(risk) = evaluation.risk() {
        writeln!(results, "  risk       {} (mean penalty)", number(risk))?;
    }
    writeln!(results)?;
    let names = evaluation.classes().names();
    let mut table = vec![
        std::iter::once("true \\ predicted".to_string())
            .chain(names.iter().cloned())
            .collect(),
    ];
    for (name, row) in names.iter().zip(evaluation.confusion()) {
        table.push(
            std::iter::once(name.clone())
                .chain(row.iter().map(|&cell| number(cell)))
                .collect(),
        );
    }
    results.write_all(weights::table(&table).as_bytes())?;
    results.flush()?;
    Ok(())
}

//! `wstar evaluate`: how well a model does on data whose classes are known.

use std::io::Write;

use anyhow::Result;
use wstar::Model;
use wstar::bayes::Penalties;
use wstar::model::{Evaluation, evaluate_with};

use crate::Answer;
use crate::args::EvaluateArgs;
use crate::input::{self, Purpose};
use crate::output::{self, Style, number, percent, plural};
use crate::{json, summary};

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
    let evaluation = evaluate_with(&model, &data, penalties.as_ref().or(model.predictor.penalties()))?;
    if args.json {
        json::print(&json::evaluated(&evaluation))?;
    } else {
        print(&evaluation)?;
    }
    Ok(Answer::Yes)
}

fn print(evaluation: &Evaluation) -> Result<()> {
    let style = Style::for_results();
    let mut results = output::results();
    writeln!(results, "{}", plural(evaluation.rows as u64, "row"))?;
    writeln!(results)?;
    writeln!(
        results,
        "  error      {}",
        style.strong(&percent(evaluation.error))
    )?;
    writeln!(results, "  accuracy   {}", percent(evaluation.accuracy))?;
    if let Some(loss) = evaluation.log_loss {
        writeln!(results, "  log loss   {}", number(loss))?;
    }
    if let Some(auc) = evaluation.auc {
        writeln!(results, "  AUC        {auc:.4}")?;
    }
    if let Some(risk) = evaluation.risk {
        writeln!(results, "  risk       {} (mean penalty)", number(risk))?;
    }
    writeln!(results)?;
    let names = evaluation.classes.names();
    let mut table = vec![
        std::iter::once("true \\ predicted".to_string())
            .chain(names.iter().cloned())
            .collect(),
    ];
    for (name, row) in names.iter().zip(&evaluation.confusion) {
        table.push(
            std::iter::once(name.clone())
                .chain(row.iter().map(|&cell| number(cell)))
                .collect(),
        );
    }
    results.write_all(summary::table(&table).as_bytes())?;
    results.flush()?;
    Ok(())
}

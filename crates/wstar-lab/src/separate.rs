//! Linear separability of each pair of classes, with its proof.

use serde_json::{Value, json};
use wstar::data::error::Result;
use wstar::data::run::Budget;
use wstar::separate::margin::{Question, separate_classes};
use wstar::separate::proof::Sides;

use crate::fit::LONGEST;
use crate::plane::Plane;
use crate::request::SeparateRequest;
use crate::trace::{Line, Recorder};

/// Decides for every pair of classes whether a hyperplane separates them.
pub(crate) fn separate(request: SeparateRequest, line: &Line<'_>) -> Result<Value> {
    let data = Plane::of(request.data)?.dataset(false)?;
    let (_, classes) = data.require_classes()?;
    let count = classes.len() as u32;
    let budget = Budget {
        max_time: Some(LONGEST),
        ..Budget::default()
    };
    let mut pairs = Vec::new();
    for negative in 0..count {
        for positive in negative + 1..count {
            let sides = Sides {
                positive,
                negative: (count > 2).then_some(negative),
            };
            let mut watch = Recorder::new(line, false);
            let intercept = !request.no_intercept;
            let found = separate_classes(&data, sides, intercept, Question::Margin, budget, &mut watch)?;
            let mut pair = json!({
                "negative": negative,
                "positive": positive,
                "verdict": found.proof.as_ref().map(|proof| proof.verdict.name()),
                "plane": found.hyperplane,
            });
            if let Some(proof) = found.proof {
                pair["margin"] = json!(proof.margin);
                pair["proof"] = json!(proof.proof);
                pair["hulls"] = json!(proof.hulls);
            }
            pairs.push(pair);
        }
    }
    Ok(json!({ "pairs": pairs }))
}

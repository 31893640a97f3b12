//! Each class against the rest, by what a model says of rows whose class is known: what ROC, precision–recall and
//! calibration curves are drawn from.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::Model;

/// One class against the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct AgainstRest {
    /// The class.
    pub class: u32,
    /// Whether each row has it.
    pub positive: Vec<bool>,
    /// What speaks for it: a score, or with more than two classes the probability where there is one, since a score
    /// counts only beside the row's other scores.
    pub scores: Vec<f64>,
    /// Its probability, where the model gives one.
    pub probabilities: Option<Vec<f64>>,
}

/// The last of two classes against the first; of more classes each against the rest, `most` of them.
pub fn against_rest(model: &Model, data: &Dataset, most: usize) -> Result<Vec<AgainstRest>> {
    if model.predictor.is_regression() {
        return Err(Error::model("the model predicts a number, not a class"));
    }
    let (codes, _) = data.require_classes()?;
    let scores = model.predictor.scores(&data.design)?;
    let probabilities: Option<Vec<Vec<f64>>> = scores
        .rows()
        .map(|row| model.predictor.probabilities(row))
        .collect();
    let of = |class: u32| probabilities.as_ref().map(|rows| column(rows, class));
    let positive = |class: u32| codes.iter().map(|&code| code == class).collect();
    if scores.columns == 1 {
        return Ok(vec![AgainstRest {
            class: 1,
            positive: positive(1),
            probabilities: of(1),
            scores: scores.values,
        }]);
    }
    let class = |class: u32| {
        let probabilities = of(class);
        AgainstRest {
            class,
            positive: positive(class),
            scores: match &probabilities {
                Some(probabilities) => probabilities.clone(),
                None => scores.rows().map(|row| row[class as usize]).collect(),
            },
            probabilities,
        }
    };
    Ok((0..scores.columns.min(most) as u32).map(class).collect())
}

fn column(rows: &[Vec<f64>], class: u32) -> Vec<f64> {
    rows.iter().map(|row| row[class as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;
    use crate::settings::{Method, Settings};
    use crate::watch::Unwatched;

    fn embedded(name: &str) -> Dataset {
        let raw = crate::io::read(&crate::io::Source::parse(name).unwrap(), &Default::default()).unwrap();
        crate::data::prepare(raw, &Default::default()).unwrap()
    }

    #[test]
    fn two_classes_are_judged_as_evaluate_does() {
        let data = embedded("@breast-cancer");
        let model = crate::fit(&data, &Settings::for_method(Method::Logistic), &mut Unwatched).unwrap();
        let [side] = against_rest(&model, &data, 8).unwrap().try_into().unwrap();
        let curve = metrics::roc(&side.positive, &side.scores, None).unwrap().unwrap();
        let judged = crate::evaluate(&model, &data).unwrap();
        assert!((curve.area() - judged.auc.unwrap()).abs() < 1e-12);
        // With an intercept, maximum likelihood makes probabilities sum to the number of positives; the penalty leaves
        // the intercept alone, so it does here too.
        let sum: f64 = side.probabilities.unwrap().iter().sum();
        let count = side.positive.iter().filter(|&&positive| positive).count() as f64;
        assert!((sum - count).abs() < 0.05, "{sum} {count}");
    }

    #[test]
    fn of_more_classes_each_stands_against_the_rest() {
        let data = embedded("@iris");
        for (method, likely) in [(Method::Softmax, true), (Method::Svm, false)] {
            let model = crate::fit(&data, &Settings::for_method(method), &mut Unwatched).unwrap();
            let sides = against_rest(&model, &data, 8).unwrap();
            assert_eq!(sides.len(), 3);
            assert!(sides.iter().all(|side| side.probabilities.is_some() == likely));
            // Setosa is separable from the others.
            let curve = metrics::roc(&sides[0].positive, &sides[0].scores, None)
                .unwrap()
                .unwrap();
            assert_eq!(curve.area(), 1.0);
            assert_eq!(against_rest(&model, &data, 2).unwrap().len(), 2);
        }
        let regression = embedded("@diabetes");
        let model = crate::fit(
            &regression,
            &Settings::for_method(Method::LeastSquares),
            &mut Unwatched,
        )
        .unwrap();
        assert!(against_rest(&model, &regression, 8).is_err());
    }
}

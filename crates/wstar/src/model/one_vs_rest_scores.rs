//! Scores of each class against the rest on rows with a known class: the input of ROC, precision–recall and calibration
//! curves.

use crate::model::{Model, Scores};
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};

/// The scores of one class against the rest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AgainstRest {
    /// The class.
    pub(crate) class: u32,
    /// Whether each row belongs to the class.
    pub(crate) positive: Vec<bool>,
    /// The score of the class for each row. With more than two classes it is the probability if the model gives one,
    /// because a score is meaningful only relative to the other scores of its row.
    pub(crate) scores: Vec<f64>,
    /// The probability of the class for each row, if the model gives one.
    pub(crate) probabilities: Option<Vec<f64>>,
}

impl AgainstRest {
    /// The class.
    pub fn class(&self) -> u32 {
        self.class
    }

    /// Whether each row belongs to the class.
    pub fn positive(&self) -> &[bool] {
        &self.positive
    }

    /// The score of the class for each row. With more than two classes it is the probability if the model gives one,
    /// because a score is meaningful only relative to the other scores of its row.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The probability of the class for each row, if the model gives one.
    pub fn probabilities(&self) -> Option<&[f64]> {
        self.probabilities.as_deref()
    }
}

/// For two classes, the last against the first. For more classes, each against the rest, at most `most` of them.
pub fn against_rest(model: &Model, data: &Dataset, most: usize) -> Result<Vec<AgainstRest>> {
    if model.predictor.is_regression() {
        return Err(Error::model("the model predicts a number, not a class"));
    }
    data.require_classes()?;
    let codes = model.codes_of(data)?;
    let scores = model.scores(data)?;
    let probabilities = model.probabilities_of(&scores);
    let of = |class: u32| probabilities.as_ref().map(|shares| column(shares, class));
    let positive = |class: u32| codes.iter().map(|&code| code == class).collect();
    if scores.columns() == 1 {
        return Ok(vec![AgainstRest {
            class: 1,
            positive: positive(1),
            probabilities: of(1),
            scores: scores.into_values(),
        }]);
    }
    let class = |class: u32| {
        let probabilities = of(class);
        AgainstRest {
            class,
            positive: positive(class),
            scores: match &probabilities {
                Some(probabilities) => probabilities.clone(),
                None => column(&scores, class),
            },
            probabilities,
        }
    };
    Ok((0..scores.columns().min(most) as u32).map(class).collect())
}

fn column(scores: &Scores, class: u32) -> Vec<f64> {
    scores.rows().map(|row| row[class as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;
    use crate::settings::{Method, Options};
    use wstar_data::run::Unwatched;

    fn embedded(name: &str) -> Dataset {
        let raw = wstar_data::read::read(
            &wstar_data::read::Source::parse(name).unwrap(),
            &Default::default(),
        )
        .unwrap();
        wstar_data::prepare::prepare(raw, &Default::default()).unwrap()
    }

    #[test]
    fn two_classes_have_the_auc_of_evaluate() {
        let data = embedded("@breast-cancer");
        let model = crate::estimate::fit(&data, &Options::of(Method::Logistic), &mut Unwatched).unwrap();
        let [side] = against_rest(&model, &data, 8).unwrap().try_into().unwrap();
        let curve = metrics::roc(&side.positive, &side.scores, None).unwrap().unwrap();
        let judged = crate::model::evaluate::evaluate(&model, &data).unwrap();
        assert!((curve.area() - judged.auc.unwrap()).abs() < 1e-12);
        // With an intercept, maximum likelihood makes the probabilities sum to the number of positives. The penalty
        // does not include the intercept, so this holds here too.
        let sum: f64 = side.probabilities.unwrap().iter().sum();
        let count = side.positive.iter().filter(|&&positive| positive).count() as f64;
        assert!((sum - count).abs() < 0.05, "{sum} {count}");
    }

    #[test]
    fn each_of_several_classes_is_scored_against_the_rest() {
        let data = embedded("@iris");
        for (method, likely) in [(Method::Softmax, true), (Method::Svm, false)] {
            let model = crate::estimate::fit(&data, &Options::of(method), &mut Unwatched).unwrap();
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
        let model =
            crate::estimate::fit(&regression, &Options::of(Method::LeastSquares), &mut Unwatched).unwrap();
        assert!(against_rest(&model, &regression, 8).is_err());
    }
}

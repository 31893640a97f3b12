//! The `judge` request: errors and margin of a hyperplane that the user has drawn.

use serde_json::{Value, json};
use wstar::data::error::{Error, Result};
use wstar::data::linear::Hyperplane;
use wstar::data::{Dataset, Target};

use crate::plane::Plane;
use crate::request::JudgeRequest;

/// The number of errors and the margin, which is negative if the hyperplane does not separate the classes.
pub(crate) fn judge(request: JudgeRequest) -> Result<Value> {
    let data = Plane::of(request.data)?.dataset(false)?;
    let (errors, margin) = judged(&data, &request.plane)?;
    Ok(json!({"errors": errors, "margin": margin, "rows": data.rows()}))
}

fn judged(data: &Dataset, plane: &Hyperplane) -> Result<(usize, Option<f64>)> {
    let (codes, classes) = data.require_classes()?;
    let finite = plane.intercept.is_finite() && plane.weights.iter().all(|weight| weight.is_finite());
    if classes.len() != 2 || plane.weights.len() != data.features() || !finite {
        return Err(Error::settings(
            "a line needs two classes and a finite weight for each feature",
        ));
    }
    let labels: Vec<f64> = codes.iter().map(|&code| f64::from(code) * 2.0 - 1.0).collect();
    let wrong = |i: &usize| {
        let positive = plane.score(data.design().row(*i)) > 0.0;
        positive != (codes[*i] == 1)
    };
    let errors = (0..data.rows()).filter(wrong).count();
    Ok((errors, plane.margin_of_set(data.design(), &labels)))
}

/// Indices of the rows whose predicted class is not the true class.
pub(crate) fn wrong_rows(data: &Dataset, predicted: &[u32]) -> Vec<usize> {
    match data.target() {
        Target::Classes { codes, .. } => (0..codes.len()).filter(|&i| codes[i] != predicted[i]).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_margin_of_a_line() {
        let rows = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [-1.0, 2.0]].map(Vec::from);
        let data = Dataset::labelled(&rows, &["a", "a", "b", "b"]).unwrap();
        // The line x = 2: the last point is on the wrong side, at distance 3.
        let plane = Hyperplane::new(vec![2.0, 0.0], -4.0);
        assert_eq!(judged(&data, &plane).unwrap(), (1, Some(-3.0)));
        assert!(judged(&data, &Hyperplane::new(vec![1.0], 0.0)).is_err());
    }
}

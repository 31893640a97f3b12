//! What oracles over rows in memory keep of a point, so that the next question about it costs less, and what a loss makes of
//! its scores.

use std::ops::Range;

use crate::loss::{Loss, LossName, on_loss};
use crate::oracle::Rows;

/// Parameters, and what they score.
#[derive(Default)]
pub(crate) struct Kept {
    pub(super) parameters: Vec<f64>,
    pub(super) scores: Vec<f64>,
    /// The loss's curvature at each score of a single output, once a gradient has come by it or a product asked for it.
    pub(super) curvatures: Vec<f64>,
    /// How often the scores were moved along a direction since they were computed afresh.
    pub(super) moved: u32,
}

impl Kept {
    /// The same scores, for an oracle over the same rows but other columns: there its parameters are these. Scores do not
    /// depend on columns whose weights are 0.
    pub(crate) fn of(self, parameters: &[f64]) -> Self {
        Kept {
            parameters: parameters.to_vec(),
            ..self
        }
    }
}

/// Turns the only scores of rows into the loss's slopes there; gives the loss, and the curvatures where there is room.
pub(super) fn differentiate(
    rows: &Rows<'_>,
    loss: LossName,
    range: Range<usize>,
    scores: &mut [f64],
    mut curvatures: Option<&mut [f64]>,
) -> f64 {
    let targets = &rows.targets[range.clone()];
    let mut value = 0.0;
    on_loss!(loss, loss => {
        let mut values = vec![0.0; targets.len()];
        loss.each(targets, scores, &mut values, curvatures.as_deref_mut());
        for (at, i) in range.enumerate() {
            let weight = rows.weights.get(i);
            value += weight * values[at];
            scores[at] *= weight;
            if let Some(curvatures) = curvatures.as_deref_mut() {
                curvatures[at] *= weight;
            }
        }
    }, softmax => {});
    value
}

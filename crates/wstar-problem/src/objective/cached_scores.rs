//! The scores of a point, cached between queries, and the derivatives of a loss at the scores of a block of rows.

use crate::on_loss;
use std::ops::Range;

use crate::loss::{Loss, LossName};
use crate::objective::Rows;

/// Parameters and the scores of all rows at them.
#[derive(Default)]
pub struct CachedScores {
    pub(super) parameters: Vec<f64>,
    pub(super) scores: Vec<f64>,
    /// cᵢ ℓ''(zᵢ) of each row with a single output; empty until a gradient or a product has computed it.
    pub(super) curvatures: Vec<f64>,
    /// The number of updates z += step·d since the scores were last computed from the rows.
    pub(super) moved: u32,
}

impl CachedScores {
    /// The same scores under other parameters, for an objective over the same rows and another set of columns. Columns whose
    /// weights are 0 do not change the scores.
    pub fn of(self, parameters: &[f64]) -> Self {
        CachedScores {
            parameters: parameters.to_vec(),
            ..self
        }
    }
}

/// Cached scores, and whether they already are the scores of their parameters.
pub(super) struct Scored<'k> {
    pub(super) kept: &'k mut CachedScores,
    pub(super) known: bool,
}

/// The cache with a mark of whether its scores are known.
pub(super) fn scored(kept: &mut CachedScores, known: bool) -> Scored<'_> {
    Scored { kept, known }
}

/// Overwrites the scores of rows with one output by cᵢ ℓ'(zᵢ), writes cᵢ ℓ''(zᵢ) to `curvatures` if given, and returns
/// Σ cᵢ ℓ(zᵢ).
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

//! How flat the objective is at a point: what can be claimed where a loss is not convex.
//!
//! The slope of each parameter is measured against the most that all rows together could pull at it,
//! Σᵢ cᵢ |xᵢⱼ| · max|ℓ'|, so the measure does not change with the scale of a column or of C.

use serde::{Deserialize, Serialize};

use crate::certify::agree;
use crate::certify::duality::{Definition, penalty_of};
use crate::certify::firth;
use crate::error::{Error, Result};
use crate::kernel::double_double::Compensated;
use crate::loss::{Loss, on_loss};
use crate::oracle::Blocks;

/// A claim: no parameter's slope is more than `slope` of what the rows could pull.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stationarity {
    /// The objective at the model.
    pub objective: f64,
    /// The steepest slope, relatively.
    pub slope: f64,
    /// The slope that was asked for.
    pub tol: f64,
    /// Rows with a weight above 0.
    pub rows: u64,
}

impl Stationarity {
    /// Whether the slope is what was asked for, by the numbers of the claim.
    pub fn holds(&self) -> bool {
        self.slope <= self.tol
    }

    /// What of this claim the data contradict, once it has been recomputed.
    pub fn objections(&self, found: &Stationarity) -> Vec<String> {
        let mut objections = Vec::new();
        if self.rows != found.rows {
            objections.push(format!(
                "the claim is about {} rows, and these are {}",
                self.rows, found.rows
            ));
        }
        if !agree(self.objective, found.objective) {
            objections.push(format!(
                "the objective is claimed to be {}, and is {}",
                self.objective, found.objective
            ));
        }
        if !found.holds() {
            objections.push(format!(
                "the steepest slope is {:.2e} of the most possible, and {:.0e} was asked for",
                found.slope, found.tol
            ));
        }
        objections
    }
}

/// Computes the slopes at a point in one pass over the rows; two for Firth's correction.
pub fn stationarity(
    blocks: &mut dyn Blocks,
    definition: &Definition,
    parameters: &[f64],
    tol: f64,
) -> Result<Stationarity> {
    let layout = definition.layout;
    if layout.outputs != 1 {
        return Err(Error::model("stationarity is claimed for a loss that is convex"));
    }
    if definition.firth {
        return firth::recompute(blocks, definition, parameters, tol);
    }
    let mut loss_value = Compensated::default();
    let mut slopes = vec![Compensated::default(); layout.len()];
    let mut pulls = vec![0.0; layout.len()];
    let mut counted = 0;
    let (w, b) = layout.output(parameters, 0);
    blocks.pass(&mut |rows| {
        for i in 0..rows.len() {
            let (row, y, weight) = (rows.design.row(i), rows.targets[i], rows.weights.get(i));
            counted += u64::from(weight > 0.0);
            let z = row.dot(w) + b;
            let (value, slope, steepest) = on_loss!(definition.loss, loss => {
                let (least, greatest) = loss.slopes(y);
                (loss.value(y, z), loss.slope(y, z), greatest.max(-least))
            }, softmax => (0.0, 0.0, 1.0));
            loss_value.add(weight * value);
            row.for_each(|j, x| {
                slopes[j].add(weight * slope * x);
                pulls[j] += weight * steepest * x.abs();
            });
            if layout.intercept {
                slopes[layout.features].add(weight * slope);
                pulls[layout.features] += weight * steepest;
            }
        }
        Ok(())
    })?;
    let mut objective = loss_value.value();
    let mut steepest = 0.0f64;
    for (j, &w) in parameters.iter().enumerate() {
        let penalty = penalty_of(definition, j);
        objective += penalty.of(w);
        let violation = penalty.violation(w, slopes[j].value());
        let most = pulls[j] + penalty.l1 + penalty.l2 * w.abs();
        if violation > 0.0 {
            steepest = steepest.max(violation / most);
        }
    }
    Ok(Stationarity {
        objective,
        slope: steepest,
        tol,
        rows: counted,
    })
}

//! The relative size of the gradient at a point, recomputed from the rows.

use crate::stationarity::score::score;
use crate::stationarity::{Stationarity, firth_gradient};
use wstar_data::error::{Error, Result};
use wstar_numeric::double_double::Compensated;
use wstar_problem::loss::Loss;
use wstar_problem::objective::Blocks;
use wstar_problem::on_loss;
use wstar_problem::problem::Problem;

/// Computes the gradient at a point in one pass over the rows, or in up to three for Firth's correction.
pub fn stationarity(
    blocks: &mut dyn Blocks,
    problem: &Problem,
    parameters: &[f64],
    tol: f64,
) -> Result<Stationarity> {
    let layout = problem.layout();
    if layout.outputs != 1 {
        return Err(Error::model("stationarity is claimed for a loss that is convex"));
    }
    if problem.is_firth() {
        return firth_gradient::recompute(blocks, problem, parameters, tol);
    }
    let mut loss_value = Compensated::default();
    let mut slopes = vec![Compensated::default(); layout.len()];
    let mut largest = vec![0.0; layout.len()];
    let mut counted = 0;
    let (w, b) = layout.output(parameters, 0);
    blocks.pass(&mut |rows| {
        for i in 0..rows.len() {
            let (row, y, weight) = (rows.design.row(i), rows.targets[i], rows.weights.get(i));
            counted += u64::from(weight > 0.0);
            let z = score(row, w, b);
            let (value, slope, steepest) = on_loss!(problem.loss(), loss => {
                let (least, greatest) = loss.slopes(y);
                (loss.value(y, z), loss.slope(y, z), greatest.max(-least))
            }, softmax => (0.0, 0.0, 1.0));
            loss_value.add(weight * value);
            row.for_each(|j, x| {
                slopes[j].add(weight * slope * x);
                largest[j] += weight * steepest * x.abs();
            });
            if layout.intercept {
                slopes[layout.features].add(weight * slope);
                largest[layout.features] += weight * steepest;
            }
        }
        Ok(())
    })?;
    let mut objective = loss_value.value();
    let mut steepest = 0.0f64;
    for (j, &w) in parameters.iter().enumerate() {
        let penalty = problem.penalty_of(j);
        objective += penalty.of(w);
        let violation = penalty.violation(w, slopes[j].value());
        let most = largest[j] + penalty.l1 + penalty.l2 * w.abs();
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

//! The slopes of Firth's corrected likelihood, by their definition.
//!
//! Of −ℓ(β) − ½ ln det I(β): Σ (cᵢ(tᵢ − pᵢ) + hᵢ(½ − pᵢ))x̃ᵢ with tᵢ ∈ {0, 1},
//! hᵢ = cᵢpᵢ(1 − pᵢ)·x̃ᵢᵀI⁻¹x̃ᵢ and I = Σ cᵢpᵢ(1 − pᵢ)x̃ᵢx̃ᵢᵀ. Where there is an intercept the
//! leverages and the determinant are those of the columns less any constants, so their means are taken off.
//! Three passes over the rows: for the means, for I, and for the rest.

use crate::certify::duality::Definition;
use crate::certify::stationarity::Stationarity;
use crate::data::Row;
use crate::error::{Error, Result};
use crate::kernel::double_double::Compensated;
use crate::oracle::Blocks;

/// Recomputes objective and slopes at a point.
pub(super) fn recompute(
    blocks: &mut dyn Blocks,
    definition: &Definition,
    parameters: &[f64],
    tol: f64,
) -> Result<Stationarity> {
    let layout = definition.layout;
    let length = layout.len();
    let (w, b) = layout.output(parameters, 0);
    let mut means = vec![0.0; layout.features];
    let mut total = 0.0;
    if layout.intercept {
        blocks.pass(&mut |rows| {
            for i in 0..rows.len() {
                total += rows.weights.get(i);
                rows.design
                    .row(i)
                    .for_each(|j, x| means[j] += rows.weights.get(i) * x);
            }
            Ok(())
        })?;
        means.iter_mut().for_each(|mean| *mean /= total);
    }
    let mut information = vec![vec![0.0; length]; length];
    let mut deviance = Compensated::default();
    let mut counted = 0;
    let mut x = vec![0.0; length];
    blocks.pass(&mut |rows| {
        for i in 0..rows.len() {
            let (row, weight) = (rows.design.row(i), rows.weights.get(i));
            counted += u64::from(weight > 0.0);
            let z = row.dot(w) + b;
            let odds = (-z.abs()).exp();
            deviance.add(weight * ((-rows.targets[i] * z).max(0.0) + odds.ln_1p()));
            let variance = weight * odds / ((1.0 + odds) * (1.0 + odds));
            fill(&mut x, row, &means, layout.intercept);
            for (j, line) in information.iter_mut().enumerate().filter(|(j, _)| x[*j] != 0.0) {
                for (k, entry) in line.iter_mut().enumerate().take(j + 1) {
                    *entry += variance * x[j] * x[k];
                }
            }
        }
        Ok(())
    })?;
    let factor = Factor::new(information)
        .ok_or_else(|| Error::data("the information matrix is singular: columns depend on each other"))?;
    let mut slopes = vec![Compensated::default(); length];
    let mut pulls = vec![0.0; length];
    blocks.pass(&mut |rows| {
        for i in 0..rows.len() {
            let (row, y, weight) = (rows.design.row(i), rows.targets[i], rows.weights.get(i));
            let z = row.dot(w) + b;
            let odds = (-z.abs()).exp();
            let variance = weight * odds / ((1.0 + odds) * (1.0 + odds));
            let p = if z >= 0.0 {
                1.0 / (1.0 + odds)
            } else {
                odds / (1.0 + odds)
            };
            fill(&mut x, row, &means, layout.intercept);
            let leverage = variance * factor.quadratic(&x);
            let t = if y > 0.0 { 1.0 } else { 0.0 };
            let residual = weight * (t - p) + leverage * (0.5 - p);
            let mut add = |j: usize, x: f64| {
                slopes[j].add(residual * x);
                pulls[j] += weight * x.abs();
            };
            row.for_each(&mut add);
            if layout.intercept {
                add(layout.features, 1.0);
            }
        }
        Ok(())
    })?;
    let steepest = slopes.iter().zip(&pulls).filter(|(_, pull)| **pull > 0.0);
    Ok(Stationarity {
        objective: deviance.value() - factor.half_log_determinant(),
        slope: steepest
            .map(|(slope, pull)| slope.value().abs() / pull)
            .fold(0.0, f64::max),
        tol,
        rows: counted,
    })
}

/// x̃, less the means.
fn fill(x: &mut [f64], row: Row<'_>, means: &[f64], intercept: bool) {
    x.iter_mut().zip(means).for_each(|(x, mean)| *x = -mean);
    row.for_each(|j, value| x[j] += value);
    if intercept && let Some(last) = x.last_mut() {
        *last = 1.0;
    }
}

/// S·M·S = L·Lᵀ with a unit diagonal on the left: the plain algorithm, line by line.
struct Factor {
    lower: Vec<Vec<f64>>,
    scale: Vec<f64>,
}

impl Factor {
    /// Of a matrix's lower triangle; none where it is not positive definite.
    fn new(mut lower: Vec<Vec<f64>>) -> Option<Self> {
        let scale: Vec<f64> = (0..lower.len()).map(|j| 1.0 / lower[j][j].sqrt()).collect();
        for j in 0..lower.len() {
            for k in 0..=j {
                let (done, rest) = lower.split_at_mut(j);
                let own = &mut rest[0];
                let known: f64 = (0..k)
                    .map(|m| own[m] * if k == j { own[m] } else { done[k][m] })
                    .sum();
                let left = own[k] * scale[j] * scale[k] - known;
                own[k] = if k == j { left.sqrt() } else { left / done[k][k] };
                if !own[k].is_finite() || (k == j && own[k] <= 0.0) {
                    return None;
                }
            }
        }
        Some(Factor { lower, scale })
    }

    /// xᵀM⁻¹x.
    fn quadratic(&self, x: &[f64]) -> f64 {
        let mut solved = vec![0.0; x.len()];
        for (j, line) in self.lower.iter().enumerate() {
            let known: f64 = line[..j].iter().zip(&solved).map(|(l, s)| l * s).sum();
            solved[j] = (x[j] * self.scale[j] - known) / line[j];
        }
        solved.iter().map(|s| s * s).sum()
    }

    fn half_log_determinant(&self) -> f64 {
        let pivots = self.lower.iter().enumerate();
        pivots.map(|(j, line)| (line[j] / self.scale[j]).ln()).sum()
    }
}

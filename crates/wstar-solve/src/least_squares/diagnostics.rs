//! Diagnostics of a least-squares fit: rank, condition number, residual statistics.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::least_squares::System;
use crate::least_squares::iterative_refinement::{MAX_EXTENDED_PARAMETERS, equilibrate};
use crate::least_squares::svd::decompose;
use wstar_data::error::{Error, Result};
use wstar_data::linear::Layout;
use wstar_numeric::dense::dot;
use wstar_numeric::double_double::{DoubleDouble, sum_scaled};
use wstar_numeric::linalg::double_double_cholesky::DoubleDoubleCholesky;
use wstar_numeric::linalg::householder::{Triangle, pivoted};
use wstar_numeric::linalg::power_of_two::power_of_two;
use wstar_problem::objective::{Rows, Weights};

/// Maximum number of columns whose singular values are computed. Cap: beyond it the condition number is
/// estimated.
const MAX_DECOMPOSED_COLUMNS: usize = 1_000;
/// Maximum number of multiplications for a Gram matrix in double-double arithmetic. Cap: beyond it (about a
/// second) the inverse is computed from R.
const MAX_EXTENDED_WORK: f64 = 2e8;

/// Rank, condition number and residual statistics of a least-squares fit. Weights are frequencies: a row of
/// weight 2 counts as two equal rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeastSquaresReport {
    /// The number of linearly independent columns, including an intercept's column of ones.
    pub(crate) rank: usize,
    /// The number of parameters, including the intercept.
    pub(crate) parameters: usize,
    /// The ratio of the largest to the smallest nonzero singular value, with columns of equal length.
    pub(crate) condition_number: f64,
    /// The sum of all weights.
    pub(crate) total_weight: f64,
    /// Σ cᵢ (yᵢ − zᵢ)².
    pub(crate) residual_sum_of_squares: f64,
    /// Σ cᵢ (yᵢ − ȳ)², or without an intercept Σ cᵢ yᵢ².
    pub(crate) total_sum_of_squares: f64,
    /// max(0, sum of all weights − rank).
    pub(crate) degrees_of_freedom: f64,
    /// √(residual sum of squares / degrees of freedom), if the degrees of freedom are positive.
    pub(crate) residual_deviation: Option<f64>,
    /// 1 − residual / total sum of squares, if the target varies.
    pub(crate) r_squared: Option<f64>,
}

/// A report, and the diagonal of (X̃ᵀCX̃)⁻¹ if the matrix is regular.
pub struct Diagnostics {
    /// The report.
    pub(crate) report: LeastSquaresReport,
    /// The diagonal of (X̃ᵀCX̃)⁻¹, if the matrix is regular.
    pub(crate) inverse_diagonal: Option<Vec<f64>>,
}

impl LeastSquaresReport {
    /// The number of linearly independent columns, including an intercept's column of ones.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of parameters, including the intercept.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The ratio of the largest to the smallest nonzero singular value, with columns of equal length.
    pub fn condition_number(&self) -> f64 {
        self.condition_number
    }

    /// The sum of all weights.
    pub fn total_weight(&self) -> f64 {
        self.total_weight
    }

    /// Σ cᵢ (yᵢ − zᵢ)².
    pub fn residual_sum_of_squares(&self) -> f64 {
        self.residual_sum_of_squares
    }

    /// Σ cᵢ (yᵢ − ȳ)², or without an intercept Σ cᵢ yᵢ².
    pub fn total_sum_of_squares(&self) -> f64 {
        self.total_sum_of_squares
    }

    /// max(0, sum of all weights − rank).
    pub fn degrees_of_freedom(&self) -> f64 {
        self.degrees_of_freedom
    }

    /// √(residual sum of squares / degrees of freedom), if the degrees of freedom are positive.
    pub fn residual_deviation(&self) -> Option<f64> {
        self.residual_deviation
    }

    /// 1 − residual / total sum of squares, if the target varies.
    pub fn r_squared(&self) -> Option<f64> {
        self.r_squared
    }

    /// The report of a fit to these rows, whose weights must be the sample weights without C.
    pub fn new(rows: &Rows<'_>, layout: Layout, parameters: &[f64]) -> Result<Self> {
        Ok(Diagnostics::new(rows, layout, parameters)?.report)
    }
}

impl Diagnostics {
    /// The report.
    pub fn report(&self) -> &LeastSquaresReport {
        &self.report
    }

    /// The diagonal of (X̃ᵀCX̃)⁻¹, if the matrix is regular.
    pub fn inverse_diagonal(&self) -> Option<&[f64]> {
        self.inverse_diagonal.as_deref()
    }

    /// The diagnostics of an unpenalised fit to these rows.
    pub fn new(rows: &Rows<'_>, layout: Layout, parameters: &[f64]) -> Result<Self> {
        let system = System::unpenalized(rows, layout);
        let mut scale = system.scale.clone();
        let mut triangle = system.triangle();
        equilibrate(&mut triangle, &mut scale);
        let rank = rank(&triangle, system.threshold())?;
        let at: Vec<DoubleDouble> = parameters.iter().copied().map(DoubleDouble::from).collect();
        // Without a penalty the objective is ½ Σ cᵢ (yᵢ − zᵢ)².
        let squares = (2.0 * system.descent(&at).1, total_sum_of_squares(rows, layout));
        let full = rank.0 == layout.len();
        Ok(Diagnostics {
            report: report(layout.len(), rank, rows.total_weight(), squares),
            inverse_diagonal: full.then(|| exact_inverse_diagonal(&system, &triangle, &scale)),
        })
    }

    /// The diagnostics from X̃ᵀCX̃ of the rows, which must be well conditioned, and the residual sum of
    /// squares.
    pub fn from_gram(
        rows: &Rows<'_>,
        layout: Layout,
        gram: &[f64],
        residual_sum_of_squares: f64,
    ) -> Result<Self> {
        let width = layout.len();
        let scale: Vec<f64> = (0..width)
            .map(|j| power_of_two(gram[j * width + j].sqrt()))
            .collect();
        let scaled = |i: usize, j: usize| gram[j * width + i] * scale[i] * scale[j];
        let triangle = Triangle::of_gram(width, scaled)
            .ok_or_else(|| Error::data("the columns depend on each other"))?;
        let values = decompose(&triangle, false)?.0;
        let ends = values.first().copied().zip(values.last().copied());
        let condition_number = ends.map_or(1.0, |(largest, least)| largest / least);
        let squares = (residual_sum_of_squares, total_sum_of_squares(rows, layout));
        Ok(Diagnostics {
            report: report(width, (width, condition_number), rows.total_weight(), squares),
            inverse_diagonal: Some(inverse_diagonal(&triangle, &scale)),
        })
    }
}

fn report(
    parameters: usize,
    (rank, condition_number): (usize, f64),
    total_weight: f64,
    (residual_sum_of_squares, total_sum_of_squares): (f64, f64),
) -> LeastSquaresReport {
    let degrees_of_freedom = (total_weight - rank as f64).max(0.0);
    LeastSquaresReport {
        rank,
        parameters,
        condition_number,
        total_weight,
        residual_sum_of_squares,
        total_sum_of_squares,
        degrees_of_freedom,
        residual_deviation: (degrees_of_freedom > 0.0)
            .then(|| (residual_sum_of_squares / degrees_of_freedom).sqrt()),
        r_squared: (total_sum_of_squares > 0.0).then(|| 1.0 - residual_sum_of_squares / total_sum_of_squares),
    }
}

/// The rank of a triangle with columns of equal length, and its condition number.
fn rank(triangle: &Triangle, threshold: f64) -> Result<(usize, f64)> {
    if triangle.columns() <= MAX_DECOMPOSED_COLUMNS {
        let (values, _) = decompose(triangle, false)?;
        let largest = values.first().copied().unwrap_or(0.0);
        let rank = values.iter().take_while(|&&s| s > threshold * largest).count();
        let least = rank.checked_sub(1).map_or(1.0, |last| values[last]);
        return Ok((rank, if rank == 0 { 1.0 } else { largest / least }));
    }
    let inverse = triangle.inverse_norm();
    let norm = dot(triangle.values(), triangle.values()).sqrt();
    // The estimate of the norm is from below, hence the factor 0.01, as in `iterative_refinement`.
    if 0.01 / inverse > threshold {
        return Ok((triangle.columns(), norm * inverse));
    }
    let (triangle, _) = pivoted(triangle);
    let diagonal: Vec<f64> = (0..triangle.rows()).map(|k| triangle.get(k, k).abs()).collect();
    let largest = diagonal.first().copied().unwrap_or(0.0);
    let rank = diagonal.iter().take_while(|&&d| d > threshold * largest).count();
    let least = rank.checked_sub(1).map_or(1.0, |last| diagonal[last]);
    Ok((rank, if rank == 0 { 1.0 } else { largest / least }))
}

/// Rows from which sums over the targets use compensated instead of double-double arithmetic. Heuristic:
/// compensated sums are faster, and the rounding of the individual deviations does not show in a sum over so
/// many; not measured yet.
const MANY_ROWS: usize = 1 << 17;

/// Σ cᵢ (yᵢ − ȳ)², or without an intercept Σ cᵢ yᵢ².
fn total_sum_of_squares(rows: &Rows<'_>, layout: Layout) -> f64 {
    if let Weights::Same(weight) = rows.weights
        && rows.len() >= MANY_ROWS
    {
        return weight * compensated_sum_of_squares(&rows.targets, layout.intercept);
    }
    let mut mean = DoubleDouble::ZERO;
    if layout.intercept {
        let [total, sum] = sums(rows, |y, weight| {
            [DoubleDouble::from(weight), DoubleDouble::product(weight, y)]
        });
        if total.value() > 0.0 {
            mean = sum / total;
        }
    }
    let [squares] = sums(rows, |y, weight| {
        let from_mean = DoubleDouble::from(y) - mean;
        [from_mean * from_mean * weight]
    });
    squares.value()
}

/// Σ (yᵢ − ȳ)², or Σ yᵢ², for many rows.
fn compensated_sum_of_squares(targets: &[f64], about_mean: bool) -> f64 {
    /// Targets summed in one block. Heuristic: trades the cost of a task against parallelism; not measured yet.
    const BLOCK: usize = 1 << 12;
    let sum = |each: &(dyn Fn(&[f64]) -> DoubleDouble + Sync)| -> DoubleDouble {
        let blocks: Vec<DoubleDouble> = targets.par_chunks(BLOCK).map(each).collect();
        blocks
            .into_iter()
            .fold(DoubleDouble::ZERO, |sum, more| sum + more)
    };
    let mean = match about_mean {
        true => sum(&|targets| sum_scaled(1.0, targets)).value() / targets.len() as f64,
        false => 0.0,
    };
    sum(&|targets| {
        let squares: Vec<f64> = targets.iter().map(|y| (y - mean) * (y - mean)).collect();
        sum_scaled(1.0, &squares)
    })
    .value()
}

/// The sums of `each(y, weight)` over the rows of positive weight, in fixed blocks, so that the bits do not
/// depend on the number of threads.
fn sums<const N: usize>(
    rows: &Rows<'_>,
    each: impl Fn(f64, f64) -> [DoubleDouble; N] + Sync,
) -> [DoubleDouble; N] {
    /// Targets summed in one block. Heuristic: trades the cost of a task against parallelism; not measured yet.
    const BLOCK: usize = 1 << 14;
    let add = |mut sums: [DoubleDouble; N], more: [DoubleDouble; N]| {
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        sums
    };
    let zeros = [DoubleDouble::ZERO; N];
    let blocks: Vec<_> = rows
        .targets
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(block, targets)| {
            let weighed = targets.iter().zip(block * BLOCK..);
            weighed
                .map(|(&y, i)| (y, rows.weights.get(i)))
                .filter(|(_, weight)| *weight > 0.0)
                .fold(zeros, |sums, (y, weight)| add(sums, each(y, weight)))
        })
        .collect();
    blocks.into_iter().fold(zeros, add)
}

/// The diagonal of (X̃ᵀCX̃)⁻¹: in double-double arithmetic if that is not too much work, else from R.
fn exact_inverse_diagonal(system: &System<'_>, triangle: &Triangle, scale: &[f64]) -> Vec<f64> {
    let width = system.width();
    let work = system.rows.len() as f64 * (width * width) as f64;
    if width <= MAX_EXTENDED_PARAMETERS
        && work <= MAX_EXTENDED_WORK
        && let Some(extended) = DoubleDoubleCholesky::new(system.gram(), width)
    {
        return extended.inverse_diagonal();
    }
    inverse_diagonal(triangle, scale)
}

/// The diagonal of (X̃ᵀCX̃)⁻¹ from R of columns that were multiplied by `scale`.
fn inverse_diagonal(triangle: &Triangle, scale: &[f64]) -> Vec<f64> {
    let width = scale.len();
    (0..width)
        .map(|j| {
            let mut unit = vec![0.0; width];
            unit[j] = scale[j];
            triangle.solve_transposed(width, &mut unit);
            dot(&unit, &unit)
        })
        .collect()
}

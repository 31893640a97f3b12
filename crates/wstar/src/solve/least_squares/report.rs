//! What a least-squares fit says about its data: rank, condition, residuals.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::householder::{Triangle, pivoted};
use super::refine::{MOST_EXTENDED, equilibrate};
use super::svd::decompose;
use super::{Extended, System, power_of_two};
use crate::error::{Error, Result};
use crate::kernel::dense::dot;
use crate::kernel::double_double::{DoubleDouble, sum_scaled};
use crate::oracle::{Layout, Rows, Weights};

/// More columns than this have their condition number estimated, not computed.
const MOST_DECOMPOSED: usize = 1_000;
/// Products that a Gram matrix in double-double may take (about a second).
const MOST_EXTENDED_WORK: f64 = 2e8;

/// Rank, condition and residuals of a least-squares fit. Weights count rows: 2 is the same row twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeastSquaresReport {
    /// How many columns (an intercept's ones included) are independent of each other.
    pub rank: usize,
    /// Parameters, the intercept included.
    pub parameters: usize,
    /// The largest singular value over the least of those that are not 0, with columns of equal length.
    pub condition_number: f64,
    /// The sum of all weights.
    pub total_weight: f64,
    /// Σ cᵢ (yᵢ − zᵢ)².
    pub residual_sum_of_squares: f64,
    /// Σ cᵢ (yᵢ − ȳ)², or without an intercept Σ cᵢ yᵢ².
    pub total_sum_of_squares: f64,
    /// The sum of all weights less the rank; 0 at least.
    pub degrees_of_freedom: f64,
    /// √(residual sum of squares / degrees of freedom), if there are any.
    pub residual_deviation: Option<f64>,
    /// 1 − residual over total sum of squares, if the target varies.
    pub r_squared: Option<f64>,
}

/// A report, and the diagonal of (X̃ᵀCX̃)⁻¹ if that exists.
pub(crate) struct Solved {
    pub(crate) report: LeastSquaresReport,
    pub(crate) inverse_diagonal: Option<Vec<f64>>,
}

impl LeastSquaresReport {
    /// Of a fit to these rows. Their weights are to be the plain ones of the sample, without C.
    pub fn new(rows: &Rows<'_>, layout: Layout, parameters: &[f64]) -> Result<Self> {
        Ok(Solved::new(rows, layout, parameters)?.report)
    }
}

impl Solved {
    pub(crate) fn new(rows: &Rows<'_>, layout: Layout, parameters: &[f64]) -> Result<Self> {
        let system = System::unpenalized(rows, layout);
        let mut scale = system.scale.clone();
        let mut triangle = system.triangle();
        equilibrate(&mut triangle, &mut scale);
        let rank = rank(&triangle, system.threshold())?;
        let at: Vec<DoubleDouble> = parameters.iter().copied().map(DoubleDouble::from).collect();
        // With no penalty the objective is half of Σ cᵢ (yᵢ − zᵢ)².
        let squares = (2.0 * system.descent(&at).1, total_sum_of_squares(rows, layout));
        let full = rank.0 == layout.len();
        Ok(Solved {
            report: report(layout.len(), rank, rows.total_weight(), squares),
            inverse_diagonal: full.then(|| exact_inverse_diagonal(&system, &triangle, &scale)),
        })
    }

    /// From X̃ᵀCX̃ of the rows, whose columns are known to be far from dependent, and the residual sum of squares.
    pub(crate) fn from_gram(
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
        Ok(Solved {
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
    if triangle.columns <= MOST_DECOMPOSED {
        let (values, _) = decompose(triangle, false)?;
        let largest = values.first().copied().unwrap_or(0.0);
        let rank = values.iter().take_while(|&&s| s > threshold * largest).count();
        let least = rank.checked_sub(1).map_or(1.0, |last| values[last]);
        return Ok((rank, if rank == 0 { 1.0 } else { largest / least }));
    }
    let inverse = triangle.inverse_norm();
    let norm = dot(&triangle.values, &triangle.values).sqrt();
    if 0.01 / inverse > threshold {
        return Ok((triangle.columns, norm * inverse));
    }
    let (triangle, _) = pivoted(triangle);
    let diagonal: Vec<f64> = (0..triangle.rows).map(|k| triangle.get(k, k).abs()).collect();
    let largest = diagonal.first().copied().unwrap_or(0.0);
    let rank = diagonal.iter().take_while(|&&d| d > threshold * largest).count();
    let least = rank.checked_sub(1).map_or(1.0, |last| diagonal[last]);
    Ok((rank, if rank == 0 { 1.0 } else { largest / least }))
}

/// Rows from which sums of targets are compensated instead of double-double: deviations are then rounded, each on its
/// own, which no sum of so many shows.
const MANY_ROWS: usize = 1 << 17;

/// Σ cᵢ (yᵢ − ȳ)², or without an intercept Σ cᵢ yᵢ².
fn total_sum_of_squares(rows: &Rows<'_>, layout: Layout) -> f64 {
    if let Weights::Same(weight) = rows.weights
        && rows.len() >= MANY_ROWS
    {
        return weight * sum_of_squares_of_many(&rows.targets, layout.intercept);
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

/// Σ (yᵢ − ȳ)², or Σ yᵢ², of many.
fn sum_of_squares_of_many(targets: &[f64], about_mean: bool) -> f64 {
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

/// Sums of what `each` makes of the targets and weights that count; the bits do not depend on the threads.
fn sums<const N: usize>(
    rows: &Rows<'_>,
    each: impl Fn(f64, f64) -> [DoubleDouble; N] + Sync,
) -> [DoubleDouble; N] {
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

/// The diagonal of (X̃ᵀCX̃)⁻¹: to full accuracy where that is not too much work, else from R.
fn exact_inverse_diagonal(system: &System<'_>, triangle: &Triangle, scale: &[f64]) -> Vec<f64> {
    let width = system.width();
    let work = system.rows.len() as f64 * (width * width) as f64;
    if width <= MOST_EXTENDED
        && work <= MOST_EXTENDED_WORK
        && let Some(extended) = Extended::new(system.gram(), width)
    {
        return extended.inverse_diagonal();
    }
    inverse_diagonal(triangle, scale)
}

/// The same from R of columns that were multiplied by `scale`.
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

//! Class-conditional Gaussians by maximum likelihood.
//!
//! Problem: maximise Σᵢ cᵢ ln(πₖ N(xᵢ; μₖ, Σₖ)) over the priors, means and covariances. The solution has a closed
//! form: relative class weights, class means, and (1/nₖ) Σ (x − μₖ)(x − μₖ)ᵀ, divided by nₖ rather than nₖ − 1.
//! With one covariance per class the boundaries are quadratic. With a shared covariance, the weighted mean of the
//! class covariances, they are linear (R. A. Fisher, The use of multiple measurements in taxonomic problems,
//! Annals of Eugenics 7, 1936; C. R. Rao, The utilization of multiple measurements in problems of biological
//! classification, JRSS B 10, 1948).
//!
//! A singular covariance has no density. It is an error that names the columns that make it singular.
//! Regularisation is never applied silently: the setting `shrinkage` s replaces Σ by (1 − s)Σ + s·(tr Σ/d)·I.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use wstar_data::error::Remedy;
use wstar_data::setting::Setting;

use crate::bayes::weighted_rows::Sample;
use crate::scoring::{Linear, Quadratic, Scorer};
use wstar_data::Dataset;
use wstar_data::error::{Error, Range, Result};
use wstar_numeric::dense;

/// Columns. Cap: covariances are dense, so a data set with more columns is an error.
const MOST_FEATURES: usize = 5_000;
/// Numbers in all covariances together (1 GB, and twice that for the factors). Cap: beyond it, the fit is an error.
const MOST_CELLS: usize = 1 << 27;
/// Rows centred and multiplied at a time. Heuristic: trades buffer size against overhead; not measured yet.
const CHUNK: usize = 256;
/// Columns of a covariance per task. Heuristic: trades parallelism against extra work on diagonal tiles; not measured
/// yet.
const TILE: usize = 128;

/// The estimated Gaussians, before any shrinkage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gaussian {
    /// The relative weight of each class.
    pub priors: Vec<f64>,
    /// The mean of each class.
    pub means: Vec<Vec<f64>>,
    /// Lower triangles in row-major order: one covariance for each class, or a single one if shared.
    pub covariances: Vec<Vec<f64>>,
    /// Whether the classes share one covariance (the linear discriminant).
    pub(crate) shared: bool,
    /// The shrinkage of the covariances towards a multiple of the identity, applied before they are used.
    pub(crate) shrinkage: f64,
}

/// Estimates a Gaussian for each class; with `shared`, all classes have the same covariance.
pub fn fit(data: &Dataset, shared: bool, shrinkage: f64) -> Result<Gaussian> {
    if !(0.0..=1.0).contains(&shrinkage) {
        let range = Range::Between(0.0, 1.0);
        return Err(Error::out_of_range(Setting::Shrinkage, range, shrinkage));
    }
    let sample = Sample::new(data)?;
    let (features, classes) = (data.features(), sample.classes.len());
    let covariances = if shared { 1 } else { classes };
    if features > MOST_FEATURES || covariances * triangle(features) > MOST_CELLS {
        return Err(Error::data(format!(
            "{covariances} covariance{} of {features} × {features} would be too large",
            if covariances == 1 { "" } else { "s" }
        ))
        .remedy(Remedy::Either(vec![
            format!("use at most {MOST_FEATURES} columns").into(),
            Setting::Method.to("naive-bayes").into(),
        ]))
        .in_file(data.source()));
    }
    let means = sample.means();
    let by_class = sample.rows_by_class();
    let covariances = if shared {
        let rows: Vec<usize> = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).collect();
        vec![covariance(&sample, &rows, &means, sample.totals.iter().sum())]
    } else {
        by_class
            .iter()
            .zip(&sample.totals)
            .map(|(rows, &total)| covariance(&sample, rows, &means, total))
            .collect()
    };
    let gaussian = Gaussian {
        priors: sample.priors(),
        means,
        covariances,
        shared,
        shrinkage,
    };
    for (k, rows) in by_class.iter().enumerate().take(gaussian.covariances.len()) {
        if let Err(singular) = gaussian.factor(k) {
            let rows = if shared { data.rows() } else { rows.len() };
            return Err(refusal(&sample, &gaussian, k, rows, &singular));
        }
    }
    Ok(gaussian)
}

impl Gaussian {
    /// The score functions: linear if the covariance is shared, else quadratic.
    ///
    /// The linear ones are wₖ = Σ⁻¹(μₖ − m) and bₖ = ln πₖ − m·wₖ − ½(μₖ − m)·wₖ, with m the mean of the
    /// class means. They differ from Σ⁻¹μₖ and ln πₖ − ½μₖ·Σ⁻¹μₖ by the same affine function for every
    /// class, so decisions are unchanged. They avoid cancellation where the data lie far from 0.
    pub fn scorer(&self) -> Result<Scorer> {
        if !self.shared {
            return Ok(Scorer::Quadratic(self.densities()?));
        }
        let factor = self.factor(0).map_err(|_| unusable())?;
        let (features, classes) = (self.features(), self.means.len());
        let factor = MatRef::from_column_major_slice(&factor, features, features);
        let middle: Vec<f64> = (0..self.features())
            .map(|j| self.means.iter().map(|mean| mean[j]).sum::<f64>() / classes as f64)
            .collect();
        let mut weights = Vec::with_capacity(classes);
        let mut intercepts = Vec::with_capacity(classes);
        for (mean, prior) in self.means.iter().zip(&self.priors) {
            let from_middle: Vec<f64> = mean.iter().zip(&middle).map(|(a, b)| a - b).collect();
            let mut w = from_middle.clone();
            let mut column = MatMut::from_column_major_slice_mut(&mut w, features, 1);
            solve_lower_triangular_in_place(factor, column.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(factor.transpose(), column, Par::Seq);
            intercepts.push(prior.ln() - dense::dot(&middle, &w) - 0.5 * dense::dot(&from_middle, &w));
            weights.push(w);
        }
        Ok(Scorer::Linear(Linear {
            weights,
            intercepts,
            threshold: None,
        }))
    }

    /// The log densities with every term, also if the covariance is shared.
    pub fn densities(&self) -> Result<Quadratic> {
        let features = self.features();
        let factors = (0..self.covariances.len())
            .map(|k| self.factor(k).map_err(|_| unusable()))
            .collect::<Result<Vec<_>>>()?;
        let constants = (0..self.means.len())
            .map(|k| {
                let factor = factors.get(k).unwrap_or(&factors[0]);
                let half_log_determinant: f64 = (0..features).map(|j| factor[j * features + j].ln()).sum();
                let half_log_tau = 0.5 * std::f64::consts::TAU.ln();
                self.priors[k].ln() - half_log_determinant - half_log_tau * features as f64
            })
            .collect();
        Ok(Quadratic {
            constants,
            means: self.means.clone(),
            factors,
        })
    }

    pub(crate) fn features(&self) -> usize {
        self.means.first().map_or(0, Vec::len)
    }

    /// The Cholesky factor of covariance `k` after shrinkage, in column-major order.
    fn factor(&self, k: usize) -> std::result::Result<Vec<f64>, Singular> {
        let features = self.features();
        let covariance = &self.covariances[k];
        let trace: f64 = (0..features).map(|j| covariance[diagonal(j)]).sum();
        let (keep, ridge) = (1.0 - self.shrinkage, self.shrinkage * trace / features as f64);
        let mut matrix = Mat::<f64>::zeros(features, features);
        for i in 0..features {
            for j in 0..=i {
                matrix[(i, j)] = keep * covariance[triangle(i) + j];
            }
            matrix[(i, i)] += ridge;
        }
        // A variance this small relative to the mean is the rounding error of a constant column.
        let constant: Vec<usize> = (0..features)
            .filter(|&j| {
                let size = self
                    .means
                    .iter()
                    .fold(0.0f64, |size, mean| size.max(mean[j].abs()));
                // Derived: 50 machine epsilons of the mean, squared.
                matrix[(j, j)] <= (1e-14 * size) * (1e-14 * size)
            })
            .collect();
        if !constant.is_empty() {
            return Err(Singular::Constant(constant));
        }
        let before: Vec<f64> = (0..features).map(|j| matrix[(j, j)]).collect();
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(
            features,
            Par::Seq,
            Default::default(),
        ));
        // A single thread, because the bits of a parallel factorisation depend on how it is split.
        cholesky_in_place(
            matrix.as_mut(),
            Default::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        )
        .map_err(
            |faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index }| {
                Singular::Dependent(index)
            },
        )?;
        // Derived: the rounding error of a pivot of a matrix with unit diagonal is of order d·ε.
        let smallest = 8.0 * features as f64 * f64::EPSILON;
        if let Some(j) = (0..features).find(|&j| {
            let pivot = matrix[(j, j)] * matrix[(j, j)];
            // True for a NaN pivot too.
            !matches!(
                pivot.partial_cmp(&(smallest * before[j])),
                Some(std::cmp::Ordering::Greater)
            )
        }) {
            return Err(Singular::Dependent(j));
        }
        Ok((0..features)
            .flat_map(|j| matrix.col_as_slice(j))
            .copied()
            .collect())
    }
}

/// Why a covariance is singular.
enum Singular {
    /// These columns do not vary.
    Constant(Vec<usize>),
    /// This column is a linear combination of the ones before it.
    Dependent(usize),
}

/// The number of entries of the lower triangle of an n × n matrix, which is also the offset of row n.
pub(crate) fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
}

fn diagonal(j: usize) -> usize {
    triangle(j) + j
}

fn unusable() -> Error {
    Error::model("a covariance of the model is singular")
}

fn refusal(sample: &Sample<'_>, gaussian: &Gaussian, k: usize, rows: usize, cause: &Singular) -> Error {
    let whose = if gaussian.shared {
        "the shared covariance".to_owned()
    } else {
        format!("the covariance of class {}", sample.shown(k))
    };
    let name = |j: usize| sample.data.schema().feature_name(j);
    let features = gaussian.features();
    let why = match cause {
        Singular::Constant(columns) => {
            let shown: Vec<String> = columns.iter().take(3).map(|&j| name(j)).collect();
            let more = match columns.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let scope = if gaussian.shared {
                "within every class"
            } else {
                "in it"
            };
            let (noun, verb) = if columns.len() == 1 {
                ("column", "does")
            } else {
                ("columns", "do")
            };
            format!("{noun} {}{more} {verb} not vary {scope}", shown.join(", "))
        }
        Singular::Dependent(_) if rows <= features => {
            format!("{rows} rows are too few for {features} columns")
        }
        Singular::Dependent(j) => {
            format!("column {} is a linear combination of columns before it", name(*j))
        }
    };
    // Shrinkage moves a covariance towards its own mean variance, so it cannot help if all variances are 0.
    let nothing_varies = matches!(cause, Singular::Constant(columns) if columns.len() == features);
    Error::data(format!("{whose} is singular: {why}"))
        .remedy(if nothing_varies {
            Remedy::from("more rows are needed, or another method")
        } else {
            Remedy::Either(vec![Setting::Shrinkage.to("1e-6").into(), "drop columns".into()])
        })
        .in_file(sample.data.source())
}

/// The lower triangle of (1/total) Σ c (x − μ)(x − μ)ᵀ over the given rows, where μ is the mean of the row's class.
///
/// Rows are split into groups and columns into tiles, by the shape of the data alone. Each task sums its
/// group over one tile, and the partial sums are added in order.
fn covariance(sample: &Sample<'_>, rows: &[usize], means: &[Vec<f64>], total: f64) -> Vec<f64> {
    let features = sample.data.features();
    // Heuristic: parallelism against memory for partial sums; not measured yet.
    let groups = ((1 << 22) / (features * features))
        .clamp(1, 32)
        .min(rows.len().div_ceil(2 * CHUNK))
        .max(1);
    let size = rows.len().div_ceil(groups).max(1);
    let tiles = features.div_ceil(TILE);
    let shares: Vec<Vec<f64>> = (0..groups * tiles)
        .into_par_iter()
        .map(|task| {
            let (group, tile) = (task / tiles, task % tiles);
            let first = tile * TILE;
            let (height, width) = (features - first, TILE.min(features - first));
            let mut share = vec![0.0; height * width];
            let mut centred = vec![0.0; CHUNK * height];
            let end = ((group + 1) * size).min(rows.len());
            for chunk in rows[(group * size).min(end)..end].chunks(CHUNK) {
                for (&i, out) in chunk.iter().zip(centred.chunks_mut(height)) {
                    let mean = &means[sample.codes[i] as usize][first..];
                    // Σ c vvᵀ is the Gram matrix of the rows √c·v.
                    let root = sample.data.weight(i).sqrt();
                    out.fill(0.0);
                    sample.data.design().row(i).for_each(|j, v| {
                        if j >= first {
                            out[j - first] = v;
                        }
                    });
                    for (out, mean) in out.iter_mut().zip(mean) {
                        *out = root * (*out - mean);
                    }
                }
                let filled = &centred[..chunk.len() * height];
                let block = MatRef::from_column_major_slice(filled, height, chunk.len());
                matmul(
                    MatMut::from_column_major_slice_mut(&mut share, height, width),
                    Accum::Add,
                    block,
                    block.subrows(0, width).transpose(),
                    1.0,
                    Par::Seq,
                );
            }
            share
        })
        .collect();
    let mut lower = vec![0.0; triangle(features)];
    for (task, share) in shares.iter().enumerate() {
        let first = task % tiles * TILE;
        let height = features - first;
        for (column, values) in share.chunks(height).enumerate() {
            for (row, value) in values.iter().enumerate().skip(column) {
                lower[triangle(first + row) + first + column] += value;
            }
        }
    }
    lower.iter_mut().for_each(|value| *value /= total);
    lower
}

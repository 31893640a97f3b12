//! Iterative refinement for least squares: a factorisation in `f64` maps a gradient to a step, while the
//! point and its gradient are kept in double-double arithmetic.
//!
//! With an exact gradient g = Aᵀ(y − Aθ), a step (RᵀR)⁻¹g reduces the error by a factor of about κ(A)·ε if R
//! comes from a stable QR factorisation. The final accuracy depends on the precision of g only: the error of
//! the residual enters with κ, that of its products with A with κ² times the residual, both in units of ε²
//! (Å. Björck, Iterative refinement of linear least squares solutions, BIT 7 and 8, 1967–68, and his
//! corrected seminormal equations, 1987). Björck takes one step in working precision; here steps are taken as
//! long as they improve the solution. Starting at 0, the first step is the solution itself.

use crate::least_squares::minimum_norm::MinimumNorm;
use crate::least_squares::weighted_system::System;
use crate::{Control, Solution};
use wstar_data::run::Status;
use wstar_numeric::dense::{axpy, dot};
use wstar_numeric::double_double;
use wstar_numeric::double_double::DoubleDouble;
use wstar_numeric::linalg::double_double_cholesky::DoubleDoubleCholesky;
use wstar_numeric::linalg::householder::{Triangle, pivoted};
use wstar_numeric::linalg::power_of_two::power_of_two;
use wstar_problem::objective::Objective;

/// Maximum number of steps. Cap: beyond it the last point is returned; with κε near 1 each step gains only a
/// bit or two, and the factorisation in double-double is the better way.
const MAX_STEPS: usize = 20;
/// Size of a step relative to its parameter at which refinement ends. Derived: below the unit roundoff of
/// `f64`, so the rounded parameter no longer changes.
const MIN_RELATIVE_STEP: f64 = 1e-19;
/// Size of the last step relative to the solution above which refinement counts as failed. Heuristic: a
/// larger one indicates that the factor was too inaccurate; not measured yet.
const MAX_FINAL_STEP: f64 = 1e-13;
/// Maximum number of parameters for a factorisation in double-double arithmetic. Cap: beyond it the `f64`
/// factor is used.
pub(super) const MAX_EXTENDED_PARAMETERS: usize = 128;

/// (AᵀA)⁻¹, or a generalised inverse if A is rank-deficient, in one of its forms.
pub(super) enum RefinedFactor {
    /// R of the scaled and permuted columns; if `minimum_norm` is present, only its leading `rank` columns
    /// count.
    Triangular {
        scale: Vec<f64>,
        order: Vec<usize>,
        rank: usize,
        triangle: Triangle,
        minimum_norm: Option<MinimumNorm>,
    },
    /// The eigenvectors and nonzero eigenvalues of the scaled AᵀA.
    Spectral {
        scale: Vec<f64>,
        values: Vec<f64>,
        vectors: Vec<Vec<f64>>,
        minimum_norm: Option<MinimumNorm>,
    },
    /// A Cholesky factor in double-double arithmetic.
    Extended(DoubleDoubleCholesky),
}

impl RefinedFactor {
    /// Builds the factor from R of columns that were multiplied by `scale`. The columns are scaled to unit
    /// length first; a pivot below `threshold` times the largest counts as 0.
    pub(super) fn triangular(
        mut triangle: Triangle,
        mut scale: Vec<f64>,
        threshold: f64,
        free: Option<usize>,
    ) -> Self {
        equilibrate(&mut triangle, &mut scale);
        let width = scale.len();
        // The estimate of the norm may be slightly too small, hence the heuristic factor 0.01; a doubtful triangle is
        // factored again with pivoting.
        if 0.01 / triangle.inverse_norm() > threshold {
            return RefinedFactor::Triangular {
                scale,
                order: (0..width).collect(),
                rank: width,
                triangle,
                minimum_norm: None,
            };
        }
        let (triangle, order) = pivoted(&triangle);
        let diagonal = |k: usize| triangle.get(k, k).abs();
        let rank = (0..triangle.rows().min(width))
            .take_while(|&k| diagonal(k) > threshold * diagonal(0))
            .count();
        let minimum_norm = (rank < width).then(|| {
            let mut t = vec![vec![0.0; width]; rank];
            for (j, &column) in order.iter().enumerate() {
                for (i, row) in t.iter_mut().enumerate() {
                    row[column] = triangle.get(i, j);
                }
            }
            MinimumNorm::new(t, scale.clone(), free)
        });
        RefinedFactor::Triangular {
            scale,
            order,
            rank,
            triangle,
            minimum_norm,
        }
    }

    /// Builds the factor from eigenvectors over the scaled parameters and their eigenvalues, all of which are
    /// positive.
    pub(super) fn spectral(
        scale: Vec<f64>,
        values: Vec<f64>,
        vectors: Vec<Vec<f64>>,
        free: Option<usize>,
    ) -> Self {
        let deficient = values.len() < scale.len();
        let minimum_norm = deficient.then(|| MinimumNorm::new(vectors.clone(), scale.clone(), free));
        RefinedFactor::Spectral {
            scale,
            values,
            vectors,
            minimum_norm,
        }
    }

    /// The step for a descent direction, and the squared norm, on scaled columns, of the component of the
    /// descent in directions that count as 0.
    pub(super) fn step(&self, descent: &[DoubleDouble]) -> (Vec<DoubleDouble>, f64) {
        let scaled = |scale: &[f64]| -> Vec<f64> {
            let pairs = descent.iter().zip(scale);
            pairs.map(|(g, s)| g.value() * s).collect()
        };
        let (step, lost): (Vec<f64>, f64) = match self {
            RefinedFactor::Extended(extended) => return (extended.solve(descent), 0.0),
            RefinedFactor::Triangular {
                scale,
                order,
                rank,
                triangle,
                minimum_norm,
            } => {
                let g = scaled(scale);
                let mut c: Vec<f64> = order[..*rank].iter().map(|&j| g[j]).collect();
                triangle.solve_transposed(*rank, &mut c);
                if let Some(minimum_norm) = minimum_norm {
                    let beyond = (*rank..order.len()).map(|j| {
                        let lost = g[order[j]] - dot(&triangle.column(j)[..*rank], &c);
                        lost * lost
                    });
                    (minimum_norm.solve(&c), beyond.sum())
                } else {
                    triangle.solve(*rank, &mut c);
                    let mut step = vec![0.0; order.len()];
                    for (&j, c) in order.iter().zip(c) {
                        step[j] = c * scale[j];
                    }
                    (step, 0.0)
                }
            }
            RefinedFactor::Spectral {
                scale,
                values,
                vectors,
                minimum_norm,
            } => {
                let mut g = scaled(scale);
                let pairs = vectors.iter().zip(values);
                let c: Vec<f64> = pairs.map(|(v, value)| dot(v, &g) / value).collect();
                if let Some(minimum_norm) = minimum_norm {
                    for ((v, c), value) in vectors.iter().zip(&c).zip(values) {
                        axpy(-c * value, v, &mut g);
                    }
                    (minimum_norm.solve(&c), dot(&g, &g))
                } else {
                    let mut step = vec![0.0; scale.len()];
                    for (v, &c) in vectors.iter().zip(&c) {
                        axpy(c, v, &mut step);
                    }
                    step.iter_mut().zip(scale).for_each(|(step, s)| *step *= s);
                    (step, 0.0)
                }
            }
        };
        (step.into_iter().map(DoubleDouble::from).collect(), lost)
    }
}

/// Scales every column of a triangle to about unit length.
pub(super) fn equilibrate(triangle: &mut Triangle, scale: &mut [f64]) {
    for (column, scale) in triangle.columns_mut().zip(scale) {
        let factor = power_of_two(dot(column, column).sqrt());
        column.iter_mut().for_each(|x| *x *= factor);
        *scale *= factor;
    }
}

/// The result of the refinement.
struct RefinedPoint {
    at: Vec<DoubleDouble>,
    status: Option<Status>,
    /// The size of the last step relative to the solution.
    change: f64,
    /// A lower bound, relative to the objective, on the decrease that the directions which count as 0 would
    /// give if they did not.
    lost: f64,
}

/// Solves by a factorisation and refines the solution. If that fails and the problem has few parameters, it
/// is factored again in double-double arithmetic.
pub(super) fn solve(
    system: &System<'_>,
    objective: &Objective<'_>,
    factor: &RefinedFactor,
    threshold: f64,
    control: &mut Control<'_>,
) -> Solution {
    let mut refined = refine(system, objective, factor, threshold, control);
    // Heuristic: more than a tenth of the objective lost in directions that count as 0 is a wrong rank;
    // not measured yet.
    let unsolved = refined.change.is_nan() || refined.change > MAX_FINAL_STEP || refined.lost > 0.1;
    let stopped = matches!(refined.status, Some(Status::Stopped | Status::TimeLimit));
    if unsolved
        && !stopped
        && system.width() <= MAX_EXTENDED_PARAMETERS
        && let Some(extended) = DoubleDoubleCholesky::new(system.gram(), system.width())
    {
        let again = refine(
            system,
            objective,
            &RefinedFactor::Extended(extended),
            threshold,
            control,
        );
        if again.change <= refined.change || refined.lost > 0.1 {
            refined = again;
        }
    }
    Solution {
        parameters: refined.at.iter().map(|x| x.value()).collect(),
        dual: None,
        gram: None,
        status: refined.status.unwrap_or(Status::IterationLimit),
        iterations: control.iterations(),
    }
}

fn refine(
    system: &System<'_>,
    objective: &Objective<'_>,
    factor: &RefinedFactor,
    threshold: f64,
    control: &mut Control<'_>,
) -> RefinedPoint {
    let mut at = vec![DoubleDouble::ZERO; system.width()];
    let (mut descent, _) = system.descent(&at);
    let mut refined = RefinedPoint {
        at: at.clone(),
        status: None,
        change: f64::INFINITY,
        lost: 0.0,
    };
    let mut last = f64::INFINITY;
    for _ in 0..MAX_STEPS {
        let (step, _) = factor.step(&descent);
        at.iter_mut().zip(&step).for_each(|(at, step)| *at += *step);
        if at.iter().any(|x| !x.value().is_finite()) {
            break;
        }
        let (next, value) = system.descent(&at);
        control.passed(1);
        descent = next;
        let (coming, lost) = factor.step(&descent);
        // For a quadratic this is P − P\*, up to the error of the factor.
        let gain = double_double::dot(&descent, &coming).value().max(0.0);
        let values: Vec<f64> = at.iter().map(|x| x.value()).collect();
        let reported = control.iterate(objective, &values, value, 0.5 * gain);
        refined.at.clone_from(&at);
        refined.lost = 0.5 * lost / (threshold * threshold) / value.max(f64::MIN_POSITIVE);
        refined.change = change(system, &at, &coming);
        if refined.status != Some(Status::Converged) {
            refined.status = reported;
        }
        let ended = reported.is_some_and(|status| status != Status::Converged);
        let pairs = coming.iter().zip(&at);
        let settled = pairs
            .into_iter()
            .all(|(step, at)| step.value().abs() <= MIN_RELATIVE_STEP * at.value().abs());
        // The decrease of the objective shrinks by a constant factor with every step until only rounding is
        // left. Heuristic: a factor above 0.25 indicates rounding; not measured yet.
        if ended || settled || gain >= 0.25 * last {
            break;
        }
        last = gain;
    }
    refined
}

/// The largest change of a scaled parameter relative to the largest scaled parameter.
fn change(system: &System<'_>, at: &[DoubleDouble], step: &[DoubleDouble]) -> f64 {
    let scale = &system.scale;
    let largest = |x: &[DoubleDouble]| {
        let shares = x.iter().zip(scale).map(|(x, s)| (x.value() / s).abs());
        shares.fold(0.0f64, |most, share| if share > most { share } else { most })
    };
    let (step, at) = (largest(step), largest(at));
    if step == 0.0 { 0.0 } else { step / at }
}

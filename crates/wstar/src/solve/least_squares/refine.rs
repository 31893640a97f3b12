//! Iterative refinement: a factorisation in `f64` as the map from a gradient to a step, and the gradient in
//! double-double at a point that is kept in double-double.
//!
//! With an exact gradient g = Aᵀ(y − Aθ) a step (RᵀR)⁻¹g takes the error down by a factor of about κ(A)·ε
//! wherever R comes from a stable QR factorisation, and what is reached in the end depends on the precision
//! of g alone: the error of the residual enters by κ, that of its products with A by κ² times the residual,
//! both in units of ε² (Å. Björck, Iterative refinement of linear least squares solutions, BIT 7 and 8,
//! 1967–68, and his corrected seminormal equations, 1987; there one step in working precision, here as many
//! as bring something). Started at 0, the first step is the solution itself.

use super::householder::{Triangle, pivoted};
use super::minimum_norm::MinimumNorm;
use super::system::System;
use super::{Extended, power_of_two};
use crate::kernel::dense::{axpy, dot};
use crate::kernel::double_double::{self, DoubleDouble};
use crate::problem::Problem;
use crate::solve::{Control, Solution};
use crate::watch::Status;

/// Steps at most: with κε near 1 each brings a bit or two, and the extended factorisation is the better way.
const MOST_STEPS: usize = 20;
/// A step this small beside its parameter no longer changes a digit.
const NO_CHANGE: f64 = 1e-19;
/// Steps that end larger than this beside the solution are no refinement.
const REFINED: f64 = 1e-13;
/// The extended factorisation is for at most this many parameters.
pub(super) const MOST_EXTENDED: usize = 128;

/// (AᵀA)⁻¹, or its place-holder where A has no full rank, in one of its forms.
pub(super) enum Factor {
    /// R of the scaled columns in some order; where `shortest` is there, of the leading `rank` ones only.
    Triangular {
        scale: Vec<f64>,
        order: Vec<usize>,
        rank: usize,
        triangle: Triangle,
        shortest: Option<MinimumNorm>,
    },
    /// Eigenvectors of the scaled AᵀA and their eigenvalues, those of 0 left out.
    Spectral {
        scale: Vec<f64>,
        values: Vec<f64>,
        vectors: Vec<Vec<f64>>,
        shortest: Option<MinimumNorm>,
    },
    /// In double-double.
    Extended(Extended),
}

impl Factor {
    /// From R of columns that were multiplied by `scale`: they are given unit length first, and what is then
    /// below `threshold` beside the longest counts as nothing.
    pub(super) fn triangular(
        mut triangle: Triangle,
        mut scale: Vec<f64>,
        threshold: f64,
        free: Option<usize>,
    ) -> Self {
        equilibrate(&mut triangle, &mut scale);
        let width = scale.len();
        // The estimate may be a little short of the truth, so a doubtful triangle is looked at closely.
        if 0.01 / triangle.inverse_norm() > threshold {
            return Factor::Triangular {
                scale,
                order: (0..width).collect(),
                rank: width,
                triangle,
                shortest: None,
            };
        }
        let (triangle, order) = pivoted(&triangle);
        let diagonal = |k: usize| triangle.get(k, k).abs();
        let rank = (0..triangle.rows.min(width))
            .take_while(|&k| diagonal(k) > threshold * diagonal(0))
            .count();
        let shortest = (rank < width).then(|| {
            let mut t = vec![vec![0.0; width]; rank];
            for (j, &column) in order.iter().enumerate() {
                for (i, row) in t.iter_mut().enumerate() {
                    row[column] = triangle.get(i, j);
                }
            }
            MinimumNorm::new(t, scale.clone(), free)
        });
        Factor::Triangular {
            scale,
            order,
            rank,
            triangle,
            shortest,
        }
    }

    /// From eigenvectors (each scaled parameters long) and eigenvalues; all above 0, none too many.
    pub(super) fn spectral(
        scale: Vec<f64>,
        values: Vec<f64>,
        vectors: Vec<Vec<f64>>,
        free: Option<usize>,
    ) -> Self {
        let deficient = values.len() < scale.len();
        let shortest = deficient.then(|| MinimumNorm::new(vectors.clone(), scale.clone(), free));
        Factor::Spectral {
            scale,
            values,
            vectors,
            shortest,
        }
    }

    /// The step that a descent direction asks for, and the share of the descent (squared, on the scaled
    /// columns) that lies in directions counted as nothing.
    pub(super) fn step(&self, descent: &[DoubleDouble]) -> (Vec<DoubleDouble>, f64) {
        let scaled = |scale: &[f64]| -> Vec<f64> {
            let pairs = descent.iter().zip(scale);
            pairs.map(|(g, s)| g.value() * s).collect()
        };
        let (step, lost): (Vec<f64>, f64) = match self {
            Factor::Extended(extended) => return (extended.solve(descent), 0.0),
            Factor::Triangular {
                scale,
                order,
                rank,
                triangle,
                shortest,
            } => {
                let g = scaled(scale);
                let mut c: Vec<f64> = order[..*rank].iter().map(|&j| g[j]).collect();
                triangle.solve_transposed(*rank, &mut c);
                if let Some(shortest) = shortest {
                    let beyond = (*rank..order.len()).map(|j| {
                        let lost = g[order[j]] - dot(&triangle.column(j)[..*rank], &c);
                        lost * lost
                    });
                    (shortest.solve(&c), beyond.sum())
                } else {
                    triangle.solve(*rank, &mut c);
                    let mut step = vec![0.0; order.len()];
                    for (&j, c) in order.iter().zip(c) {
                        step[j] = c * scale[j];
                    }
                    (step, 0.0)
                }
            }
            Factor::Spectral {
                scale,
                values,
                vectors,
                shortest,
            } => {
                let mut g = scaled(scale);
                let pairs = vectors.iter().zip(values);
                let c: Vec<f64> = pairs.map(|(v, value)| dot(v, &g) / value).collect();
                if let Some(shortest) = shortest {
                    for ((v, c), value) in vectors.iter().zip(&c).zip(values) {
                        axpy(-c * value, v, &mut g);
                    }
                    (shortest.solve(&c), dot(&g, &g))
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

/// Gives every column of a triangle about unit length.
pub(super) fn equilibrate(triangle: &mut Triangle, scale: &mut [f64]) {
    let rows = triangle.rows;
    for (column, scale) in triangle.values.chunks_exact_mut(rows.max(1)).zip(scale) {
        let factor = power_of_two(dot(column, column).sqrt());
        column.iter_mut().for_each(|x| *x *= factor);
        *scale *= factor;
    }
}

/// A refined point.
struct Refined {
    at: Vec<DoubleDouble>,
    status: Option<Status>,
    /// The last step beside the solution.
    change: f64,
    /// What directions that count as nothing would gain at least if they were something, beside the objective.
    lost: f64,
}

/// Solves by a factorisation and refines; a problem of few parameters that the factor cannot solve is
/// factorised anew in double-double.
pub(super) fn solve(
    system: &System<'_>,
    problem: &Problem<'_>,
    factor: &Factor,
    threshold: f64,
    control: &mut Control<'_>,
) -> Solution {
    let mut refined = refine(system, problem, factor, threshold, control);
    let unsolved = refined.change.is_nan() || refined.change > REFINED || refined.lost > 0.1;
    let stopped = matches!(refined.status, Some(Status::Stopped | Status::TimeLimit));
    if unsolved
        && !stopped
        && system.width() <= MOST_EXTENDED
        && let Some(extended) = Extended::new(system.gram(), system.width())
    {
        let again = refine(system, problem, &Factor::Extended(extended), threshold, control);
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
    problem: &Problem<'_>,
    factor: &Factor,
    threshold: f64,
    control: &mut Control<'_>,
) -> Refined {
    let mut at = vec![DoubleDouble::ZERO; system.width()];
    let (mut descent, _) = system.descent(&at);
    let mut refined = Refined {
        at: at.clone(),
        status: None,
        change: f64::INFINITY,
        lost: 0.0,
    };
    let mut last = f64::INFINITY;
    for _ in 0..MOST_STEPS {
        let (step, _) = factor.step(&descent);
        at.iter_mut().zip(&step).for_each(|(at, step)| *at += *step);
        if at.iter().any(|x| !x.value().is_finite()) {
            break;
        }
        let (next, objective) = system.descent(&at);
        control.passed(1);
        descent = next;
        let (coming, lost) = factor.step(&descent);
        // For a quadratic this is P − P*, but for the inexactness of the factor.
        let gain = double_double::dot(&descent, &coming).value().max(0.0);
        let values: Vec<f64> = at.iter().map(|x| x.value()).collect();
        let told = control.iterate(problem, &values, objective, 0.5 * gain);
        refined.at.clone_from(&at);
        refined.lost = 0.5 * lost / (threshold * threshold) / objective.max(f64::MIN_POSITIVE);
        refined.change = change(system, &at, &coming);
        if refined.status != Some(Status::Converged) {
            refined.status = told;
        }
        let ended = told.is_some_and(|status| status != Status::Converged);
        let pairs = coming.iter().zip(&at);
        let settled = pairs
            .into_iter()
            .all(|(step, at)| step.value().abs() <= NO_CHANGE * at.value().abs());
        // Steps are measured by what they gain: it falls by a factor each time until rounding is all that is left.
        if ended || settled || gain >= 0.25 * last {
            break;
        }
        last = gain;
    }
    refined
}

/// The largest change that a step would make to the scores, beside the largest share of a parameter in them.
fn change(system: &System<'_>, at: &[DoubleDouble], step: &[DoubleDouble]) -> f64 {
    let scale = &system.scale;
    let largest = |x: &[DoubleDouble]| {
        let shares = x.iter().zip(scale).map(|(x, s)| (x.value() / s).abs());
        shares.fold(0.0f64, |most, share| if share > most { share } else { most })
    };
    let (step, at) = (largest(step), largest(at));
    if step == 0.0 { 0.0 } else { step / at }
}

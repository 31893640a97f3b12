//! Facial reduction: decides between quasi-separable and overlapping classes (J. M. Borwein and H.
//! Wolkowicz, Facial reduction for a cone-convex programming problem, J. Australian Math. Society 30,
//! 1981).
//!
//! Suppose λ > 0 and Σλᵢaᵢ = 0 on some rows. Then every v with Av ≥ 0 vanishes on those rows, so the
//! problem is restricted to the v that vanish on their span. Two outcomes are possible:
//!
//! - Some v in that subspace has all other rows strictly on its side: the classes are quasi-separable.
//! - There is another circuit, up to the span found so far. Its rows are added to the span and the step is
//!   repeated. If no row is outside the span, v = 0 is the only solution and the classes overlap.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use crate::margin::row_working_set::{RowSearch, SearchResult};
use crate::margin::search_budget::Session;
use wstar_numeric::dense::{axpy, dot, squared_norm};

/// Cap: Newton steps for the analytic centre of the multipliers; the last iterate is used beyond it.
const STEPS: usize = 200;

/// The outcome of [`reduce`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reduced {
    /// Rows that span all rows, and λ > 0 on them whose combination vanishes.
    Overlap(Vec<(usize, f64)>),
    /// The search ended at a v that vanishes on the span of these rows and is positive on all others.
    Weakly(Vec<usize>),
    /// Rounding errors are too large to decide.
    Inaccurate,
    /// The search was stopped.
    Stopped,
}

/// Continues from the first circuit of a search.
pub(super) fn reduce(
    search: &mut RowSearch<'_>,
    first: &[(usize, f64)],
    session: &mut Session<'_>,
) -> Reduced {
    let mut points: Vec<usize> = first.iter().map(|&(i, _)| i).collect();
    let mut new = points.clone();
    let mut stages = 1;
    loop {
        let before = search.fixed();
        search.fix(&new);
        if search.fixed() == before {
            return Reduced::Inaccurate;
        }
        match search.decide(session) {
            SearchResult::Circuit(circuit) => {
                new = circuit.into_iter().map(|(i, _)| i).collect();
                points.extend(&new);
                stages += 1;
            }
            SearchResult::NoOpenRows if stages == 1 => return Reduced::Overlap(first.to_vec()),
            SearchResult::NoOpenRows => {
                return match centre(search, &points) {
                    Some(lambda) => Reduced::Overlap(points.into_iter().zip(lambda).collect()),
                    None => Reduced::Inaccurate,
                };
            }
            SearchResult::Separates => return Reduced::Weakly(points),
            SearchResult::Inaccurate => return Reduced::Inaccurate,
            SearchResult::Stopped => return Reduced::Stopped,
        }
    }
}

/// The analytic centre: λ > 0 with Σλᵢnᵢ = 0 and the largest product, on rows that span the fixed
/// directions. It is λᵢ = 1/(1 + nᵢ·u) at the u that maximises Σlog(1 + nᵢ·u), found by damped Newton steps
/// that stay inside the domain (Y. Nesterov and A. Nemirovskii, Interior-Point Polynomial Algorithms in Convex
/// Programming, SIAM 1994).
fn centre(search: &RowSearch<'_>, points: &[usize]) -> Option<Vec<f64>> {
    let rows: Vec<Vec<f64>> = points.iter().map(|&i| search.within_fixed(i)).collect();
    let size = search.fixed();
    let mut u = vec![0.0; size];
    for _ in 0..STEPS {
        let lambda: Vec<f64> = rows.iter().map(|row| 1.0 / (1.0 + dot(row, &u))).collect();
        let mut gradient = vec![0.0; size];
        rows.iter()
            .zip(&lambda)
            .for_each(|(row, l)| axpy(*l, row, &mut gradient));
        let weighted = Mat::from_fn(rows.len(), size, |i, j| lambda[i] * rows[i][j]);
        let hessian = weighted.transpose() * &weighted;
        let factor = hessian.llt(Side::Lower).ok()?;
        let right = Mat::from_fn(size, 1, |j, _| gradient[j]);
        let solved = factor.solve(&right);
        let step: Vec<f64> = (0..size).map(|j| solved[(j, 0)]).collect();
        let decrement = dot(&step, &gradient).max(0.0).sqrt();
        if !decrement.is_finite() {
            return None;
        }
        axpy(
            // Heuristic: below 0.2 full steps converge quadratically; not measured yet.
            1.0 / (1.0 + if decrement < 0.2 { 0.0 } else { decrement }),
            &step,
            &mut u,
        );
        // Heuristic: the rounding error of the decrement; not measured yet.
        if decrement < 1e-11 * (rows.len() as f64).sqrt() || squared_norm(&step) == 0.0 {
            break;
        }
    }
    let lambda: Vec<f64> = rows.iter().map(|row| 1.0 / (1.0 + dot(row, &u))).collect();
    lambda.iter().all(|&l| l > 0.0 && l.is_finite()).then_some(lambda)
}

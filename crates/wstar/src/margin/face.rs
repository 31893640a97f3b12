//! Facial reduction: quasi-separable, or overlapping?
//!
//! Once λ > 0 with Σλᵢaᵢ = 0 is known on some rows, every v with Av ≥ 0 vanishes on them. So the question is
//! asked again among the v that do: some v has all other rows strictly on its side (quasi-separable), or
//! there is another circuit, up to the span of the rows so far, which joins them. When no row is outside their
//! span, v = 0 is all that is left: the classes overlap. Borwein and Wolkowicz, 1981.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::session::Session;
use super::working_set::{Found, Search};
use crate::kernel::dense::{axpy, dot, squared_norm};

/// Newton's steps for the centre of the multipliers.
const STEPS: usize = 200;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reduced {
    /// Rows that span all, and λ > 0 on them whose combination vanishes.
    Overlap(Vec<(usize, f64)>),
    /// The search ended at a v that vanishes on the span of these rows and is positive on all others.
    Weakly(Vec<usize>),
    /// Rounding has the upper hand.
    Blurred,
    /// It was stopped.
    Stopped,
}

/// Goes on from the first circuit of a search.
pub(super) fn reduce(search: &mut Search<'_>, first: &[(usize, f64)], session: &mut Session<'_>) -> Reduced {
    let mut points: Vec<usize> = first.iter().map(|&(i, _)| i).collect();
    let mut new = points.clone();
    let mut stages = 1;
    loop {
        let before = search.fixed();
        search.fix(&new);
        if search.fixed() == before {
            return Reduced::Blurred;
        }
        match search.decide(session) {
            Found::Circuit(circuit) => {
                new = circuit.into_iter().map(|(i, _)| i).collect();
                points.extend(&new);
                stages += 1;
            }
            Found::Nothing if stages == 1 => return Reduced::Overlap(first.to_vec()),
            Found::Nothing => {
                return match centre(search, &points) {
                    Some(lambda) => Reduced::Overlap(points.into_iter().zip(lambda).collect()),
                    None => Reduced::Blurred,
                };
            }
            Found::Separates => return Reduced::Weakly(points),
            Found::Blurred => return Reduced::Blurred,
            Found::Stopped => return Reduced::Stopped,
        }
    }
}

/// λ > 0 with Σλᵢnᵢ = 0 on rows that span the fixed directions, with the largest product: λᵢ = 1/(1 + nᵢ·u) at the u
/// that maximises Σlog(1 + nᵢ·u), by Newton's method with steps short enough to stay where it is defined.
fn centre(search: &Search<'_>, points: &[usize]) -> Option<Vec<f64>> {
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
            1.0 / (1.0 + if decrement < 0.2 { 0.0 } else { decrement }),
            &step,
            &mut u,
        );
        if decrement < 1e-11 * (rows.len() as f64).sqrt() || squared_norm(&step) == 0.0 {
            break;
        }
    }
    let lambda: Vec<f64> = rows.iter().map(|row| 1.0 / (1.0 + dot(row, &u))).collect();
    lambda.iter().all(|&l| l > 0.0 && l.is_finite()).then_some(lambda)
}

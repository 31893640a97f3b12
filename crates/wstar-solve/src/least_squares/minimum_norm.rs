//! The minimum-norm solution of an underdetermined system.
//!
//! Problem: min Σⱼ θⱼ² over the counted j, subject to Tθ̃ = c, where T has full row rank and θ = Sθ̃ undoes
//! the scaling of the columns. The norm is measured on the original scale and does not include a free
//! intercept.
//!
//! Method: a Householder reflection eliminates the intercept from all rows except the first. The other rows
//! then read Mu = c′ for the weights u alone. The minimum-norm solution is u = Mᵀy with MMᵀy = c′, where
//! MMᵀ = ZᵀZ comes from a triangularisation of Mᵀ (the seminormal equations; Å. Björck, Stability analysis of
//! the method of seminormal equations, Linear Algebra and its Applications 88, 1987).

use wstar_numeric::dense::{axpy, dot};
use wstar_numeric::linalg::householder::{Triangle, triangular};

/// Number of corrections of y. Heuristic: each reduces the error by a factor of about κ²ε; not measured yet.
const CORRECTIONS: usize = 3;

/// Solves Tθ̃ = c for the θ of least norm.
#[derive(Debug)]
pub(crate) struct MinimumNorm {
    /// θ = scale·θ̃.
    scale: Vec<f64>,
    /// The elimination of the free intercept, if there is one.
    free: Option<Free>,
    /// The rows of M over the weights, each scaled to a largest entry near 1.
    m: Vec<Vec<f64>>,
    /// The factor by which each row was scaled.
    row_scale: Vec<f64>,
    z: Triangle,
}

#[derive(Debug)]
struct Free {
    /// The index of the intercept.
    at: usize,
    /// The vector v of the reflection I − τvvᵀ, which leaves the intercept in the first row only.
    v: Vec<f64>,
    tau: f64,
    /// The first row after the reflection.
    row: Vec<f64>,
}

/// Applies the reflection I − τvvᵀ to x.
fn reflect(v: &[f64], tau: f64, x: &mut [f64]) {
    let along = tau * dot(v, x);
    axpy(-along, v, x);
}

impl MinimumNorm {
    /// Builds the solver from the rows of T.
    pub(crate) fn new(mut t: Vec<Vec<f64>>, scale: Vec<f64>, free: Option<usize>) -> Self {
        let free = free.and_then(|at| {
            let mut v: Vec<f64> = t.iter().map(|row| row[at]).collect();
            let norm = dot(&v, &v).sqrt();
            if norm == 0.0 {
                return None;
            }
            let image = if v[0] > 0.0 { -norm } else { norm };
            v[0] -= image;
            let tau = 2.0 / dot(&v, &v);
            for j in 0..scale.len() {
                let mut column: Vec<f64> = t.iter().map(|row| row[j]).collect();
                reflect(&v, tau, &mut column);
                t.iter_mut().zip(column).for_each(|(row, x)| row[j] = x);
            }
            let row = t.remove(0);
            Some(Free { at, v, tau, row })
        });
        let mut row_scale = Vec::with_capacity(t.len());
        for row in &mut t {
            for (j, (x, scale)) in row.iter_mut().zip(&scale).enumerate() {
                *x = if free.as_ref().is_some_and(|free| free.at == j) {
                    0.0
                } else {
                    *x / scale
                };
            }
            let largest = row.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            let factor = wstar_numeric::linalg::power_of_two::power_of_two(largest);
            row.iter_mut().for_each(|x| *x *= factor);
            row_scale.push(factor);
        }
        let z = triangular(t.concat(), scale.len(), t.len());
        MinimumNorm {
            scale,
            free,
            m: t,
            row_scale,
            z,
        }
    }

    /// Computes θ from c.
    pub(crate) fn solve(&self, c: &[f64]) -> Vec<f64> {
        let mut c = c.to_vec();
        let mut first = 0.0;
        if let Some(free) = &self.free {
            reflect(&free.v, free.tau, &mut c);
            first = c.remove(0);
        }
        c.iter_mut()
            .zip(&self.row_scale)
            .for_each(|(c, factor)| *c *= factor);
        let mut u = vec![0.0; self.scale.len()];
        for _ in 0..CORRECTIONS {
            let mut y: Vec<f64> = self.m.iter().zip(&c).map(|(row, c)| c - dot(row, &u)).collect();
            self.z.solve_transposed(y.len(), &mut y);
            self.z.solve(y.len(), &mut y);
            for (row, y) in self.m.iter().zip(&y) {
                axpy(*y, row, &mut u);
            }
        }
        if let Some(free) = &self.free {
            let others: f64 = (0..u.len())
                .filter(|&j| j != free.at)
                .map(|j| free.row[j] * u[j] / self.scale[j])
                .sum();
            u[free.at] = (first - others) / free.row[free.at] * self.scale[free.at];
        }
        u
    }
}

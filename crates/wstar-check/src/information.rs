//! The information matrix of softmax: H = Σᵢ cᵢ(diag p − ppᵀ)⊗x̂x̂ᵀ over the first `blocks` classes.
//!
//! Block (k, l) has the weights w_kl = c·p_k(δ_kl − p_l), and |w_kl| ≤ √(w_kk·w_ll), since diag p − ppᵀ is positive semidefinite. So an
//! error of η|w_kl| of each weight changes H by at most η·√(H_aa·H_bb) element by element, by Cauchy and Schwarz, and the
//! lemma of `linear.rs` holds for this matrix. w_kk is computed as c·p_k·Σ_{l≠k} p_l, a sum of positive terms.

use crate::arithmetic::larger;

/// The sum, row by row.
pub struct Information {
    /// The order of H: the number of blocks times the columns.
    pub order: usize,
    /// The lower triangle of H.
    pub matrix: Vec<f64>,
    /// The rows that were added.
    pub rows: usize,
    /// The largest ‖x̂‖², rounded.
    largest: f64,
    width: usize,
}

impl Information {
    /// Zero.
    pub fn new(blocks: usize, width: usize) -> Information {
        let order = blocks * width;
        Information {
            order,
            matrix: vec![0.0; order * order],
            rows: 0,
            largest: 0.0,
            width,
        }
    }

    /// Adds a row with its shares.
    pub fn add(&mut self, c: f64, shares: &[f64], x: &[f64]) {
        let (classes, m) = (shares.len(), self.width);
        let blocks = self.order / m;
        self.rows += 1;
        self.largest = larger(self.largest, x.iter().map(|x| x * x).sum());
        for k in 0..blocks {
            let others: f64 = (0..classes).filter(|&l| l != k).map(|l| shares[l]).sum();
            for l in 0..k + 1 {
                let weight = if k == l {
                    c * shares[k] * others
                } else {
                    -c * shares[k] * shares[l]
                };
                for a in 0..m {
                    let factor = weight * x[a];
                    let length = if k == l { a + 1 } else { m };
                    let target = &mut self.matrix[(k * m + a) * self.order + l * m..][..length];
                    target.iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * x);
                }
            }
        }
    }

    /// An upper bound on |x̃ᵢ·(s_k − s_l)| for all rows, all pairs of classes and all changes s of the parameters with ‖R⁻ᵀs‖ ≤ 1:
    /// 2·max ‖R(e_k⊗x̂ᵢ)‖ ≤ 2·max ‖R_k‖_F·max ‖x̂ᵢ‖, where R_k are the columns of class k.
    pub fn largest_range(&self, r: &[f64]) -> f64 {
        let of_class = |k: usize| {
            let columns = k * self.width..(k + 1) * self.width;
            let rows = r.chunks_exact(self.order);
            rows.map(|row| row[columns.clone()].iter().map(|r| r * r).sum::<f64>())
                .sum::<f64>()
        };
        let largest = (0..self.order / self.width).map(of_class).fold(0.0, larger);
        2.0 * (largest * self.largest).sqrt() * (1.0 + 1e-6) + 1e-150
    }
}

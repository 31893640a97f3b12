//! A basis of the simplex method: as many rows as there are independent columns, and the explicit inverse of
//! the square matrix B that they form, updated at every exchange.

use wstar_data::Design;
use wstar_numeric::dense::{axpy, dot};
use wstar_numeric::double_double::{Compensated, DoubleDouble};

/// A row counts as dependent on the basis if what remains of it after elimination is below this fraction of
/// its largest entry. Heuristic: above the rounding error of the elimination; not measured yet.
const INDEPENDENCE_TOLERANCE: f64 = 1e-12;
/// Refinement steps in double-double arithmetic. Heuristic: each step adds nearly all digits that the inverse
/// has; not measured yet.
const REFINEMENTS: usize = 6;

/// The rows and columns of a regular square matrix B. The other columns depend on these and have weight 0.
#[derive(Debug, Clone)]
pub(super) struct Basis {
    /// The rows.
    pub(super) rows: Vec<usize>,
    /// The columns.
    pub(super) columns: Vec<usize>,
    /// B⁻¹ by columns: column k is the direction that changes the score of basic row k by 1 and of no other
    /// basic row.
    inverse: Vec<f64>,
    /// The number of columns of the design.
    width: usize,
}

impl Basis {
    /// Chooses linearly independent rows of large weight, by elimination with complete pivoting among
    /// `candidates`, which are pairs of row and weight.
    pub(super) fn choose(design: &Design, width: usize, candidates: &[(usize, f64)]) -> Option<Self> {
        let mut left: Vec<(usize, f64, f64, Vec<f64>)> = candidates
            .iter()
            .map(|&(row, weight)| {
                let x = design.row(row).to_dense(width);
                (row, weight, largest(&x).1, x)
            })
            .collect();
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        while rows.len() < width {
            let mut best: Option<(f64, usize, usize)> = None;
            for (at, (_, weight, size, x)) in left.iter().enumerate() {
                let (column, value) = largest(x);
                let better = best.is_none_or(|(most, ..)| weight * value > most);
                if value > INDEPENDENCE_TOLERANCE * size && better {
                    best = Some((weight * value, at, column));
                }
            }
            let Some((_, at, column)) = best else { break };
            let (row, _, _, pivot) = left.swap_remove(at);
            for (_, _, _, x) in &mut left {
                let factor = x[column] / pivot[column];
                if factor != 0.0 {
                    axpy(-factor, &pivot, x);
                    x[column] = 0.0;
                }
            }
            rows.push(row);
            columns.push(column);
        }
        Basis::of(design, width, rows, columns)
    }

    /// The basis of these rows and columns; `None` if B is singular.
    pub(super) fn of(design: &Design, width: usize, rows: Vec<usize>, columns: Vec<usize>) -> Option<Self> {
        let mut basis = Basis {
            rows,
            columns,
            inverse: Vec::new(),
            width,
        };
        basis.invert(design).then_some(basis)
    }

    /// The number of rows.
    pub(super) fn rank(&self) -> usize {
        self.rows.len()
    }

    /// Recomputes B⁻¹ by Gauss–Jordan elimination with partial pivoting. Returns whether B is regular.
    pub(super) fn invert(&mut self, design: &Design) -> bool {
        let rank = self.rank();
        // The rows of (B | I).
        let mut both: Vec<Vec<f64>> = (0..rank)
            .map(|k| {
                let x = design.row(self.rows[k]).to_dense(self.width);
                let mut row: Vec<f64> = self.columns.iter().map(|&j| x[j]).collect();
                row.resize(2 * rank, 0.0);
                row[rank + k] = 1.0;
                row
            })
            .collect();
        for k in 0..rank {
            let Some(at) = (k..rank).max_by(|&a, &b| both[a][k].abs().total_cmp(&both[b][k].abs())) else {
                return false;
            };
            both.swap(k, at);
            let pivot = both[k][k];
            if pivot == 0.0 || !pivot.is_finite() {
                return false;
            }
            both[k][k..].iter_mut().for_each(|value| *value /= pivot);
            let (above, rest) = both.split_at_mut(k);
            let Some((own, below)) = rest.split_first_mut() else {
                return false;
            };
            for other in above.iter_mut().chain(below) {
                let factor = other[k];
                if factor != 0.0 {
                    axpy(-factor, &own[k..], &mut other[k..]);
                }
            }
        }
        self.inverse = (0..rank * rank)
            .map(|at| both[at % rank][rank + at / rank])
            .collect();
        self.inverse.iter().all(|value| value.is_finite())
    }

    /// The direction that changes the score of basic row `k` by 1 and of no other basic row.
    pub(super) fn direction(&self, k: usize) -> Vec<f64> {
        self.scatter(self.inverse_column(k))
    }

    fn inverse_column(&self, k: usize) -> &[f64] {
        &self.inverse[k * self.rank()..(k + 1) * self.rank()]
    }

    /// Expands values of the basic columns to all columns, with 0 elsewhere.
    fn scatter(&self, values: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; self.width];
        self.columns
            .iter()
            .zip(values)
            .for_each(|(&j, &value)| all[j] = value);
        all
    }

    /// ‖direction k‖.
    pub(super) fn length(&self, k: usize) -> f64 {
        let own = self.inverse_column(k);
        dot(own, own).sqrt()
    }

    /// The change of a row's score along each basic direction, B⁻ᵀx.
    pub(super) fn along(&self, row: usize, design: &Design) -> Vec<f64> {
        let x = design.row(row).to_dense(self.width);
        let x: Vec<f64> = self.columns.iter().map(|&j| x[j]).collect();
        (0..self.rank())
            .map(|j| dot(&x, self.inverse_column(j)))
            .collect()
    }

    /// Replaces basic row `k` by `row`.
    pub(super) fn exchange(&mut self, k: usize, row: usize, design: &Design) {
        let rank = self.rank();
        let along = self.along(row, design);
        let own: Vec<f64> = self.inverse_column(k).iter().map(|v| v / along[k]).collect();
        for (j, column) in self.inverse.chunks_exact_mut(rank).enumerate() {
            if j == k {
                column.copy_from_slice(&own);
            } else if along[j] != 0.0 {
                axpy(-along[j], &own, column);
            }
        }
        self.rows[k] = row;
    }

    /// Adds a row that is independent of the basis in this column. Returns whether the extended basis is
    /// regular.
    pub(super) fn extend(&mut self, row: usize, column: usize, design: &Design) -> bool {
        self.rows.push(row);
        self.columns.push(column);
        if self.invert(design) {
            return true;
        }
        self.rows.pop();
        self.columns.pop();
        self.invert(design);
        false
    }

    /// The multipliers (slopes times weights) of the basic rows that balance a gradient: −B⁻ᵀ·gradient.
    pub(super) fn multipliers(&self, gradient: &[f64]) -> Vec<f64> {
        let own: Vec<f64> = self.columns.iter().map(|&j| gradient[j]).collect();
        (0..self.rank())
            .map(|k| -dot(self.inverse_column(k), &own))
            .collect()
    }

    /// One of the [`multipliers`](Basis::multipliers).
    pub(super) fn multiplier(&self, k: usize, gradient: &[f64]) -> f64 {
        let own = self.columns.iter().zip(self.inverse_column(k));
        -own.map(|(&j, value)| gradient[j] * value).sum::<f64>()
    }

    /// The weights at which the basic rows have these scores, by iterative refinement.
    pub(super) fn weights(&self, design: &Design, scores: &[f64]) -> Vec<DoubleDouble> {
        let mut weights = vec![DoubleDouble::ZERO; self.width];
        for _ in 0..REFINEMENTS {
            let left: Vec<f64> = (self.rows.iter().zip(scores))
                .map(|(&row, &score)| {
                    let mut left = Compensated::default();
                    left.add(score);
                    design.row(row).for_each(|j, x| left.add_product(weights[j], -x));
                    left.total().value()
                })
                .collect();
            for (k, &left) in left.iter().enumerate().filter(|(_, left)| **left != 0.0) {
                for (&j, &value) in self.columns.iter().zip(self.inverse_column(k)) {
                    weights[j] += DoubleDouble::product(left, value);
                }
            }
        }
        weights
    }

    /// The [`multipliers`](Basis::multipliers), refined to the precision of the gradient.
    pub(super) fn exact_multipliers(&self, design: &Design, gradient: &[DoubleDouble]) -> Vec<f64> {
        let mut multipliers = vec![DoubleDouble::ZERO; self.rank()];
        for _ in 0..REFINEMENTS {
            let mut left = vec![Compensated::default(); self.width];
            left.iter_mut()
                .zip(gradient)
                .for_each(|(left, &gradient)| left.add(gradient));
            for (&row, &multiplier) in self.rows.iter().zip(&multipliers) {
                let row = design.row(row);
                row.for_each(|j, x| left[j].add_product(multiplier, x));
            }
            let left: Vec<f64> = left.into_iter().map(|left| left.total().value()).collect();
            let changes = self.multipliers(&left);
            for (multiplier, change) in multipliers.iter_mut().zip(changes) {
                *multiplier += DoubleDouble::from(change);
            }
        }
        multipliers.into_iter().map(DoubleDouble::value).collect()
    }

    /// The null space of the basic rows, one direction for each column outside the basis.
    pub(super) fn null_space(&self, design: &Design) -> NullSpace<'_> {
        let outside: Vec<usize> = (0..self.width).filter(|j| !self.columns.contains(j)).collect();
        let rows: Vec<Vec<f64>> = (self.rows.iter())
            .map(|&row| design.row(row).to_dense(self.width))
            .collect();
        let directions = outside
            .iter()
            .map(|&j| {
                let mut direction = vec![0.0; self.width];
                for (k, row) in rows.iter().enumerate() {
                    for (&column, &value) in self.columns.iter().zip(self.inverse_column(k)) {
                        direction[column] -= value * row[j];
                    }
                }
                direction[j] = 1.0;
                direction
            })
            .collect();
        NullSpace {
            basis: self,
            outside,
            directions,
        }
    }
}

/// The null space of a rank-deficient basis. It shows which rows are independent of the basis.
pub(super) struct NullSpace<'a> {
    basis: &'a Basis,
    outside: Vec<usize>,
    /// For each column outside the basis, a direction that changes no basic score.
    directions: Vec<Vec<f64>>,
}

impl NullSpace<'_> {
    /// Whether every column is in the basis.
    pub(super) fn is_empty(&self) -> bool {
        self.outside.is_empty()
    }

    /// The column in which a row is independent of the basis, and the relative size of its component there.
    pub(super) fn independent_column(&self, x: &[f64]) -> Option<(usize, f64)> {
        debug_assert_eq!(x.len(), self.basis.width);
        let mut best: Option<(usize, f64)> = None;
        for (&j, direction) in self.outside.iter().zip(&self.directions) {
            let size = x
                .iter()
                .zip(direction)
                .fold(0.0f64, |most, (x, w)| most.max((x * w).abs()));
            let left = dot(x, direction).abs();
            // Heuristic: the factor 1e3 keeps nearly dependent rows out of the basis; not measured yet.
            if left > 1e3 * INDEPENDENCE_TOLERANCE * size && best.is_none_or(|(_, most)| left / size > most) {
                best = Some((j, left / size));
            }
        }
        best
    }
}

/// The index and the absolute value of the entry of largest magnitude.
fn largest(x: &[f64]) -> (usize, f64) {
    let mut best = (0, 0.0);
    for (j, value) in x.iter().enumerate() {
        if value.abs() > best.1 {
            best = (j, value.abs());
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_data::Dense;

    /// Pseudorandom integers.
    fn integer(i: usize) -> f64 {
        let bits = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 % 19.0 - 9.0
    }

    #[test]
    fn integer_weights_and_multipliers_are_found_exactly() {
        let width = 12;
        let values: Vec<f64> = (0..30 * width).map(integer).collect();
        let design = Design::Dense64(Dense::new(values, 30, width).unwrap());
        let candidates: Vec<(usize, f64)> = (0..30).map(|i| (i, 1.0)).collect();
        let mut basis = Basis::choose(&design, width, &candidates).unwrap();
        assert_eq!(basis.rank(), width);
        let others: Vec<usize> = (0..30).filter(|i| !basis.rows.contains(i)).collect();
        for (k, row) in others.into_iter().take(5).enumerate() {
            basis.exchange(k, row, &design);
        }
        let truth: Vec<f64> = (0..width).map(|j| integer(j + 5)).collect();
        let scores: Vec<f64> = basis.rows.iter().map(|&i| design.row(i).dot(&truth)).collect();
        let weights = basis.weights(&design, &scores);
        for (weight, truth) in weights.iter().zip(&truth) {
            assert!((weight.value() - truth).abs() < 1e-30, "{weight:?}");
        }
        let mut gradient = vec![0.0; width];
        for (&row, &multiplier) in basis.rows.iter().zip(&truth) {
            design.row(row).add_to(-multiplier, &mut gradient);
        }
        let exact: Vec<DoubleDouble> = gradient.iter().map(|&gradient| gradient.into()).collect();
        for (multiplier, truth) in basis.exact_multipliers(&design, &exact).iter().zip(&truth) {
            assert!((multiplier - truth).abs() < 1e-30);
        }
        for (multiplier, truth) in basis.multipliers(&gradient).iter().zip(&truth) {
            assert!((multiplier - truth).abs() < 1e-9);
        }
    }

    #[test]
    fn dependent_columns_are_left_out_and_independent_rows_are_found() {
        // The third column is the sum of the others, except in the last row.
        let values = vec![1.0, 2.0, 3.0, 4.0, 1.0, 5.0, 2.0, 2.0, 4.0, 1.0, 1.0, 2.5];
        let design = Design::Dense64(Dense::new(values, 4, 3).unwrap());
        let mut basis = Basis::choose(&design, 3, &[(0, 1.0), (1, 1.0), (2, 1.0)]).unwrap();
        assert_eq!(basis.rank(), 2);
        let null_space = basis.null_space(&design);
        assert!((0..3).all(|i| {
            null_space
                .independent_column(&design.row(i).to_dense(3))
                .is_none()
        }));
        let (column, _) = null_space.independent_column(&design.row(3).to_dense(3)).unwrap();
        assert!(basis.extend(3, column, &design));
        assert!(basis.null_space(&design).is_empty());
    }
}

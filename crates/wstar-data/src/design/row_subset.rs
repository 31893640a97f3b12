//! Copies of selected rows of a design.

use rayon::prelude::*;

use crate::{Csr, Dense, Design};

/// The number of rows that one task copies.
/// Heuristic: small tasks balance the threads, large tasks have less overhead; not measured yet.
const COPIED: usize = 1 << 10;

impl Design {
    /// The rows with the given indices, in that order, in the same storage format.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Design::Dense32(matrix) => Design::Dense32(select_dense(matrix, rows)),
            Design::Dense64(matrix) => Design::Dense64(select_dense(matrix, rows)),
            Design::Sparse32(matrix) => Design::Sparse32(select_sparse(matrix, rows)),
            Design::Sparse64(matrix) => Design::Sparse64(select_sparse(matrix, rows)),
            Design::Columns32(matrix) => Design::Columns32(matrix.select(rows)),
            Design::Columns64(matrix) => Design::Columns64(matrix.select(rows)),
        }
    }
}

fn select_dense<T: Copy + Default + Send + Sync + 'static>(matrix: &Dense<T>, rows: &[usize]) -> Dense<T> {
    let features = matrix.features;
    let mut values = vec![T::default(); rows.len() * features];
    let tasks = values.par_chunks_mut((COPIED * features).max(1));
    tasks.zip(rows.par_chunks(COPIED)).for_each(|(values, rows)| {
        for (to, &i) in values.chunks_exact_mut(features).zip(rows) {
            to.copy_from_slice(matrix.row(i));
        }
    });
    Dense {
        values: values.into(),
        rows: rows.len(),
        features,
    }
}

fn select_sparse<T: Copy + Default + Send + Sync + 'static>(matrix: &Csr<T>, rows: &[usize]) -> Csr<T> {
    let mut starts = Vec::with_capacity(rows.len() + 1);
    starts.push(0);
    for &i in rows {
        starts.push(starts[starts.len() - 1] + matrix.row(i).0.len());
    }
    let stored = starts[rows.len()];
    let (mut indices, mut values) = (vec![0; stored], vec![T::default(); stored]);
    let mut tasks = Vec::with_capacity(rows.len().div_ceil(COPIED));
    let (mut columns_left, mut values_left) = (indices.as_mut_slice(), values.as_mut_slice());
    for (task, rows) in rows.chunks(COPIED).enumerate() {
        let size = starts[task * COPIED + rows.len()] - starts[task * COPIED];
        let (columns, values);
        (columns, columns_left) = columns_left.split_at_mut(size);
        (values, values_left) = values_left.split_at_mut(size);
        tasks.push((rows, columns, values));
    }
    tasks.into_par_iter().for_each(|(rows, mut columns, mut values)| {
        for &i in rows {
            let (own, row) = matrix.row(i);
            columns
                .split_off_mut(..own.len())
                .into_iter()
                .for_each(|to| to.copy_from_slice(own));
            values
                .split_off_mut(..row.len())
                .into_iter()
                .for_each(|to| to.copy_from_slice(row));
        }
    });
    Csr {
        starts: starts.into(),
        indices: indices.into(),
        values: values.into(),
        features: matrix.features,
    }
}

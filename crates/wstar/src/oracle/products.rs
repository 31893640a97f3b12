//! Products of a block of rows with parameters: scores X̃·θ, pulls X̃ᵀ·r, squares and Gram matrices, where
//! X̃ = (X, 1) has the column of ones of an intercept.
//!
//! A block is small enough to stay in the cache between the products that an answer needs, so a pass reads
//! every row from memory once. One output runs over rows; several are matrix products.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

use crate::data::{Design, Row};
use crate::oracle::Layout;

/// About as many bytes as a core's second cache keeps beside everything else.
const BLOCK_BYTES: usize = 1 << 17;

/// How many rows make a block: it depends on the design alone, never on the machine.
pub(crate) fn block_rows(design: &Design) -> usize {
    let bytes = 12 * design.stored() / design.rows().max(1);
    (BLOCK_BYTES / bytes.max(1)).clamp(32, 2048)
}

/// Scores of the rows: `out[i·outputs + k]`.
pub(crate) fn scores(design: &Design, rows: Range<usize>, layout: Layout, at: &[f64], out: &mut [f64]) {
    if layout.outputs == 1 {
        let (w, b) = layout.output(at, 0);
        for (i, out) in rows.zip(out) {
            *out = design.row(i).dot(w) + b;
        }
        return;
    }
    if design.is_sparse() {
        for (i, out) in rows.zip(out.chunks_exact_mut(layout.outputs)) {
            for (k, out) in out.iter_mut().enumerate() {
                let (w, b) = layout.output(at, k);
                *out = design.row(i).dot(w) + b;
            }
        }
        return;
    }
    let x = lifted(design, rows.clone(), layout);
    matmul(
        MatMut::from_row_major_slice_mut(out, rows.len(), layout.outputs),
        Accum::Replace,
        MatRef::from_row_major_slice(&x, rows.len(), layout.width()),
        MatRef::from_row_major_slice(at, layout.outputs, layout.width()).transpose(),
        1.0,
        Par::Seq,
    );
}

/// Adds Σᵢ r[i·outputs + k] x̃ᵢ to output k's share of `sum`.
pub(crate) fn add_pulls(design: &Design, rows: Range<usize>, layout: Layout, pulls: &[f64], sum: &mut [f64]) {
    if layout.outputs == 1 || design.is_sparse() {
        for (i, pulls) in rows.zip(pulls.chunks_exact(layout.outputs)) {
            let row = design.row(i);
            for (&pull, sum) in pulls.iter().zip(sum.chunks_exact_mut(layout.width())) {
                // Rows beyond a margin pull nothing, and there can be many.
                if pull == 0.0 {
                    continue;
                }
                row.add_to(pull, &mut sum[..layout.features]);
                if let Some(intercept) = sum.get_mut(layout.features) {
                    *intercept += pull;
                }
            }
        }
        return;
    }
    let x = lifted(design, rows.clone(), layout);
    matmul(
        MatMut::from_row_major_slice_mut(sum, layout.outputs, layout.width()),
        Accum::Add,
        MatRef::from_row_major_slice(pulls, rows.len(), layout.outputs).transpose(),
        MatRef::from_row_major_slice(&x, rows.len(), layout.width()),
        1.0,
        Par::Seq,
    );
}

/// Adds Σᵢ hᵢ x̃ᵢⱼ² to `sum`, one output's share.
pub(crate) fn add_squares(design: &Design, rows: Range<usize>, layout: Layout, h: &[f64], sum: &mut [f64]) {
    for (i, &h) in rows.zip(h) {
        design.row(i).for_each(|j, v| sum[j] += h * v * v);
        if let Some(intercept) = sum.get_mut(layout.features) {
            *intercept += h;
        }
    }
}

/// Adds Σᵢ hᵢ x̃ᵢx̃ᵢᵀ to the lower triangle of `gram`, column by column, `width` × `width`.
pub(crate) fn add_gram(design: &Design, rows: Range<usize>, layout: Layout, h: &[f64], gram: &mut [f64]) {
    let width = layout.width();
    if !design.is_sparse() {
        let x = lifted(design, rows.clone(), layout);
        let mut scaled = x.clone();
        for (row, h) in scaled.chunks_exact_mut(width.max(1)).zip(h) {
            row.iter_mut().for_each(|value| *value *= h);
        }
        triangular::matmul(
            MatMut::from_column_major_slice_mut(gram, width, width),
            BlockStructure::TriangularLower,
            Accum::Add,
            MatRef::from_row_major_slice(&x, rows.len(), width).transpose(),
            BlockStructure::Rectangular,
            MatRef::from_row_major_slice(&scaled, rows.len(), width),
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        return;
    }
    for (i, &h) in rows.zip(h) {
        if h == 0.0 {
            continue;
        }
        match design.row(i) {
            Row::Sparse32(indices, values) => add_outer(indices, values, h, layout, gram),
            Row::Sparse64(indices, values) => add_outer(indices, values, h, layout, gram),
            Row::Dense32(_) | Row::Dense64(_) => {}
        }
    }
}

fn add_outer<T: Copy + Into<f64>>(indices: &[u32], values: &[T], h: f64, layout: Layout, gram: &mut [f64]) {
    let width = layout.width();
    for (at, (&column, &value)) in indices.iter().zip(values).enumerate() {
        let scaled = h * value.into();
        let start = column as usize * width;
        let column = &mut gram[start..start + width];
        for (&row, &value) in indices[at..].iter().zip(&values[at..]) {
            column[row as usize] += scaled * value.into();
        }
        if layout.intercept {
            column[layout.features] += scaled;
        }
    }
    if layout.intercept {
        gram[width * width - 1] += h;
    }
}

/// The rows of a dense block in `f64`, with the column of ones.
fn lifted(design: &Design, rows: Range<usize>, layout: Layout) -> Vec<f64> {
    let mut x = vec![1.0; rows.len() * layout.width()];
    for (i, lifted) in rows.zip(x.chunks_exact_mut(layout.width().max(1))) {
        let lifted = &mut lifted[..layout.features];
        match design.row(i) {
            Row::Dense32(row) => lifted
                .iter_mut()
                .zip(row)
                .for_each(|(to, &from)| *to = from.into()),
            Row::Dense64(row) => lifted.copy_from_slice(row),
            Row::Sparse32(..) | Row::Sparse64(..) => {}
        }
    }
    x
}

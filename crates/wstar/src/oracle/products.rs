//! Products of a block of rows with parameters: scores X̃·θ, pulls X̃ᵀ·r, squares and Gram matrices, where
//! X̃ = (X, 1) has the column of ones of an intercept.
//!
//! A block is small enough to stay in the cache between the products that an answer needs, so a pass reads
//! every row from memory once.

use std::ops::{AddAssign, Range};

use rayon::prelude::*;

use crate::data::{Dense, Design, Row};
use crate::kernel::dense::LANES;
use crate::kernel::gram;
use crate::kernel::outputs;
use crate::kernel::several::{self, Group};
use crate::oracle::Layout;

/// About as many bytes as a core's second cache keeps beside everything else.
const BLOCK_BYTES: usize = 1 << 17;

/// How many rows make a block: it depends on the design and the outputs alone, never on the machine.
pub(crate) fn block_rows(design: &Design, outputs: usize) -> usize {
    /// Rows that a Gram matrix takes at once, at most: fewer than that in the end of each block would cost as much.
    const AT_ONCE: usize = 128;
    let entry = if design.is_sparse() { 12 } else { 8 };
    let bytes = entry * design.stored() / design.rows().max(1);
    // Several outputs turn their weights around once a block, which must be worth it.
    let least = if outputs > 1 { 512 } else { 32 };
    let rows = (BLOCK_BYTES / bytes.max(1)).clamp(least, 2048);
    if rows < AT_ONCE {
        rows
    } else {
        rows - rows % AT_ONCE
    }
}

/// How many lanes, of at most `most`, sum so many numbers each: they are added up in the end, and where rows are short
/// that would take longer than the rows.
pub(crate) fn lanes_for(design: &Design, numbers: usize, most: usize) -> usize {
    /// Entries of the design for each number of a lane, at least.
    const ENTRIES: usize = 16;
    /// So many threads are to have something to do all the same.
    const LEAST: usize = 8;
    (design.stored() / (ENTRIES * numbers.max(1))).clamp(LEAST.min(most), most)
}

/// The sum of vectors that are as long as each other, or empty; each number is summed in their order.
pub(crate) fn total<T: Copy + Send + Sync + AddAssign>(vectors: &[Vec<T>]) -> Vec<T> {
    /// Numbers that one task sums.
    const PIECE: usize = 1 << 12;
    let mut vectors = vectors.iter().filter(|vector| !vector.is_empty());
    let mut total = vectors.next().cloned().unwrap_or_default();
    let others: Vec<&Vec<T>> = vectors.collect();
    total
        .par_chunks_mut(PIECE)
        .enumerate()
        .for_each(|(piece, total)| {
            for other in &others {
                let own = &other[piece * PIECE..];
                total.iter_mut().zip(own).for_each(|(to, &from)| *to += from);
            }
        });
    total
}

/// Scores of the rows: `out[i·outputs + k]`.
pub(crate) fn scores(design: &Design, rows: Range<usize>, layout: Layout, at: &[f64], out: &mut [f64]) {
    if layout.outputs == 1 {
        let (w, b) = layout.output(at, 0);
        design.scores(rows, w, out);
        if layout.intercept {
            out.iter_mut().for_each(|score| *score += b);
        }
        return;
    }
    let groups = layout.outputs.div_ceil(LANES);
    match (design, groups) {
        (Design::Dense64(dense), 1) => return dense_scores::<1>(dense, rows, layout, at, out),
        (Design::Dense64(dense), 2) => return dense_scores::<2>(dense, rows, layout, at, out),
        (Design::Dense64(dense), 3) => return dense_scores::<3>(dense, rows, layout, at, out),
        _ => {}
    }
    let mut weights = vec![[0.0; LANES]; layout.width() * groups];
    for k in 0..layout.outputs {
        let own = &at[k * layout.width()..(k + 1) * layout.width()];
        for (j, &w) in own.iter().enumerate() {
            weights[j * groups + k / LANES][k % LANES] = w;
        }
    }
    let intercepts: Vec<[f64; LANES]> = match layout.intercept {
        true => weights[layout.features * groups..].to_vec(),
        false => vec![[0.0; LANES]; groups],
    };
    let mut scores = intercepts.clone();
    for (i, out) in rows.zip(out.chunks_exact_mut(layout.outputs)) {
        scores.copy_from_slice(&intercepts);
        add_scores(design.row(i), &weights, &mut scores);
        out.copy_from_slice(&scores.as_flattened()[..layout.outputs]);
    }
}

/// Adds Σᵢ r[i·outputs + k] x̃ᵢ to output k's share of `sum`.
pub(crate) fn add_pulls(design: &Design, rows: Range<usize>, layout: Layout, pulls: &[f64], sum: &mut [f64]) {
    if layout.outputs == 1 {
        design.add_rows(rows, pulls, &mut sum[..layout.features]);
        if let Some(intercept) = sum.get_mut(layout.features) {
            pulls.iter().for_each(|pull| *intercept += pull);
        }
        return;
    }
    let groups = layout.outputs.div_ceil(LANES);
    match (design, groups) {
        (Design::Dense64(dense), 1) => return add_dense_pulls::<1>(dense, rows, layout, pulls, sum),
        (Design::Dense64(dense), 2) => return add_dense_pulls::<2>(dense, rows, layout, pulls, sum),
        (Design::Dense64(dense), 3) => return add_dense_pulls::<3>(dense, rows, layout, pulls, sum),
        _ => {}
    }
    let mut sums = vec![[0.0; LANES]; layout.width() * groups];
    let mut own = vec![[0.0; LANES]; groups];
    for (i, pulls) in rows.zip(pulls.chunks_exact(layout.outputs)) {
        own.as_flattened_mut()[..layout.outputs].copy_from_slice(pulls);
        add_scaled(design.row(i), &own, &mut sums);
        if layout.intercept {
            several::axpy_dense(&own, &[1.0], &mut sums[layout.features * groups..]);
        }
    }
    for (k, sum) in sum.chunks_exact_mut(layout.width()).enumerate() {
        for (j, sum) in sum.iter_mut().enumerate() {
            *sum += sums[j * groups + k / LANES][k % LANES];
        }
    }
}

/// Numbers of a row of several outputs, or of a feature's weights for them, in groups.
fn grouped<const G: usize>(outputs: impl Iterator<Item = f64>) -> [Group; G] {
    let mut groups = [[0.0; LANES]; G];
    let places = groups.as_flattened_mut().iter_mut();
    places.zip(outputs).for_each(|(to, from)| *to = from);
    groups
}

fn dense_scores<const G: usize>(
    dense: &Dense<f64>,
    rows: Range<usize>,
    layout: Layout,
    at: &[f64],
    out: &mut [f64],
) {
    let entry = |j: usize| grouped::<G>((0..layout.outputs).map(|k| at[k * layout.width() + j]));
    let weights: Vec<[Group; G]> = (0..layout.features).map(entry).collect();
    let intercepts = match layout.intercept {
        true => entry(layout.features),
        false => [[0.0; LANES]; G],
    };
    let mut scores = vec![[[0.0; LANES]; G]; rows.len()];
    let span = rows.start * layout.features..rows.end * layout.features;
    outputs::scores(&dense.values()[span], &weights, &mut scores);
    for (out, scores) in out.chunks_exact_mut(layout.outputs).zip(&scores) {
        let sums = scores.as_flattened().iter().zip(intercepts.as_flattened());
        out.iter_mut()
            .zip(sums)
            .for_each(|(out, (score, b))| *out = score + b);
    }
}

fn add_dense_pulls<const G: usize>(
    dense: &Dense<f64>,
    rows: Range<usize>,
    layout: Layout,
    pulls: &[f64],
    sum: &mut [f64],
) {
    let span = rows.start * layout.features..rows.end * layout.features;
    let pulls: Vec<[Group; G]> = pulls
        .chunks_exact(layout.outputs)
        .map(|pulls| grouped(pulls.iter().copied()))
        .collect();
    let mut sums = vec![[[0.0; LANES]; G]; layout.features];
    outputs::add_pulls(&dense.values()[span], &pulls, &mut sums);
    for (k, sum) in sum.chunks_exact_mut(layout.width()).enumerate() {
        for (sum, own) in sum.iter_mut().zip(&sums) {
            *sum += own[k / LANES][k % LANES];
        }
        if let Some(intercept) = sum.get_mut(layout.features) {
            let own = pulls.iter().map(|pulls| pulls[k / LANES][k % LANES]);
            *intercept += own.sum::<f64>();
        }
    }
}

/// `scores += x·weights` for all outputs.
fn add_scores(row: Row<'_>, weights: &[Group], scores: &mut [Group]) {
    match row {
        Row::Dense32(x) => several::dot_dense(x, weights, scores),
        Row::Dense64(x) => several::dot_dense(x, weights, scores),
        Row::Sparse32(indices, x) => several::dot_sparse(indices, x, weights, scores),
        Row::Sparse64(indices, x) => several::dot_sparse(indices, x, weights, scores),
        row => several::dot_dense(&row.to_dense(row.width()), weights, scores),
    }
}

/// `sums += x·pulls` for all outputs.
fn add_scaled(row: Row<'_>, pulls: &[Group], sums: &mut [Group]) {
    match row {
        Row::Dense32(x) => several::axpy_dense(pulls, x, sums),
        Row::Dense64(x) => several::axpy_dense(pulls, x, sums),
        Row::Sparse32(indices, x) => several::axpy_sparse(pulls, indices, x, sums),
        Row::Sparse64(indices, x) => several::axpy_sparse(pulls, indices, x, sums),
        row => several::axpy_dense(pulls, &row.to_dense(row.width()), sums),
    }
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

/// Adds Σᵢ hᵢ x̃ᵢx̃ᵢᵀ to the lower triangle of `sum`, column by column, `width` × `width`.
pub(crate) fn add_gram(design: &Design, rows: Range<usize>, layout: Layout, h: &[f64], sum: &mut [f64]) {
    let stride = layout.width();
    match design {
        Design::Sparse32(matrix) => matrix.block(rows.clone()).add_gram(h, sum, stride),
        Design::Sparse64(matrix) => matrix.block(rows.clone()).add_gram(h, sum, stride),
        Design::Dense64(matrix) => {
            let place = &mut gram::Place { gram: sum, stride };
            gram::add_gram(matrix.block(rows.clone()), layout.features, h, place);
        }
        _ => {
            // A few rows at a time, which stay in the nearest cache.
            let (mut x, at_once) = (Vec::new(), gram::rows_at_once());
            for (first, h) in rows.clone().step_by(at_once).zip(h.chunks(at_once)) {
                write_dense(design, first..first + h.len(), &mut x);
                let place = &mut gram::Place { gram: sum, stride };
                gram::add_gram(&x, layout.features, h, place);
            }
        }
    }
    add_intercept_row(design, rows, layout, h, sum);
}

/// Adds Σᵢ hᵢ x̃ᵢ to the last row of a Gram matrix with the column of ones.
fn add_intercept_row(design: &Design, rows: Range<usize>, layout: Layout, h: &[f64], gram: &mut [f64]) {
    if !layout.intercept {
        return;
    }
    let stride = layout.width();
    let mut below = vec![0.0; layout.features];
    design.add_rows(rows, h, &mut below);
    below.push(h.iter().sum());
    for (j, sum) in below.into_iter().enumerate() {
        gram[j * stride + layout.features] += sum;
    }
}

/// The whole Hessian from lower triangles: one output's own, or those of all pairs of outputs in a row.
pub(crate) fn both_triangles(lower: &[f64], layout: Layout) -> Vec<f64> {
    let (length, width) = (layout.len(), layout.width());
    let mut whole = vec![0.0; length * length];
    let mut pair = 0;
    for k in 0..layout.outputs {
        for l in 0..=k {
            let gram = &lower[pair * width * width..(pair + 1) * width * width];
            pair += 1;
            for column in 0..width {
                for row in column..width {
                    let value = gram[column * width + row];
                    for (r, c) in [(row, column), (column, row)] {
                        whole[(l * width + c) * length + k * width + r] = value;
                        whole[(k * width + r) * length + l * width + c] = value;
                    }
                }
            }
        }
    }
    whole
}

/// Writes every number of some rows, in `f64`, row by row.
fn write_dense(design: &Design, rows: Range<usize>, x: &mut Vec<f64>) {
    let features = design.features();
    x.clear();
    x.resize(rows.len() * features, 0.0);
    for (i, x) in rows.zip(x.chunks_exact_mut(features.max(1))) {
        match design.row(i) {
            Row::Dense32(row) => x.iter_mut().zip(row).for_each(|(to, &from)| *to = from.into()),
            row => row.for_each(|j, value| x[j] = value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_summed_in_their_order_and_empty_ones_left_out() {
        // Longer than a piece; numbers whose sum depends on the order.
        let vector = |k: usize| -> Vec<f64> { (0..10_000).map(|j| 0.1 * (k * j) as f64).collect() };
        let vectors = [vector(3), Vec::new(), vector(7), vector(11)];
        for (j, &sum) in total(&vectors).iter().enumerate() {
            assert_eq!(sum, (vectors[0][j] + vectors[2][j]) + vectors[3][j]);
        }
        assert!(total::<f64>(&[]).is_empty());
    }

    #[test]
    fn short_rows_have_few_lanes() {
        let design = |rows: usize| Design::Dense64(Dense::new(vec![1.0; rows * 4], rows, 4).unwrap());
        assert_eq!(lanes_for(&design(100_000), 5, 32), 32);
        assert_eq!(lanes_for(&design(100), 50_000, 32), 8);
        assert_eq!(lanes_for(&design(100), 50_000, 4), 4);
        assert_eq!(lanes_for(&design(0), 0, 32), 8);
    }
}

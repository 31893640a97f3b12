//! Products with a block of rows: scores X̃θ, column products X̃ᵀr, weighted squares and Gram matrices X̃ᵀHX̃, where
//! X̃ = (X, 1) includes the column of ones of an intercept.
//!
//! A block is small enough to stay in the cache between the products that an answer needs, so a pass reads every row from
//! memory once.

use std::ops::{AddAssign, Range};

use rayon::prelude::*;

use wstar_data::linear::Layout;
use wstar_data::{Dense, Design, Row};
use wstar_numeric::block_times_matrix;
use wstar_numeric::dense::LANES;
use wstar_numeric::gram;
use wstar_numeric::row_times_matrix;
use wstar_numeric::row_times_matrix::Group;

/// Bytes of a block of rows. Heuristic: a block should fit into a core's L2 cache next to the accumulators; not measured yet.
const BLOCK_BYTES: usize = 1 << 17;

/// The most lanes. Cap: more threads than lanes stay idle.
const MOST_LANES: usize = 32;
/// The most accumulated numbers of all lanes together. Cap: beyond it there are fewer lanes, but at least two.
const MOST_LANE_NUMBERS: usize = 1 << 21;

/// The number of rows of a block. It depends only on the design and the number of outputs, never on the machine, so that
/// sums are reproducible.
pub fn block_rows(design: &Design, outputs: usize) -> usize {
    /// The most rows that the Gram kernel takes at once. Blocks are multiples of it, because a shorter remainder would cost
    /// as much as a full group. Derived: the larger value of `gram::rows_at_once`.
    const AT_ONCE: usize = 128;
    // Bytes of a stored entry: a double, and an index of four bytes if sparse.
    let entry = if design.is_sparse() { 12 } else { 8 };
    let bytes = entry * design.stored() / design.rows().max(1);
    // Several outputs transpose their weights once per block, which needs enough rows to pay off. Heuristic: these
    // numbers of rows are not measured yet.
    let least = if outputs > 1 { 512 } else { 32 };
    let rows = (BLOCK_BYTES / bytes.max(1)).clamp(least, 2048);
    if rows < AT_ONCE {
        rows
    } else {
        rows - rows % AT_ONCE
    }
}

/// The number of lanes, at most `most`, when each lane accumulates a vector of length `numbers`.
///
/// A lane is a fixed range of blocks with its own accumulator. The accumulators are added at the end; with short rows and long
/// accumulators that would take longer than reading the rows, so there are then fewer lanes.
pub fn lanes_for(design: &Design, numbers: usize, most: usize) -> usize {
    /// The least number of stored entries of the design per accumulated number of a lane. Heuristic: parallelism against the
    /// cost of adding up the lanes; not measured yet.
    const ENTRIES: usize = 16;
    /// The least number of lanes. Heuristic: keeps this many threads busy even where adding up dominates; not measured yet.
    const LEAST: usize = 8;
    (design.stored() / (ENTRIES * numbers.max(1))).clamp(LEAST.min(most), most)
}

/// The number of rows of a block, and the number of blocks.
pub(super) fn blocks(design: &Design, outputs: usize) -> (usize, usize) {
    let block = block_rows(design, outputs);
    (block, design.rows().div_ceil(block))
}

/// The number of lanes for this many blocks, when each lane accumulates a vector of length `numbers`.
pub(super) fn lanes(design: &Design, numbers: usize, blocks: usize) -> usize {
    (MOST_LANE_NUMBERS / numbers.max(1))
        .clamp(2, lanes_for(design, numbers, MOST_LANES))
        .min(blocks.max(1))
}

/// The sum of vectors of equal length, ignoring empty ones. Each element is summed in the order of the vectors.
pub fn total<T: Copy + Send + Sync + AddAssign>(vectors: &[Vec<T>]) -> Vec<T> {
    /// Elements per task. Heuristic: scheduling overhead against load balance; not measured yet.
    const RANGE: usize = 1 << 12;
    let mut vectors = vectors.iter().filter(|vector| !vector.is_empty());
    let mut total = vectors.next().cloned().unwrap_or_default();
    let others: Vec<&Vec<T>> = vectors.collect();
    total
        .par_chunks_mut(RANGE)
        .enumerate()
        .for_each(|(range, total)| {
            for other in &others {
                let own = &other[range * RANGE..];
                total.iter_mut().zip(own).for_each(|(to, &from)| *to += from);
            }
        });
    total
}

/// Scores of the rows: `out[i·outputs + k]`.
pub fn scores(design: &Design, rows: Range<usize>, layout: Layout, at: &[f64], out: &mut [f64]) {
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

/// Adds the column products X̃ᵀr: Σᵢ r[i·outputs + k] x̃ᵢ is added to the segment of output k in `sum`.
pub fn add_column_products(design: &Design, rows: Range<usize>, layout: Layout, r: &[f64], sum: &mut [f64]) {
    if layout.outputs == 1 {
        design.add_rows(rows, r, &mut sum[..layout.features]);
        if let Some(intercept) = sum.get_mut(layout.features) {
            r.iter().for_each(|r| *intercept += r);
        }
        return;
    }
    let groups = layout.outputs.div_ceil(LANES);
    match (design, groups) {
        (Design::Dense64(dense), 1) => return add_dense_column_products::<1>(dense, rows, layout, r, sum),
        (Design::Dense64(dense), 2) => return add_dense_column_products::<2>(dense, rows, layout, r, sum),
        (Design::Dense64(dense), 3) => return add_dense_column_products::<3>(dense, rows, layout, r, sum),
        _ => {}
    }
    let mut sums = vec![[0.0; LANES]; layout.width() * groups];
    let mut own = vec![[0.0; LANES]; groups];
    for (i, r) in rows.zip(r.chunks_exact(layout.outputs)) {
        own.as_flattened_mut()[..layout.outputs].copy_from_slice(r);
        add_scaled(design.row(i), &own, &mut sums);
        if layout.intercept {
            row_times_matrix::axpy_dense(&own, &[1.0], &mut sums[layout.features * groups..]);
        }
    }
    for (k, sum) in sum.chunks_exact_mut(layout.width()).enumerate() {
        for (j, sum) in sum.iter_mut().enumerate() {
            *sum += sums[j * groups + k / LANES][k % LANES];
        }
    }
}

/// One number for each output, padded with zeros to whole SIMD groups.
fn grouped<const G: usize>(outputs: impl Iterator<Item = f64>) -> [Group; G] {
    let mut groups = [[0.0; LANES]; G];
    let slots = groups.as_flattened_mut().iter_mut();
    slots.zip(outputs).for_each(|(to, from)| *to = from);
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
    block_times_matrix::scores(&dense.values()[span], &weights, &mut scores);
    for (out, scores) in out.chunks_exact_mut(layout.outputs).zip(&scores) {
        let sums = scores.as_flattened().iter().zip(intercepts.as_flattened());
        out.iter_mut()
            .zip(sums)
            .for_each(|(out, (score, b))| *out = score + b);
    }
}

fn add_dense_column_products<const G: usize>(
    dense: &Dense<f64>,
    rows: Range<usize>,
    layout: Layout,
    r: &[f64],
    sum: &mut [f64],
) {
    let span = rows.start * layout.features..rows.end * layout.features;
    let r: Vec<[Group; G]> = r
        .chunks_exact(layout.outputs)
        .map(|r| grouped(r.iter().copied()))
        .collect();
    let mut sums = vec![[[0.0; LANES]; G]; layout.features];
    block_times_matrix::add_column_products(&dense.values()[span], &r, &mut sums);
    for (k, sum) in sum.chunks_exact_mut(layout.width()).enumerate() {
        for (sum, own) in sum.iter_mut().zip(&sums) {
            *sum += own[k / LANES][k % LANES];
        }
        if let Some(intercept) = sum.get_mut(layout.features) {
            let own = r.iter().map(|r| r[k / LANES][k % LANES]);
            *intercept += own.sum::<f64>();
        }
    }
}

/// `scores += x·W` for all outputs.
fn add_scores(row: Row<'_>, weights: &[Group], scores: &mut [Group]) {
    match row {
        Row::Dense32(x) => row_times_matrix::dot_dense(x, weights, scores),
        Row::Dense64(x) => row_times_matrix::dot_dense(x, weights, scores),
        Row::Sparse32(indices, x) => row_times_matrix::dot_sparse(indices, x, weights, scores),
        Row::Sparse64(indices, x) => row_times_matrix::dot_sparse(indices, x, weights, scores),
        row => row_times_matrix::dot_dense(&row.to_dense(row.width()), weights, scores),
    }
}

/// `sums += x·r` for all outputs, where r are the coefficients of the row.
fn add_scaled(row: Row<'_>, r: &[Group], sums: &mut [Group]) {
    match row {
        Row::Dense32(x) => row_times_matrix::axpy_dense(r, x, sums),
        Row::Dense64(x) => row_times_matrix::axpy_dense(r, x, sums),
        Row::Sparse32(indices, x) => row_times_matrix::axpy_sparse(r, indices, x, sums),
        Row::Sparse64(indices, x) => row_times_matrix::axpy_sparse(r, indices, x, sums),
        row => row_times_matrix::axpy_dense(r, &row.to_dense(row.width()), sums),
    }
}

/// Adds Σᵢ hᵢ x̃ᵢⱼ² to `sum[j]`, the segment of one output.
pub(crate) fn add_squares(design: &Design, rows: Range<usize>, layout: Layout, h: &[f64], sum: &mut [f64]) {
    for (i, &h) in rows.zip(h) {
        design.row(i).for_each(|j, v| sum[j] += h * v * v);
        if let Some(intercept) = sum.get_mut(layout.features) {
            *intercept += h;
        }
    }
}

/// Adds Σᵢ hᵢ x̃ᵢx̃ᵢᵀ to the lower triangle of `sum`, column by column, `width` × `width`.
pub fn add_gram(design: &Design, rows: Range<usize>, layout: Layout, h: &[f64], sum: &mut [f64]) {
    let stride = layout.width();
    match design {
        Design::Sparse32(matrix) => matrix.block(rows.clone()).add_gram(h, sum, stride),
        Design::Sparse64(matrix) => matrix.block(rows.clone()).add_gram(h, sum, stride),
        Design::Dense64(matrix) => {
            let triangle = &mut gram::LowerTriangle { gram: sum, stride };
            gram::add_gram(matrix.block(rows.clone()), layout.features, h, triangle);
        }
        _ => {
            // A few rows at a time, so that they stay in the L1 cache.
            let (mut x, at_once) = (Vec::new(), gram::rows_at_once());
            for (first, h) in rows.clone().step_by(at_once).zip(h.chunks(at_once)) {
                write_dense(design, first..first + h.len(), &mut x);
                let triangle = &mut gram::LowerTriangle { gram: sum, stride };
                gram::add_gram(&x, layout.features, h, triangle);
            }
        }
    }
    add_intercept_row(design, rows, layout, h, sum);
}

/// Adds Σᵢ hᵢ x̃ᵢ to the last row of the Gram matrix, that of the column of ones.
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

/// The full Hessian from lower triangles: one for a single output, otherwise one for each pair of outputs k ≥ l, one
/// after another.
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

/// Writes the rows of a range as dense f64, row by row.
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
    fn vectors_are_summed_in_order_and_empty_ones_are_ignored() {
        // Longer than one task's range; the values make the sum depend on the order.
        let vector = |k: usize| -> Vec<f64> { (0..10_000).map(|j| 0.1 * (k * j) as f64).collect() };
        let vectors = [vector(3), Vec::new(), vector(7), vector(11)];
        for (j, &sum) in total(&vectors).iter().enumerate() {
            assert_eq!(sum, (vectors[0][j] + vectors[2][j]) + vectors[3][j]);
        }
        assert!(total::<f64>(&[]).is_empty());
    }

    #[test]
    fn short_rows_get_few_lanes() {
        let design = |rows: usize| Design::Dense64(Dense::new(vec![1.0; rows * 4], rows, 4).unwrap());
        assert_eq!(lanes_for(&design(100_000), 5, 32), 32);
        assert_eq!(lanes_for(&design(100), 50_000, 32), 8);
        assert_eq!(lanes_for(&design(100), 50_000, 4), 4);
        assert_eq!(lanes_for(&design(0), 0, 32), 8);
    }
}

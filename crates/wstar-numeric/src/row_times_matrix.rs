//! One row against several vectors at once. The vectors are stored feature by feature: group `g` of feature `j` is
//! `vectors[j·groups + g]` and holds the entries of eight vectors.
//!
//! Zero entries are skipped, also in dense rows: data such as images consist mostly of zeros.
#![allow(unsafe_code)]

use crate::dense::LANES;
use crate::dispatch::widest;

/// The entries of eight vectors for one feature.
pub type Group = [f64; LANES];

widest! {
    /// `sums[g] += Σⱼ xⱼ·vectors[j·groups + g]` for a dense row.
    pub fn dot_dense<T>(x: &[T], vectors: &[Group], sums: &mut [Group]) -> () = dot_dense_plain;

    /// [`dot_dense`] for a sparse row; its column indices must be less than the number of features of the vectors.
    pub fn dot_sparse<T>(indices: &[u32], x: &[T], vectors: &[Group], sums: &mut [Group]) -> () = dot_sparse_plain;

    /// `vectors[j·groups + g] += xⱼ·scales[g]` for a dense row.
    pub fn axpy_dense<T>(scales: &[Group], x: &[T], vectors: &mut [Group]) -> () = axpy_dense_plain;

    /// [`axpy_dense`] for a sparse row; its column indices must be less than the number of features of the vectors.
    pub fn axpy_sparse<T>(scales: &[Group], indices: &[u32], x: &[T], vectors: &mut [Group]) -> () = axpy_sparse_plain;
}

#[inline(always)]
fn dense_entries<T: Copy + Into<f64>>(x: &[T]) -> impl Iterator<Item = (usize, f64)> {
    (0..).zip(x).map(|(j, &x)| (j, x.into()))
}

#[inline(always)]
fn sparse_entries<T: Copy + Into<f64>>(indices: &[u32], x: &[T]) -> impl Iterator<Item = (usize, f64)> {
    indices.iter().zip(x).map(|(&j, &x)| (j as usize, x.into()))
}

#[inline(always)]
fn dot_dense_plain<T: Copy + Into<f64>>(x: &[T], vectors: &[Group], sums: &mut [Group]) {
    dot(dense_entries(x), vectors, sums);
}

#[inline(always)]
fn dot_sparse_plain<T: Copy + Into<f64>>(indices: &[u32], x: &[T], vectors: &[Group], sums: &mut [Group]) {
    dot(sparse_entries(indices, x), vectors, sums);
}

#[inline(always)]
fn axpy_dense_plain<T: Copy + Into<f64>>(scales: &[Group], x: &[T], vectors: &mut [Group]) {
    axpy(scales, dense_entries(x), vectors);
}

#[inline(always)]
fn axpy_sparse_plain<T: Copy + Into<f64>>(scales: &[Group], indices: &[u32], x: &[T], vectors: &mut [Group]) {
    axpy(scales, sparse_entries(indices, x), vectors);
}

#[inline(always)]
fn dot(entries: impl Iterator<Item = (usize, f64)>, vectors: &[Group], sums: &mut [Group]) {
    // A number of groups known at compile time keeps the sums in registers.
    match sums.len() {
        1 => dot_groups::<1>(entries, vectors, sums),
        2 => dot_groups::<2>(entries, vectors, sums),
        3 => dot_groups::<3>(entries, vectors, sums),
        groups => {
            for (j, x) in entries.filter(|&(_, x)| x != 0.0) {
                let vectors = &vectors[j * groups..(j + 1) * groups];
                sums.iter_mut().zip(vectors).for_each(|(sum, v)| add(sum, x, v));
            }
        }
    }
}

#[inline(always)]
fn dot_groups<const G: usize>(
    entries: impl Iterator<Item = (usize, f64)>,
    vectors: &[Group],
    sums: &mut [Group],
) {
    let (vectors, _) = vectors.as_chunks::<G>();
    let mut own = [[0.0; LANES]; G];
    for (j, x) in entries {
        if x != 0.0 {
            for g in 0..G {
                add(&mut own[g], x, &vectors[j][g]);
            }
        }
    }
    sums.iter_mut()
        .zip(&own)
        .for_each(|(sum, own)| add(sum, 1.0, own));
}

#[inline(always)]
fn axpy(scales: &[Group], entries: impl Iterator<Item = (usize, f64)>, vectors: &mut [Group]) {
    match scales.len() {
        1 => axpy_groups::<1>(scales, entries, vectors),
        2 => axpy_groups::<2>(scales, entries, vectors),
        3 => axpy_groups::<3>(scales, entries, vectors),
        groups => {
            for (j, x) in entries.filter(|&(_, x)| x != 0.0) {
                let vectors = &mut vectors[j * groups..(j + 1) * groups];
                vectors
                    .iter_mut()
                    .zip(scales)
                    .for_each(|(v, scale)| add(v, x, scale));
            }
        }
    }
}

#[inline(always)]
fn axpy_groups<const G: usize>(
    scales: &[Group],
    entries: impl Iterator<Item = (usize, f64)>,
    vectors: &mut [Group],
) {
    let (vectors, _) = vectors.as_chunks_mut::<G>();
    let mut own = [[0.0; LANES]; G];
    own.copy_from_slice(scales);
    for (j, x) in entries {
        if x != 0.0 {
            for g in 0..G {
                add(&mut vectors[j][g], x, &own[g]);
            }
        }
    }
}

#[inline(always)]
fn add(to: &mut Group, x: f64, from: &Group) {
    for lane in 0..LANES {
        to[lane] += x * from[lane];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn products_and_updates_agree_with_the_scalar_loop(
            x in prop::collection::vec(prop_oneof![Just(0.0), -9.0..9.0f64], 1..40),
            groups in 1..5usize,
            seed in any::<u32>(),
        ) {
            let number = |k: usize| f64::from((seed ^ (k as u32).wrapping_mul(2_654_435_761)) % 1000) / 100.0 - 5.0;
            let group = |at: usize| -> Group { std::array::from_fn(|lane| number(at * LANES + lane)) };
            let vectors: Vec<Group> = (0..x.len() * groups).map(group).collect();
            let scales: Vec<Group> = (1000..1000 + groups).map(group).collect();
            let indices: Vec<u32> = (0..x.len() as u32).filter(|&j| x[j as usize] != 0.0).collect();
            let values: Vec<f64> = indices.iter().map(|&j| x[j as usize]).collect();

            let mut sums = vec![[1.0; LANES]; groups];
            let mut sparse_sums = sums.clone();
            dot_dense(&x, &vectors, &mut sums);
            dot_sparse(&indices, &values, &vectors, &mut sparse_sums);
            prop_assert_eq!(&sums, &sparse_sums);
            let mut moved = vectors.clone();
            let mut sparse_moved = vectors.clone();
            axpy_dense(&scales, &x, &mut moved);
            axpy_sparse(&scales, &indices, &values, &mut sparse_moved);
            prop_assert_eq!(&moved, &sparse_moved);
            for g in 0..groups {
                for lane in 0..LANES {
                    let terms = || x.iter().enumerate().map(|(j, x)| x * vectors[j * groups + g][lane]);
                    let (sum, size) = (1.0 + terms().sum::<f64>(), 1.0 + terms().map(f64::abs).sum::<f64>());
                    prop_assert!((sums[g][lane] - sum).abs() <= 1e-14 * size);
                    for (j, x) in x.iter().enumerate() {
                        let at = j * groups + g;
                        prop_assert_eq!(moved[at][lane], vectors[at][lane] + x * scales[g][lane]);
                    }
                }
            }
        }
    }
}

//! Dot products and updates of sparse rows against `f64` vectors: the cost is the stored entries.

/// Sums that run side by side: a single one would wait for each addition to end.
const LANES: usize = 4;

/// How many entries meet a vector of this length: all, unless the last index is beyond it.
fn meeting(indices: &[u32], length: usize) -> usize {
    match indices.last() {
        Some(&last) if last as usize >= length => indices.partition_point(|&j| (j as usize) < length),
        _ => indices.len(),
    }
}

/// `x·w`; entries beyond the end of `w` meet a weight of 0.
pub fn dot<T: Copy + Into<f64>>(indices: &[u32], values: &[T], w: &[f64]) -> f64 {
    let stored = meeting(indices, w.len()).min(values.len());
    let (indices, rest) = indices[..stored].as_chunks::<LANES>();
    let (values, last) = values[..stored].as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (j, v) in indices.iter().zip(values) {
        for lane in 0..LANES {
            lanes[lane] += w[j[lane] as usize] * v[lane].into();
        }
    }
    for (lane, (&j, &v)) in rest.iter().zip(last).enumerate() {
        lanes[lane] += w[j as usize] * v.into();
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// `x·w` for `N` vectors `w` at once, which lie feature by feature; entries beyond the end meet 0.
///
/// Each sum runs in the order of [`dot`], so both give the same bits.
pub fn dot_each<T: Copy + Into<f64>, const N: usize>(
    indices: &[u32],
    values: &[T],
    vectors: &[[f64; N]],
) -> [f64; N] {
    let stored = meeting(indices, vectors.len());
    let mut lanes = [[0.0; N]; LANES];
    for (at, (&j, &v)) in indices[..stored].iter().zip(values).enumerate() {
        let value: f64 = v.into();
        for (sum, w) in lanes[at % LANES].iter_mut().zip(&vectors[j as usize]) {
            *sum += w * value;
        }
    }
    std::array::from_fn(|k| (lanes[0][k] + lanes[1][k]) + (lanes[2][k] + lanes[3][k]))
}

/// `w[j] += scale·x[j]` for every stored entry; entries beyond the end of `w` are left out.
pub fn axpy<T: Copy + Into<f64>>(scale: f64, indices: &[u32], values: &[T], w: &mut [f64]) {
    for (&j, &v) in indices.iter().zip(values) {
        if let Some(w) = w.get_mut(j as usize) {
            *w += scale * v.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_stored_entries_count() {
        let mut w = vec![1.0, 2.0, 3.0];
        assert_eq!(dot(&[0, 2, 9], &[10.0f32, 1.0, 5.0], &w), 13.0);
        axpy(2.0, &[2, 9], &[1.0, 1.0], &mut w);
        assert_eq!(w, [1.0, 2.0, 5.0]);
        let each = [[1.0, 0.5], [2.0, 7.0], [3.0, -0.25]];
        assert_eq!(dot_each(&[0, 2, 9], &[10.0f32, 1.0, 5.0], &each), [13.0, 4.75]);
    }

    proptest! {
        #[test]
        fn agrees_with_the_plain_loop(entries in prop::collection::btree_map(0u32..60, -1e3..1e3f64, 0..50), w in prop::collection::vec(-1e3..1e3f64, 0..60)) {
            let (indices, values): (Vec<u32>, Vec<f64>) = entries.into_iter().unzip();
            let weight = |j: &u32| w.get(*j as usize).copied().unwrap_or(0.0);
            let terms = indices.iter().zip(&values).map(|(j, v)| weight(j) * v);
            let (plain, size) = terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()));
            let found = dot(&indices, &values, &w);
            prop_assert!((found - plain).abs() <= 1e-14 * size);
            let vectors: Vec<[f64; 3]> = w.iter().map(|&w| [w, 2.0 * w, -w]).collect();
            prop_assert_eq!(dot_each(&indices, &values, &vectors), [found, 2.0 * found, -found]);
        }
    }
}

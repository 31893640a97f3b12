//! Dot products and updates of sparse rows against `f64` vectors: the cost is the stored entries.

/// `x·w`; entries beyond the end of `w` meet a weight of 0.
pub fn dot<T: Copy + Into<f64>>(indices: &[u32], values: &[T], w: &[f64]) -> f64 {
    indices
        .iter()
        .zip(values)
        .map(|(&j, &v)| w.get(j as usize).map_or(0.0, |w| w * v.into()))
        .sum()
}

/// `x·w` for `N` vectors `w` at once, which lie feature by feature; entries beyond the end meet 0.
///
/// Each sum runs in the order of [`dot`], so both give the same bits.
pub fn dot_each<T: Copy + Into<f64>, const N: usize>(
    indices: &[u32],
    values: &[T],
    vectors: &[[f64; N]],
) -> [f64; N] {
    let mut sums = [0.0; N];
    for (&j, &v) in indices.iter().zip(values) {
        if let Some(lanes) = vectors.get(j as usize) {
            let value: f64 = v.into();
            for (sum, w) in sums.iter_mut().zip(lanes) {
                *sum += w * value;
            }
        }
    }
    sums
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

    #[test]
    fn only_stored_entries_count() {
        let mut w = vec![1.0, 2.0, 3.0];
        assert_eq!(dot(&[0, 2, 9], &[10.0f32, 1.0, 5.0], &w), 13.0);
        axpy(2.0, &[2, 9], &[1.0, 1.0], &mut w);
        assert_eq!(w, [1.0, 2.0, 5.0]);
        let each = [[1.0, 0.5], [2.0, 7.0], [3.0, -0.25]];
        assert_eq!(dot_each(&[0, 2, 9], &[10.0f32, 1.0, 5.0], &each), [13.0, 4.75]);
    }
}

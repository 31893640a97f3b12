//! Dot products and updates of sparse rows against `f64` vectors: the cost is the stored entries.

/// `x·w`; entries beyond the end of `w` meet a weight of 0.
pub fn dot<T: Copy + Into<f64>>(indices: &[u32], values: &[T], w: &[f64]) -> f64 {
    indices
        .iter()
        .zip(values)
        .map(|(&j, &v)| w.get(j as usize).map_or(0.0, |w| w * v.into()))
        .sum()
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
    }
}

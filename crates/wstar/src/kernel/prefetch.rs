//! Asks for memory ahead of its use: rows in random order lie where no processor would guess.
#![allow(unsafe_code)]

/// Brings the values into the cache, or does nothing where that cannot be asked for.
#[inline]
pub fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        /// Bytes that come together.
        const LINE: usize = 64;
        let start = values.as_ptr().cast::<i8>();
        for offset in (0..size_of_val(values)).step_by(LINE) {
            // SAFETY: the offset is within the slice; a prefetch reads nothing that the program could see.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn nothing_changes() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let before = values.clone();
        for length in [0, 1, 7, 8, 9, 1000] {
            prefetch(&values[..length]);
        }
        assert_eq!(values, before);
    }
}

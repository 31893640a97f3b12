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

/// Brings what lies this many bytes behind the values into the second cache: what is read in order will be there in a moment,
/// and the nearest has no room to spare. Beyond the end of all there is, nothing happens.
#[inline(always)]
pub(super) fn prefetch_behind<T>(values: &[T], bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let start = values.as_ptr().cast::<i8>().wrapping_add(bytes);
        for offset in (0..size_of_val(values)).step_by(64) {
            // SAFETY: a prefetch reads nothing that the program could see, wherever it points.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(start.wrapping_add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changes() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let before = values.clone();
        for length in [0, 1, 7, 8, 9, 1000] {
            prefetch(&values[..length]);
            prefetch_behind(&values[..length], 1 << 20);
        }
        assert_eq!(values, before);
    }
}

//! Software prefetching, for access patterns that the hardware prefetcher does not predict, such as rows in random order.
#![allow(unsafe_code)]

/// Prefetches the values into all cache levels; does nothing on processors other than x86-64.
#[inline]
pub fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        /// Bytes of a cache line.
        const LINE: usize = 64;
        let start = values.as_ptr().cast::<i8>();
        for offset in (0..size_of_val(values)).step_by(LINE) {
            // SAFETY: the offset is within the slice, and a prefetch has no effect that the program can observe.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

/// Prefetches the memory `bytes` bytes after the values into the L2 cache, for rows that are read in order: L1 has no space
/// for data that is not needed immediately. Addresses beyond the end of the data are harmless.
#[inline(always)]
pub(super) fn prefetch_behind<T>(values: &[T], bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let start = values.as_ptr().cast::<i8>().wrapping_add(bytes);
        for offset in (0..size_of_val(values)).step_by(64) {
            // SAFETY: a prefetch has no effect that the program can observe, whatever its address.
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
    fn prefetching_changes_no_values() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let before = values.clone();
        for length in [0, 1, 7, 8, 9, 1000] {
            prefetch(&values[..length]);
            prefetch_behind(&values[..length], 1 << 20);
        }
        assert_eq!(values, before);
    }
}

//! Memory for large matrices.

/// Zeros, in memory that is not touched before it is written and, where the system can, comes in huge
/// pages: a matrix that is written once costs more for its thousands of small pages than for its values.
pub fn zeros<T: Copy + Default>(length: usize) -> Vec<T> {
    let mut values = vec![T::default(); length];
    ask_for_huge_pages(&mut values);
    values
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn ask_for_huge_pages<T>(values: &mut [T]) {
    /// The size of a huge page, and a multiple of every size of small ones.
    const HUGE: usize = 2 << 20;
    let bytes = values.as_mut_ptr().cast::<u8>();
    let skipped = bytes.align_offset(HUGE);
    let whole = size_of_val(values).saturating_sub(skipped) / HUGE * HUGE;
    if whole > 0 {
        // SAFETY: the range lies within `values`, which is borrowed for writing, and the advice changes
        // neither what it holds nor who may use it. A system that refuses it keeps its small pages.
        unsafe { libc::madvise(bytes.add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_values: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_plain_vectors_of_zeros() {
        for length in [0, 1, 1000, (2 << 20) / 8, (4 << 20) / 8 + 3, (9 << 20) / 8 - 1] {
            let mut values = zeros::<f64>(length);
            assert_eq!(values, vec![0.0; length]);
            values
                .iter_mut()
                .zip(0u32..)
                .for_each(|(value, i)| *value = i.into());
            values.extend([7.0; 5]);
            let plain: Vec<f64> = (0..length as u32).map(f64::from).chain([7.0; 5]).collect();
            assert_eq!(values, plain);
        }
    }
}

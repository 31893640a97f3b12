//! Searching long columns for a value that hardly ever occurs.

/// How many values are looked at before the search may stop.
const BLOCK: usize = 1024;

/// The place of the first value that is `wanted`.
///
/// A search that may stop at every value takes them one by one; here whole blocks are tested without a
/// branch, which the compiler can do with SIMD, and only the block that holds the value is searched.
pub fn position<T: Copy>(values: &[T], wanted: impl Fn(T) -> bool) -> Option<usize> {
    let holds = |block: &[T]| block.iter().fold(false, |found, &value| found | wanted(value));
    let block = values.chunks(BLOCK).position(holds)?;
    let start = block * BLOCK;
    let within = values[start..].iter().position(|&value| wanted(value))?;
    Some(start + within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_plain_search(length in 0..3000usize, places in prop::collection::vec(0..6000usize, 0..3)) {
            let mut values = vec![1.0; length];
            for place in places {
                if let Some(value) = values.get_mut(place) {
                    *value = f64::NAN;
                }
            }
            let plain = values.iter().position(|value| value.is_nan());
            prop_assert_eq!(position(&values, f64::is_nan), plain);
        }
    }
}

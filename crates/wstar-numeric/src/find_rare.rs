//! A search of long columns for a value that rarely occurs.

/// The number of values tested before the search may stop.
/// Heuristic: larger blocks have fewer branches and read further beyond a hit; not measured yet.
const BLOCK: usize = 1024;

/// The index of the first value that is `wanted`.
///
/// A search that can stop at every value does not vectorise. Here whole blocks are tested without a branch, and only the
/// block that contains a hit is searched value by value.
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
        fn position_agrees_with_the_linear_search(length in 0..3000usize, positions in prop::collection::vec(0..6000usize, 0..3)) {
            let mut values = vec![1.0; length];
            for position in positions {
                if let Some(value) = values.get_mut(position) {
                    *value = f64::NAN;
                }
            }
            let plain = values.iter().position(|value| value.is_nan());
            prop_assert_eq!(position(&values, f64::is_nan), plain);
        }
    }
}

//! Cutting a text into parts that can be parsed side by side.

use std::ops::Range;

use memchr::memchr;

/// How many bytes a part has, about. Fixed by the size of the text alone, never by the number of
/// threads, and no larger than what a core's own cache holds.
pub(crate) fn part_bytes(text: usize) -> usize {
    (text / 64).clamp(64 << 10, 1 << 20)
}

/// Parts of about `part_bytes`, each ending with a line end or with the text.
pub(crate) fn at_line_ends(text: &[u8], part_bytes: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::with_capacity(text.len() / part_bytes.max(1) + 1);
    let mut start = 0;
    while start < text.len() {
        let wanted = (start + part_bytes.max(1) - 1).min(text.len());
        let end = memchr(b'\n', &text[wanted..]).map_or(text.len(), |at| wanted + at + 1);
        parts.push(start..end);
        start = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_join_up_and_end_with_lines(text in "[ab\n]{0,60}", part_bytes in 1usize..20) {
            let text = text.as_bytes();
            let parts = at_line_ends(text, part_bytes);
            let mut end = 0;
            for part in &parts {
                prop_assert_eq!(part.start, end);
                prop_assert!(part.end > part.start);
                prop_assert!(part.end == text.len() || text[part.end - 1] == b'\n');
                end = part.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}

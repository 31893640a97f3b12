//! Divides a text into segments that are parsed in parallel.

use std::ops::Range;

use memchr::memchr;

/// The approximate number of bytes of a segment. It depends only on the size of the text, never on the number of threads.
/// Heuristic: at least 64 segments for load balance, each between 64 KiB and 1 MiB, which fits into a core's own cache; not
/// measured yet.
pub(crate) fn segment_bytes(text: usize) -> usize {
    (text / 64).clamp(64 << 10, 1 << 20)
}

/// Segments of about `segment_bytes`, each of which ends at a line end or at the end of the text.
pub(crate) fn at_line_ends(text: &[u8], segment_bytes: usize) -> Vec<Range<usize>> {
    let mut segments = Vec::with_capacity(text.len() / segment_bytes.max(1) + 1);
    let mut start = 0;
    while start < text.len() {
        let wanted = (start + segment_bytes.max(1) - 1).min(text.len());
        let end = memchr(b'\n', &text[wanted..]).map_or(text.len(), |at| wanted + at + 1);
        segments.push(start..end);
        start = end;
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn segments_are_contiguous_and_end_at_line_ends(text in "[ab\n]{0,60}", segment_bytes in 1usize..20) {
            let text = text.as_bytes();
            let segments = at_line_ends(text, segment_bytes);
            let mut end = 0;
            for segment in &segments {
                prop_assert_eq!(segment.start, end);
                prop_assert!(segment.end > segment.start);
                prop_assert!(segment.end == text.len() || text[segment.end - 1] == b'\n');
                end = segment.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}

//! Where the tokens and lines of an svmlight text end.

use memchr::memchr;

/// The first index from `at` on that is not a blank within a line.
#[inline(always)]
pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// Whether a token that starts before `at` ends there.
#[inline(always)]
pub(super) fn ends_token(text: &[u8], at: usize) -> bool {
    matches!(text.get(at), None | Some(b' ' | b'\n' | b'\t' | b'\r' | b'#'))
}

/// The start of the line after the one that contains `at`.
pub(super) fn next_line(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1)
}

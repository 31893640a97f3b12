//! A census of the bytes of a text: one pass counts the lines and finds the special bytes that decide how it is parsed.

/// The number of lines of a text, and which special bytes occur in it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Census {
    /// The number of line ends.
    pub lines: usize,
    /// Whether there is a quote.
    pub quote: bool,
    /// Whether there is a NUL byte.
    pub nul: bool,
    /// Whether there is a non-ASCII byte.
    pub beyond_ascii: bool,
}

impl Census {
    /// Takes the census of a text.
    pub fn of(text: &[u8]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(census) = avx2::census(text) {
            return census;
        }
        plain(text)
    }

    #[cfg(target_arch = "x86_64")]
    fn and(self, other: Census) -> Self {
        Census {
            lines: self.lines + other.lines,
            quote: self.quote | other.quote,
            nul: self.nul | other.nul,
            beyond_ascii: self.beyond_ascii | other.beyond_ascii,
        }
    }
}

/// The portable implementation, in blocks that the compiler can vectorise.
fn plain(text: &[u8]) -> Census {
    // Derived: the line count of a block fits in a byte.
    const BLOCK: usize = 128;
    let mut lines = 0;
    let (mut quotes, mut nuls, mut all) = (0u8, 0u8, 0u8);
    for block in text.chunks(BLOCK) {
        let mut block_lines = 0u8;
        for &byte in block {
            block_lines += u8::from(byte == b'\n');
            quotes |= u8::from(byte == b'"');
            nuls |= u8::from(byte == 0);
            all |= byte;
        }
        lines += usize::from(block_lines);
    }
    Census {
        lines,
        quote: quotes > 0,
        nul: nuls > 0,
        beyond_ascii: all >= 0x80,
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use std::arch::x86_64::*;

    use crate::decimal::byte_census::{Census, plain};

    const BYTES: usize = 32;

    /// The census with AVX2; `None` if the processor does not have it.
    pub(super) fn census(text: &[u8]) -> Option<Census> {
        // SAFETY: the check shows that the processor has the instructions; there is no other condition.
        std::arch::is_x86_feature_detected!("avx2").then(|| unsafe { wide(text) })
    }

    #[target_feature(enable = "avx2")]
    fn wide(text: &[u8]) -> Census {
        // Derived: the line count of each byte position fits in a byte.
        const AT_ONCE: usize = 255;
        let (vectors, rest) = text.as_chunks::<BYTES>();
        let zero = _mm256_setzero_si256();
        let (mut quotes, mut all, mut least, mut lines) = (zero, zero, _mm256_set1_epi8(-1), zero);
        for vectors in vectors.chunks(AT_ONCE) {
            let mut counts = zero;
            for bytes in vectors {
                // SAFETY: the array has 32 bytes, and the load has no alignment requirement.
                let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
                counts = _mm256_sub_epi8(counts, _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\n' as i8)));
                quotes = _mm256_or_si256(quotes, _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"' as i8)));
                all = _mm256_or_si256(all, bytes);
                least = _mm256_min_epu8(least, bytes);
            }
            lines = _mm256_add_epi64(lines, _mm256_sad_epu8(counts, zero));
        }
        let [a, b, c, d] = [
            _mm256_extract_epi64::<0>(lines),
            _mm256_extract_epi64::<1>(lines),
            _mm256_extract_epi64::<2>(lines),
            _mm256_extract_epi64::<3>(lines),
        ];
        let census = Census {
            lines: (a + b + c + d) as usize,
            quote: _mm256_movemask_epi8(quotes) != 0,
            nul: _mm256_movemask_epi8(_mm256_cmpeq_epi8(least, zero)) != 0,
            beyond_ascii: _mm256_movemask_epi8(all) != 0,
        };
        census.and(plain(rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_are_found_at_every_position(text in prop::collection::vec(
            prop_oneof![200 => Just(b'x'), 10 => Just(b'\n'), 1 => Just(b'"'), 1 => Just(0), 1 => Just(0xC3)], 0..300)) {
            let expected = Census {
                lines: text.iter().filter(|&&byte| byte == b'\n').count(),
                quote: text.contains(&b'"'),
                nul: text.contains(&0),
                beyond_ascii: text.contains(&0xC3),
            };
            prop_assert_eq!(Census::of(&text), expected);
            prop_assert_eq!(plain(&text), expected);
        }
    }

    #[test]
    fn many_lines_are_counted() {
        for length in [0, 1, 127, 128, 255 * 32, 255 * 32 + 1, 1 << 20] {
            assert_eq!(Census::of(&vec![b'\n'; length]).lines, length);
        }
    }
}

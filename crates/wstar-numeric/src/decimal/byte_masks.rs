//! Bit masks of a text, one bit for each byte: which bytes end a cell or entry, and which are not digits. The masks are
//! computed for one segment of the text at a time.
#![allow(unsafe_code)]

/// The length of a segment in bytes. Derived: its masks, 2 KB together, stay in the L1 cache.
const SEGMENT: usize = 8192;

/// The number of bits loaded at once.
const WORD: usize = 64;

/// The masks of a segment of a text.
pub(super) struct Scan<'a> {
    text: &'a [u8],
    /// The start and the end of the segment in the text.
    start: usize,
    end: usize,
    /// The bytes that end a cell or entry.
    ends: [u8; SEGMENT / 8],
    /// The bytes that are not digits.
    others: [u8; SEGMENT / 8],
}

impl<'a> Scan<'a> {
    /// A scan of this text, with an empty segment.
    pub(super) fn of(text: &'a [u8]) -> Self {
        Scan {
            text,
            start: 0,
            end: 0,
            ends: [0; SEGMENT / 8],
            others: [0; SEGMENT / 8],
        }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Computes the masks of the segment that starts at `start`, `N` bytes at a time. `masks_of` returns the two masks of
    /// `N` bytes: which end a cell or entry, and which are not digits. `M` must be `N / 8`.
    #[inline(always)]
    pub(super) fn fill<const N: usize, const M: usize>(
        &mut self,
        start: usize,
        masks_of: impl Fn(&[u8; N]) -> ([u8; M], [u8; M]),
    ) {
        const { assert!(N == 8 * M) };
        let (chunks, _) = self.text.get(start..).unwrap_or_default().as_chunks::<N>();
        let ends = self.ends.as_chunks_mut::<M>().0;
        let others = self.others.as_chunks_mut::<M>().0;
        let mut count = 0;
        for ((bytes, ends), others) in chunks.iter().zip(ends).zip(others) {
            (*ends, *others) = masks_of(bytes);
            count += 1;
        }
        (self.start, self.end) = (start, start + N * count);
    }

    /// Whether the segment covers the byte at `at` and the 63 bytes after it.
    #[inline]
    pub(super) fn covers(&self, at: usize) -> bool {
        self.start <= at && at + WORD <= self.end
    }

    /// The masks of the 57 bytes from `at` on: which end a cell or entry, and which are not digits. Higher bits are
    /// meaningless.
    ///
    /// # Safety
    ///
    /// The segment must cover `at`; see [`Scan::covers`].
    #[inline]
    pub(super) unsafe fn bits(&self, at: usize) -> (u64, u64) {
        debug_assert!(self.covers(at));
        let (byte, bit) = ((at - self.start) / 8, (at - self.start) % 8);
        // SAFETY: `at` is at least 64 bytes before the end of the segment, which has one bit for each byte.
        let word =
            |bits: &[u8; SEGMENT / 8]| unsafe { bits.as_ptr().add(byte).cast::<u64>().read_unaligned() };
        (
            u64::from_le(word(&self.ends)) >> bit,
            u64::from_le(word(&self.others)) >> bit,
        )
    }
}

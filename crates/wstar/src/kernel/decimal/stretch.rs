//! Which bytes of a text end something and which are no digits, a bit for each, a stretch of the text at a time.
#![allow(unsafe_code)]

/// How many bytes are looked at in one go: their bits stay in the first cache.
const STRETCH: usize = 8192;

/// How many bits are loaded at once.
const WORD: usize = 64;

/// The bits of a stretch of a text.
pub(super) struct Scan<'a> {
    text: &'a [u8],
    /// Where it starts and ends in the text; all of it is inside.
    start: usize,
    end: usize,
    ends: [u8; STRETCH / 8],
    others: [u8; STRETCH / 8],
}

impl<'a> Scan<'a> {
    /// No stretch yet.
    pub(super) fn of(text: &'a [u8]) -> Self {
        Scan {
            text,
            start: 0,
            end: 0,
            ends: [0; STRETCH / 8],
            others: [0; STRETCH / 8],
        }
    }

    /// The text that this is a stretch of.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Looks at the stretch that starts with the byte at `start`, `N` bytes at a time, whose bits `look` tells: which
    /// end something, and which are no digits. `M` is an eighth of `N`.
    #[inline(always)]
    pub(super) fn fill<const N: usize, const M: usize>(
        &mut self,
        start: usize,
        look: impl Fn(&[u8; N]) -> ([u8; M], [u8; M]),
    ) {
        const { assert!(N == 8 * M) };
        let (chunks, _) = self.text.get(start..).unwrap_or_default().as_chunks::<N>();
        let ends = self.ends.as_chunks_mut::<M>().0;
        let others = self.others.as_chunks_mut::<M>().0;
        let mut count = 0;
        for ((bytes, ends), others) in chunks.iter().zip(ends).zip(others) {
            (*ends, *others) = look(bytes);
            count += 1;
        }
        (self.start, self.end) = (start, start + N * count);
    }

    /// Whether the bits of the byte at `at` and of those that follow are known, 57 of them at least.
    #[inline]
    pub(super) fn covers(&self, at: usize) -> bool {
        self.start <= at && at + WORD <= self.end
    }

    /// Which of the 57 bytes from `at` on end a cell, and which are no digits; beyond them the bits mean nothing.
    ///
    /// # Safety
    ///
    /// The stretch covers `at`.
    #[inline]
    pub(super) unsafe fn bits(&self, at: usize) -> (u64, u64) {
        debug_assert!(self.covers(at));
        let (byte, bit) = ((at - self.start) / 8, (at - self.start) % 8);
        // SAFETY: `at` is at least 64 bytes before the end of the stretch, which has one bit for each.
        let word =
            |bits: &[u8; STRETCH / 8]| unsafe { bits.as_ptr().add(byte).cast::<u64>().read_unaligned() };
        (
            u64::from_le(word(&self.ends)) >> bit,
            u64::from_le(word(&self.others)) >> bit,
        )
    }
}

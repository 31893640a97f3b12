//! Rows of plain decimals, such as `-0.25,13,7.5`, turned into numbers 32 bytes at a time.
//!
//! One comparison tells which bytes are no digits, and so where the point and the end of a cell are. The
//! bytes are then loaded once more such that the digits end with the vector, once as they stand and once
//! moved by the point; put together and with all else set to 0 they are 32 digits without a point, which four
//! products and sums turn into an integer. Nothing branches on what differs from cell to cell: signs, and
//! the numbers of digits before and after the point. What is no such decimal is left to the caller.

/// The bytes between cells and within numbers.
#[derive(Debug, Clone, Copy)]
pub struct Marks {
    /// Between the cells of a row.
    pub delimiter: u8,
    /// Before the decimals of a number.
    pub point: u8,
}

/// Tells the number at the start of a text, and its length.
pub type Rare = fn(&[u8]) -> Option<(f64, usize)>;

/// Fills `out` with rows of `width` numbers from `text`, which has a row starting at `start`; gives how many
/// rows there were, and where the next one starts. Stops before a row that has a cell that is no number, or
/// more or fewer cells than `width`, or no line end; without the SIMD that it needs, at once.
///
/// `rare` is asked about all that is no plain decimal, and about the few that are hard to round.
pub fn rows(
    text: &[u8],
    start: usize,
    marks: Marks,
    width: usize,
    out: &mut [f64],
    rare: Rare,
) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if avx2::present() {
        return avx2::checked_rows(text, start, marks, width, out, rare);
    }
    let _ = (text, marks, width, out, rare);
    (0, start)
}

/// Whether [`rows`] can ever give a row on this processor.
pub fn has_simd() -> bool {
    #[cfg(target_arch = "x86_64")]
    return avx2::present();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::*;

    use super::{Marks, Rare};
    use crate::kernel::rounding::{SHORT, quick_decimal, short_decimal};

    const BYTES: usize = 32;
    const HALF: usize = BYTES / 2;

    /// How many bytes before a number are loaded with it.
    const BEFORE: usize = BYTES + 1;

    type Window = [u8; BEFORE + BYTES];

    /// How many bytes are looked at in one go: their bits stay in the first cache.
    const STRETCH: usize = 8192;

    /// How many bits are loaded at once.
    const WORD: usize = 64;

    /// From place n on, 32 bytes of which the last n are all ones.
    static LAST: Aligned = {
        let mut bytes = [0; 2 * BYTES];
        let mut at = BYTES;
        while at < 2 * BYTES {
            bytes[at] = 0xFF;
            at += 1;
        }
        Aligned(bytes)
    };

    /// On one line of the cache.
    #[repr(align(64))]
    struct Aligned([u8; 2 * BYTES]);

    /// The processors of the last ten years have all of these.
    pub(super) fn present() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    }

    pub(super) fn checked_rows(
        text: &[u8],
        start: usize,
        marks: Marks,
        width: usize,
        out: &mut [f64],
        rare: Rare,
    ) -> (usize, usize) {
        assert!(present(), "the caller has looked for these instructions");
        // SAFETY: the processor has the instructions, as was just asked; there is no other condition.
        unsafe { rows(text, start, marks, width, out, rare) }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn rows(
        text: &[u8],
        mut start: usize,
        marks: Marks,
        width: usize,
        out: &mut [f64],
        rare: Rare,
    ) -> (usize, usize) {
        let mut scan = Scan::new();
        let mut count = 0;
        'rows: for row in out.chunks_exact_mut(width.max(1)) {
            let mut at = start;
            let mut left = row.len();
            for out in row {
                left -= 1;
                let ending = if left > 0 { marks.delimiter } else { b'\n' };
                if !scan.covers(at) {
                    scan.fill(text, at, marks.delimiter);
                }
                // SAFETY: the stretch is one of this text, and covers the place, as is asked first.
                if scan.covers(at)
                    && let Some((value, length)) = unsafe { scan.number(text, at, marks.point, ending) }
                {
                    *out = value;
                    at += length + 1;
                    continue;
                }
                let Some((value, length)) = text.get(at..).and_then(rare) else {
                    break 'rows;
                };
                *out = value;
                at = at.saturating_add(length);
                if left == 0 && text.get(at) == Some(&b'\r') {
                    at += 1;
                }
                if text.get(at) != Some(&ending) {
                    break 'rows;
                }
                at += 1;
            }
            start = at;
            count += 1;
        }
        (count, start)
    }

    /// Which bytes of a stretch of text end a cell, and which are no digits: a bit for each.
    struct Scan {
        start: usize,
        end: usize,
        ends: [u8; STRETCH / 8],
        others: [u8; STRETCH / 8],
    }

    impl Scan {
        fn new() -> Self {
            Scan {
                start: 0,
                end: 0,
                ends: [0; STRETCH / 8],
                others: [0; STRETCH / 8],
            }
        }

        /// Looks at the stretch that starts with the byte at `start`. It stays empty so near the ends of the text
        /// that a window around one of its bytes would not be inside.
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn fill(&mut self, text: &[u8], start: usize, delimiter: u8) {
            (self.start, self.end) = (start, start);
            if start < BEFORE {
                return;
            }
            let (chunks, _) = text.get(start..).unwrap_or_default().as_chunks::<BYTES>();
            let ends = self.ends.as_chunks_mut::<{ BYTES / 8 }>().0;
            let others = self.others.as_chunks_mut::<{ BYTES / 8 }>().0;
            let mut count = 0;
            for ((bytes, ends), others) in chunks.iter().zip(ends).zip(others) {
                let bytes = load(bytes, 0);
                let delimiters = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(delimiter as i8));
                let line_ends = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\n' as i8));
                *ends = _mm256_movemask_epi8(_mm256_or_si256(delimiters, line_ends)).to_le_bytes();
                let values = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8));
                let digits = _mm256_cmpeq_epi8(_mm256_min_epu8(values, _mm256_set1_epi8(9)), values);
                *others = (!_mm256_movemask_epi8(digits)).to_le_bytes();
                count += 1;
            }
            self.end = start + BYTES * count;
        }

        /// Whether the bits of the byte at `at` and of those that follow are known, 57 of them at least.
        #[inline]
        fn covers(&self, at: usize) -> bool {
            self.start <= at && at + WORD <= self.end
        }

        /// The decimal at `at`, with its length, if it is all of a cell that ends with `ending` within 32 bytes, and
        /// has no more than 19 digits after leading zeros.
        ///
        /// # Safety
        ///
        /// The stretch is one of this text, and covers `at`.
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn number(&self, text: &[u8], at: usize, point: u8, ending: u8) -> Option<(f64, usize)> {
            debug_assert!(self.covers(at) && at >= BEFORE && at + WORD <= text.len());
            // All that is looked at: the number, what follows it, and what stands before it.
            // SAFETY: a stretch that is not empty starts at BEFORE or later, and `at` is not before its start;
            // it ends with the text at the latest, and `at` is at least 64 bytes before its end.
            let window: &Window = unsafe { &*text.as_ptr().add(at - BEFORE).cast() };
            let (byte, bit) = ((at - self.start) / 8, (at - self.start) % 8);
            // SAFETY: `at` is at least 64 bytes before the end of the stretch, which has one bit for each.
            let word =
                |bits: &[u8; STRETCH / 8]| unsafe { bits.as_ptr().add(byte).cast::<u64>().read_unaligned() };
            let ends = u64::from_le(word(&self.ends)) >> bit;
            let others = u64::from_le(word(&self.others)) >> bit;
            let length = ends.trailing_zeros() as usize;
            if length >= BYTES {
                return None;
            }
            let negative = u64::from(window[BEFORE] == b'-');
            // What is no digit, the sign apart, may be one point.
            let points = others & ((1 << length) - 1) & !negative;
            let point_count = points.count_ones() as usize;
            let whole_end = (points | 1 << length).trailing_zeros() as usize;
            let count = length.wrapping_sub(point_count).wrapping_sub(negative as usize);
            let decimals = length.wrapping_sub(whole_end).wrapping_sub(point_count);
            if point_count > usize::from(window[BEFORE + whole_end] == point)
                || window[BEFORE + length] != ending
                || count == 0
            {
                return None;
            }
            // SAFETY: the point is one of the fewer than 32 bytes, and if there is a sign it is another of them,
            // so that neither count is negative, nor larger than 31.
            unsafe { std::hint::assert_unchecked(decimals < BYTES && count < BYTES) };
            let size = if count <= SHORT {
                // SAFETY: the decimals are among the digits, of which there are no more than these.
                unsafe { std::hint::assert_unchecked(decimals <= SHORT) };
                short_decimal(
                    short_digits(window, length, point_count, decimals, count),
                    decimals,
                )
            } else {
                quick_decimal(
                    long_digits(window, length, point_count, decimals, count)?,
                    decimals,
                )?
            };
            Some((f64::from_bits(size.to_bits() | negative << 63), length))
        }
    }

    /// The integer that up to 16 digits make; see [`long_digits`].
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn short_digits(window: &Window, length: usize, points: usize, decimals: usize, count: usize) -> u64 {
        let behind_point = load_half(window, BEFORE - HALF + length);
        let before_point = load_half(window, BEFORE - HALF + length - points);
        let bytes = _mm_blendv_epi8(before_point, behind_point, load_half(&LAST.0, HALF + decimals));
        let values = _mm_sub_epi8(bytes, _mm_set1_epi8(b'0' as i8));
        let values = _mm_and_si128(values, load_half(&LAST.0, HALF + count));
        let twos = _mm_maddubs_epi16(values, _mm_set1_epi16(10 + (1 << 8)));
        let fours = _mm_madd_epi16(twos, _mm_set1_epi32(100 + (1 << 16)));
        let fours = _mm_packus_epi32(fours, fours);
        let eights = _mm_madd_epi16(fours, _mm_set1_epi32(10_000 + (1 << 16)));
        let eights = _mm_cvtsi128_si64(eights) as u64;
        (eights & 0xFFFF_FFFF) * 100_000_000 + (eights >> 32)
    }

    /// The integer that the digits of a number make, `count` in all and `decimals` of them behind the point, if
    /// it is below 10¹⁹. The number is `length` bytes long and has so many `points`, none or one.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn long_digits(
        window: &Window,
        length: usize,
        points: usize,
        decimals: usize,
        count: usize,
    ) -> Option<u64> {
        let behind_point = load(window, BEFORE - BYTES + length);
        let before_point = load(window, BEFORE - BYTES + length - points);
        let bytes = _mm256_blendv_epi8(before_point, behind_point, load(&LAST.0, decimals));
        let values = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8));
        let values = _mm256_and_si256(values, load(&LAST.0, count));
        let twos = _mm256_maddubs_epi16(values, _mm256_set1_epi16(10 + (1 << 8)));
        let fours = _mm256_madd_epi16(twos, _mm256_set1_epi32(100 + (1 << 16)));
        let fours = _mm256_packus_epi32(fours, fours);
        let eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(10_000 + (1 << 16)));
        // Each half starts with two words of eight digits, the earlier ones in the lower word.
        let upper = _mm_cvtsi128_si64(_mm256_castsi256_si128(eights)) as u64;
        let lower = _mm_cvtsi128_si64(_mm256_extracti128_si256::<1>(eights)) as u64;
        let upper = upper.rotate_left(32);
        (upper < 1000).then(|| (upper * 100_000_000 + (lower & 0xFFFF_FFFF)) * 100_000_000 + (lower >> 32))
    }

    /// The 16 bytes at `at`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_half<const N: usize>(bytes: &[u8; N], at: usize) -> __m128i {
        assert!(at + HALF <= N);
        // SAFETY: these are 16 bytes of the array, as was just asked, and the load does not ask that they
        // be aligned.
        unsafe { _mm_loadu_si128(bytes.as_ptr().add(at).cast()) }
    }

    /// The 32 bytes at `at`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load<const N: usize>(bytes: &[u8; N], at: usize) -> __m256i {
        assert!(at + BYTES <= N);
        // SAFETY: these are 32 bytes of the array, as was just asked, and the load does not ask that they
        // be aligned.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().add(at).cast()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARKS: Marks = Marks {
        delimiter: b';',
        point: b',',
    };

    /// The number at the start of a text, by the plainest means.
    fn plain(text: &[u8]) -> Option<(f64, usize)> {
        let part_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-,eE".contains(byte);
        let length = text.iter().take_while(|byte| part_of_number(byte)).count();
        let number = String::from_utf8_lossy(&text[..length]).replace(',', ".");
        Some((number.parse().ok()?, length))
    }

    /// What [`rows`] has to give.
    fn plain_rows(text: &[u8], start: usize, width: usize, most: usize) -> (Vec<f64>, usize) {
        let (mut numbers, mut at) = (Vec::new(), start);
        for line in text[start..].split_inclusive(|&byte| byte == b'\n').take(most) {
            let Some(row) = line.strip_suffix(b"\n") else {
                break;
            };
            let row = row.strip_suffix(b"\r").unwrap_or(row);
            let number = |cell: &[u8]| plain(cell).filter(|&(_, length)| length == cell.len());
            let row: Option<Vec<_>> = row.split(|&byte| byte == b';').map(number).collect();
            let Some(row) = row.filter(|row| row.len() == width) else {
                break;
            };
            numbers.extend(row.iter().map(|&(number, _)| number));
            at += line.len();
        }
        (numbers, at)
    }

    fn agrees(text: &[u8], start: usize, width: usize, most: usize) {
        let mut out = vec![0.0; most * width];
        let (count, end) = rows(text, start, MARKS, width, &mut out, plain);
        if !has_simd() {
            assert_eq!((count, end), (0, start));
            return;
        }
        let (expected, expected_end) = plain_rows(text, start, width, most);
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&out[..count * width]), bits(&expected));
        assert_eq!(end, expected_end);
    }

    #[test]
    fn every_length_of_a_number_at_every_place() {
        let digits = "90817263544536271809";
        for whole in 0..=20 {
            for decimals in 0..=40 {
                let number = format!("{},{}", &digits[..whole], digits.repeat(2).split_at(decimals).0);
                let text = format!("{number};-{number};0{number};{}\n", &digits[..whole]);
                agrees(text.repeat(3).as_bytes(), 0, 4, 3);
                let zeros = format!("0,{}{};-0\r\n", "0".repeat(decimals), &digits[..whole]);
                agrees(zeros.repeat(5).as_bytes(), zeros.len(), 2, 9);
            }
        }
    }

    #[test]
    fn a_long_text_is_looked_at_in_stretches() {
        let row = |i: u32| format!("{i};{},{i};-0,{i:08}\n", i * 7919);
        let text: String = (0..3000).map(row).collect();
        agrees(text.as_bytes(), 0, 3, 3000);
        agrees(text.as_bytes(), 0, 3, 2000);
        agrees(text.as_bytes(), 0, 2, 3000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn agrees_with_the_plain_version(
            cells in prop::collection::vec(prop_oneof![
                20 => "-?[0-9]{1,3},[0-9]{0,19}",
                10 => "-?0,0{0,9}[0-9]{0,20}",
                10 => "-?[0-9]{1,20}",
                1 => "[0-9],[0-9]{5}e-?[0-9]{1,2}",
                1 => "[+-]?[0-9,-]{0,40}",
                1 => "[a ,.]{0,2}",
            ], 1..200),
            width in 1usize..6,
            before in 0usize..70,
            line_end in prop::sample::select(vec!["\n", "\r\n"]),
            ended in any::<bool>(),
        ) {
            let rows: Vec<String> = cells.chunks(width).map(|row| row.join(";")).collect();
            let mut text = format!("{}{}", "\n".repeat(before), rows.join(line_end));
            if ended {
                text.push_str(line_end);
            }
            agrees(text.as_bytes(), before, width, rows.len() + 1);
        }
    }
}

//! Rows of cells and sparse entries parsed with vectors of 32 bytes (AVX2); the method is described in the parent module.
#![allow(unsafe_code)]

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

use crate::decimal::byte_masks::Scan;
use crate::decimal::round::{SHORT, quick_decimal, short_decimal};
use crate::decimal::{Marks, Rare, eight};

/// Bytes of a vector.
const BYTES: usize = 32;
/// Bytes of half a vector.
const HALF: usize = BYTES / 2;

/// The number of bytes before a number that are loaded with it. Derived: a vector that ends with the number, shifted by one
/// byte over the decimal point.
const BEFORE: usize = BYTES + 1;

/// The bytes read for one number: `BEFORE` bytes before it, and `BYTES` from its start on.
type Window = [u8; BEFORE + BYTES];

/// A table of masks: the 32 bytes from index n on have all bits set in the last n bytes.
static LAST: Aligned = {
    let mut bytes = [0; 2 * BYTES];
    let mut at = BYTES;
    while at < 2 * BYTES {
        bytes[at] = 0xFF;
        at += 1;
    }
    Aligned(bytes)
};

/// Aligned to one cache line.
#[repr(align(64))]
struct Aligned([u8; 2 * BYTES]);

/// Whether the processor has the required instructions; x86-64 processors since about 2013 do.
pub(super) fn present() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Fills `indices` and `values`; see [`super::EntryText::read`].
pub(super) fn checked_entries(
    scan: &mut Scan<'_>,
    start: usize,
    least: u32,
    indices: &mut [u32],
    values: &mut [f64],
) -> (usize, usize) {
    assert!(present(), "the caller has checked for these instructions");
    // SAFETY: the assertion shows that the processor has the instructions; there is no other condition.
    unsafe { entries(scan, start, least, indices, values) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn entries(
    scan: &mut Scan<'_>,
    mut at: usize,
    least: u32,
    indices: &mut [u32],
    values: &mut [f64],
) -> (usize, usize) {
    let mut count = 0;
    for (index, value) in indices.iter_mut().zip(values) {
        if at < BEFORE || !(scan.covers(at) || fill(scan, at, b' ')) {
            break;
        }
        // SAFETY: the checks above show that the segment covers `at` and that `BEFORE` bytes precede it.
        let Some((column, number, length)) = (unsafe { entry(scan, at) }) else {
            break;
        };
        if column < least {
            break;
        }
        (*index, *value) = (column, number);
        count += 1;
        at += length;
        if scan.text().get(at) != Some(&b' ') {
            break;
        }
        at += 1;
    }
    (count, at)
}

/// See [`super::rows`].
pub(super) fn checked_rows(
    text: &[u8],
    start: usize,
    marks: Marks,
    width: usize,
    out: &mut [f64],
    rare: Rare,
) -> (usize, usize) {
    assert!(present(), "the caller has checked for these instructions");
    // SAFETY: the assertion shows that the processor has the instructions; there is no other condition.
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
    let mut scan = Scan::of(text);
    let mut count = 0;
    'rows: for row in out.chunks_exact_mut(width.max(1)) {
        let mut at = start;
        let mut left = row.len();
        for out in row {
            left -= 1;
            let ending = if left > 0 { marks.delimiter } else { b'\n' };
            // SAFETY: the conditions before the call show that the segment covers `at` and that `BEFORE` bytes precede it.
            if at >= BEFORE
                && (scan.covers(at) || fill(&mut scan, at, marks.delimiter))
                && let Some((value, length)) = unsafe { number(&scan, at, marks.point, ending) }
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

/// Scans the segment that starts at `start`; returns whether it covers `start`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fill(scan: &mut Scan<'_>, start: usize, delimiter: u8) -> bool {
    scan.fill(start, |bytes: &[u8; BYTES]| {
        let bytes = load(bytes, 0);
        let delimiters = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(delimiter as i8));
        let line_ends = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\n' as i8));
        let ends = _mm256_movemask_epi8(_mm256_or_si256(delimiters, line_ends));
        let values = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8));
        let digits = _mm256_cmpeq_epi8(_mm256_min_epu8(values, _mm256_set1_epi8(9)), values);
        (ends.to_le_bytes(), (!_mm256_movemask_epi8(digits)).to_le_bytes())
    });
    scan.covers(start)
}

/// The decimal at `at` and its length, if it fills a cell that ends with `ending` within 32 bytes and has at most 19 digits
/// after leading zeros.
///
/// # Safety
///
/// The segment must cover `at`, and `BEFORE` bytes of the text must precede it.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn number(scan: &Scan<'_>, at: usize, point: u8, ending: u8) -> Option<(f64, usize)> {
    // SAFETY: the caller guarantees that the segment covers `at`.
    let (ends, others) = unsafe { scan.bits(at) };
    let length = ends.trailing_zeros() as usize;
    if length >= BYTES {
        return None;
    }
    // SAFETY: the caller guarantees `BEFORE` bytes before `at`. The segment lies within the text, and `at` is at least 64
    // bytes before its end.
    let window = unsafe { window(scan.text(), at) };
    if window[BEFORE + length] != ending {
        return None;
    }
    Some((decimal(window, others, length, point)?, length))
}

/// The entry `index:value` at `at` and its length, if it ends with a space or a line end, its index has at most eight digits,
/// and its value is a decimal that [`number`] accepts.
///
/// # Safety
///
/// The segment must cover `at`, and `BEFORE` bytes of the text must precede it.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn entry(scan: &Scan<'_>, at: usize) -> Option<(u32, f64, usize)> {
    // SAFETY: the caller guarantees that the segment covers `at`.
    let (ends, others) = unsafe { scan.bits(at) };
    let length = ends.trailing_zeros() as usize;
    let digits = others.trailing_zeros() as usize;
    // The length of the value after the colon; it wraps if there is no value.
    let value_length = length.wrapping_sub(digits + 1);
    if digits.wrapping_sub(1) >= LONGEST_INDEX || value_length >= BYTES {
        return None;
    }
    // SAFETY: at most eight digits and a colon precede the value, so at least 55 of the 64 bytes that the segment has from
    // `at` on follow. The caller guarantees `BEFORE` bytes before `at`.
    let window = unsafe { window(scan.text(), at + digits + 1) };
    if window[BEFORE - 1] != b':' {
        return None;
    }
    let value = decimal(window, others >> (digits + 1), value_length, b'.')?;
    Some((index(window, digits), value, length))
}

/// The maximum number of digits of an index. Derived: one word of 64 bits holds eight digits.
const LONGEST_INDEX: usize = 8;

/// The index of `digits` digits, one to eight, before the colon of the value in the window.
#[inline]
fn index(window: &Window, digits: usize) -> u32 {
    let word: [u8; 8] = std::array::from_fn(|i| window[BEFORE - 1 - 8 + i]);
    // Bytes before the digits are shifted out and replaced by zeros.
    let values = (u64::from_le_bytes(word) ^ 0x3030_3030_3030_3030) >> (64 - 8 * digits);
    let values = values << (64 - 8 * digits);
    eight(values) as u32
}

/// The window of a number at `at`: the bytes before it, its own, and those that follow it.
///
/// # Safety
///
/// The text must have `BEFORE` bytes before `at` and `BYTES` bytes from `at` on.
#[inline]
unsafe fn window(text: &[u8], at: usize) -> &Window {
    debug_assert!(at >= BEFORE && at + BYTES <= text.len());
    // SAFETY: the caller guarantees these bytes.
    unsafe { &*text.as_ptr().add(at - BEFORE).cast() }
}

/// The decimal formed by the first `length` bytes, fewer than 32, of the number in a window; `others` marks the bytes that
/// are not digits.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn decimal(window: &Window, others: u64, length: usize, point: u8) -> Option<f64> {
    let negative = u64::from(window[BEFORE] == b'-');
    // Apart from the sign, the only byte that is not a digit may be one decimal point.
    let points = others & ((1 << length) - 1) & !negative;
    let point_count = points.count_ones() as usize;
    let whole_end = (points | 1 << length).trailing_zeros() as usize;
    let count = length.wrapping_sub(point_count).wrapping_sub(negative as usize);
    let decimals = length.wrapping_sub(whole_end).wrapping_sub(point_count);
    if point_count > usize::from(window[BEFORE + whole_end] == point) || count == 0 {
        return None;
    }
    // SAFETY: the point is one of the fewer than 32 bytes, and a sign is another one, so both counts are between 0 and 31.
    unsafe { std::hint::assert_unchecked(decimals < BYTES && count < BYTES) };
    let size = if count <= SHORT {
        // SAFETY: the decimals are among the `count` digits.
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
    Some(f64::from_bits(size.to_bits() | negative << 63))
}

/// The integer formed by up to 16 digits; see [`long_digits`].
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

/// The integer formed by the `count` digits of a number, `decimals` of them after the point, if it is below 10¹⁹. The number
/// has `length` bytes and `points` decimal points, 0 or 1.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn long_digits(window: &Window, length: usize, points: usize, decimals: usize, count: usize) -> Option<u64> {
    let behind_point = load(window, BEFORE - BYTES + length);
    let before_point = load(window, BEFORE - BYTES + length - points);
    let bytes = _mm256_blendv_epi8(before_point, behind_point, load(&LAST.0, decimals));
    let values = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8));
    let values = _mm256_and_si256(values, load(&LAST.0, count));
    let twos = _mm256_maddubs_epi16(values, _mm256_set1_epi16(10 + (1 << 8)));
    let fours = _mm256_madd_epi16(twos, _mm256_set1_epi32(100 + (1 << 16)));
    let fours = _mm256_packus_epi32(fours, fours);
    let eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(10_000 + (1 << 16)));
    // Each half starts with two 32-bit words of eight digits each, the earlier digits in the lower word.
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
    // SAFETY: the assertion shows that these 16 bytes are in the array, and the load has no alignment requirement.
    unsafe { _mm_loadu_si128(bytes.as_ptr().add(at).cast()) }
}

/// The 32 bytes at `at`.
#[inline]
#[target_feature(enable = "avx2")]
fn load<const N: usize>(bytes: &[u8; N], at: usize) -> __m256i {
    assert!(at + BYTES <= N);
    // SAFETY: the assertion shows that these 32 bytes are in the array, and the load has no alignment requirement.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().add(at).cast()) }
}

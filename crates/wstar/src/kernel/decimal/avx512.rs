//! Entries with vectors of 64 bytes and their masks, in two steps.
//!
//! First each entry is turned into integers. Two comparisons tell what separates and what is a digit; the digits are
//! moved together, which takes out the colon, the sign and the point, and apart again, such that the index ends with
//! the eighth byte and the value with the last of 32; three products and sums do the rest. Then eight integers at a time
//! are rounded to doubles. In one step the chain from the text to a double would be so long that a processor sees no
//! more than two entries at once.
#![allow(unsafe_code)]

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

use super::stretch::Scan;
use crate::kernel::rounding::{POWERS, SHORT_RECIPROCALS, decimal};

const BYTES: usize = 64;

/// Entries that are rounded at once.
const LANES: usize = 8;

/// Entries of a block: several times as many, because what was just stored lane by lane cannot be loaded at once until
/// it has reached the cache.
const BLOCK: usize = 32;

/// The most digits of an index, and of a value.
const INDEX: u32 = 8;
const VALUE: u32 = 24;

/// The most bytes of an entry: those with a bit in a word of them, wherever in a byte it starts.
const LONGEST: u32 = 56;

/// Set for values with a minus sign.
const NEGATIVE: u32 = 1 << 31;

/// Server and desktop processors since about 2020 have all of these.
pub(super) fn present() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

/// Fills `indices` and `values`; see [`super::Entries::read`].
pub(super) fn checked_entries(
    scan: &mut Scan<'_>,
    start: usize,
    least: u32,
    indices: &mut [u32],
    values: &mut [f64],
) -> (usize, usize) {
    assert!(present(), "the caller has looked for these instructions");
    // SAFETY: the processor has the instructions, as was just asked; there is no other condition.
    unsafe { entries(scan, start, least, indices, values) }
}

/// Entries as integers.
#[repr(align(64))]
struct Block {
    /// Of each entry the index and the upper eight digits of the value, then the two lower eights.
    digits: [[u32; 4]; BLOCK],
    /// The number of decimals, and the sign.
    decimals: [u32; BLOCK],
    /// Where each stands in the text.
    starts: [usize; BLOCK],
}

#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn entries(
    scan: &mut Scan<'_>,
    mut at: usize,
    least: u32,
    indices: &mut [u32],
    values: &mut [f64],
) -> (usize, usize) {
    let mut block = Block {
        digits: [[0; 4]; BLOCK],
        decimals: [0; BLOCK],
        starts: [0; BLOCK],
    };
    let mut count = 0;
    for (indices, values) in indices.chunks_mut(BLOCK).zip(values.chunks_mut(BLOCK)) {
        let room = indices.len().min(values.len());
        let mut filled = 0;
        let mut goes_on = true;
        while filled < room {
            goes_on = scan.covers(at) || fill(scan, at);
            if !goes_on {
                break;
            }
            block.starts[filled] = at;
            // SAFETY: the stretch covers the place, as was just asked.
            let Some(length) = (unsafe { block.take(filled, scan, at) }) else {
                goes_on = false;
                break;
            };
            filled += 1;
            at += length;
            // Only a line end can stand there else.
            goes_on = scan.text().get(at) == Some(&b' ');
            if !goes_on {
                break;
            }
            at += 1;
        }
        let mut rounded = 0;
        while rounded < filled {
            let lanes = (filled - rounded).min(LANES);
            let more = block.round(
                rounded,
                lanes,
                least,
                &mut indices[rounded..],
                &mut values[rounded..],
            );
            rounded += more;
            if more < lanes {
                break;
            }
        }
        count += rounded;
        if rounded < filled {
            return (count, block.starts[rounded]);
        }
        if !goes_on {
            break;
        }
    }
    (count, at)
}

/// Looks at the stretch that starts with the byte at `start`; tells whether it covers that.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn fill(scan: &mut Scan<'_>, start: usize) -> bool {
    scan.fill(start, |bytes: &[u8; BYTES]| {
        let bytes = load(bytes);
        let blanks = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b' ' as i8));
        let line_ends = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\n' as i8));
        let numbers = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8));
        let others = _mm512_cmpge_epu8_mask(numbers, _mm512_set1_epi8(10));
        ((blanks | line_ends).to_le_bytes(), others.to_le_bytes())
    });
    scan.covers(start)
}

/// These 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn load(bytes: &[u8; BYTES]) -> __m512i {
    // SAFETY: as many as are loaded, and the load does not ask that they be aligned.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

impl Block {
    /// Takes the entry at `at` into a lane, if it is a plain one; gives its length.
    ///
    /// # Safety
    ///
    /// The stretch covers `at`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn take(&mut self, lane: usize, scan: &Scan<'_>, at: usize) -> Option<usize> {
        // SAFETY: the stretch is inside the text, and `at` at least 64 bytes before its end.
        let (bytes, (ends, others)) = unsafe {
            (
                &*scan.text().as_ptr().add(at).cast::<[u8; BYTES]>(),
                scan.bits(at),
            )
        };
        let index_digits = others.trailing_zeros();
        let length = ends.trailing_zeros();
        if index_digits.wrapping_sub(1) >= INDEX || length > LONGEST {
            return None;
        }
        let colon = index_digits as usize;
        let negative = bytes[colon + 1] == b'-';
        // What is no digit: the colon, the sign, and no more than one point.
        let token = _bzhi_u64(u64::MAX, length);
        let points = others & token & !((1 | u64::from(negative) << 1) << index_digits);
        let point = (points | 1 << length).trailing_zeros();
        let point_count = points.count_ones();
        // Wraps if there is no value.
        let digits = length.wrapping_sub(index_digits + 1 + u32::from(negative) + point_count);
        if bytes[colon] != b':'
            || point_count > u32::from(bytes[point as usize % BYTES] == b'.')
            || digits.wrapping_sub(1) >= VALUE
        {
            return None;
        }
        let numbers = _mm512_sub_epi8(load(bytes), _mm512_set1_epi8(b'0' as i8));
        let together = _mm512_maskz_compress_epi8(!others & token, numbers);
        let places =
            _bzhi_u32(u32::MAX << (INDEX - index_digits), INDEX) | u32::MAX << (INDEX + VALUE - digits);
        let apart = _mm256_maskz_expand_epi8(places, _mm512_castsi512_si256(together));
        let twos = _mm256_maddubs_epi16(apart, _mm256_set1_epi16(10 + (1 << 8)));
        let fours = _mm256_madd_epi16(twos, _mm256_set1_epi32(100 + (1 << 16)));
        let fours = _mm256_packus_epi32(fours, fours);
        let eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(10_000 + (1 << 16)));
        // Each half starts with two words of eight digits.
        let eights = _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(eights));
        // SAFETY: a lane has 16 bytes, and the store does not ask that they be aligned.
        unsafe { _mm_storeu_si128(self.digits[lane].as_mut_ptr().cast(), eights) };
        self.decimals[lane] = (length - point - point_count) | if negative { NEGATIVE } else { 0 };
        Some(length as usize)
    }

    /// Rounds the first `filled` entries of the lanes `from` some place on, into as many places; gives how many there are
    /// before one that has an index below `least` or that cannot be rounded here.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
    fn round(
        &self,
        from: usize,
        filled: usize,
        least: u32,
        indices: &mut [u32],
        values: &mut [f64],
    ) -> usize {
        assert!(
            from + LANES <= BLOCK && filled <= LANES && filled <= indices.len() && filled <= values.len()
        );
        let full: __mmask8 = _bzhi_u32(u32::MAX, filled as u32) as u8;
        // SAFETY: eight lanes are 128 bytes, and their decimals 32; there are as many, as was just asked.
        let (early, late, decimals) = unsafe {
            let digits = self.digits.as_ptr().add(from).cast::<u8>();
            (
                _mm512_loadu_si512(digits.cast()),
                _mm512_loadu_si512(digits.add(BYTES).cast()),
                _mm256_loadu_si256(self.decimals.as_ptr().add(from).cast()),
            )
        };
        let first = _mm512_permutex2var_epi64(early, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), late);
        let last = _mm512_permutex2var_epi64(early, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), late);
        let columns = _mm512_cvtepi64_epi32(first);
        let low = _mm256_cmplt_epu32_mask(columns, _mm256_set1_epi32(least as i32));
        // The value is below 10¹⁹, which 64 bits hold, if its upper digits are below 1000.
        let upper = _mm512_srli_epi64::<32>(first);
        let long = _mm512_cmpge_epu64_mask(upper, _mm512_set1_epi64(1000));
        let lower = _mm512_add_epi64(
            _mm512_mul_epu32(last, _mm512_set1_epi64(100_000_000)),
            _mm512_srli_epi64::<32>(last),
        );
        let digits = _mm512_add_epi64(
            _mm512_mullo_epi64(upper, _mm512_set1_epi64(10_000_000_000_000_000)),
            lower,
        );
        let signs = _mm512_slli_epi64::<63>(_mm512_cvtepu32_epi64(_mm256_srli_epi32::<31>(decimals)));
        let decimals = _mm256_and_si256(decimals, _mm256_set1_epi32(!NEGATIVE as i32));
        let (sizes, undecided) = quick_decimals(digits, decimals);
        let mut bad = (low | long) & full;
        let undecided = undecided & full & !bad;
        let mut sizes = sizes;
        let mut hard = 0;
        if undecided != 0 {
            let (quotients, exact) = quotients(digits, decimals);
            sizes = _mm512_mask_blend_epi64(undecided & exact, sizes, quotients);
            hard = undecided & !exact;
        }
        // SAFETY: only as many lanes are stored as there are places.
        unsafe {
            _mm256_mask_storeu_epi32(indices.as_mut_ptr().cast(), full, columns);
            _mm512_mask_storeu_epi64(values.as_mut_ptr().cast(), full, _mm512_or_si512(sizes, signs));
        }
        while hard != 0 {
            let lane = hard.trailing_zeros() as usize;
            hard &= hard - 1;
            match self.careful(from + lane) {
                Some(value) => values[lane] = value,
                None => bad |= 1 << lane,
            }
        }
        filled.min(bad.trailing_zeros() as usize)
    }

    /// The value of an entry that one short product does not decide.
    #[cold]
    fn careful(&self, lane: usize) -> Option<f64> {
        let [_, upper, middle, lower] = self.digits[lane].map(u64::from);
        let (decimals, negative) = (
            self.decimals[lane] & !NEGATIVE,
            self.decimals[lane] & NEGATIVE != 0,
        );
        let digits = (upper * 100_000_000 + middle) * 100_000_000 + lower;
        let size = decimal(digits, decimals as usize)?;
        Some(if negative { -size } else { size })
    }
}

/// [`quick_decimal`](crate::kernel::rounding::quick_decimal) in every lane; those that it does not decide are told.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn quick_decimals(digits: __m512i, decimals: __m256i) -> (__m512i, __mmask8) {
    let leading = _mm512_lzcnt_epi64(digits);
    let normal = _mm512_sllv_epi64(digits, leading);
    // Pairs of words; places beyond the table are not asked for.
    let places = _mm256_slli_epi32::<1>(_mm256_and_si256(decimals, _mm256_set1_epi32(31)));
    let table: *const i64 = SHORT_RECIPROCALS.as_ptr().cast();
    // SAFETY: the table has 32 pairs, so that all places and those next to them are inside.
    let (reciprocal, exponent) = unsafe {
        (
            _mm512_i32gather_epi64::<8>(places, table),
            _mm512_i32gather_epi64::<8>(places, table.add(1)),
        )
    };
    let high = upper_halves(normal, reciprocal);
    let one = _mm512_set1_epi64(1);
    let below = _mm512_and_si512(_mm512_add_epi64(high, one), _mm512_set1_epi64(0x1FF));
    let undecided = _mm512_cmple_epu64_mask(below, one);
    let carried = _mm512_srli_epi64::<63>(high);
    let kept = _mm512_srlv_epi64(high, _mm512_add_epi64(carried, _mm512_set1_epi64(9)));
    let mantissa = _mm512_srli_epi64::<1>(_mm512_add_epi64(kept, one));
    let exponent = _mm512_sub_epi64(_mm512_add_epi64(exponent, carried), leading);
    (
        _mm512_add_epi64(_mm512_slli_epi64::<52>(exponent), mantissa),
        undecided,
    )
}

/// The upper 64 bits of the products.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn upper_halves(a: __m512i, b: __m512i) -> __m512i {
    let half = _mm512_set1_epi64(0xFFFF_FFFF);
    let (a_high, b_high) = (_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
    let low = _mm512_mul_epu32(a, b);
    let (one, other) = (_mm512_mul_epu32(a, b_high), _mm512_mul_epu32(a_high, b));
    let high = _mm512_mul_epu32(a_high, b_high);
    let middle = _mm512_add_epi64(
        _mm512_add_epi64(_mm512_srli_epi64::<32>(low), _mm512_and_si512(one, half)),
        _mm512_and_si512(other, half),
    );
    let carried = _mm512_add_epi64(_mm512_srli_epi64::<32>(one), _mm512_srli_epi64::<32>(other));
    _mm512_add_epi64(_mm512_add_epi64(high, carried), _mm512_srli_epi64::<32>(middle))
}

/// Quotients of integers and powers of ten, and in which lanes they are correctly rounded, because `f64` holds both.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn quotients(digits: __m512i, decimals: __m256i) -> (__m512i, __mmask8) {
    let most = _mm256_set1_epi32(POWERS.len() as i32 - 1);
    // SAFETY: the places are inside the table.
    let powers = unsafe { _mm512_i32gather_pd::<8>(_mm256_min_epu32(decimals, most), POWERS.as_ptr()) };
    let quotients = _mm512_div_pd(_mm512_cvtepu64_pd(digits), powers);
    let exact =
        _mm512_cmple_epu64_mask(digits, _mm512_set1_epi64(1 << 53)) & _mm256_cmple_epu32_mask(decimals, most);
    (_mm512_castpd_si512(quotients), exact)
}

//! Sparse entries parsed with vectors of 64 bytes and mask registers (AVX-512), in two steps.
//!
//! The first step turns each entry into integers. Two comparisons mark the separators and the digits. A compress instruction
//! moves the digits together, which removes the colon, the sign and the point; an expand instruction moves them apart again,
//! so that the index ends with the eighth byte and the value with the last of 32 bytes. Three multiply-add steps combine the
//! digits. The second step rounds eight integers at a time to doubles. In a single step the dependency chain from text to
//! double would be so long that the processor could overlap no more than two entries.
#![allow(unsafe_code)]

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

use crate::decimal::byte_masks::Scan;
use crate::decimal::round::{POWERS, SHORT_RECIPROCALS, decimal};

/// Bytes of a vector.
const BYTES: usize = 64;

/// The number of entries that are rounded at once. Derived: one AVX-512 register has eight doubles.
const LANES: usize = 8;

/// The number of entries in a block. Values that were just stored lane by lane cannot be loaded as one vector until they
/// have reached the cache, so a block has several times `LANES` entries. Heuristic: larger blocks wait less and use more of
/// the cache; not measured yet.
const BLOCK: usize = 32;

/// The maximum number of digits of an index. Derived: an index ends with byte 8 of the 32 bytes of digits.
const INDEX: u32 = 8;
/// The maximum number of digits of a value. Derived: 32 bytes of digits less 8 for the index.
const VALUE: u32 = 24;

/// The maximum number of bytes of an entry. Derived: 57 bits of a word are valid wherever in a byte the entry starts (see
/// [`Scan::bits`]), and one is for the separator.
const LONGEST: u32 = 56;

/// The bit that marks values with a minus sign.
const NEGATIVE: u32 = 1 << 31;

/// Whether the processor has the required instructions; server and desktop processors since about 2020 often do.
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

/// A block of entries as integers.
#[repr(align(64))]
struct Block {
    /// For each entry: the index, then the upper, middle and lower eight digits of the value.
    digits: [[u32; 4]; BLOCK],
    /// The number of decimals, and the sign.
    decimals: [u32; BLOCK],
    /// The position of each entry in the text.
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
        let capacity = indices.len().min(values.len());
        let mut filled = 0;
        let mut goes_on = true;
        while filled < capacity {
            goes_on = scan.covers(at) || fill(scan, at);
            if !goes_on {
                break;
            }
            block.starts[filled] = at;
            // SAFETY: the check above shows that the segment covers `at`.
            let Some(length) = (unsafe { block.take(filled, scan, at) }) else {
                goes_on = false;
                break;
            };
            filled += 1;
            at += length;
            // Otherwise a line end follows.
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

/// Scans the segment that starts at `start`; returns whether it covers `start`.
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

/// Loads 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn load(bytes: &[u8; BYTES]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are loaded, and the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

impl Block {
    /// Reads the entry at `at` into a lane, if it is a simple one; returns its length.
    ///
    /// # Safety
    ///
    /// The segment must cover `at`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn take(&mut self, lane: usize, scan: &Scan<'_>, at: usize) -> Option<usize> {
        // SAFETY: the segment is inside the text, and `at` is at least 64 bytes before its end.
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
        // The bytes that are not digits, apart from the colon and the sign; at most one, a decimal point, is accepted.
        let token = _bzhi_u64(u64::MAX, length);
        let points = others & token & !((1 | u64::from(negative) << 1) << index_digits);
        let point = (points | 1 << length).trailing_zeros();
        let point_count = points.count_ones();
        // The difference wraps if there is no value.
        let digits = length.wrapping_sub(index_digits + 1 + u32::from(negative) + point_count);
        if bytes[colon] != b':'
            || point_count > u32::from(bytes[point as usize % BYTES] == b'.')
            || digits.wrapping_sub(1) >= VALUE
        {
            return None;
        }
        let numbers = _mm512_sub_epi8(load(bytes), _mm512_set1_epi8(b'0' as i8));
        let together = _mm512_maskz_compress_epi8(!others & token, numbers);
        let positions =
            _bzhi_u32(u32::MAX << (INDEX - index_digits), INDEX) | u32::MAX << (INDEX + VALUE - digits);
        let apart = _mm256_maskz_expand_epi8(positions, _mm512_castsi512_si256(together));
        let twos = _mm256_maddubs_epi16(apart, _mm256_set1_epi16(10 + (1 << 8)));
        let fours = _mm256_madd_epi16(twos, _mm256_set1_epi32(100 + (1 << 16)));
        let fours = _mm256_packus_epi32(fours, fours);
        let eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(10_000 + (1 << 16)));
        // Each half starts with two 32-bit words of eight digits each.
        let eights = _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(eights));
        // SAFETY: a lane has the 16 bytes that are stored, and the store has no alignment requirement.
        unsafe { _mm_storeu_si128(self.digits[lane].as_mut_ptr().cast(), eights) };
        self.decimals[lane] = (length - point - point_count) | if negative { NEGATIVE } else { 0 };
        Some(length as usize)
    }

    /// Rounds `filled` entries, at most `LANES`, from lane `from` on into `indices` and `values`. Returns the number of
    /// entries before the first one whose index is below `least` or whose value cannot be rounded here.
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
        // SAFETY: eight lanes have 128 bytes of digits and 32 of decimals; the assertion shows that the block has them.
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
        // If the upper digits are below 1000, the value is below 10¹⁹ and fits in 64 bits.
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
        // SAFETY: the mask selects `filled` lanes, and the assertion shows that both slices are at least that long.
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

    /// The value of an entry whose rounding one short product does not decide.
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

/// [`quick_decimal`](crate::decimal::round::quick_decimal) in every lane, and a mask of the lanes that it does not decide.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn quick_decimals(digits: __m512i, decimals: __m256i) -> (__m512i, __mmask8) {
    let leading = _mm512_lzcnt_epi64(digits);
    let normal = _mm512_sllv_epi64(digits, leading);
    // The table has pairs of words; the mask keeps the indices inside it.
    let pairs = _mm256_slli_epi32::<1>(_mm256_and_si256(decimals, _mm256_set1_epi32(31)));
    let table: *const i64 = SHORT_RECIPROCALS.as_ptr().cast();
    // SAFETY: the table has 32 pairs, so all indices and their successors are inside it.
    let (reciprocal, exponent) = unsafe {
        (
            _mm512_i32gather_epi64::<8>(pairs, table),
            _mm512_i32gather_epi64::<8>(pairs, table.add(1)),
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

/// The upper 64 bits of the 128-bit products.
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

/// The quotients of integers and powers of ten, and a mask of the lanes in which they are correctly rounded because both
/// operands are exact in `f64`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
fn quotients(digits: __m512i, decimals: __m256i) -> (__m512i, __mmask8) {
    let most = _mm256_set1_epi32(POWERS.len() as i32 - 1);
    // SAFETY: the minimum keeps the indices inside the table.
    let powers = unsafe { _mm512_i32gather_pd::<8>(_mm256_min_epu32(decimals, most), POWERS.as_ptr()) };
    let quotients = _mm512_div_pd(_mm512_cvtepu64_pd(digits), powers);
    let exact =
        _mm512_cmple_epu64_mask(digits, _mm512_set1_epi64(1 << 53)) & _mm256_cmple_epu32_mask(decimals, most);
    (_mm512_castpd_si512(quotients), exact)
}

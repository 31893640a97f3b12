//! Parsing of decimal numbers: rows of simple decimals such as `-0.25,13,7.5` are converted 32 bytes at a time.
//!
//! One comparison finds the bytes that are not digits, and with them the decimal point and the end of the cell. The bytes
//! are loaded twice, aligned so that the digits end at the end of the vector: once as they are, and once shifted by one byte
//! over the decimal point. Blended, with all other bytes set to 0, they are 32 digits without a point, which four
//! multiply-add steps combine into an integer. There is no branch on what varies from cell to cell: the sign and the numbers
//! of digits before and after the point. Cells of any other form are left to the caller.
//!
//! - [`parse`]: one number, without SIMD intrinsics.
//! - [`round`]: the correctly rounded quotient of an integer and a power of ten.
//! - [`byte_census`]: which bytes occur in a text.
//! - `dense_rows`: rows of numbers between delimiters.
//! - `sparse_entries`: entries `index:value` of sparse rows.
//! - `byte_masks`, `avx2`, `avx512`: the SIMD implementations.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod byte_census;
#[cfg(target_arch = "x86_64")]
mod byte_masks;
mod dense_rows;
pub mod parse;
pub mod round;
mod sparse_entries;

pub use dense_rows::{has_simd, rows};
pub use sparse_entries::EntryText;

/// The delimiter and the decimal point of a text.
#[derive(Debug, Clone, Copy)]
pub struct Marks {
    /// The byte between the cells of a row.
    pub delimiter: u8,
    /// The decimal point.
    pub point: u8,
}

/// A function that parses the number at the start of a text and returns it with its length.
pub type Rare = fn(&[u8]) -> Option<(f64, usize)>;

/// The value of eight decimal digits, the first one in the lowest byte.
#[inline(always)]
pub(crate) fn eight(digits: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00FF_0000_00FF;
    // Neighbouring digits are combined to numbers up to 99 in every other byte; two products weight and add those.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let second = ((pairs >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    first.wrapping_add(second) >> 32
}

//! Rows of plain decimals, such as `-0.25,13,7.5`, turned into numbers 32 bytes at a time.
//!
//! One comparison tells which bytes are no digits, and so where the point and the end of a cell are. The
//! bytes are then loaded once more such that the digits end with the vector, once as they stand and once
//! moved by the point; put together and with all else set to 0 they are 32 digits without a point, which four
//! products and sums turn into an integer. Nothing branches on what differs from cell to cell: signs, and
//! the numbers of digits before and after the point. What is no such decimal is left to the caller.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod entries;
#[cfg(target_arch = "x86_64")]
mod stretch;

pub use entries::Entries;

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

/// The number that eight digits make, the first one in the lowest byte.
#[inline(always)]
pub(crate) fn eight(digits: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00FF_0000_00FF;
    // Neighbours make numbers up to 99 in every other byte; those then are weighed and added by two products.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let second = ((pairs >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    first.wrapping_add(second) >> 32
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

//! Rows of simple decimals between delimiters, parsed by the SIMD implementation of the processor.

#[cfg(target_arch = "x86_64")]
use crate::decimal::avx2;
use crate::decimal::{Marks, Rare};

/// Fills `out` with rows of `width` numbers from `text`, where a row starts at `start`. Returns the number of rows read and
/// the start of the next row. Reading stops before a row with a cell that is not a number, with more or fewer cells than
/// `width`, or without a line end. On a processor without the required SIMD instructions no row is read.
///
/// `rare` parses the cells that are not simple decimals, and the few that are hard to round.
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

/// Whether [`rows`] can read rows on this processor.
pub fn has_simd() -> bool {
    #[cfg(target_arch = "x86_64")]
    return avx2::present();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARKS: Marks = Marks {
        delimiter: b';',
        point: b',',
    };

    /// The number at the start of a text, by the reference implementation.
    fn plain(text: &[u8]) -> Option<(f64, usize)> {
        let is_in_number = |byte: &u8| byte.is_ascii_digit() || b"+-,eE".contains(byte);
        let length = text.iter().take_while(|byte| is_in_number(byte)).count();
        let number = String::from_utf8_lossy(&text[..length]).replace(',', ".");
        Some((number.parse().ok()?, length))
    }

    /// The expected result of [`rows`].
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
    fn numbers_of_every_length_are_read_at_every_position() {
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
    fn texts_longer_than_a_segment_are_read() {
        let row = |i: u32| format!("{i};{},{i};-0,{i:08}\n", i * 7919);
        let text: String = (0..3000).map(row).collect();
        agrees(text.as_bytes(), 0, 3, 3000);
        agrees(text.as_bytes(), 0, 3, 2000);
        agrees(text.as_bytes(), 0, 2, 3000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn rows_agree_with_the_reference_implementation(
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

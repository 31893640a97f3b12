//! Entries `index:value` of sparse rows, separated by spaces, as in LIBSVM files: parsed with SIMD where available.

use crate::decimal::byte_masks::Scan;
#[cfg(target_arch = "x86_64")]
use crate::decimal::{avx2, avx512};

/// A text with entries `index:value`.
pub struct EntryText<'a> {
    #[cfg(target_arch = "x86_64")]
    method: Method,
    #[cfg(target_arch = "x86_64")]
    scan: Scan<'a>,
    #[cfg(not(target_arch = "x86_64"))]
    text: std::marker::PhantomData<&'a [u8]>,
}

/// The instruction set with which entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg(target_arch = "x86_64")]
enum Method {
    Wide512,
    Wide256,
    /// No SIMD: the caller reads all entries.
    Plain,
}

#[cfg(target_arch = "x86_64")]
impl Method {
    /// The fastest method that the processor supports.
    fn best() -> Self {
        if avx512::present() {
            Method::Wide512
        } else if avx2::present() {
            Method::Wide256
        } else {
            Method::Plain
        }
    }
}

impl<'a> EntryText<'a> {
    /// The entries of a text, read with the fastest available method.
    pub fn of(text: &'a [u8]) -> Self {
        #[cfg(target_arch = "x86_64")]
        return EntryText {
            method: Method::best(),
            scan: Scan::of(text),
        };
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = text;
            EntryText {
                text: std::marker::PhantomData,
            }
        }
    }

    /// Reads entries from `start` on, where an entry must begin, as long as they are simple, separated by single spaces, and
    /// fit in `indices` and `values`. Returns the number of entries read and the position after the last of them and its
    /// space, where a line end or an entry that is not simple may stand.
    ///
    /// A simple entry has an index of up to eight digits that is at least `least`, and a decimal of up to 19 digits after
    /// leading zeros, with or without a `-` and a decimal point. The caller also reads the few values that are hard to
    /// round, entries near the start and the end of the text, and all entries on a processor without the required SIMD
    /// instructions.
    pub fn read(
        &mut self,
        start: usize,
        least: u32,
        indices: &mut [u32],
        values: &mut [f64],
    ) -> (usize, usize) {
        #[cfg(target_arch = "x86_64")]
        return match self.method {
            Method::Wide512 => avx512::checked_entries(&mut self.scan, start, least, indices, values),
            Method::Wide256 => avx2::checked_entries(&mut self.scan, start, least, indices, values),
            Method::Plain => (0, start),
        };
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (least, indices, values);
            (0, start)
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The entry at the start of a text with its length, by the reference implementation.
    fn plain(text: &[u8]) -> Option<(u32, f64, usize)> {
        let length = text.iter().position(|byte| b" \n".contains(byte))?;
        let (index, value) = std::str::from_utf8(&text[..length]).ok()?.split_once(':')?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let size = value.strip_prefix('-').unwrap_or(value).replacen('.', "", 1);
        if index.is_empty() || size.is_empty() || !digits(index) || !digits(&size) {
            return None;
        }
        Some((index.parse().ok()?, value.parse().ok()?, length))
    }

    /// Reads all entries of a text with one method, and the entries that the method leaves to the caller with the reference
    /// implementation. Returns the entries, and how many the method left.
    fn read(method: Method, text: &[u8], least: u32, capacity: usize) -> (Vec<(u32, u64)>, usize) {
        let mut entries = EntryText::of(text);
        entries.method = method;
        let (mut found, mut left, mut at) = (Vec::new(), 0, 0);
        let (mut indices, mut values) = (vec![0; capacity], vec![0.0; capacity]);
        while at < text.len() {
            let (count, next) = entries.read(at, least, &mut indices, &mut values);
            assert!(count <= capacity && next >= at && next <= text.len());
            for (&index, &value) in indices[..count].iter().zip(&values[..count]) {
                let (expected_index, expected, length) = plain(&text[at..]).expect("an entry");
                assert_eq!((index, value.to_bits()), (expected_index, expected.to_bits()));
                assert!(index >= least);
                found.push((index, value.to_bits()));
                at += length + usize::from(text[at + length] == b' ');
            }
            assert_eq!(next, at);
            match text.get(at) {
                None => break,
                Some(b' ' | b'\n') => at += 1,
                Some(_) if count == capacity => {}
                Some(_) => {
                    left += 1;
                    let length = text[at..].iter().position(|byte| b" \n".contains(byte));
                    if let Some((index, value, _)) = plain(&text[at..]) {
                        found.push((index, value.to_bits()));
                    }
                    at += length.unwrap_or(text.len() - at);
                }
            }
        }
        (found, left)
    }

    /// Asserts that all methods find the same entries.
    fn agree(text: &[u8], least: u32, capacity: usize) {
        let (expected, _) = read(Method::Plain, text, least, capacity);
        for (method, present) in [
            (Method::Wide256, avx2::present()),
            (Method::Wide512, avx512::present()),
        ] {
            if present {
                assert_eq!(read(method, text, least, capacity).0, expected, "{method:?}");
            }
        }
    }

    #[test]
    fn indices_and_values_of_every_length_are_read() {
        let digits = "9081726354453627180990817263544536271809";
        for index in 1..=10 {
            for whole in 0..=20 {
                for decimals in 0..=26 {
                    let entry = format!(
                        "{}:{}.{}",
                        &digits[..index],
                        &digits[..whole],
                        &digits[..decimals]
                    );
                    let small = format!(
                        "{}:-0.{}{}",
                        &digits[1..index],
                        &digits[1..2].repeat(whole),
                        &digits[..decimals]
                    );
                    let text = format!(
                        "{entry} {small} {entry}\n{}:{} \n",
                        &digits[..index],
                        &digits[..whole]
                    );
                    agree(text.repeat(4).as_bytes(), 1, 40);
                }
            }
        }
    }

    #[test]
    fn few_simple_entries_are_left_to_the_caller() {
        let entry = |i: u32| format!("{}:0.{}{i:07} ", i + 1, u64::from(i) * 7_777_777);
        let text: String = (0..20_000).map(entry).collect();
        for (method, present) in [
            (Method::Wide256, avx2::present()),
            (Method::Wide512, avx512::present()),
        ] {
            if present {
                let (found, left) = read(method, text.as_bytes(), 1, 1 << 20);
                assert_eq!(found.len(), 20_000);
                assert!(left < 200, "{left} were left by {method:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn entries_agree_with_the_reference_implementation(
            entries in prop::collection::vec(prop_oneof![
                20 => "[0-9]{1,6}:-?[0-9]{1,3}\\.[0-9]{0,19}",
                10 => "[1-9][0-9]{0,4}:-?0\\.0{0,9}[0-9]{0,20}",
                10 => "[0-9]{1,10}:-?[0-9]{1,20}",
                10 => "[1-9][0-9]{0,3}:[0-9]\\.?[05]{0,2}",
                1 => "[0-9]{0,2}:[0-9]\\.[0-9]{5}e-?[0-9]{1,2}",
                1 => "[0-9:.-]{0,50}",
                1 => "[a +\t\r#:.]{0,3}",
            ], 1..200),
            width in 1usize..70,
            least in 0u32..3,
            capacity in 1usize..100,
            ended in any::<bool>(),
        ) {
            let rows: Vec<String> = entries.chunks(width).map(|row| row.join(" ")).collect();
            let mut text = rows.join("\n");
            if ended {
                text.push('\n');
            }
            agree(text.as_bytes(), least, capacity);
        }

        #[test]
        fn halfway_cases_are_rounded_correctly(bits in any::<u64>(), power in 0u32..10, shift in -2i64..=2) {
            // Numbers at and next to the midpoint of two doubles.
            let middle = ((1u64 << 53) | (bits >> 11) | 1).checked_mul(10u64.pow(power.min(2)));
            let digits = format!("{:0>20}", middle.unwrap_or(bits).wrapping_add_signed(shift));
            let (whole, decimals) = digits.split_at(20 - power as usize);
            let text = format!("1:{whole}.{decimals} 2:-{whole}.{decimals} 3:0.{digits}\n").repeat(4);
            agree(text.as_bytes(), 1, 100);
        }
    }
}

//! Entries `index:value` of sparse rows, apart by blanks: digits as in rows of cells, with an index before each number.

#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512, stretch::Scan};

/// A text with entries in it.
pub struct Entries<'a> {
    #[cfg(target_arch = "x86_64")]
    way: Way,
    #[cfg(target_arch = "x86_64")]
    scan: Scan<'a>,
    #[cfg(not(target_arch = "x86_64"))]
    text: std::marker::PhantomData<&'a [u8]>,
}

/// How entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg(target_arch = "x86_64")]
enum Way {
    Wide512,
    Wide256,
    /// Not at all.
    Plain,
}

#[cfg(target_arch = "x86_64")]
impl Way {
    /// The fastest that there is.
    fn best() -> Self {
        if avx512::present() {
            Way::Wide512
        } else if avx2::present() {
            Way::Wide256
        } else {
            Way::Plain
        }
    }
}

impl<'a> Entries<'a> {
    /// The entries of a text.
    pub fn of(text: &'a [u8]) -> Self {
        #[cfg(target_arch = "x86_64")]
        return Entries {
            way: Way::best(),
            scan: Scan::of(text),
        };
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = text;
            Entries {
                text: std::marker::PhantomData,
            }
        }
    }

    /// Reads entries from `start` on, where one begins, for as long as they are plain, apart by single blanks, and
    /// there is room for them. Gives how many there were, and where to go on: behind the last of them and its blank,
    /// which may be a line end or an entry that is not plain.
    ///
    /// Plain are an index of up to eight digits from `least` on, and a decimal of up to 19 digits after leading zeros,
    /// with or without a `-` and a point. A few that are hard to round are left to the caller too, and so is what stands
    /// near the ends of the text, and everything without the SIMD that this needs.
    pub fn read(
        &mut self,
        start: usize,
        least: u32,
        indices: &mut [u32],
        values: &mut [f64],
    ) -> (usize, usize) {
        #[cfg(target_arch = "x86_64")]
        return match self.way {
            Way::Wide512 => avx512::checked_entries(&mut self.scan, start, least, indices, values),
            Way::Wide256 => avx2::checked_entries(&mut self.scan, start, least, indices, values),
            Way::Plain => (0, start),
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

    /// The entry at the start of a text, by the plainest means, with its length.
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

    /// Reads all entries of a text whose entries are those of the rows, in one of the ways; what that leaves is read by
    /// the plainest means. Gives them, and how many were left.
    fn read(way: Way, text: &[u8], least: u32, room: usize) -> (Vec<(u32, u64)>, usize) {
        let mut entries = Entries::of(text);
        entries.way = way;
        let (mut found, mut left, mut at) = (Vec::new(), 0, 0);
        let (mut indices, mut values) = (vec![0; room], vec![0.0; room]);
        while at < text.len() {
            let (count, next) = entries.read(at, least, &mut indices, &mut values);
            assert!(count <= room && next >= at && next <= text.len());
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
                Some(_) if count == room => {}
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

    /// All ways find the same entries.
    fn agree(text: &[u8], least: u32, room: usize) {
        let (expected, _) = read(Way::Plain, text, least, room);
        for (way, present) in [(Way::Wide256, avx2::present()), (Way::Wide512, avx512::present())] {
            if present {
                assert_eq!(read(way, text, least, room).0, expected, "{way:?}");
            }
        }
    }

    #[test]
    fn every_length_of_index_and_value() {
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
    fn next_to_nothing_is_left() {
        let entry = |i: u32| format!("{}:0.{}{i:07} ", i + 1, u64::from(i) * 7_777_777);
        let text: String = (0..20_000).map(entry).collect();
        for (way, present) in [(Way::Wide256, avx2::present()), (Way::Wide512, avx512::present())] {
            if present {
                let (found, left) = read(way, text.as_bytes(), 1, 1 << 20);
                assert_eq!(found.len(), 20_000);
                assert!(left < 200, "{left} were left by {way:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn agrees_with_the_plain_version(
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
            room in 1usize..100,
            ended in any::<bool>(),
        ) {
            let rows: Vec<String> = entries.chunks(width).map(|row| row.join(" ")).collect();
            let mut text = rows.join("\n");
            if ended {
                text.push('\n');
            }
            agree(text.as_bytes(), least, room);
        }

        #[test]
        fn halfway_cases_are_rounded_right(bits in any::<u64>(), power in 0u32..10, shift in -2i64..=2) {
            // Numbers just beside the middle between two doubles.
            let middle = ((1u64 << 53) | (bits >> 11) | 1).checked_mul(10u64.pow(power.min(2)));
            let digits = format!("{:0>20}", middle.unwrap_or(bits).wrapping_add_signed(shift));
            let (whole, decimals) = digits.split_at(20 - power as usize);
            let text = format!("1:{whole}.{decimals} 2:-{whole}.{decimals} 3:0.{digits}\n").repeat(4);
            agree(text.as_bytes(), 1, 100);
        }
    }
}

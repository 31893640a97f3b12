//! One part of an svmlight text, parsed: indices as they stand in the file, in rows that are in order.

use std::ops::Range;

use memchr::memchr;

use crate::io::number;
use crate::io::place::Fault;
use crate::io::svmlight::fault::{
    index_fault, label_fault, range_fault, repeat_fault, value_fault, zero_fault,
};
use crate::kernel::decimal::Entries;
use crate::kernel::sparse::is_tidy;

/// The largest index a file may hold: the number of features must fit in 32 bits too.
pub(super) const LARGEST_INDEX: u64 = u32::MAX as u64 - 1;

/// What a part holds. Used for one part after another, so that its memory stays in the cache.
#[derive(Default)]
pub(super) struct Part {
    pub(super) labels: Vec<f64>,
    /// The end of each row among the part's entries.
    pub(super) ends: Vec<usize>,
    /// The largest index, those of zeros included; 0 if there is none.
    pub(super) largest: u32,
    /// Whether the index 0 was met.
    pub(super) has_zero: bool,
    /// What is wrong with the row after the last.
    pub(super) fault: Option<Fault>,
    /// Room for as many entries as a text of this length can have; what lies beyond those that were met means nothing.
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Part {
    /// The indices of all entries.
    pub(super) fn indices(&self) -> &[u32] {
        &self.indices[..self.entries()]
    }

    /// The values of all entries.
    pub(super) fn values(&self) -> &[f64] {
        &self.values[..self.entries()]
    }

    fn entries(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Parses a text, up to its end or the first fault; an index below `least` is one.
    pub(super) fn read(&mut self, text: &[u8], least: u32) {
        self.labels.clear();
        self.ends.clear();
        self.largest = 0;
        self.has_zero = false;
        // An entry takes four bytes at least, the blank or line end behind it included.
        let most = (text.len() / 4 + 1).next_power_of_two();
        if self.indices.len() < most {
            // New ones, not longer ones: memory that comes as zeros is not touched before it is used.
            self.indices = vec![0; most];
            self.values = vec![0.0; most];
        }
        self.fault = self.rows(text, least).err();
    }

    fn rows(&mut self, text: &[u8], least: u32) -> Result<(), Fault> {
        let mut plain = Entries::of(text);
        let mut at = 0;
        let mut end = 0;
        loop {
            at = skip_blanks(text, at);
            match text.get(at) {
                None => return Ok(()),
                Some(b'\n') => {
                    at += 1;
                    continue;
                }
                Some(b'#') => {
                    at = next_line(text, at);
                    continue;
                }
                Some(_) => {}
            }
            let label_at = at;
            let label = match number::prefix::<b'.'>(&text[at..]) {
                Some((label, length)) if ends_token(text, at + length) && label.is_finite() => {
                    at += length;
                    label
                }
                _ => return Err(label_fault(text, at)),
            };
            let start = end;
            (at, end) = self.row(text, at, start, &mut plain, least)?;
            end = self.tidy(start..end, text, label_at)?;
            self.labels.push(label);
            self.ends.push(end);
        }
    }

    /// Puts the entries at `at` behind the first `end`; gives the start of the next line, and the new end.
    fn row(
        &mut self,
        text: &[u8],
        mut at: usize,
        mut end: usize,
        plain: &mut Entries<'_>,
        least: u32,
    ) -> Result<(usize, usize), Fault> {
        loop {
            at = skip_blanks(text, at);
            let (count, next) = plain.read(
                at,
                least.max(1),
                &mut self.indices[end..],
                &mut self.values[end..],
            );
            end += count;
            at = skip_blanks(text, next);
            match text.get(at) {
                None => return Ok((at, end)),
                Some(b'\n') => return Ok((at + 1, end)),
                Some(b'#') => return Ok((next_line(text, at), end)),
                Some(_) => {}
            }
            // Whatever is not plain, one token of it.
            let token = at;
            let (index, digits) = number::digits(text, at, 0);
            at += digits;
            if at == token || text.get(at) != Some(&b':') {
                at = after_query(text, token).ok_or_else(|| index_fault(text, token))?;
                continue;
            }
            if index > LARGEST_INDEX || digits > 19 {
                return Err(range_fault(text, token));
            }
            if index < least.into() {
                return Err(zero_fault(text, token));
            }
            self.has_zero |= index == 0;
            at += 1;
            let value = match number::prefix::<b'.'>(&text[at..]) {
                Some((value, length)) if ends_token(text, at + length) && value.is_finite() => {
                    at += length;
                    value
                }
                _ => return Err(value_fault(text, token, at)),
            };
            self.indices[end] = index as u32;
            self.values[end] = value;
            end += 1;
        }
    }

    /// Puts the entries of a row in order, without its zeros; gives their new end.
    fn tidy(&mut self, row: Range<usize>, text: &[u8], label_at: usize) -> Result<usize, Fault> {
        let indices = &self.indices[row.clone()];
        if is_tidy(indices, &self.values[row.clone()]) {
            self.largest = self.largest.max(indices.last().copied().unwrap_or_default());
            return Ok(row.end);
        }
        self.sort(row)
            .map_err(|index| repeat_fault(text, label_at, index.into()))
    }

    /// Sorts the entries of a row and leaves out zeros; gives the new end, or an index that stands twice.
    #[cold]
    fn sort(&mut self, row: Range<usize>) -> Result<usize, u32> {
        let mut entries: Vec<(u32, f64)> = self.indices[row.clone()]
            .iter()
            .copied()
            .zip(self.values[row.clone()].iter().copied())
            .collect();
        entries.sort_by_key(|&(index, _)| index);
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(pair[0].0);
        }
        let last = entries.last().map_or(0, |&(index, _)| index);
        self.largest = self.largest.max(last);
        let mut end = row.start;
        for (index, value) in entries.into_iter().filter(|&(_, value)| value != 0.0) {
            self.indices[end] = index;
            self.values[end] = value;
            end += 1;
        }
        Ok(end)
    }
}

#[inline(always)]
fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

#[inline(always)]
pub(super) fn ends_token(text: &[u8], at: usize) -> bool {
    matches!(text.get(at), None | Some(b' ' | b'\n' | b'\t' | b'\r' | b'#'))
}

pub(super) fn next_line(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1)
}

/// The end of the query number at `at`, if one stands there.
fn after_query(text: &[u8], at: usize) -> Option<usize> {
    let number = text[at..].strip_prefix(b"qid:")?;
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + 4 + digits;
    (digits > 0 && ends_token(text, end)).then_some(end)
}

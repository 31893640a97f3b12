//! Parses one segment of an svmlight text into rows with sorted indices. The indices are those of the file, not yet shifted by the
//! base.

use std::ops::Range;

use crate::read::position::Fault;
use crate::read::svmlight::errors::{
    index_fault, label_fault, range_fault, repeat_fault, value_fault, zero_fault,
};
use crate::read::svmlight::index_rule::LARGEST_INDEX;
use crate::read::svmlight::tokens::{ends_token, next_line, skip_blanks};
use wstar_numeric::decimal::EntryText;
use wstar_numeric::decimal::parse;
use wstar_numeric::sparse::is_tidy;

/// The rows of a segment. The buffers are reused for further segments, so that they stay in the cache.
#[derive(Default)]
pub(super) struct ParsedRows {
    pub(super) labels: Vec<f64>,
    /// The end of each row among the entries of the segment.
    pub(super) ends: Vec<usize>,
    /// The largest index, including those of zeros; 0 if there is no entry.
    pub(super) largest: u32,
    /// Whether the index 0 occurs.
    pub(super) has_zero: bool,
    /// The error in the row after the last one, if any.
    pub(super) fault: Option<Fault>,
    /// As long as the largest number of entries that the text can have. Elements beyond the entries are meaningless.
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl ParsedRows {
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

    /// Parses a text up to its end or the first error. An index below `least` is an error.
    pub(super) fn read(&mut self, text: &[u8], least: u32) {
        self.labels.clear();
        self.ends.clear();
        self.largest = 0;
        self.has_zero = false;
        // An entry takes at least four bytes, including the blank or line end after it.
        let most = (text.len() / 4 + 1).next_power_of_two();
        if self.indices.len() < most {
            // A new vector rather than a resized one: zeroed pages from the system are not touched before they are used.
            self.indices = vec![0; most];
            self.values = vec![0.0; most];
        }
        self.fault = self.rows(text, least).err();
    }

    fn rows(&mut self, text: &[u8], least: u32) -> Result<(), Fault> {
        let mut plain = EntryText::of(text);
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
            let label = match parse::prefix::<b'.'>(&text[at..]) {
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

    /// Appends the entries of the row at `at` to the first `end` ones. Returns the start of the next line and the new end.
    fn row(
        &mut self,
        text: &[u8],
        mut at: usize,
        mut end: usize,
        plain: &mut EntryText<'_>,
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
            // One token that is not a plain decimal entry.
            let token = at;
            let (index, digits) = parse::digits(text, at, 0);
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
            let value = match parse::prefix::<b'.'>(&text[at..]) {
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

    /// Sorts the entries of a row and drops zeros, if necessary. Returns the new end.
    fn tidy(&mut self, row: Range<usize>, text: &[u8], label_at: usize) -> Result<usize, Fault> {
        let indices = &self.indices[row.clone()];
        if is_tidy(indices, &self.values[row.clone()]) {
            self.largest = self.largest.max(indices.last().copied().unwrap_or_default());
            return Ok(row.end);
        }
        self.sort(row)
            .map_err(|index| repeat_fault(text, label_at, index.into()))
    }

    /// Sorts the entries of a row and drops zeros. Returns the new end, or an index that occurs twice.
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

/// The end of the query identifier (`qid:7`) at `at`, if there is one.
fn after_query(text: &[u8], at: usize) -> Option<usize> {
    let number = text[at..].strip_prefix(b"qid:")?;
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + 4 + digits;
    (digits > 0 && ends_token(text, end)).then_some(end)
}

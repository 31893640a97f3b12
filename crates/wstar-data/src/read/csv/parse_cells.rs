//! Parses the rows of one segment of a file directly into the final columns.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::read::csv::dialect::{Cell, Dialect};
use crate::read::csv::sniff::{Value, is_missing};
use crate::read::position::Fault;
use crate::{Cells, Texts, exact_in_f32};
use wstar_numeric::decimal::parse;
use wstar_numeric::decimal::{Marks, has_simd, rows as plain_rows};

/// Cap: a column with more distinct values is refused as a category, unless the user declared it to be one.
pub(crate) const MOST_LEVELS: usize = 1000;

/// Where the cells of one column are written.
pub(crate) enum Destination<'s, 't> {
    /// Nowhere.
    Skipped,
    /// Numbers that have all been exact in `f32` so far.
    Narrow(&'s mut [f32]),
    /// Numbers of which at least one is not exact in `f32`, in a separate buffer until all segments are parsed.
    Widened(Vec<f64>),
    /// Numbers known to need `f64`, at this index of each row of [`Wide`].
    Wide(usize),
    /// Codes of levels, numbered in the order of their occurrence in this segment.
    Codes(&'s mut [u32], Levels<'t>),
    /// Texts.
    Texts(Texts),
}

/// The distinct values of a category and their counts.
#[derive(Default)]
pub(crate) struct Levels<'a> {
    codes: FxHashMap<Cow<'a, [u8]>, u32>,
    /// The number of cells with each level.
    pub(crate) counts: Vec<usize>,
    /// The most levels that are kept, if limited.
    most: Option<usize>,
    /// Whether there are more levels than that.
    pub(crate) overflowed: bool,
}

impl<'a> Levels<'a> {
    /// No levels yet, and at most `most` of them.
    pub(crate) fn at_most(most: Option<usize>) -> Self {
        Levels {
            most,
            ..Levels::default()
        }
    }

    /// The code of a value, or `None` if there are too many.
    fn code(&mut self, value: Cow<'a, [u8]>) -> Option<u32> {
        if let Some(&code) = self.codes.get(&value) {
            self.counts[code as usize] += 1;
            return Some(code);
        }
        if self.most.is_some_and(|most| self.counts.len() >= most) {
            self.overflowed = true;
            return None;
        }
        let code = self.counts.len() as u32;
        self.counts.push(1);
        self.codes.insert(value, code);
        Some(code)
    }

    /// The values and their codes, in arbitrary order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> {
        self.codes.iter().map(|(value, &code)| (value.as_ref(), code))
    }
}

/// The numbers of one segment that are known to need `f64`, row by row.
pub(crate) struct Wide<'s> {
    pub(crate) values: &'s mut [f64],
    /// The number of such columns.
    pub(crate) width: usize,
}

/// One column of one segment.
pub(crate) struct Slot<'s, 't> {
    pub(crate) destination: Destination<'s, 't>,
    pub(crate) notes: Notes,
}

/// The unusual cells of one column of one segment.
#[derive(Default)]
pub(crate) struct Notes {
    /// The number of missing cells.
    pub(crate) missing: usize,
    pub(crate) first_missing: Option<usize>,
    /// In a numeric column, the number of cells that are not numbers. In a category column, the number of numbers
    /// among the values that were not kept because there were too many levels.
    pub(crate) odd: usize,
    pub(crate) first_odd: Option<Cell>,
    pub(crate) first_infinite: Option<Cell>,
}

impl Notes {
    /// Shifts all offsets by `start`, the offset of the segment in the text.
    pub(crate) fn shift(&mut self, start: usize) {
        let shift = |cell: &mut Cell| {
            cell.start += start;
            cell.end += start;
        };
        self.first_missing.iter_mut().for_each(|at| *at += start);
        self.first_odd.iter_mut().for_each(shift);
        self.first_infinite.iter_mut().for_each(shift);
    }

    fn miss(&mut self, cell: Cell) {
        self.missing += 1;
        self.first_missing.get_or_insert(cell.offset());
    }
}

impl<'t> Slot<'_, 't> {
    fn is_number(&self) -> bool {
        matches!(
            self.destination,
            Destination::Wide(_) | Destination::Narrow(_) | Destination::Widened(_)
        )
    }

    #[inline(always)]
    fn put(&mut self, row: usize, value: f64, wide: &mut Wide) {
        match &mut self.destination {
            Destination::Wide(index) => wide.values[row * wide.width + *index] = value,
            Destination::Narrow(values) => {
                let narrow = value as f32;
                if f64::from(narrow) == value || value.is_nan() {
                    values[row] = narrow;
                } else {
                    self.widen(row, value);
                }
            }
            Destination::Widened(values) => values[row] = value,
            _ => {}
        }
    }

    /// Writes the values of several rows from `row` on. Columns of [`Wide`] are skipped.
    fn put_all(&mut self, row: usize, values: impl ExactSizeIterator<Item = f64> + Clone, wide: &mut Wide) {
        match &mut self.destination {
            Destination::Wide(_) => {}
            Destination::Narrow(narrow)
                if values
                    .clone()
                    .fold(true, |exact, value| exact & exact_in_f32(value)) =>
            {
                let narrow = narrow[row..].iter_mut();
                narrow
                    .zip(values)
                    .for_each(|(narrow, value)| *narrow = value as f32);
            }
            _ => values
                .enumerate()
                .for_each(|(i, value)| self.put(row + i, value, wide)),
        }
    }

    #[cold]
    fn widen(&mut self, row: usize, value: f64) {
        if let Destination::Narrow(values) = &self.destination {
            let mut wide = vec![0.0; values.len()];
            wide.iter_mut()
                .zip(&values[..row])
                .for_each(|(wide, &narrow)| *wide = narrow.into());
            wide[row] = value;
            self.destination = Destination::Widened(wide);
        }
    }

    /// Parses and writes a cell that is not simply a number.
    fn take(&mut self, row: usize, text: &'t [u8], cell: Cell, decimal_comma: bool, wide: &mut Wide) {
        let content = cell.content(text);
        match &mut self.destination {
            Destination::Skipped => {}
            Destination::Narrow(_) | Destination::Wide(_) | Destination::Widened(_) => {
                let value = match Value::of(&content, decimal_comma) {
                    Value::Number(value) if value.is_finite() => value,
                    Value::Number(_) => {
                        self.notes.first_infinite.get_or_insert(cell);
                        f64::NAN
                    }
                    Value::Missing => {
                        self.notes.miss(cell);
                        f64::NAN
                    }
                    Value::Word => {
                        self.notes.odd += 1;
                        self.notes.first_odd.get_or_insert(cell);
                        f64::NAN
                    }
                };
                self.put(row, value, wide);
            }
            Destination::Codes(codes, levels) => {
                if is_missing(content.trim_ascii()) {
                    codes[row] = Cells::MISSING;
                    self.notes.miss(cell);
                    return;
                }
                match levels.code(content) {
                    Some(code) => codes[row] = code,
                    None => {
                        let is_number =
                            matches!(Value::of(&cell.content(text), decimal_comma), Value::Number(_));
                        self.notes.odd += usize::from(is_number);
                    }
                }
            }
            Destination::Texts(texts) => {
                if is_missing(content.trim_ascii()) {
                    texts.push("");
                    self.notes.miss(cell);
                } else {
                    // The text is known to be valid UTF-8, so nothing is replaced here.
                    texts.push(&String::from_utf8_lossy(&content));
                }
            }
        }
    }
}

/// The parser of plain rows, which consist only of plain decimal numbers. In many files nearly all rows are plain. They are
/// parsed with SIMD, several at a time.
struct PlainNumbers {
    /// The numbers of the rows, row by row; few enough to stay in the L1 cache.
    numbers: Vec<f64>,
    /// Runs of columns that are adjacent in the file and in [`Wide`]: the index of the first one in both, and the length.
    runs: Vec<(usize, usize, usize)>,
    /// The number of rows to parse without SIMD before plain rows are tried again.
    pause: usize,
    /// The length of the last pause, which doubles while there are no plain rows.
    last_pause: usize,
}

impl PlainNumbers {
    /// Numbers in the buffer. Heuristic: 16 KiB, which should stay in the L1 cache; not measured yet.
    const NUMBERS: usize = 2048;
    /// The longest pause, in rows. Heuristic: the cost of failed attempts against missed plain rows; not measured yet.
    const LONGEST_PAUSE: usize = 64;

    /// `None` if there is no SIMD, or if some column is not numeric.
    fn new(slots: &[Slot]) -> Option<Self> {
        if !has_simd() || !slots.iter().all(Slot::is_number) {
            return None;
        }
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for (column, slot) in slots.iter().enumerate() {
            let Destination::Wide(index) = slot.destination else {
                continue;
            };
            match runs.last_mut() {
                Some((first, first_index, length))
                    if *first + *length == column && *first_index + *length == index =>
                {
                    *length += 1;
                }
                _ => runs.push((column, index, 1)),
            }
        }
        let width = slots.len().max(1);
        Some(PlainNumbers {
            numbers: vec![0.0; (Self::NUMBERS / width).max(1) * width],
            runs,
            pause: 0,
            last_pause: 0,
        })
    }

    /// Parses the plain rows at `start`, the first of which is row `row`. Returns their number and their end.
    fn parse<const POINT: u8>(
        &mut self,
        text: &[u8],
        start: usize,
        row: usize,
        delimiter: u8,
        slots: &mut [Slot],
        wide: &mut Wide,
    ) -> (usize, usize) {
        if self.pause > 0 {
            self.pause -= 1;
            return (0, start);
        }
        let marks = Marks {
            delimiter,
            point: POINT,
        };
        let width = slots.len();
        let (count, end) = plain_rows(text, start, marks, width, &mut self.numbers, rare::<POINT>);
        if count == 0 {
            self.last_pause = (2 * self.last_pause).clamp(1, Self::LONGEST_PAUSE);
            self.pause = self.last_pause - 1;
            return (0, start);
        }
        self.last_pause = 0;
        let numbers = &self.numbers[..count * width];
        let out = wide.values.chunks_exact_mut(wide.width.max(1)).skip(row);
        for (from, out) in numbers.chunks_exact(width).zip(out) {
            for &(column, index, length) in &self.runs {
                out[index..index + length].copy_from_slice(&from[column..column + length]);
            }
        }
        for (column, slot) in slots.iter_mut().enumerate() {
            let values = numbers[column..].iter().step_by(width).copied();
            slot.put_all(row, values, wide);
        }
        (count, end)
    }
}

/// Parses all rows of a segment and returns their number. `POINT` is the decimal point.
pub(crate) fn parse<'t, const POINT: u8>(
    text: &'t [u8],
    dialect: Dialect,
    slots: &mut [Slot<'_, 't>],
    wide: &mut Wide,
) -> std::result::Result<usize, Fault> {
    let delimiter = dialect.delimiter;
    let last = slots.len().saturating_sub(1);
    let mut plain = PlainNumbers::new(slots);
    let (mut at, mut rows) = (0, 0);
    while let Some(&byte) = text.get(at) {
        if matches!(byte, b'\n' | b'\r' | b' ')
            && let Some(next) = dialect.blank_line(text, at)
        {
            at = next;
            continue;
        }
        if let Some(plain) = &mut plain {
            let (count, end) = plain.parse::<POINT>(text, at, rows, delimiter, slots, wide);
            if count > 0 {
                (at, rows) = (end, rows + count);
                continue;
            }
        }
        let start = at;
        for (j, slot) in slots.iter_mut().enumerate() {
            let stop = 'cell: {
                if slot.is_number()
                    && let Some((value, length)) = parse::prefix::<POINT>(&text[at.min(text.len())..])
                    && value.is_finite()
                {
                    let stop = at + length;
                    let ends = text
                        .get(stop)
                        .is_none_or(|&byte| byte == delimiter || byte == b'\n');
                    if ends {
                        slot.put(rows, value, wide);
                        break 'cell stop;
                    }
                }
                let (cell, stop) = dialect.cell(text, at)?;
                slot.take(rows, text, cell, POINT == b',', wide);
                stop
            };
            let at_delimiter = text.get(stop) == Some(&delimiter);
            if at_delimiter == (j == last) {
                return Err(ragged(text, start, dialect, slots.len()));
            }
            at = stop + 1;
        }
        rows += 1;
    }
    Ok(rows)
}

/// Parses a finite number that is not a plain decimal.
#[cold]
#[inline(never)]
fn rare<const POINT: u8>(text: &[u8]) -> Option<(f64, usize)> {
    parse::prefix::<POINT>(text).filter(|(value, _)| value.is_finite())
}

#[cold]
fn ragged(text: &[u8], start: usize, dialect: Dialect, columns: usize) -> Fault {
    let mut cells = Vec::new();
    let mut rows = crate::read::csv::dialect::Rows::new(&text[start..], dialect);
    match rows.next(&mut cells) {
        Err(fault) => fault.shifted(start),
        Ok(_) => {
            let plural = if cells.len() == 1 { "cell" } else { "cells" };
            let message = format!(
                "{} {plural} in this row where the first has {columns}",
                cells.len()
            );
            // The error is reported at the first excess cell, or at the end of a row with too few cells.
            let at = match cells.get(columns) {
                Some(extra) => extra.offset(),
                None => cells.last().map_or(0, |cell| cell.end + usize::from(cell.quoted)),
            };
            Fault::parse(start + at, message)
        }
    }
}

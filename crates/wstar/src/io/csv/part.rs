//! Parses the rows of one part of a file, straight into the final columns.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::data::{Cells, Texts, exact_in_f32};
use crate::io::csv::dialect::{Cell, Dialect};
use crate::io::csv::layout::{Value, is_missing};
use crate::io::number;
use crate::io::place::Fault;
use crate::kernel::decimal::{Marks, has_simd, rows as plain_rows};

/// How many different values a category may have, unless the user said that it is one.
pub(crate) const MOST_LEVELS: usize = 1000;

/// Where the cells of one column go.
pub(crate) enum Room<'s, 't> {
    /// Nowhere.
    Skipped,
    /// Numbers that were all exact in `f32` so far.
    Narrow(&'s mut [f32]),
    /// Numbers of which one was not, in a room of their own until all parts are known.
    Widened(Vec<f64>),
    /// Numbers known to need `f64`, in this place of each row of [`Wide`].
    Wide(usize),
    /// Codes of levels, counted in the order in which this part meets them.
    Codes(&'s mut [u32], Levels<'t>),
    /// Texts.
    Texts(Texts),
}

/// The different values of a category, with how often each was met.
#[derive(Default)]
pub(crate) struct Levels<'a> {
    codes: FxHashMap<Cow<'a, [u8]>, u32>,
    /// How often each level was met; as many as there are levels.
    pub(crate) counts: Vec<usize>,
    /// The number of levels at which no more are kept, if there is one.
    most: Option<usize>,
    /// Whether there were more.
    pub(crate) overflowed: bool,
}

impl<'a> Levels<'a> {
    /// No levels yet, and no more than so many ever.
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

    /// Values and their codes, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> {
        self.codes.iter().map(|(value, &code)| (value.as_ref(), code))
    }
}

/// The numbers of one part that are known to need `f64`, row by row.
pub(crate) struct Wide<'s> {
    pub(crate) values: &'s mut [f64],
    /// How many such columns there are.
    pub(crate) width: usize,
}

/// One column of one part.
pub(crate) struct Slot<'s, 't> {
    pub(crate) room: Room<'s, 't>,
    pub(crate) notes: Notes,
}

/// What was strange about the cells of one column of one part.
#[derive(Default)]
pub(crate) struct Notes {
    /// How many cells are missing.
    pub(crate) missing: usize,
    pub(crate) first_missing: Option<usize>,
    /// How many cells of a number column are none; of a category column, how many numbers there are
    /// among the values that were too many to be kept.
    pub(crate) odd: usize,
    pub(crate) first_odd: Option<Cell>,
    pub(crate) first_infinite: Option<Cell>,
}

impl Notes {
    /// The same notes told in offsets of a text in which the part starts at `start`.
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
        self.first_missing.get_or_insert(cell.place());
    }
}

impl<'t> Slot<'_, 't> {
    fn is_number(&self) -> bool {
        matches!(self.room, Room::Wide(_) | Room::Narrow(_) | Room::Widened(_))
    }

    #[inline(always)]
    fn put(&mut self, row: usize, value: f64, wide: &mut Wide) {
        match &mut self.room {
            Room::Wide(place) => wide.values[row * wide.width + *place] = value,
            Room::Narrow(values) => {
                let narrow = value as f32;
                if f64::from(narrow) == value || value.is_nan() {
                    values[row] = narrow;
                } else {
                    self.widen(row, value);
                }
            }
            Room::Widened(values) => values[row] = value,
            _ => {}
        }
    }

    /// The same for several rows from `row` on, unless they are wide.
    fn put_all(&mut self, row: usize, values: impl ExactSizeIterator<Item = f64> + Clone, wide: &mut Wide) {
        match &mut self.room {
            Room::Wide(_) => {}
            Room::Narrow(narrow)
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
        if let Room::Narrow(values) = &self.room {
            let mut wide = vec![0.0; values.len()];
            wide.iter_mut()
                .zip(&values[..row])
                .for_each(|(wide, &narrow)| *wide = narrow.into());
            wide[row] = value;
            self.room = Room::Widened(wide);
        }
    }

    /// A cell that was not plainly a number.
    fn take(&mut self, row: usize, text: &'t [u8], cell: Cell, decimal_comma: bool, wide: &mut Wide) {
        let content = cell.content(text);
        match &mut self.room {
            Room::Skipped => {}
            Room::Narrow(_) | Room::Wide(_) | Room::Widened(_) => {
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
            Room::Codes(codes, levels) => {
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
            Room::Texts(texts) => {
                if is_missing(content.trim_ascii()) {
                    texts.push("");
                    self.notes.miss(cell);
                } else {
                    // The whole text was checked before; nothing is ever replaced here.
                    texts.push(&String::from_utf8_lossy(&content));
                }
            }
        }
    }
}

/// Rows that hold nothing but plain numbers, which are nearly all rows of many files: parsed with SIMD, some at
/// a time.
struct Plain {
    /// Their numbers, row by row; few enough to stay in the first cache.
    numbers: Vec<f64>,
    /// The columns of the file that stand side by side among the wide ones too: where the first of them
    /// stands in both, and how many they are.
    runs: Vec<(usize, usize, usize)>,
    /// How many rows are to be parsed in another way before these are looked for again.
    pause: usize,
    /// How long the last pause was; it grows while there are no plain rows.
    last_pause: usize,
}

impl Plain {
    const NUMBERS: usize = 2048;
    const LONGEST_PAUSE: usize = 64;

    /// Nothing if there are columns that do not hold numbers.
    fn new(slots: &[Slot]) -> Option<Self> {
        if !has_simd() || !slots.iter().all(Slot::is_number) {
            return None;
        }
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for (column, slot) in slots.iter().enumerate() {
            let Room::Wide(place) = slot.room else {
                continue;
            };
            match runs.last_mut() {
                Some((first, first_place, length))
                    if *first + *length == column && *first_place + *length == place =>
                {
                    *length += 1;
                }
                _ => runs.push((column, place, 1)),
            }
        }
        let width = slots.len().max(1);
        Some(Plain {
            numbers: vec![0.0; (Self::NUMBERS / width).max(1) * width],
            runs,
            pause: 0,
            last_pause: 0,
        })
    }

    /// Parses the plain rows at `start`, which have `row` rows before them; gives their number and their end.
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
            for &(column, place, length) in &self.runs {
                out[place..place + length].copy_from_slice(&from[column..column + length]);
            }
        }
        for (column, slot) in slots.iter_mut().enumerate() {
            let values = numbers[column..].iter().step_by(width).copied();
            slot.put_all(row, values, wide);
        }
        (count, end)
    }
}

/// Parses all rows of a part and gives their number. `POINT` is the decimal point.
pub(crate) fn parse<'t, const POINT: u8>(
    text: &'t [u8],
    dialect: Dialect,
    slots: &mut [Slot<'_, 't>],
    wide: &mut Wide,
) -> std::result::Result<usize, Fault> {
    let delimiter = dialect.delimiter;
    let last = slots.len().saturating_sub(1);
    let mut plain = Plain::new(slots);
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
                    && let Some((value, length)) = number::prefix::<POINT>(&text[at.min(text.len())..])
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

/// A finite number that is no plain decimal.
#[cold]
#[inline(never)]
fn rare<const POINT: u8>(text: &[u8]) -> Option<(f64, usize)> {
    number::prefix::<POINT>(text).filter(|(value, _)| value.is_finite())
}

#[cold]
fn ragged(text: &[u8], start: usize, dialect: Dialect, columns: usize) -> Fault {
    let mut cells = Vec::new();
    let mut rows = super::dialect::Rows::new(&text[start..], dialect);
    match rows.next(&mut cells) {
        Err(fault) => fault.shifted(start),
        Ok(_) => {
            let plural = if cells.len() == 1 { "cell" } else { "cells" };
            let message = format!(
                "{} {plural} in this row where the first has {columns}",
                cells.len()
            );
            // The place is that of the first cell too many, or of the end of the row.
            let at = match cells.get(columns) {
                Some(extra) => extra.place(),
                None => cells.last().map_or(0, |cell| cell.end + usize::from(cell.quoted)),
            };
            Fault::parse(start + at, message)
        }
    }
}

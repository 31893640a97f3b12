//! From segments to columns: checks each column over all segments, and joins the segments.

use crate::error::Remedy;
use crate::setting::Setting;
use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Position, shown};
use crate::read::csv::dialect::Cell;
use crate::read::csv::parse_cells;
use crate::read::csv::parse_cells::{Destination, Levels, MOST_LEVELS, Notes, Slot, Wide};
use crate::read::csv::sniff::{ColumnPlan, Kind, Sniffed, Value, are_numbers};
use crate::read::position::{Fault, TextPosition};
use crate::{BlockColumn, Cells, Column, Numbers, NumericBlock, Table, Texts};

/// A segment of the text, and an upper bound on its number of rows, for which memory is allocated.
pub(crate) struct Segment {
    pub(crate) range: Range<usize>,
    pub(crate) capacity: usize,
}

/// The cells of a column for all segments. Each segment fills the front of its own range.
enum Store {
    Nothing,
    Narrow(Vec<f32>),
    /// In the rows that all columns known to need `f64` share, at this index of each row.
    Wide(usize),
    Codes(Vec<u32>),
}

impl Store {
    /// Allocates the cells. `wide` counts the columns known to need `f64`.
    fn new(plan: &ColumnPlan, capacity: usize, wide: &mut usize) -> Self {
        match plan.kind {
            Kind::Skipped | Kind::Text => Store::Nothing,
            Kind::Number if plan.wide => {
                *wide += 1;
                Store::Wide(*wide - 1)
            }
            Kind::Number => Store::Narrow(vec![0.0; capacity]),
            Kind::Category => Store::Codes(vec![0; capacity]),
        }
    }

    /// Adds to each segment the slot into which it writes the cells of this column.
    fn add_slots<'s>(&'s mut self, plan: &ColumnPlan, segments: &[Segment], slots: &mut [Vec<Slot<'s, '_>>]) {
        let mut rest = match self {
            Store::Nothing if plan.kind == Kind::Text => Destination::Texts(Texts::default()),
            Store::Nothing => Destination::Skipped,
            Store::Narrow(values) => Destination::Narrow(values),
            Store::Wide(index) => Destination::Wide(*index),
            Store::Codes(codes) => Destination::Codes(codes, Levels::default()),
        };
        for (segment, slots) in segments.iter().zip(slots) {
            let destination = match &mut rest {
                Destination::Narrow(rest) => {
                    Destination::Narrow(rest.split_off_mut(..segment.capacity).unwrap_or_default())
                }
                Destination::Wide(index) => Destination::Wide(*index),
                Destination::Codes(rest, _) => Destination::Codes(
                    rest.split_off_mut(..segment.capacity).unwrap_or_default(),
                    Levels::at_most((!plan.settled).then_some(MOST_LEVELS)),
                ),
                Destination::Texts(_) => Destination::Texts(Texts::default()),
                Destination::Skipped | Destination::Widened(_) => Destination::Skipped,
            };
            slots.push(Slot {
                destination,
                notes: Notes::default(),
            });
        }
    }
}

/// The results of one segment for one column, apart from the cells in the store.
struct SegmentColumn<'t> {
    notes: Notes,
    rest: Rest<'t>,
}

enum Rest<'t> {
    Nothing,
    Widened(Vec<f64>),
    Levels(Levels<'t>),
    Texts(Texts),
}

impl<'t> From<Slot<'_, 't>> for SegmentColumn<'t> {
    fn from(slot: Slot<'_, 't>) -> Self {
        SegmentColumn {
            notes: slot.notes,
            rest: match slot.destination {
                Destination::Skipped | Destination::Narrow(_) | Destination::Wide(_) => Rest::Nothing,
                Destination::Widened(values) => Rest::Widened(values),
                Destination::Codes(_, levels) => Rest::Levels(levels),
                Destination::Texts(texts) => Rest::Texts(texts),
            },
        }
    }
}

/// All parsed segments, before they are joined.
pub(crate) struct Parsed<'t> {
    /// The number of rows of each segment, and the bound for which memory was allocated.
    segments: Vec<Filled>,
    columns: Vec<ParsedColumn<'t>>,
    /// The numbers of all columns that are known to need `f64`, row by row.
    wide: Vec<f64>,
    /// The number of such columns.
    wide_columns: usize,
}

#[derive(Clone, Copy)]
struct Filled {
    rows: usize,
    capacity: usize,
}

struct ParsedColumn<'t> {
    store: Store,
    found: Vec<SegmentColumn<'t>>,
}

impl<'t> Parsed<'t> {
    /// Parses all segments of the text. Of several errors the first is returned.
    pub(crate) fn of(text: &'t [u8], layout: &Sniffed, segments: &[Segment]) -> Result<Self, Fault> {
        let capacity = segments.iter().map(|segment| segment.capacity).sum();
        let mut width = 0;
        let plans = layout.columns.iter();
        let mut stores: Vec<Store> = plans.map(|plan| Store::new(plan, capacity, &mut width)).collect();
        let mut wide = vec![0.0; capacity * width];
        let mut rest = wide.as_mut_slice();
        let wides: Vec<Wide> = segments
            .iter()
            .map(|segment| Wide {
                values: rest.split_off_mut(..segment.capacity * width).unwrap_or_default(),
                width,
            })
            .collect();
        let mut slots: Vec<Vec<Slot>> = segments
            .iter()
            .map(|_| Vec::with_capacity(stores.len()))
            .collect();
        for (store, plan) in stores.iter_mut().zip(&layout.columns) {
            store.add_slots(plan, segments, &mut slots);
        }
        let parse = |((segment, mut slots), mut wide): ((&Segment, Vec<Slot<'_, 't>>), Wide)| {
            let start = segment.range.start;
            let text = &text[segment.range.clone()];
            let rows = if layout.dialect.decimal_comma {
                parse_cells::parse::<b','>(text, layout.dialect, &mut slots, &mut wide)
            } else {
                parse_cells::parse::<b'.'>(text, layout.dialect, &mut slots, &mut wide)
            };
            let rows = rows.map_err(|fault| fault.shifted(start))?;
            slots.iter_mut().for_each(|slot| slot.notes.shift(start));
            let found = slots.into_iter().map(SegmentColumn::from).collect();
            Ok((
                Filled {
                    rows,
                    capacity: segment.capacity,
                },
                found,
            ))
        };
        let parsed: Vec<Result<(Filled, Vec<SegmentColumn>), Fault>> =
            segments.par_iter().zip(slots).zip(wides).map(parse).collect();

        let mut filled = Vec::with_capacity(segments.len());
        let mut columns: Vec<ParsedColumn> = stores
            .into_iter()
            .map(|store| ParsedColumn {
                store,
                found: Vec::with_capacity(segments.len()),
            })
            .collect();
        for segment in parsed {
            let (rows, found) = segment?;
            filled.push(rows);
            for (column, found) in columns.iter_mut().zip(found) {
                column.found.push(found);
            }
        }
        Ok(Parsed {
            segments: filled,
            columns,
            wide,
            wide_columns: width,
        })
    }

    /// The number of rows.
    fn rows(&self) -> usize {
        self.segments.iter().map(|segment| segment.rows).sum()
    }

    /// Corrects the kinds of columns for which the first rows were misleading. Returns whether there are any.
    pub(crate) fn revise(&self, layout: &mut Sniffed) -> bool {
        let rows = self.rows();
        let decimal_comma = layout.dialect.decimal_comma;
        let mut revised = false;
        for (column, plan) in self.columns.iter().zip(&mut layout.columns) {
            if plan.settled || plan.kind == Kind::Skipped {
                continue;
            }
            let filled = rows - column.sum(|notes| notes.missing);
            let odd = column.sum(|notes| notes.odd);
            let kind = match plan.kind {
                Kind::Number if !are_numbers(filled - odd, filled) => Kind::Category,
                Kind::Category if are_numbers(odd + column.numbers_among_levels(decimal_comma), filled) => {
                    Kind::Number
                }
                kind => kind,
            };
            revised |= kind != plan.kind;
            plan.kind = kind;
        }
        revised
    }

    /// Refuses cells of numeric columns that are not finite numbers. Of several the first one is reported.
    pub(crate) fn check_cells(&self, text: &[u8], layout: &Sniffed) -> Result<(), Fault> {
        let columns = self.columns.iter().zip(&layout.columns);
        let numbers = columns.filter(|(_, plan)| plan.kind == Kind::Number);
        let faults = numbers.filter_map(|(column, plan)| column.number_fault(text, plan));
        faults.min_by_key(|fault| fault.offset).map_or(Ok(()), Err)
    }

    /// Refuses columns with too many distinct values that the user did not declare to be categories.
    pub(crate) fn check_levels(&self, layout: &Sniffed) -> Result<(), Error> {
        for (column, plan) in self.columns.iter().zip(&layout.columns) {
            let name = &plan.name;
            if plan.kind == Kind::Category && !plan.settled && column.has_too_many_levels() {
                let message = format!("column {name} is no number and has more than 1,000 different values");
                return Err(Error::data(message).remedy([Setting::Text.to(name), Setting::Drop.to(name)]));
            }
        }
        Ok(())
    }

    /// Joins the segments into the table. `text` is the whole text, including the header.
    pub(crate) fn join(self, text: &[u8], layout: &Sniffed, origin: &TextPosition) -> Table {
        let rows = self.rows();
        let missing = self.first_missing(text, layout.body, origin);
        let Parsed {
            segments,
            columns,
            mut wide,
            wide_columns,
        } = self;
        close_gaps(&mut wide, &segments, wide_columns);
        let complete = columns
            .iter()
            .all(|column| !column.is_wide() || column.sum(|notes| notes.missing) == 0);
        let wide: Vec<BlockColumn> =
            BlockColumn::all(NumericBlock::new(wide, wide_columns, complete)).collect();
        let kept: Vec<_> = columns
            .into_iter()
            .zip(&layout.columns)
            .zip(missing)
            .filter(|((_, plan), _)| plan.kind != Kind::Skipped)
            .collect();
        let columns = kept
            .into_par_iter()
            .map(|((column, plan), first_missing)| Column {
                name: plan.name.clone(),
                cells: column.join(&segments, rows, &wide),
                first_missing,
            })
            .collect();
        Table {
            source: origin.name.to_owned(),
            columns,
            rows,
        }
    }

    /// The position of the first missing cell of each column, in one pass over the text for all of them.
    fn first_missing(&self, text: &[u8], body: usize, origin: &TextPosition) -> Vec<Option<Position>> {
        let mut firsts: Vec<(usize, usize)> = self
            .columns
            .iter()
            .enumerate()
            .filter_map(|(j, column)| {
                let first = column.found.iter().find_map(|found| found.notes.first_missing);
                first.map(|at| (body + at, j))
            })
            .collect();
        firsts.sort_unstable();
        let offsets: Vec<usize> = firsts.iter().map(|&(at, _)| at).collect();
        let mut missing = vec![None; self.columns.len()];
        for (&(_, j), position) in firsts.iter().zip(origin.positions(text, &offsets)) {
            missing[j] = Some(position);
        }
        missing
    }
}

impl ParsedColumn<'_> {
    fn is_wide(&self) -> bool {
        matches!(self.store, Store::Wide(_))
    }

    fn sum(&self, count: impl Fn(&Notes) -> usize) -> usize {
        self.found.iter().map(|found| count(&found.notes)).sum()
    }

    fn levels(&self) -> impl Iterator<Item = &Levels<'_>> {
        self.found.iter().filter_map(|found| match &found.rest {
            Rest::Levels(levels) => Some(levels),
            _ => None,
        })
    }

    /// The number of cells whose level is a number.
    fn numbers_among_levels(&self, decimal_comma: bool) -> usize {
        let numbers = |levels: &Levels| -> usize {
            let is_number = |value: &[u8]| matches!(Value::of(value, decimal_comma), Value::Number(_));
            levels
                .iter()
                .filter(|(value, _)| is_number(value))
                .map(|(_, code)| levels.counts[code as usize])
                .sum()
        };
        self.levels().map(numbers).sum()
    }

    fn number_fault(&self, text: &[u8], plan: &ColumnPlan) -> Option<Fault> {
        let name = &plan.name;
        let shown_cell = |cell: &Cell| shown(&String::from_utf8_lossy(&cell.content(text)));
        let odd = self
            .found
            .iter()
            .find_map(|found| found.notes.first_odd)
            .map(|cell| {
                Fault::parse(
                    cell.offset(),
                    format!("{} is not a number in column {name}", shown_cell(&cell)),
                )
                .remedy([Setting::Categorical.to(name), Setting::Drop.to(name)])
            });
        let infinite = self
            .found
            .iter()
            .find_map(|found| found.notes.first_infinite)
            .map(|cell| {
                Fault::parse(
                    cell.offset(),
                    format!("{} in column {name} is not a finite number", shown_cell(&cell)),
                )
                .remedy(Remedy::Either(vec![
                    "correct it".into(),
                    Setting::Drop.to(name).into(),
                ]))
            });
        [odd, infinite]
            .into_iter()
            .flatten()
            .min_by_key(|fault| fault.offset)
    }

    fn has_too_many_levels(&self) -> bool {
        self.levels().any(|levels| levels.overflowed) || distinct(self.levels()).len() > MOST_LEVELS
    }

    fn join(self, segments: &[Filled], rows: usize, wide: &[BlockColumn]) -> Cells {
        let widened = self
            .found
            .iter()
            .any(|found| matches!(found.rest, Rest::Widened(_)));
        match self.store {
            Store::Narrow(values) if widened => {
                let mut wide = Vec::with_capacity(rows);
                let mut start = 0;
                for (segment, found) in segments.iter().zip(self.found) {
                    match found.rest {
                        Rest::Widened(values) => wide.extend_from_slice(&values[..segment.rows]),
                        _ => wide.extend(values[start..start + segment.rows].iter().map(|&v| f64::from(v))),
                    }
                    start += segment.capacity;
                }
                Cells::Numbers(Numbers::F64(wide))
            }
            Store::Narrow(mut values) => {
                close_gaps(&mut values, segments, 1);
                Cells::Numbers(Numbers::F32(values))
            }
            Store::Wide(index) => Cells::Numbers(Numbers::Block(wide[index].clone())),
            Store::Codes(mut codes) => {
                let levels: Vec<&Levels> = self
                    .found
                    .iter()
                    .filter_map(|found| match &found.rest {
                        Rest::Levels(levels) => Some(levels),
                        _ => None,
                    })
                    .collect();
                let all = distinct(levels.iter().copied());
                let mut start = 0;
                for (segment, levels) in segments.iter().zip(levels) {
                    let mut renamed = vec![Cells::MISSING; levels.counts.len()];
                    for (value, code) in levels.iter() {
                        if let Ok(sorted) = all.binary_search(&value) {
                            renamed[code as usize] = sorted as u32;
                        }
                    }
                    for code in &mut codes[start..start + segment.rows] {
                        *code = renamed.get(*code as usize).copied().unwrap_or(Cells::MISSING);
                    }
                    start += segment.capacity;
                }
                close_gaps(&mut codes, segments, 1);
                Cells::Categories {
                    codes,
                    levels: all
                        .into_iter()
                        .map(|value| String::from_utf8_lossy(value).into_owned())
                        .collect(),
                }
            }
            Store::Nothing => {
                let mut texts = Texts::default();
                for found in self.found {
                    if let Rest::Texts(segment) = found.rest {
                        texts.append(&segment);
                    }
                }
                Cells::Texts(texts)
            }
        }
    }
}

/// The distinct values of all segments, sorted.
fn distinct<'a>(levels: impl Iterator<Item = &'a Levels<'a>>) -> Vec<&'a [u8]> {
    let mut all: Vec<&[u8]> = levels
        .flat_map(|levels| levels.iter().map(|(value, _)| value))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Closes the gaps that the segments did not fill: moves the cells of all segments, `width` per row, to the front.
fn close_gaps<T: Copy>(values: &mut Vec<T>, segments: &[Filled], width: usize) {
    let (mut rows, mut start) = (0, 0);
    for segment in segments {
        if rows != start {
            values.copy_within(start * width..(start + segment.rows) * width, rows * width);
        }
        rows += segment.rows;
        start += segment.capacity;
    }
    if rows != start {
        values.truncate(rows * width);
        values.shrink_to_fit();
    }
}

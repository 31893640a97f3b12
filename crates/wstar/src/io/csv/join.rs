//! From parts to columns: checks what all parts together say of each column, and joins them.

use std::ops::Range;

use rayon::prelude::*;

use crate::data::{Block, BlockColumn, Cells, Column, Numbers, Table, Texts};
use crate::error::{Error, Position, shown};
use crate::io::csv::dialect::Cell;
use crate::io::csv::layout::{Kind, Layout, Plan, Value, are_numbers};
use crate::io::csv::part::{self, Levels, MOST_LEVELS, Notes, Room, Slot, Wide};
use crate::io::place::{Fault, Place};

/// A part of the text, and room for how many rows it asks.
pub(crate) struct Part {
    pub(crate) range: Range<usize>,
    pub(crate) room: usize,
}

/// The cells of a column for all parts; each part has filled the front of its room.
enum Store {
    Nothing,
    Narrow(Vec<f32>),
    /// In this place of each row of the numbers that all wide columns share.
    Wide(usize),
    Codes(Vec<u32>),
}

impl Store {
    /// `wide` counts the wide columns.
    fn new(plan: &Plan, room: usize, wide: &mut usize) -> Self {
        match plan.kind {
            Kind::Skipped | Kind::Text => Store::Nothing,
            Kind::Number if plan.wide => {
                *wide += 1;
                Store::Wide(*wide - 1)
            }
            Kind::Number => Store::Narrow(vec![0.0; room]),
            Kind::Category => Store::Codes(vec![0; room]),
        }
    }

    /// Adds to each part the slot in which it puts the cells of this column.
    fn hand_out<'s>(&'s mut self, plan: &Plan, parts: &[Part], slots: &mut [Vec<Slot<'s, '_>>]) {
        let mut rest = match self {
            Store::Nothing if plan.kind == Kind::Text => Room::Texts(Texts::default()),
            Store::Nothing => Room::Skipped,
            Store::Narrow(values) => Room::Narrow(values),
            Store::Wide(place) => Room::Wide(*place),
            Store::Codes(codes) => Room::Codes(codes, Levels::default()),
        };
        for (part, slots) in parts.iter().zip(slots) {
            let room = match &mut rest {
                Room::Narrow(rest) => Room::Narrow(rest.split_off_mut(..part.room).unwrap_or_default()),
                Room::Wide(place) => Room::Wide(*place),
                Room::Codes(rest, _) => Room::Codes(
                    rest.split_off_mut(..part.room).unwrap_or_default(),
                    Levels::at_most((!plan.settled).then_some(MOST_LEVELS)),
                ),
                Room::Texts(_) => Room::Texts(Texts::default()),
                Room::Skipped | Room::Widened(_) => Room::Skipped,
            };
            slots.push(Slot {
                room,
                notes: Notes::default(),
            });
        }
    }
}

/// What one part says of one column, beside the cells in the store.
struct Found<'t> {
    notes: Notes,
    rest: Rest<'t>,
}

enum Rest<'t> {
    Nothing,
    Widened(Vec<f64>),
    Levels(Levels<'t>),
    Texts(Texts),
}

impl<'t> From<Slot<'_, 't>> for Found<'t> {
    fn from(slot: Slot<'_, 't>) -> Self {
        Found {
            notes: slot.notes,
            rest: match slot.room {
                Room::Skipped | Room::Narrow(_) | Room::Wide(_) => Rest::Nothing,
                Room::Widened(values) => Rest::Widened(values),
                Room::Codes(_, levels) => Rest::Levels(levels),
                Room::Texts(texts) => Rest::Texts(texts),
            },
        }
    }
}

/// All parts, parsed, before they are joined.
pub(crate) struct Parsed<'t> {
    /// How many rows each part has, and for how many it had room.
    parts: Vec<Filled>,
    columns: Vec<ParsedColumn<'t>>,
    /// The numbers of all columns that are known to need `f64`, row by row.
    wide: Vec<f64>,
    /// How many such columns there are.
    wide_columns: usize,
}

#[derive(Clone, Copy)]
struct Filled {
    rows: usize,
    room: usize,
}

struct ParsedColumn<'t> {
    store: Store,
    found: Vec<Found<'t>>,
}

impl<'t> Parsed<'t> {
    /// Parses all parts of the text; of several faults the first is told.
    pub(crate) fn of(text: &'t [u8], layout: &Layout, parts: &[Part]) -> Result<Self, Fault> {
        let room = parts.iter().map(|part| part.room).sum();
        let mut width = 0;
        let plans = layout.columns.iter();
        let mut stores: Vec<Store> = plans.map(|plan| Store::new(plan, room, &mut width)).collect();
        let mut wide = vec![0.0; room * width];
        let mut rest = wide.as_mut_slice();
        let wides: Vec<Wide> = parts
            .iter()
            .map(|part| Wide {
                values: rest.split_off_mut(..part.room * width).unwrap_or_default(),
                width,
            })
            .collect();
        let mut slots: Vec<Vec<Slot>> = parts.iter().map(|_| Vec::with_capacity(stores.len())).collect();
        for (store, plan) in stores.iter_mut().zip(&layout.columns) {
            store.hand_out(plan, parts, &mut slots);
        }
        let parse = |((part, mut slots), mut wide): ((&Part, Vec<Slot<'_, 't>>), Wide)| {
            let start = part.range.start;
            let text = &text[part.range.clone()];
            let rows = if layout.dialect.decimal_comma {
                part::parse::<b','>(text, layout.dialect, &mut slots, &mut wide)
            } else {
                part::parse::<b'.'>(text, layout.dialect, &mut slots, &mut wide)
            };
            let rows = rows.map_err(|fault| fault.shifted(start))?;
            slots.iter_mut().for_each(|slot| slot.notes.shift(start));
            let found = slots.into_iter().map(Found::from).collect();
            Ok((
                Filled {
                    rows,
                    room: part.room,
                },
                found,
            ))
        };
        let parsed: Vec<Result<(Filled, Vec<Found>), Fault>> =
            parts.par_iter().zip(slots).zip(wides).map(parse).collect();

        let mut filled = Vec::with_capacity(parts.len());
        let mut columns: Vec<ParsedColumn> = stores
            .into_iter()
            .map(|store| ParsedColumn {
                store,
                found: Vec::with_capacity(parts.len()),
            })
            .collect();
        for part in parsed {
            let (rows, found) = part?;
            filled.push(rows);
            for (column, found) in columns.iter_mut().zip(found) {
                column.found.push(found);
            }
        }
        Ok(Parsed {
            parts: filled,
            columns,
            wide,
            wide_columns: width,
        })
    }

    /// The number of rows.
    fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.rows).sum()
    }

    /// Corrects the kinds of columns that the first rows misjudged; tells whether there were any.
    pub(crate) fn revise(&self, layout: &mut Layout) -> bool {
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

    /// Refuses cells that are not the numbers they should be; of several the first one.
    pub(crate) fn check_cells(&self, text: &[u8], layout: &Layout) -> Result<(), Fault> {
        let columns = self.columns.iter().zip(&layout.columns);
        let numbers = columns.filter(|(_, plan)| plan.kind == Kind::Number);
        let faults = numbers.filter_map(|(column, plan)| column.number_fault(text, plan));
        faults.min_by_key(|fault| fault.offset).map_or(Ok(()), Err)
    }

    /// Refuses columns that nobody said to be categories and that have too many different values.
    pub(crate) fn check_levels(&self, layout: &Layout) -> Result<(), Error> {
        for (column, plan) in self.columns.iter().zip(&layout.columns) {
            let name = &plan.name;
            if plan.kind == Kind::Category && !plan.settled && column.has_too_many_levels() {
                let message = format!("column {name} is no number and has more than 1,000 different values");
                return Err(Error::data(message).hint(format!("use --text {name}, or --drop {name}")));
            }
        }
        Ok(())
    }

    /// The table. `text` is the whole text, of which the layout's body was parsed.
    pub(crate) fn join(self, text: &[u8], layout: &Layout, place: &Place) -> Table {
        let rows = self.rows();
        let missing = self.first_missing(text, layout.body, place);
        let Parsed {
            parts,
            columns,
            mut wide,
            wide_columns,
        } = self;
        close_gaps(&mut wide, &parts, wide_columns);
        let complete = columns
            .iter()
            .all(|column| !column.is_wide() || column.sum(|notes| notes.missing) == 0);
        let wide: Vec<BlockColumn> = BlockColumn::all(Block::new(wide, wide_columns, complete)).collect();
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
                cells: column.join(&parts, rows, &wide),
                first_missing,
            })
            .collect();
        Table {
            source: place.name.to_owned(),
            columns,
            rows,
        }
    }

    /// Where the first missing cell of each column stands, with one pass over the text for all of them.
    fn first_missing(&self, text: &[u8], body: usize, place: &Place) -> Vec<Option<Position>> {
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
        for (&(_, j), position) in firsts.iter().zip(place.positions(text, &offsets)) {
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

    /// How many cells hold a level that is a number.
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

    fn number_fault(&self, text: &[u8], plan: &Plan) -> Option<Fault> {
        let name = &plan.name;
        let shown_cell = |cell: &Cell| shown(&String::from_utf8_lossy(&cell.content(text)));
        let odd = self
            .found
            .iter()
            .find_map(|found| found.notes.first_odd)
            .map(|cell| {
                Fault::parse(
                    cell.place(),
                    format!("{} is not a number in column {name}", shown_cell(&cell)),
                )
                .hint(format!("use --categorical {name}, or --drop {name}"))
            });
        let infinite = self
            .found
            .iter()
            .find_map(|found| found.notes.first_infinite)
            .map(|cell| {
                Fault::parse(
                    cell.place(),
                    format!("{} in column {name} is not a finite number", shown_cell(&cell)),
                )
                .hint(format!("correct it, or use --drop {name}"))
            });
        [odd, infinite]
            .into_iter()
            .flatten()
            .min_by_key(|fault| fault.offset)
    }

    fn has_too_many_levels(&self) -> bool {
        self.levels().any(|levels| levels.overflowed) || distinct(self.levels()).len() > MOST_LEVELS
    }

    fn join(self, parts: &[Filled], rows: usize, wide: &[BlockColumn]) -> Cells {
        let widened = self
            .found
            .iter()
            .any(|found| matches!(found.rest, Rest::Widened(_)));
        match self.store {
            Store::Narrow(values) if widened => {
                let mut wide = Vec::with_capacity(rows);
                let mut room = 0;
                for (part, found) in parts.iter().zip(self.found) {
                    match found.rest {
                        Rest::Widened(values) => wide.extend_from_slice(&values[..part.rows]),
                        _ => wide.extend(values[room..room + part.rows].iter().map(|&v| f64::from(v))),
                    }
                    room += part.room;
                }
                Cells::Numbers(Numbers::F64(wide))
            }
            Store::Narrow(mut values) => {
                close_gaps(&mut values, parts, 1);
                Cells::Numbers(Numbers::F32(values))
            }
            Store::Wide(place) => Cells::Numbers(Numbers::Block(wide[place].clone())),
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
                let mut room = 0;
                for (part, levels) in parts.iter().zip(levels) {
                    let mut renamed = vec![Cells::MISSING; levels.counts.len()];
                    for (value, code) in levels.iter() {
                        if let Ok(sorted) = all.binary_search(&value) {
                            renamed[code as usize] = sorted as u32;
                        }
                    }
                    for code in &mut codes[room..room + part.rows] {
                        *code = renamed.get(*code as usize).copied().unwrap_or(Cells::MISSING);
                    }
                    room += part.room;
                }
                close_gaps(&mut codes, parts, 1);
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
                    if let Rest::Texts(part) = found.rest {
                        texts.append(&part);
                    }
                }
                Cells::Texts(texts)
            }
        }
    }
}

/// The different values of all parts, sorted.
fn distinct<'a>(levels: impl Iterator<Item = &'a Levels<'a>>) -> Vec<&'a [u8]> {
    let mut all: Vec<&[u8]> = levels
        .flat_map(|levels| levels.iter().map(|(value, _)| value))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Moves the cells of all parts together, `width` a row, over the room that parts did not need.
fn close_gaps<T: Copy>(values: &mut Vec<T>, parts: &[Filled], width: usize) {
    let (mut rows, mut room) = (0, 0);
    for part in parts {
        if rows != room {
            values.copy_within(room * width..(room + part.rows) * width, rows * width);
        }
        rows += part.rows;
        room += part.room;
    }
    if rows != room {
        values.truncate(rows * width);
        values.shrink_to_fit();
    }
}

//! From raw columns to the rows of a design, by the encodings of a schema.
//!
//! Numbers stay as they are, categories become one column a level, texts become columns of terms.
//! The storage follows from the schema alone, so that new rows are stored as the training rows were:
//! sparse if there is a text, or if categories make more than [`DENSE_WIDTH`] columns of which less
//! than a quarter can be filled; else dense.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::data::design::{Dense, exact_in_f32};
use crate::data::missing::not_finite;
use crate::data::target::{as_number, canonical, position_of};
use crate::data::text::SparseRows;
use crate::data::{BlockColumn, Cells, Column, Design, Encoding, Numbers, RawColumn, Schema, Texts, Unseen};
use crate::error::{Error, Result, shown};
use crate::kernel::scan::position;

/// Up to this many columns a design without texts is dense.
const DENSE_WIDTH: usize = 64;

/// The code of a row that has none of a column's levels.
const NONE: u32 = u32::MAX;

/// What a raw column contributes to the rows.
enum Block {
    /// As they are.
    Numbers(Numbers),
    /// The column, within the block, that holds the row's 1; or [`NONE`].
    Levels(Vec<u32>),
    /// Sparse rows of terms.
    Text(SparseRows),
}

/// Encodes `columns`, which stand in the order of the schema's columns and have the kinds that their
/// encodings ask for (see [`as_asked`]). Notes what was ignored.
pub(super) fn encode(
    columns: Vec<Column>,
    rows: usize,
    schema: &Schema,
    unseen: Unseen,
    notes: &mut Vec<String>,
) -> Result<Design> {
    if schema.features > u32::MAX as usize {
        return Err(Error::data(format!(
            "{} features are too many: their indices must fit 32 bits",
            schema.features
        )));
    }
    let encoded: Vec<Result<(Block, usize)>> = columns
        .into_par_iter()
        .zip(&schema.columns)
        .map(|(column, raw)| block(column, raw, unseen))
        .collect();
    let (mut blocks, mut offset) = (Vec::with_capacity(encoded.len()), 0);
    for (encoded, raw) in encoded.into_iter().zip(&schema.columns) {
        let (block, ignored) = encoded?;
        if ignored > 0 {
            notes.push(format!(
                "column {}: {ignored} cells have a value that training never saw; they count for nothing",
                raw.name
            ));
        }
        blocks.push((offset, block));
        offset += raw.encoding.width();
    }
    if is_sparse(schema) {
        check_finite(&blocks, schema)?;
        sparse(blocks, rows, schema.features)
    } else {
        dense(blocks, rows, schema)
    }
}

fn is_sparse(schema: &Schema) -> bool {
    let count =
        |wanted: fn(&Encoding) -> bool| schema.columns.iter().filter(|raw| wanted(&raw.encoding)).count();
    let texts = count(|encoding| matches!(encoding, Encoding::Text(_)));
    let categories = count(|encoding| matches!(encoding, Encoding::OneHot { .. }));
    let filled_at_most = schema.columns.len();
    texts > 0 || (categories > 0 && schema.features > DENSE_WIDTH && 4 * filled_at_most < schema.features)
}

/// Turns cells into the kind that an encoding asks for: a file of few rows may look different from
/// the one that was learnt from.
pub(super) fn as_asked(mut column: Column, encoding: &Encoding) -> Result<Column> {
    let cells = std::mem::replace(&mut column.cells, Cells::Texts(Texts::default()));
    column.cells = match (encoding, cells) {
        (Encoding::Number { .. }, Cells::Categories { codes, levels }) => numbers_from(
            &column.name,
            codes
                .iter()
                .map(|&code| levels.get(code as usize).map(String::as_str)),
        )?,
        (Encoding::Number { .. }, Cells::Texts(texts)) => numbers_from(
            &column.name,
            texts
                .iter()
                .map(|text| Some(text).filter(|text| !text.is_empty())),
        )?,
        (Encoding::OneHot { .. }, Cells::Numbers(numbers)) => categories_from(
            numbers
                .iter()
                .map(|value| (!value.is_nan()).then(|| canonical(value))),
        ),
        (Encoding::OneHot { .. }, Cells::Texts(texts)) => categories_from(
            texts
                .iter()
                .map(|text| (!text.is_empty()).then(|| text.to_owned())),
        ),
        (Encoding::Text(_), Cells::Numbers(numbers)) => texts_from(numbers.iter().map(|value| {
            if value.is_nan() {
                String::new()
            } else {
                canonical(value)
            }
        })),
        (Encoding::Text(_), Cells::Categories { codes, levels }) => texts_from(
            codes
                .iter()
                .map(|&code| levels.get(code as usize).map_or("", String::as_str)),
        ),
        (_, cells) => cells,
    };
    Ok(column)
}

fn numbers_from<'a>(name: &str, labels: impl Iterator<Item = Option<&'a str>>) -> Result<Cells> {
    let number = |(row, label): (usize, Option<&str>)| match label {
        None => Ok(f64::NAN),
        Some(label) => as_number(label).ok_or_else(|| {
            Error::data(format!(
                "{} is not a number in column {name} (row {row})",
                shown(label)
            ))
        }),
    };
    Ok(Cells::Numbers(
        labels.enumerate().map(number).collect::<Result<_>>()?,
    ))
}

fn categories_from(labels: impl Iterator<Item = Option<String>>) -> Cells {
    let labels: Vec<Option<String>> = labels.collect();
    let mut levels: Vec<String> = labels.iter().flatten().cloned().collect();
    levels.sort_unstable();
    levels.dedup();
    let code = |label: &Option<String>| {
        let label = label.as_ref()?;
        levels.binary_search(label).ok().map(|code| code as u32)
    };
    Cells::Categories {
        codes: labels
            .iter()
            .map(|label| code(label).unwrap_or(Cells::MISSING))
            .collect(),
        levels,
    }
}

fn texts_from<S: AsRef<str>>(all: impl Iterator<Item = S>) -> Cells {
    let mut texts = Texts::default();
    all.for_each(|text| texts.push(text.as_ref()));
    Cells::Texts(texts)
}

/// Encodes one column; also how many cells had a level that training never saw.
fn block(column: Column, raw: &RawColumn, unseen: Unseen) -> Result<(Block, usize)> {
    let name = &raw.name;
    match (column.cells, &raw.encoding) {
        (Cells::Numbers(mut numbers), Encoding::Number { fill }) => {
            if let Some(fill) = *fill {
                numbers = filled(numbers, fill);
            }
            Ok((Block::Numbers(numbers), 0))
        }
        (Cells::Categories { codes, levels }, Encoding::OneHot { levels: known, fill }) => {
            let place = |level: usize| match (known.len(), level) {
                (2, 0) => NONE,
                (2, _) => 0,
                _ => level as u32,
            };
            let exact: FxHashMap<&str, usize> = known.iter().map(String::as_str).zip(0..).collect();
            let places: Vec<Option<u32>> = levels
                .iter()
                .map(|level| {
                    exact
                        .get(level.as_str())
                        .copied()
                        .or_else(|| position_of(level, known))
                })
                .map(|level| level.map(place))
                .collect();
            let fill = fill
                .as_ref()
                .and_then(|fill| exact.get(fill.as_str()))
                .map(|&level| place(level));
            let mut ignored = 0;
            let mut placed = Vec::with_capacity(codes.len());
            for (row, &code) in codes.iter().enumerate() {
                placed.push(match (places.get(code as usize), unseen) {
                    (Some(Some(place)), _) => *place,
                    (Some(None), Unseen::Refuse) => {
                        return Err(Error::data(format!(
                            "{} in column {name} (row {row}) was never seen in training",
                            shown(&levels[code as usize])
                        ))
                        .hint("use --unseen ignore"));
                    }
                    (Some(None), Unseen::Ignore) => {
                        ignored += 1;
                        NONE
                    }
                    (None, _) => {
                        fill.ok_or_else(|| Error::data(format!("column {name} has no value in row {row}")))?
                    }
                });
            }
            Ok((Block::Levels(placed), ignored))
        }
        (Cells::Texts(texts), Encoding::Text(encoding)) => Ok((Block::Text(encoding.encode(&texts)), 0)),
        _ => Err(Error::model(format!(
            "column {name} is of another kind than in training"
        ))),
    }
}

fn filled(numbers: Numbers, fill: f64) -> Numbers {
    match numbers {
        Numbers::F32(mut values) if exact_in_f32(fill) => {
            values
                .iter_mut()
                .filter(|v| v.is_nan())
                .for_each(|v| *v = fill as f32);
            Numbers::F32(values)
        }
        Numbers::F32(values) if !values.iter().any(|v| v.is_nan()) => Numbers::F32(values),
        Numbers::F32(values) => {
            let wide = values.iter().map(|&v| if v.is_nan() { fill } else { v.into() });
            Numbers::F64(wide.collect())
        }
        Numbers::F64(mut values) => {
            values.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = fill);
            Numbers::F64(values)
        }
        Numbers::Block(column) if column.is_complete() => Numbers::Block(column),
        Numbers::Block(column) => {
            let filled = column.iter().map(|v| if v.is_nan() { fill } else { v });
            Numbers::F64(filled.collect())
        }
    }
}

/// Refuses numbers that are infinite or, where nothing stands in for them, missing.
fn check_finite(blocks: &[(usize, Block)], schema: &Schema) -> Result<()> {
    let refused = blocks
        .par_iter()
        .zip(&schema.columns)
        .find_map_first(|((_, block), raw)| {
            let Block::Numbers(numbers) = block else {
                return None;
            };
            let row = not_finite(numbers)?;
            let name = &raw.name;
            Some(Error::data(format!(
                "column {name} is not a finite number in row {row}"
            )))
        });
    refused.map_or(Ok(()), Err)
}

fn dense(blocks: Vec<(usize, Block)>, rows: usize, schema: &Schema) -> Result<Design> {
    let width = schema.features;
    let exact = blocks.par_iter().all(|(_, block)| match block {
        Block::Numbers(Numbers::F64(values)) => position(values, |v| !exact_in_f32(v)).is_none(),
        Block::Numbers(Numbers::Block(column)) => column.iter().all(exact_in_f32),
        _ => true,
    });
    if !exact && let Some(columns) = whole(&blocks) {
        check_finite(&blocks, schema)?;
        drop(blocks);
        let values = BlockColumn::into_rows(columns.into_iter());
        return Ok(Design::Dense64(Dense::new(values, rows, width)?));
    }
    let blocks = &blocks;
    Ok(if exact {
        Design::Dense32(Dense::new(
            row_major(blocks, rows, schema, |v| v as f32)?,
            rows,
            width,
        )?)
    } else {
        Design::Dense64(Dense::new(row_major(blocks, rows, schema, |v| v)?, rows, width)?)
    })
}

/// The columns, if they are numbers that are stored as the rows of the design already.
fn whole(blocks: &[(usize, Block)]) -> Option<Vec<BlockColumn>> {
    let mut columns = Vec::with_capacity(blocks.len());
    for (_, block) in blocks {
        let Block::Numbers(Numbers::Block(column)) = block else {
            return None;
        };
        columns.push(column.clone());
    }
    BlockColumn::are_whole(columns.iter()).then_some(columns)
}

/// Writes columns into rows: blocks of rows in parallel, each small enough to stay in the first cache
/// while every column adds its part. Numbers are checked on the way, while they are in the cache.
fn row_major<T: Copy + Default + Send>(
    blocks: &[(usize, Block)],
    rows: usize,
    schema: &Schema,
    convert: impl Fn(f64) -> T + Sync,
) -> Result<Vec<T>> {
    const CACHED: usize = 2048;
    // So that a thread goes on where it is instead of sharing small blocks with the others.
    const AT_ONCE: usize = 16;
    let width = schema.features;
    let height = (CACHED / width.max(1)).max(16);
    let mut values = vec![T::default(); rows * width];
    let write = |(part, values): (usize, &mut [T])| {
        let start = part * height;
        let span = start..(start + height).min(rows);
        blocks.iter().all(|(offset, block)| {
            let out = values.chunks_exact_mut(width);
            match block {
                Block::Numbers(Numbers::F32(column)) => {
                    let column = &column[span.clone()];
                    out.zip(column)
                        .for_each(|(row, &v)| row[*offset] = convert(v.into()));
                    position(column, |v| !v.is_finite()).is_none()
                }
                Block::Numbers(Numbers::F64(column)) => {
                    let column = &column[span.clone()];
                    out.zip(column).for_each(|(row, &v)| row[*offset] = convert(v));
                    position(column, |v| !v.is_finite()).is_none()
                }
                Block::Numbers(Numbers::Block(column)) => {
                    let values = || column.from(start).take(span.len());
                    out.zip(values()).for_each(|(row, v)| row[*offset] = convert(v));
                    column.is_complete() || values().all(f64::is_finite)
                }
                Block::Levels(places) => {
                    out.zip(&places[span.clone()])
                        .filter(|(_, place)| **place != NONE)
                        .for_each(|(row, &place)| row[offset + place as usize] = convert(1.0));
                    true
                }
                // A design with texts is sparse.
                Block::Text(_) => true,
            }
        })
    };
    let finite = values
        .par_chunks_mut((height * width).max(1))
        .enumerate()
        .with_min_len(AT_ONCE)
        .all(write);
    if !finite {
        check_finite(blocks, schema)?;
    }
    Ok(values)
}

fn sparse(mut blocks: Vec<(usize, Block)>, rows: usize, width: usize) -> Result<Design> {
    if let [(_, Block::Text(_))] = blocks.as_slice()
        && let Some((_, Block::Text(text))) = blocks.pop()
    {
        return Design::from_csr(text.starts, text.indices, text.values, width);
    }
    const HEIGHT: usize = 4096;
    let parts = (0..rows.div_ceil(HEIGHT))
        .into_par_iter()
        .map(|part| {
            let mut out = SparseRows::new();
            for i in part * HEIGHT..((part + 1) * HEIGHT).min(rows) {
                for (offset, block) in &blocks {
                    let offset = *offset as u32;
                    match block {
                        Block::Numbers(numbers) if numbers.get(i) != 0.0 => out.put(offset, numbers.get(i)),
                        Block::Levels(places) if places[i] != NONE => out.put(offset + places[i], 1.0),
                        Block::Text(text) => (text.starts[i]..text.starts[i + 1])
                            .for_each(|at| out.put(offset + text.indices[at], text.values[at])),
                        _ => {}
                    }
                }
                out.end_row();
            }
            out
        })
        .collect();
    let all = SparseRows::join(parts);
    Design::from_csr(all.starts, all.indices, all.values, width)
}

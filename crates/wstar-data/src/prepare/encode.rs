//! Encoding of raw columns as the rows of a design, by the encodings of a schema.
//!
//! Numbers are unchanged, categories become one column for each level, texts become columns of terms. The storage depends
//! on the schema alone, so new rows are stored in the same format as the training rows: sparse if there is a text, or if
//! there are categories and more than [`DENSE_WIDTH`] columns of which less than a quarter can be nonzero in a row; dense
//! otherwise.

use crate::setting::Setting;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::design::{Dense, exact_in_f32};
use crate::error::{Error, Result, shown};
use crate::prepare::missing_values::not_finite;
use crate::prepare::target::{as_number, canonical, position_of};
use crate::schema::text_encoding::SparseRows;
use crate::{BlockColumn, Cells, Column, DatasetNote, Design, Encoding, Numbers, RawColumn, Schema, Texts};
use wstar_numeric::find_rare::position;

/// The treatment of categories that did not occur in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unseen {
    /// Refuse the data and name the category.
    #[default]
    Refuse,
    /// Encode the category as none of the known levels.
    Ignore,
}

/// A design without texts is dense if it has at most this many columns.
/// Heuristic: dense rows this short are fast even if they are mostly zeros; not measured yet.
const DENSE_WIDTH: usize = 64;

/// The code of a row that has none of the levels of a column.
const NONE: u32 = u32::MAX;

/// The contribution of a raw column to the rows.
enum EncodedColumn {
    /// Numbers, unchanged.
    Numbers(Numbers),
    /// For each row, the position of the one-hot column that is 1 among those of this encoding; or [`NONE`].
    Levels(Vec<u32>),
    /// Sparse rows of terms.
    Text(SparseRows),
}

/// Encodes `columns`, which must be in the order of the schema and of the kinds that their encodings require (see
/// [`converted`]). Ignored values are reported in `notes`.
pub(super) fn encode(
    columns: Vec<Column>,
    rows: usize,
    schema: &Schema,
    unseen: Unseen,
    notes: &mut Vec<DatasetNote>,
) -> Result<Design> {
    if schema.features > u32::MAX as usize {
        return Err(Error::data(format!(
            "{} features are too many: their indices must fit 32 bits",
            schema.features
        )));
    }
    let encoded: Vec<Result<(EncodedColumn, usize)>> = columns
        .into_par_iter()
        .zip(&schema.columns)
        .map(|(column, raw)| block(column, raw, unseen))
        .collect();
    let (mut blocks, mut offset) = (Vec::with_capacity(encoded.len()), 0);
    for (encoded, raw) in encoded.into_iter().zip(&schema.columns) {
        let (block, ignored) = encoded?;
        if ignored > 0 {
            notes.push(DatasetNote::UnseenCategories {
                column: raw.name.clone(),
                cells: ignored,
            });
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

/// Whether the design of a schema is stored in CSR format.
fn is_sparse(schema: &Schema) -> bool {
    let count =
        |wanted: fn(&Encoding) -> bool| schema.columns.iter().filter(|raw| wanted(&raw.encoding)).count();
    let texts = count(|encoding| matches!(encoding, Encoding::Text(_)));
    let categories = count(|encoding| matches!(encoding, Encoding::OneHot { .. }));
    let filled_at_most = schema.columns.len();
    // Heuristic: the limit of a quarter trades the memory of sparse entries against that of zeros; not measured yet.
    texts > 0 || (categories > 0 && schema.features > DENSE_WIDTH && 4 * filled_at_most < schema.features)
}

/// Converts the cells of a column to the kind that its encoding requires: the kind that a reader infers from a file with few
/// rows may differ from that of the training file.
pub(super) fn converted(mut column: Column, encoding: &Encoding) -> Result<Column> {
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

/// Encodes one column; also returns the number of cells with a level that did not occur in training.
fn block(column: Column, raw: &RawColumn, unseen: Unseen) -> Result<(EncodedColumn, usize)> {
    let name = &raw.name;
    match (column.cells, &raw.encoding) {
        (Cells::Numbers(mut numbers), Encoding::Number { fill }) => {
            if let Some(fill) = *fill {
                numbers = filled(numbers, fill);
            }
            Ok((EncodedColumn::Numbers(numbers), 0))
        }
        (Cells::Categories { codes, levels }, Encoding::OneHot { levels: known, fill }) => {
            let column_of = |level: usize| match (known.len(), level) {
                (2, 0) => NONE,
                (2, _) => 0,
                _ => level as u32,
            };
            let exact: FxHashMap<&str, usize> = known.iter().map(String::as_str).zip(0..).collect();
            let columns: Vec<Option<u32>> = levels
                .iter()
                .map(|level| {
                    exact
                        .get(level.as_str())
                        .copied()
                        .or_else(|| position_of(level, known))
                })
                .map(|level| level.map(column_of))
                .collect();
            let fill = fill
                .as_ref()
                .and_then(|fill| exact.get(fill.as_str()))
                .map(|&level| column_of(level));
            let mut ignored = 0;
            let mut encoded = Vec::with_capacity(codes.len());
            for (row, &code) in codes.iter().enumerate() {
                encoded.push(match (columns.get(code as usize), unseen) {
                    (Some(Some(column)), _) => *column,
                    (Some(None), Unseen::Refuse) => {
                        return Err(Error::data(format!(
                            "{} in column {name} (row {row}) was never seen in training",
                            shown(&levels[code as usize])
                        ))
                        .remedy(Setting::Unseen.to("ignore")));
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
            Ok((EncodedColumn::Levels(encoded), ignored))
        }
        (Cells::Texts(texts), Encoding::Text(encoding)) => {
            Ok((EncodedColumn::Text(encoding.encode(&texts)), 0))
        }
        _ => Err(Error::model(format!(
            "column {name} is of another kind than in training"
        ))),
    }
}

/// The numbers with missing ones replaced by `fill`.
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

/// Refuses numbers that are infinite, or missing and not replaced.
fn check_finite(blocks: &[(usize, EncodedColumn)], schema: &Schema) -> Result<()> {
    let refused = blocks
        .par_iter()
        .zip(&schema.columns)
        .find_map_first(|((_, block), raw)| {
            let EncodedColumn::Numbers(numbers) = block else {
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

/// The dense design of encoded columns, in `f32` if that is exact.
fn dense(blocks: Vec<(usize, EncodedColumn)>, rows: usize, schema: &Schema) -> Result<Design> {
    let width = schema.features;
    let exact = blocks.par_iter().all(|(_, block)| match block {
        EncodedColumn::Numbers(Numbers::F64(values)) => position(values, |v| !exact_in_f32(v)).is_none(),
        EncodedColumn::Numbers(Numbers::Block(column)) => column.iter().all(exact_in_f32),
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

/// The columns, if they are numbers that are already stored as the rows of the design.
fn whole(blocks: &[(usize, EncodedColumn)]) -> Option<Vec<BlockColumn>> {
    let mut columns = Vec::with_capacity(blocks.len());
    for (_, block) in blocks {
        let EncodedColumn::Numbers(Numbers::Block(column)) = block else {
            return None;
        };
        columns.push(column.clone());
    }
    BlockColumn::are_whole(columns.iter()).then_some(columns)
}

/// The values of the columns in row-major order. Blocks of rows are written in parallel; each is small enough to stay in the
/// L1 cache while all columns are written. Numbers are validated at the same time, while they are in the cache.
fn row_major<T: Copy + Default + Send>(
    blocks: &[(usize, EncodedColumn)],
    rows: usize,
    schema: &Schema,
    convert: impl Fn(f64) -> T + Sync,
) -> Result<Vec<T>> {
    /// The number of values in a block of at least 16 rows. Derived: 2048 values have at most 16 KB, half of a 32 KB L1 cache.
    const CACHED: usize = 2048;
    /// The minimum number of consecutive blocks that a thread writes.
    /// Heuristic: larger runs read the columns in longer ranges and balance the threads less well; not measured yet.
    const AT_ONCE: usize = 16;
    let width = schema.features;
    let height = (CACHED / width.max(1)).max(16);
    let mut values = vec![T::default(); rows * width];
    let write = |(index, values): (usize, &mut [T])| {
        let start = index * height;
        let span = start..(start + height).min(rows);
        blocks.iter().all(|(offset, block)| {
            let out = values.chunks_exact_mut(width);
            match block {
                EncodedColumn::Numbers(Numbers::F32(column)) => {
                    let column = &column[span.clone()];
                    out.zip(column)
                        .for_each(|(row, &v)| row[*offset] = convert(v.into()));
                    position(column, |v| !v.is_finite()).is_none()
                }
                EncodedColumn::Numbers(Numbers::F64(column)) => {
                    let column = &column[span.clone()];
                    out.zip(column).for_each(|(row, &v)| row[*offset] = convert(v));
                    position(column, |v| !v.is_finite()).is_none()
                }
                EncodedColumn::Numbers(Numbers::Block(column)) => {
                    let values = || column.from(start).take(span.len());
                    out.zip(values()).for_each(|(row, v)| row[*offset] = convert(v));
                    column.is_complete() || values().all(f64::is_finite)
                }
                EncodedColumn::Levels(columns) => {
                    out.zip(&columns[span.clone()])
                        .filter(|(_, column)| **column != NONE)
                        .for_each(|(row, &column)| row[offset + column as usize] = convert(1.0));
                    true
                }
                // A design with texts is sparse.
                EncodedColumn::Text(_) => true,
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

/// The CSR design of encoded columns.
fn sparse(mut blocks: Vec<(usize, EncodedColumn)>, rows: usize, width: usize) -> Result<Design> {
    if let [(_, EncodedColumn::Text(_))] = blocks.as_slice()
        && let Some((_, EncodedColumn::Text(text))) = blocks.pop()
    {
        return Design::from_csr(text.starts, text.indices, text.values, width);
    }
    /// The number of rows that one task encodes.
    /// Heuristic: small tasks balance the threads, large tasks have less overhead; not measured yet.
    const HEIGHT: usize = 4096;
    let encoded = (0..rows.div_ceil(HEIGHT))
        .into_par_iter()
        .map(|block| {
            let mut out = SparseRows::new();
            for i in block * HEIGHT..((block + 1) * HEIGHT).min(rows) {
                for (offset, block) in &blocks {
                    let offset = *offset as u32;
                    match block {
                        EncodedColumn::Numbers(numbers) if numbers.get(i) != 0.0 => {
                            out.put(offset, numbers.get(i))
                        }
                        EncodedColumn::Levels(columns) if columns[i] != NONE => {
                            out.put(offset + columns[i], 1.0)
                        }
                        EncodedColumn::Text(text) => (text.starts[i]..text.starts[i + 1])
                            .for_each(|at| out.put(offset + text.indices[at], text.values[at])),
                        _ => {}
                    }
                }
                out.end_row();
            }
            out
        })
        .collect();
    let all = SparseRows::join(encoded);
    Design::from_csr(all.starts, all.indices, all.values, width)
}

//! The rows of a CSV file under the schema of a model.
//!
//! The separator is the one of `,`, `;`, tab and `|` with which the first line has all the columns that the model needs; if
//! there are several or none, the file is refused. The first line is the header. If every name that the model needs is `x1`,
//! `x2` … and the first line does not have them, there is no header, and these names number the columns.

use std::collections::BTreeMap;

use crate::csv::{Cell, Csv, is_missing, number, utf8};
use crate::schema::{Encoding, Schema, position, unsupported};
use crate::training_rows::TrainingRows;
use crate::unreadable::{Fault, Reading, Unreadable, require, shown};

/// How a CSV file is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableOptions {
    /// The separator; otherwise the one with which the first line has all columns.
    pub delimiter: Option<u8>,
    /// Whether rows with a missing value that the schema does not replace are left out; otherwise they are refused.
    pub drop_missing: bool,
}

/// Reads the rows of a file called `name`.
pub(crate) fn read(
    bytes: &[u8],
    name: &str,
    schema: &Schema,
    options: TableOptions,
) -> Reading<TrainingRows> {
    if let Some(refusal) = unsupported(schema) {
        return Err(refusal);
    }
    let text = utf8(bytes).map_err(|fault| fault.locate(bytes, name))?;
    let plan = Plan::find(text, schema, options.delimiter).map_err(|error| error.in_file(name))?;
    let rows = plan.rows(text, schema, options.drop_missing);
    let rows = rows.map_err(|fault| fault.locate(text.as_bytes(), name))?;
    rows.checked().map_err(|error| error.in_file(name))
}

struct Plan {
    delimiter: u8,
    has_header: bool,
    /// The number of cells of each row.
    cells: usize,
    /// The indices of the cells of the raw columns of the schema.
    columns: Vec<usize>,
    target: usize,
    weight: Option<usize>,
}

impl Plan {
    fn find(text: &str, schema: &Schema, delimiter: Option<u8>) -> Reading<Self> {
        let candidates = delimiter.map_or(b",;\t|".to_vec(), |delimiter| vec![delimiter]);
        let plan = |&delimiter: &u8| Plan::with(text, schema, delimiter);
        let plans = candidates.iter().map(plan);
        let (mut fitting, mut others): (Vec<_>, Vec<_>) = plans.partition(Result::is_ok);
        match fitting.len() {
            // The refusal under the first candidate, the comma, is shown.
            0 => others.swap_remove(0),
            1 => fitting.swap_remove(0),
            _ => {
                let refusal = "several separators fit the first line: the separator must be given";
                Err(Unreadable::new(refusal))
            }
        }
    }

    fn with(text: &str, schema: &Schema, delimiter: u8) -> Reading<Self> {
        let mut cells = Vec::new();
        let is_row = Csv::new(text, delimiter).next(&mut cells);
        let is_row = is_row.map_err(|fault| Unreadable::new(fault.message))?;
        require(is_row, || "the file is empty")?;
        let target = schema.target.as_deref();
        let target = target.ok_or_else(|| Unreadable::new("the model does not name its target column"))?;
        let mut wanted: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
        wanted.push(target);
        wanted.extend(schema.sample_weight.as_deref());
        let mut positions = BTreeMap::new();
        for (index, cell) in cells.iter().enumerate() {
            let name = cell.content.trim_ascii();
            let certain = positions.insert(name, index).is_none() || !wanted.contains(&name);
            require(certain, || format!("two columns are called {}", shown(name)))?;
        }
        let has_header = wanted.iter().all(|name| positions.contains_key(name));
        let numbered = !has_header && wanted.iter().all(|name| column_number(name).is_some());
        let index = |name: &&str| {
            let index = match numbered {
                true => column_number(name).filter(|index| *index < cells.len()),
                false => positions.get(name).copied(),
            };
            let missing = || format!("there is no column {}, which the model needs", shown(name));
            index.ok_or_else(|| Unreadable::new(missing()))
        };
        let mut columns = wanted.iter().map(index).collect::<Reading<Vec<usize>>>()?;
        let mut rest = columns.split_off(schema.columns.len()).into_iter();
        let (target, weight) = (rest.next().unwrap_or_default(), rest.next());
        Ok(Plan {
            delimiter,
            has_header,
            cells: cells.len(),
            columns,
            target,
            weight,
        })
    }

    fn rows(&self, text: &str, schema: &Schema, drop_missing: bool) -> Result<TrainingRows, Fault> {
        let (mut csv, mut cells) = (Csv::new(text, self.delimiter), Vec::new());
        if self.has_header {
            csv.next(&mut cells)?;
        }
        let (mut rows, sparse) = (TrainingRows::new(schema.features), schema.is_sparse());
        while csv.next(&mut cells)? {
            if cells.len() != self.cells {
                let (found, expected) = (cells.len(), self.cells);
                let message = format!("{found} cells in this row where the first has {expected}");
                return Err(Fault::new(cells.first().map_or(0, |cell| cell.offset), message));
            }
            match drop_missing && self.misses(&cells, schema) {
                true => rows.left_out += 1,
                false => self.encode(&cells, schema, sparse, &mut rows)?,
            }
        }
        Ok(rows)
    }

    /// Whether a row has a missing value that the schema does not replace.
    fn misses(&self, cells: &[Cell<'_>], schema: &Schema) -> bool {
        let missing = |index: usize| is_missing(&cells[index].content);
        let mut columns = self.columns.iter().zip(&schema.columns);
        missing(self.target)
            || self.weight.is_some_and(missing)
            || columns.any(|(&index, column)| !column.encoding.is_filled() && missing(index))
    }

    fn encode(
        &self,
        cells: &[Cell<'_>],
        schema: &Schema,
        sparse: bool,
        rows: &mut TrainingRows,
    ) -> Result<(), Fault> {
        let mut first = 0;
        for (&index, raw) in self.columns.iter().zip(&schema.columns) {
            let cell = &cells[index];
            let refuse = |message: String| Fault::new(cell.offset, message);
            match &raw.encoding {
                Encoding::Number(fill) => {
                    let value = value(&cell.content, *fill, &raw.name).map_err(refuse)?;
                    rows.design.put(first, schema.scaled(first, value), sparse);
                }
                Encoding::OneHot(levels, fill) => {
                    let level = level(&cell.content, levels, *fill, &raw.name).map_err(refuse)?;
                    for (column, of_column) in (first..).zip(raw.encoding.levels()) {
                        let value = schema.scaled(column, f64::from(level == of_column));
                        rows.design.put(column, value, sparse);
                    }
                }
                Encoding::Text => return Err(refuse("text is not read here".into())),
            }
            first += raw.encoding.levels().len();
        }
        let target = &cells[self.target];
        let found = match is_missing(&target.content) {
            true => Err("the target is missing".into()),
            false => schema.target_of(&target.content),
        };
        let found = found.map_err(|message| Fault::new(target.offset, message))?;
        let weight = self.weight.map(|index| sample_weight(&cells[index]));
        rows.end_row(found, weight.transpose()?);
        Ok(())
    }
}

/// The index of the column called `x1`, `x2` ….
fn column_number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('x')?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<usize>().ok().filter(|_| plain)?.checked_sub(1)
}

#[inline]
fn value(cell: &str, fill: Option<f64>, column: &str) -> Result<f64, String> {
    let cell = cell.trim_ascii();
    if let Some(value) = number(cell) {
        return Ok(value);
    }
    match is_missing(cell) {
        true => fill.ok_or_else(|| format!("a missing value in column {}", shown(column))),
        false => Err(format!(
            "{} is not a finite number, as column {} needs",
            shown(cell),
            shown(column)
        )),
    }
}

fn level(cell: &str, levels: &[String], fill: Option<usize>, column: &str) -> Result<usize, String> {
    let found = match is_missing(cell) {
        true => fill.ok_or_else(|| "a missing value".into()),
        false => position(levels, cell)
            .and_then(|found| found.ok_or_else(|| format!("{} is not a category of the model", shown(cell)))),
    };
    found.map_err(|message| format!("{message} in column {}", shown(column)))
}

fn sample_weight(cell: &Cell<'_>) -> Result<f64, Fault> {
    let weight = number(cell.content.trim_ascii()).filter(|weight| *weight >= 0.0);
    weight.ok_or_else(|| Fault::new(cell.offset, "the sample weight is not a number from 0 on"))
}

//! The rows of a CSV file under the schema of a model.
//!
//! The separator is the one of `,`, `;`, tab and `|` with which the first line has all the columns that the model needs; if
//! there are several or none, the file is refused. The first line is the header. If every name that the model needs is `x1`,
//! `x2` … and the first line does not have them, there is no header, and these names number the columns.

use std::collections::BTreeMap;

use crate::csv::{Cell, Csv, is_missing, number, utf8};
use crate::schema::{Encoding, Schema, unsupported};
use crate::training_rows::{RowBuilder, TrainingRows};
use crate::unreadable::{Fault, Reading, Unreadable, shown};

/// How a CSV file is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableOptions {
    /// The separator; otherwise the one with which the first line has all columns.
    pub delimiter: Option<u8>,
    /// Whether rows with a missing value that the schema does not replace are left out; otherwise they are refused.
    pub drop_missing: bool,
}

/// Reads the rows of a file called `name`.
pub fn read(bytes: &[u8], name: &str, schema: &Schema, options: TableOptions) -> Reading<TrainingRows> {
    if let Some(refusal) = unsupported(schema) {
        return Err(refusal);
    }
    let text = utf8(bytes).map_err(|fault| fault.locate(bytes, name))?;
    let plan = Plan::find(text, schema, options.delimiter).map_err(|error| error.in_file(name))?;
    let rows = plan.rows(text, schema, options.drop_missing);
    let rows = rows.map_err(|fault| fault.locate(text.as_bytes(), name))?;
    rows.finish().map_err(|error| error.in_file(name))
}

/// Which cells of a row are used.
struct Plan {
    delimiter: u8,
    has_header: bool,
    /// The number of cells of each row.
    cells: usize,
    /// The index of the cell of each raw column of the schema.
    columns: Vec<usize>,
    target: usize,
    weight: Option<usize>,
}

impl Plan {
    fn find(text: &str, schema: &Schema, delimiter: Option<u8>) -> Reading<Self> {
        let candidates = match delimiter {
            Some(delimiter) => vec![delimiter],
            None => b",;\t|".to_vec(),
        };
        let plans = candidates
            .iter()
            .map(|&delimiter| Plan::with(text, schema, delimiter));
        let (mut fitting, mut refusals) = (Vec::new(), Vec::new());
        for plan in plans {
            match plan {
                Ok(plan) => fitting.push(plan),
                Err(refusal) => refusals.push(refusal),
            }
        }
        match (fitting.pop(), fitting.is_empty()) {
            (Some(plan), true) => Ok(plan),
            (Some(_), false) => Err(Unreadable::new(
                "several separators fit the first line: the separator must be given",
            )),
            // The refusal under the first candidate, the comma, is shown.
            (None, _) => Err(refusals.swap_remove(0)),
        }
    }

    fn with(text: &str, schema: &Schema, delimiter: u8) -> Reading<Self> {
        let mut csv = Csv::new(text, delimiter);
        let mut cells = Vec::new();
        let is_row = csv
            .next(&mut cells)
            .map_err(|fault| Unreadable::new(fault.message))?;
        if !is_row {
            return Err(Unreadable::new("the file is empty"));
        }
        let missing = |name: &str| {
            Unreadable::new(format!(
                "there is no column {}, which the model needs",
                shown(name)
            ))
        };
        let target = schema
            .target
            .as_deref()
            .ok_or_else(|| Unreadable::new("the model does not name its target column"))?;
        let features = schema.columns.iter().map(|column| column.name.as_str());
        let wanted: Vec<&str> = features
            .chain([target])
            .chain(schema.sample_weight.as_deref())
            .collect();
        let names: Vec<String> = cells
            .iter()
            .map(|cell| cell.content(text).trim_ascii().to_owned())
            .collect();
        let mut positions = BTreeMap::new();
        for (index, name) in names.iter().enumerate() {
            if positions.insert(name.as_str(), index).is_some() && wanted.contains(&name.as_str()) {
                return Err(Unreadable::new(format!("two columns are called {}", shown(name))));
            }
        }
        let in_header = |name: &&str| positions.get(name).copied();
        let numbered = |name: &&str| column_number(name).filter(|index| *index < cells.len());
        let has_header = wanted.iter().all(|name| in_header(name).is_some());
        let without_header = wanted.iter().all(|name| column_number(name).is_some());
        let mut indices = Vec::with_capacity(wanted.len());
        for name in &wanted {
            let index = if without_header && !has_header {
                numbered(name)
            } else {
                in_header(name)
            };
            indices.push(index.ok_or_else(|| missing(name))?);
        }
        let weight = schema.sample_weight.as_ref().and_then(|_| indices.pop());
        let target = indices.pop().ok_or_else(|| missing(target))?;
        Ok(Plan {
            delimiter,
            has_header,
            cells: cells.len(),
            columns: indices,
            target,
            weight,
        })
    }

    fn rows(&self, text: &str, schema: &Schema, drop_missing: bool) -> Result<RowBuilder, Fault> {
        let mut csv = Csv::new(text, self.delimiter);
        let mut cells = Vec::with_capacity(self.cells);
        if self.has_header {
            csv.next(&mut cells)?;
        }
        let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count();
        let weighted = self.weight.is_some();
        let mut rows = RowBuilder::new(schema.features, schema.is_sparse(), weighted, lines, text.len());
        loop {
            if !csv.next(&mut cells)? {
                return Ok(rows);
            }
            if cells.len() != self.cells {
                let message = format!(
                    "{} cells in this row where the first has {}",
                    cells.len(),
                    self.cells
                );
                return Err(Fault::new(cells.first().map_or(0, Cell::offset), message));
            }
            if drop_missing && self.misses(text, &cells, schema) {
                rows.leave_out();
                continue;
            }
            self.encode(text, &cells, schema, &mut rows)?;
        }
    }

    /// Whether a row has a missing value that the schema does not replace.
    fn misses(&self, text: &str, cells: &[Cell], schema: &Schema) -> bool {
        let missing = |index: usize| is_missing(cells[index].trimmed(text));
        let unfilled = |column: &Encoding| {
            matches!(
                column,
                Encoding::Number { fill: None } | Encoding::OneHot { fill: None, .. }
            )
        };
        let features = self.columns.iter().zip(&schema.columns);
        features
            .filter(|(_, column)| unfilled(&column.encoding))
            .any(|(&index, _)| missing(index))
            || missing(self.target)
            || self.weight.is_some_and(missing)
    }

    fn encode(
        &self,
        text: &str,
        cells: &[Cell],
        schema: &Schema,
        rows: &mut RowBuilder,
    ) -> Result<(), Fault> {
        let mut first = 0;
        for (&index, raw) in self.columns.iter().zip(&schema.columns) {
            let cell = &cells[index];
            match &raw.encoding {
                Encoding::Number { fill } => {
                    let value = number_or_fill(text, cell, *fill, &raw.name)?;
                    rows.put(first, schema.scaled(first, value));
                }
                encoding => {
                    let level = level(text, cell, encoding, &raw.name)?;
                    let width = encoding.width();
                    // Of two levels only the second has a column. The only level of a column has one.
                    let hit = if matches!(encoding, Encoding::OneHot { levels, .. } if levels.names.len() == 2)
                    {
                        level.checked_sub(1)
                    } else {
                        Some(level)
                    };
                    for within in 0..width {
                        let value = f64::from(hit == Some(within));
                        rows.put(first + within, schema.scaled(first + within, value));
                    }
                }
            }
            first += raw.encoding.width();
        }
        let target = self.target(text, cells, schema)?;
        let weight = self
            .weight
            .map(|index| sample_weight(text, &cells[index]))
            .transpose()?;
        rows.end_row(target, weight);
        Ok(())
    }

    fn target(&self, text: &str, cells: &[Cell], schema: &Schema) -> Result<f64, Fault> {
        let cell = &cells[self.target];
        let content = cell.content(text);
        if is_missing(content.trim_ascii()) {
            return Err(Fault::new(cell.offset(), "the target is missing"));
        }
        schema
            .target_of(&content)
            .map_err(|message| Fault::new(cell.offset(), message))
    }
}

/// The index of the column called `x1`, `x2` ….
fn column_number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('x')?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<usize>().ok().filter(|_| plain)?.checked_sub(1)
}

#[inline]
fn number_or_fill(text: &str, cell: &Cell, fill: Option<f64>, name: &str) -> Result<f64, Fault> {
    let content = cell.trimmed(text);
    if let Some(value) = number(content) {
        return Ok(value);
    }
    match (is_missing(content), fill) {
        (true, Some(fill)) => Ok(fill),
        (true, None) => Err(Fault::new(
            cell.offset(),
            format!("a missing value in column {}", shown(name)),
        )),
        _ => Err(Fault::new(
            cell.offset(),
            format!(
                "{} is not a finite number, as column {} needs",
                shown(content),
                shown(name)
            ),
        )),
    }
}

fn level(text: &str, cell: &Cell, encoding: &Encoding, name: &str) -> Result<usize, Fault> {
    let Encoding::OneHot { levels, fill } = encoding else {
        return Err(Fault::new(cell.offset(), "text is not read here"));
    };
    let content = cell.content(text);
    let refuse = |message: String| Fault::new(cell.offset(), format!("{message} in column {}", shown(name)));
    if is_missing(content.trim_ascii()) {
        return fill.ok_or_else(|| refuse("a missing value".into()));
    }
    let found = levels.position(&content).map_err(refuse)?;
    found.ok_or_else(|| refuse(format!("{} is not a category of the model", shown(&content))))
}

fn sample_weight(text: &str, cell: &Cell) -> Result<f64, Fault> {
    let weight = number(cell.trimmed(text)).filter(|weight| *weight >= 0.0);
    weight.ok_or_else(|| Fault::new(cell.offset(), "the sample weight is not a number from 0 on"))
}

//! The rows of an svmlight file: `label index:value index:value … # comment`, one row per line. Group ids (`qid:n`) are skipped.
//! Zeros are left out. An index that is repeated in its row, below the base of the schema or beyond its features is refused.

use crate::csv::{number, utf8};
use crate::schema::{Origin, Schema};
use crate::training_rows::{RowBuilder, TrainingRows};
use crate::unreadable::{Fault, Reading, Unreadable, shown};

/// Reads the rows of a file called `name`.
pub fn read(bytes: &[u8], name: &str, schema: &Schema) -> Reading<TrainingRows> {
    let Origin::Indexed { base } = schema.origin else {
        return Err(Unreadable::new("the model was not trained on an svmlight file"));
    };
    if !schema.shifts.is_empty() {
        return Err(Unreadable::new(
            "the schema shifts the columns of sparse rows, which the engine never does",
        ));
    }
    let text = utf8(bytes).map_err(|fault| fault.locate(bytes, name))?;
    let mut rows = RowBuilder::new(schema.features, true, false, 0, 0);
    let mut entries = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let parsed = parse_row(line, schema, base, &mut entries, &mut rows);
        parsed
            .map_err(|fault| Fault::new(start + fault.offset, fault.message).locate(text.as_bytes(), name))?;
        start += line.len();
    }
    rows.finish().map_err(|error| error.in_file(name))
}

/// Appends the row of a line, if it has one. `entries` is a buffer.
fn parse_row(
    line: &str,
    schema: &Schema,
    base: u64,
    entries: &mut Vec<(usize, f64)>,
    rows: &mut RowBuilder,
) -> Result<(), Fault> {
    let row = line.split('#').next().unwrap_or_default();
    let mut tokens = row
        .split([' ', '\t', '\r', '\n'])
        .filter(|token| !token.is_empty())
        .map(|token| (token.as_ptr() as usize - line.as_ptr() as usize, token));
    let Some((offset, label)) = tokens.next() else {
        return Ok(());
    };
    if number(label).is_none() {
        return Err(Fault::new(
            offset,
            format!("the label {} is not a finite number", shown(label)),
        ));
    }
    let target = schema
        .target_of(label)
        .map_err(|message| Fault::new(offset, message))?;
    entries.clear();
    for (offset, token) in tokens {
        if is_group(token) {
            continue;
        }
        let entry = entry(token, base, schema.features);
        entries.push(entry.map_err(|message| Fault::new(offset, format!("{}: {message}", shown(token))))?);
    }
    if !entries.is_sorted_by_key(|(column, _)| *column) {
        entries.sort_by_key(|(column, _)| *column);
    }
    if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let index = pair[0].0 as u64 + base;
        return Err(Fault::new(
            offset,
            format!("index {index} is repeated in this row"),
        ));
    }
    for &(column, value) in entries.iter() {
        rows.put(column, schema.scaled(column, value));
    }
    rows.end_row(target, None);
    Ok(())
}

fn is_group(token: &str) -> bool {
    let id = token.strip_prefix("qid:");
    id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The column and the value of `index:value`.
fn entry(token: &str, base: u64, features: usize) -> Result<(usize, f64), String> {
    let (index, value) = token.split_once(':').ok_or("index:value is expected")?;
    let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    let index: u64 = match index.parse() {
        Ok(index) if is_index => index,
        _ => return Err("the index is not a whole number".into()),
    };
    let value = number(value).ok_or("the value is not a finite number")?;
    let column = index
        .checked_sub(base)
        .ok_or(format!("the features of the model start at {base}"))?;
    match column < features as u64 {
        true => Ok((column as usize, value)),
        false => Err(format!("the model has {features} features")),
    }
}

//! The rows of an svmlight file: `label index:value index:value … # comment`, one row per line. Group ids (`qid:n`) are skipped.
//! Zeros are left out. An index that is repeated in its row, below the base of the schema or beyond its features is refused.

use crate::csv::{number, utf8};
use crate::schema::{Origin, Schema};
use crate::training_rows::TrainingRows;
use crate::unreadable::{Fault, Reading, Unreadable, require, shown};

/// Reads the rows of a file called `name`.
pub(crate) fn read(bytes: &[u8], name: &str, schema: &Schema) -> Reading<TrainingRows> {
    let Origin::Indexed(base) = schema.origin else {
        return Err(Unreadable::new("the model was not trained on an svmlight file"));
    };
    let refusal = "the schema shifts the columns of sparse rows, which the engine never does";
    require(schema.shifts.is_empty(), || refusal)?;
    let text = utf8(bytes).map_err(|fault| fault.locate(bytes, name))?;
    let (mut rows, mut start) = (TrainingRows::new(schema.features), 0);
    for line in text.split_inclusive('\n') {
        let at = |fault: Fault| Fault::new(start + fault.offset, fault.message).locate(text.as_bytes(), name);
        read_row(line, schema, base, &mut rows).map_err(at)?;
        start += line.len();
    }
    rows.checked().map_err(|error| error.in_file(name))
}

/// Appends the row of a line, if it has one.
fn read_row(line: &str, schema: &Schema, base: u64, rows: &mut TrainingRows) -> Result<(), Fault> {
    let row = line.split('#').next().unwrap_or_default();
    let tokens = row
        .split([' ', '\t', '\r', '\n'])
        .filter(|token| !token.is_empty());
    let mut tokens = tokens.map(|token| (token.as_ptr() as usize - line.as_ptr() as usize, token));
    let Some((offset, label)) = tokens.next() else {
        return Ok(());
    };
    let refusal = || format!("the label {} is not a finite number", shown(label));
    number(label).ok_or_else(|| Fault::new(offset, refusal()))?;
    let target = schema.target_of(label);
    let target = target.map_err(|message| Fault::new(offset, message))?;
    let mut entries = Vec::new();
    for (offset, token) in tokens.filter(|(_, token)| !token.strip_prefix("qid:").is_some_and(is_index)) {
        let refuse = |message| Fault::new(offset, format!("{}: {message}", shown(token)));
        entries.push(entry(token, base, schema.features).map_err(refuse)?);
    }
    entries.sort_by_key(|(column, _)| *column);
    if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let index = pair[0].0 as u64 + base;
        let message = format!("index {index} is repeated in this row");
        return Err(Fault::new(offset, message));
    }
    for (column, value) in entries {
        rows.design.put(column, schema.scaled(column, value), true);
    }
    rows.end_row(target, None);
    Ok(())
}

fn is_index(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The column and the value of `index:value`.
fn entry(token: &str, base: u64, features: usize) -> Result<(usize, f64), String> {
    let (index, value) = token.split_once(':').ok_or("index:value is expected")?;
    let index = index.parse::<u64>().ok().filter(|_| is_index(index));
    let index = index.ok_or("the index is not a whole number")?;
    let value = number(value).ok_or("the value is not a finite number")?;
    let below = || format!("the features of the model start at {base}");
    let column = index.checked_sub(base).ok_or_else(below)?;
    match column < features as u64 {
        true => Ok((column as usize, value)),
        false => Err(format!("the model has {features} features")),
    }
}

//! `wstar-check MODEL DATA` proves the claim of a model file, from the model file and the rows alone.
//!
//! Exit code 0: proved. 1: not proved. 2: the input is not readable, or the claim is of a kind that is not checked.

#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use wstar_check::canonical_rows;
use wstar_check::check::{Source, check};
use wstar_check::model::Model;
use wstar_check::report;
use wstar_check::table::TableOptions;
use wstar_check::unreadable::{Reading, Unreadable};
use wstar_check::verdict::Options;

const USAGE: &str = "\
Usage: wstar-check MODEL DATA [OPTIONS]
       wstar-check MODEL --rows FILE [OPTIONS]

Proves the claim of a model file from its rows, such as that the model is within a tolerance of the optimum. MODEL may also be a
proof that `wstar separate --proof` wrote.
DATA is the CSV or svmlight file that the model was trained on.

  --rows FILE         the rows as a file of canonical rows
  --tol T             the tolerance for a relative gap or deviation [default: that of the claim]
  --digits            also prove digits of the optimum
  --delimiter C       the separator of a CSV file, one character or `tab` [default: the one that fits]
  --drop-missing      leave out rows with missing values, as `wstar train --missing drop`
  --write-rows FILE   write the rows of DATA as canonical rows
  --json              print the result as JSON

Exit codes: 0 proved; 1 not proved; 2 not readable, or a kind of claim that is not checked.
";

fn tolerance(text: &str) -> Reading<f64> {
    let valid = |tol: &f64| tol.is_finite() && *tol > 0.0;
    let tol = text.parse().ok().filter(valid);
    tol.ok_or_else(|| Unreadable::new("--tol needs a number above 0"))
}

fn delimiter(text: &str) -> Reading<u8> {
    let of_numbers = |byte: &u8| byte.is_ascii_alphanumeric() || b"\"\r\n.+- ".contains(byte);
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !of_numbers(byte) => Ok(*byte),
        _ => Err(Unreadable::new(
            "--delimiter needs one character that cannot occur in a number",
        )),
    }
}

fn read(path: &str) -> Reading<Vec<u8>> {
    fs::read(path).map_err(|error| Unreadable::new(error.to_string()).in_file(path))
}

/// The output, and whether the claim is proved.
fn run(mut given: impl Iterator<Item = String>) -> Reading<(String, bool)> {
    let (mut files, mut rows, mut write_rows, mut json) = (Vec::new(), None, None, false);
    let (mut options, mut table) = (Options::default(), TableOptions::default());
    while let Some(argument) = given.next() {
        let missing = || Unreadable::new(format!("{argument} needs a value"));
        let mut value = || given.next().ok_or_else(missing);
        match argument.as_str() {
            "--rows" => rows = Some(value()?),
            "--write-rows" => write_rows = Some(value()?),
            "--tol" => options.tol = Some(tolerance(&value()?)?),
            "--delimiter" => table.delimiter = Some(delimiter(&value()?)?),
            "--drop-missing" => table.drop_missing = true,
            "--digits" => options.digits = true,
            "--json" => json = true,
            "--help" | "-h" => return Ok((USAGE.into(), true)),
            option if option.starts_with("--") => {
                return Err(Unreadable::new(format!("unknown option {option}")));
            }
            _ => files.push(argument),
        }
    }
    let (name, data) = match (&files[..], &rows) {
        ([model], Some(rows)) => (model, rows),
        ([model, data], None) => (model, data),
        _ => {
            return Err(Unreadable::new(
                "a model and its data are expected; see wstar-check --help",
            ));
        }
    };
    let model = Model::read(&read(name)?, name)?;
    let source = match rows {
        Some(_) => Source::canonical(&model, &read(data)?, data)?,
        None => Source::file(&model, &read(data)?, data, table)?,
    };
    if let Some(path) = write_rows {
        let bytes = canonical_rows::write(&source.rows, model.classes());
        fs::write(&path, bytes).map_err(|error| Unreadable::new(error.to_string()).in_file(&path))?;
    }
    let verdict = check(&model, &source.rows, options)?;
    let text = match json {
        true => report::json(&model, &source, &verdict),
        false => report::text(&model, name, &source, &verdict),
    };
    Ok((text, verdict.is_proved()))
}

fn main() -> ExitCode {
    let given = std::env::args_os().skip(1);
    // Failures to write are ignored: the exit code carries the result.
    match run(given.map(|argument| argument.to_string_lossy().into_owned())) {
        Ok((text, proved)) => {
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::from(u8::from(!proved))
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "wstar-check: {error}");
            ExitCode::from(2)
        }
    }
}

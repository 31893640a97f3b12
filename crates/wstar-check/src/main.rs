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

#[derive(Default)]
struct Arguments {
    files: Vec<String>,
    rows: Option<String>,
    write_rows: Option<String>,
    tol: Option<f64>,
    digits: bool,
    json: bool,
    help: bool,
    table: TableOptions,
}

impl Arguments {
    fn parse(mut given: impl Iterator<Item = String>) -> Reading<Self> {
        let mut arguments = Arguments::default();
        while let Some(argument) = given.next() {
            let mut value = || {
                given
                    .next()
                    .ok_or_else(|| Unreadable::new(format!("{argument} needs a value")))
            };
            match argument.as_str() {
                "--rows" => arguments.rows = Some(value()?),
                "--write-rows" => arguments.write_rows = Some(value()?),
                "--tol" => arguments.tol = Some(tolerance(&value()?)?),
                "--delimiter" => arguments.table.delimiter = Some(delimiter(&value()?)?),
                "--drop-missing" => arguments.table.drop_missing = true,
                "--digits" => arguments.digits = true,
                "--json" => arguments.json = true,
                "--help" | "-h" => arguments.help = true,
                option if option.starts_with("--") => {
                    return Err(Unreadable::new(format!("unknown option {option}")));
                }
                _ => arguments.files.push(argument),
            }
        }
        let wanted = if arguments.rows.is_some() { 1 } else { 2 };
        match arguments.help || arguments.files.len() == wanted {
            true => Ok(arguments),
            false => Err(Unreadable::new(
                "a model and its data are expected; see wstar-check --help",
            )),
        }
    }
}

fn tolerance(text: &str) -> Reading<f64> {
    let tol = text
        .parse()
        .ok()
        .filter(|tol: &f64| tol.is_finite() && *tol > 0.0);
    tol.ok_or_else(|| Unreadable::new("--tol needs a number above 0"))
}

fn delimiter(text: &str) -> Reading<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n.+- ".contains(byte) => {
            Ok(*byte)
        }
        _ => Err(Unreadable::new(
            "--delimiter needs one character that cannot occur in a number",
        )),
    }
}

fn read(path: &str) -> Reading<Vec<u8>> {
    fs::read(path).map_err(|error| Unreadable::new(error.to_string()).in_file(path))
}

fn run(arguments: &Arguments) -> Reading<(String, bool)> {
    if arguments.help {
        return Ok((USAGE.into(), true));
    }
    let model_name = arguments.files.first().map_or("", String::as_str);
    let model = Model::read(&read(model_name)?, model_name)?;
    let source = match (&arguments.rows, arguments.files.get(1)) {
        (Some(name), _) => Source::canonical(&model, &read(name)?, name)?,
        (None, Some(name)) => Source::file(&model, &read(name)?, name, arguments.table)?,
        (None, None) => return Err(Unreadable::new("no data are given")),
    };
    if let Some(path) = &arguments.write_rows {
        let bytes = canonical_rows::write(&source.rows, model.classes());
        fs::write(path, bytes).map_err(|error| Unreadable::new(error.to_string()).in_file(path))?;
    }
    let options = Options {
        tol: arguments.tol,
        digits: arguments.digits,
    };
    let verdict = check(&model, &source.rows, options)?;
    let text = match arguments.json {
        true => report::json(&model, &source, &verdict),
        false => report::text(&model, model_name, &source, &verdict),
    };
    Ok((text, verdict.is_proved()))
}

fn main() -> ExitCode {
    let given = std::env::args_os().skip(1);
    let arguments = Arguments::parse(given.map(|argument| argument.to_string_lossy().into_owned()));
    // Failures to write are ignored: the exit code carries the result.
    match arguments.and_then(|arguments| run(&arguments)) {
        Ok((text, proved)) => {
            let _ = io::stdout().write_all(text.as_bytes());
            if proved {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(1)
            }
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "wstar-check: {error}");
            ExitCode::from(2)
        }
    }
}

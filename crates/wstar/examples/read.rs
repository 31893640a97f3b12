//! How fast a file is read, and in how much memory:
//! `cargo run --release -p wstar --example read -- FILE [TIMES|stream]`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use wstar::Result;
use wstar::data::{Cells, Design, Numbers, Preparation, Raw, prepare};
use wstar::io::{Chunks, ReadOptions, Source, read};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let source = Source::parse(&arguments.next().unwrap_or_else(|| "@iris".into()))?;
    let how = arguments.next();
    if how.as_deref() == Some("stream") {
        return stream(&source);
    }
    let times: usize = how.and_then(|times| times.parse().ok()).unwrap_or(1);
    for _ in 0..times {
        let start = Instant::now();
        let raw = read(&source, &ReadOptions::default())?;
        let seconds = start.elapsed().as_secs_f64();
        // A pipe cannot be asked a second time how much it held.
        let text = match &source {
            Source::Path(path) if path.is_file() => source.open()?.len() as f64 / 1e6,
            Source::Embedded(_) => source.open()?.len() as f64 / 1e6,
            _ => f64::NAN,
        };
        let size = size(&raw) as f64 / 1e6;
        let start = Instant::now();
        // A file need not have anything to learn from.
        let prepared = prepare(raw, &Preparation::default());
        let design = start.elapsed().as_secs_f64();
        drop(prepared);
        println!(
            "{text:.1} MB in {seconds:.3} s: {:.0} MB/s; result {size:.0} MB; design in {design:.3} s more; peak resident {} MB",
            text / seconds,
            peak()
        );
    }
    Ok(())
}

fn stream(source: &Source) -> Result<()> {
    let start = Instant::now();
    let mut chunks = Chunks::open(source, &ReadOptions::default(), Chunks::BYTES)?;
    let mut rows = 0;
    while let Some(raw) = chunks.next()? {
        rows += match raw {
            Raw::Table(table) => table.rows,
            Raw::Matrix(matrix) => matrix.design.rows(),
        };
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{rows} rows in {seconds:.3} s, peak resident {} MB", peak());
    Ok(())
}

/// Bytes of what was read.
fn size(raw: &Raw) -> usize {
    match raw {
        Raw::Matrix(matrix) => {
            let stored = matrix.design.stored();
            let sparse = 8 * matrix.design.rows();
            8 * matrix.design.rows()
                + match matrix.design {
                    Design::Dense32(_) | Design::Columns32(_) => 4 * stored,
                    Design::Dense64(_) | Design::Columns64(_) => 8 * stored,
                    Design::Sparse32(_) => 8 * stored + sparse,
                    Design::Sparse64(_) => 12 * stored + sparse,
                }
        }
        Raw::Table(table) => {
            let cells = |cells: &Cells| match cells {
                Cells::Numbers(Numbers::F32(values)) => 4 * values.len(),
                Cells::Numbers(Numbers::F64(values)) => 8 * values.len(),
                Cells::Numbers(Numbers::Block(column)) => 8 * column.len(),
                Cells::Categories { codes, .. } => 4 * codes.len(),
                Cells::Texts(texts) => texts.iter().map(|text| text.len() + 8).sum(),
            };
            table.columns.iter().map(|column| cells(&column.cells)).sum()
        }
    }
}

/// The most memory this process ever had, in MB, where the system tells.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1000
}

//! How fast a file that is read already becomes a data set:
//! `cargo run --release -p wstar --example prepare -- FILE [TIMES]`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use wstar::Result;
use wstar::data::{Preparation, prepare};
use wstar::io::{ReadOptions, Source, read};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let source = Source::parse(&arguments.next().unwrap_or_else(|| "@iris".into()))?;
    let times: usize = arguments.next().and_then(|times| times.parse().ok()).unwrap_or(5);
    let raw = read(&source, &ReadOptions::default())?;
    let mut least = f64::INFINITY;
    for _ in 0..times {
        let copy = raw.clone();
        let start = Instant::now();
        let data = prepare(copy, &Preparation::default())?;
        let seconds = start.elapsed().as_secs_f64();
        least = least.min(seconds);
        println!(
            "{} × {} in {:.1} ms",
            data.design.rows(),
            data.design.features(),
            1e3 * seconds
        );
    }
    println!("least: {:.1} ms", 1e3 * least);
    Ok(())
}

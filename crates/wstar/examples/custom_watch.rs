//! Follows a fit and stops it: `cargo run --release -p wstar --example custom_watch`.
#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;

use wstar::data::run::{Iteration, Step};
use wstar::prelude::*;

/// Prints the objective of every iteration, and stops when the solver's estimate of the relative gap is small enough.
struct UntilGood(f64);

impl Watch for UntilGood {
    fn iterate(&mut self, now: &Iteration<'_>) -> ControlFlow<()> {
        println!(
            "{:>3} {} P = {:.9}, gap {:.1e}",
            now.iteration, now.solver, now.objective, now.relative_gap
        );
        match now.relative_gap < self.0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Counts the mistakes of a perceptron in its first hundred steps.
#[derive(Default)]
struct FirstSteps {
    steps: u64,
    mistakes: u64,
}

impl Watch for FirstSteps {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        self.steps += 1;
        self.mistakes += u64::from(step.mistake);
        match self.steps < 100 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

fn main() -> wstar::Result<()> {
    let data = wstar::read("@breast-cancer")?.standardize().dataset()?;
    let model = Logistic::l2().fit_watched(&data, &mut UntilGood(1e-2))?;
    println!(
        "status: {}; the certificate holds: {}",
        model.status().in_words(),
        model.certificate().holds()
    );

    let mut first = FirstSteps::default();
    Perceptrons::online().fit_watched(&data, &mut first)?;
    println!("{} mistakes in the first {} steps", first.mistakes, first.steps);
    Ok(())
}

//! From a CSV file to a model, its test error and its certificate:
//! `cargo run --release -p wstar --example from_csv -- FILE TARGET`.
#![allow(clippy::print_stdout)]

use wstar::prelude::*;

fn main() -> wstar::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| "@breast-cancer".into());
    let mut reader = wstar::read(&file)?.standardize();
    if let Some(target) = arguments.next() {
        reader = reader.with_target(target);
    }
    let (train, test) = reader.holdout(0.2, 1)?;
    let model = Logistic::l2().c(1.0).fit(&train)?;
    let found = model.evaluate(&test)?;
    if let Some(found) = found.classes() {
        println!(
            "test error {:.1} % of {} rows",
            100.0 * found.error(),
            found.rows()
        );
    }
    if let Some(found) = found.real() {
        println!("mean squared error {} of {} rows", found.mse(), found.rows());
    }
    for (j, plane) in model.hyperplanes().unwrap_or_default().iter().enumerate() {
        let heaviest = (0..plane.weights.len())
            .max_by(|&a, &b| plane.weights[a].abs().total_cmp(&plane.weights[b].abs()));
        if let Some(heaviest) = heaviest {
            println!(
                "hyperplane {j}: the largest weight is that of {}",
                train.schema().feature_name(heaviest)
            );
        }
    }
    println!(
        "certificate: {}, verified: {}",
        model.certificate().kind(),
        model.verify(&train)?.holds()
    );
    for note in model.notes() {
        println!("note: {note}");
    }
    Ok(())
}

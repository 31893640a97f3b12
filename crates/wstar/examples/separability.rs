//! Whether classes can be separated by a hyperplane, with a proof in exact arithmetic:
//! `cargo run --release -p wstar --example separability -- DATA`.
#![allow(clippy::print_stdout)]

use wstar::prelude::*;

fn main() -> wstar::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "@iris".into());
    let data = wstar::read(&name)?.dataset()?;
    // One answer for two classes, otherwise one for each class against the rest.
    for found in wstar::separability(&data)? {
        let Some(proof) = found.proof else {
            println!("not decided");
            continue;
        };
        let checked = proof.check_data(&data)?;
        println!(
            "{} and {} are {}; the margin is at most {:.4}; the proof {}",
            proof.classes.positive,
            proof.classes.negative,
            proof.verdict.name(),
            proof.margin.upper,
            if checked.holds { "holds" } else { "does not hold" },
        );
    }
    // The hyperplane itself, where there is one.
    let data = wstar::read("@iris")?.positive("setosa").dataset()?;
    let model = MaximumMargin::new().fit(&data)?;
    println!("setosa: {:?}", model.hyperplanes().unwrap_or_default());
    Ok(())
}

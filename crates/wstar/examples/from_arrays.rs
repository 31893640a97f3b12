//! Fits models to arrays in memory: `cargo run --release -p wstar --example from_arrays`.
//!
//! The features `ndarray` and `sprs` add constructors for the matrices of these libraries, without a copy.
#![allow(clippy::print_stdout)]

use wstar::prelude::*;

fn main() -> wstar::Result<()> {
    // Rows as arrays; classes as anything that can be printed.
    let rows = [
        [0.5, 1.2],
        [1.5, 0.3],
        [2.0, 2.2],
        [3.1, 1.9],
        [2.7, 0.4],
        [0.2, 2.5],
    ];
    let bought = [false, false, true, true, true, false];
    let data = Dataset::labelled(&rows, &bought)?.with_columns(["income", "age"])?;
    let model = Logistic::l2().c(10.0).fit(&data)?;
    println!(
        "classes of two new rows: {:?}",
        model.labels(&Dataset::unlabelled(&[[2.5, 1.0], [0.1, 1.0]])?)?
    );

    // A matrix in one vector, by rows.
    let values: Vec<f64> = (0..3000).map(|i| f64::from(i * i % 101)).collect();
    let design = Design::from_dense(values, 1000, 3)?;
    let targets: Vec<f64> = design
        .iter()
        .map(|row| 3.0 + row.dot(&[1.0, -2.0, 0.5]))
        .collect();
    let model = LeastSquares::unpenalized().fit(&Dataset::measured(design, targets)?)?;
    println!("least squares: {:?}", model.hyperplanes().unwrap_or_default());

    // Sparse rows: the start of each row, column indices, values.
    let design = Design::from_csr(
        vec![0, 2, 3, 5],
        vec![0, 7, 2, 1, 7],
        vec![1.0, 2.0, 1.0, 0.5, 1.0],
        8,
    )?;
    let data = Dataset::labelled(design, &["ham", "spam", "ham"])?;
    println!("sparse: {}", Svm::l2().fit(&data)?.certificate().kind());
    Ok(())
}

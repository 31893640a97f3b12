//! A custom loss with the solvers of wstar: `cargo run --release -p wstar --example custom_loss`.
//!
//! A batch solver knows the rows only through sums of a loss and its derivatives. Here the sums are those of the log-cosh
//! loss ℓ(r) = log cosh r of the residual r = y − z, a smooth loss that grows like |r|. The dual bound that comes with the
//! gradient holds for every convex loss with minimum 0.
#![allow(clippy::print_stdout)]

use wstar::data::linear::Layout;
use wstar::data::run::{Budget, Unwatched};
use wstar::prelude::*;
use wstar::problem::loss::LossName;
use wstar::problem::objective::{LinePoint, Objective, Query, SumOverRows, Sums};
use wstar::problem::penalty::{Penalty, PenaltyName};
use wstar::problem::problem::{Intercept, Problem};
use wstar::solve::{Control, Newton};

/// Rows with a 1 at the end for the intercept, and their targets.
struct LogCosh {
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    passes: u64,
}

impl LogCosh {
    /// The loss at each score, with its first two derivatives by the score.
    fn losses(&self, at: &[f64]) -> impl Iterator<Item = (&[f64], LinePoint)> {
        let loss = |(row, y): (&'_ Vec<f64>, &f64)| {
            let r = y - dot(row, at);
            // log cosh r without overflow.
            let value = r.abs() + (-2.0 * r.abs()).exp().ln_1p() - std::f64::consts::LN_2;
            LinePoint {
                value,
                slope: -r.tanh(),
                curvature: 1.0 - r.tanh().powi(2),
            }
        };
        let all = self.rows.iter().zip(&self.targets);
        all.map(move |(row, y)| (row.as_slice(), loss((row, y))))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl SumOverRows for LogCosh {
    fn layout(&self) -> Layout {
        Layout {
            outputs: 1,
            features: self.rows[0].len() - 1,
            intercept: true,
        }
    }

    fn total_weight(&self) -> f64 {
        self.rows.len() as f64
    }

    fn passes(&self) -> u64 {
        self.passes
    }

    fn ask(&mut self, query: Query<'_>) -> wstar::Result<Sums> {
        self.passes += 1;
        let d = self.rows[0].len();
        let mut sums = Sums::default();
        match query {
            Query::Gradient { at } | Query::Hessian { at } => {
                let with_hessian = matches!(query, Query::Hessian { .. });
                sums.gradient = vec![0.0; d];
                sums.hessian = vec![0.0; if with_hessian { d * d } else { 0 }];
                for (row, loss) in self.losses(at) {
                    sums.value += loss.value;
                    (0..d).for_each(|j| sums.gradient[j] += loss.slope * row[j]);
                    for k in 0..sums.hessian.len() {
                        sums.hessian[k] += loss.curvature * row[k / d] * row[k % d];
                    }
                }
            }
            Query::Diagonal { at } => {
                sums.gradient = vec![0.0; d];
                for (row, loss) in self.losses(at) {
                    (0..d).for_each(|j| sums.gradient[j] += loss.curvature * row[j] * row[j]);
                }
            }
            Query::Product { at, along } => {
                sums.gradient = vec![0.0; d];
                for (row, loss) in self.losses(at) {
                    let product = loss.curvature * dot(row, along);
                    (0..d).for_each(|j| sums.gradient[j] += product * row[j]);
                }
            }
            Query::Line { at, along, steps } => {
                for step in steps {
                    let there: Vec<f64> = at.iter().zip(along).map(|(a, v)| a + step * v).collect();
                    let mut point = LinePoint::default();
                    for (row, loss) in self.losses(&there) {
                        let rate = dot(row, along);
                        point.value += loss.value;
                        point.slope += loss.slope * rate;
                        point.curvature += loss.curvature * rate * rate;
                    }
                    sums.line.push(point);
                }
            }
        }
        Ok(sums)
    }
}

fn main() -> wstar::Result<()> {
    let data = wstar::read("@diabetes")?.standardize().dataset()?;
    let Target::Real(targets) = data.target() else {
        return Err(Error::data("the target is not a number"));
    };
    let with_one = |row: Vec<f64>| [row, vec![1.0]].concat();
    let sums = LogCosh {
        rows: data
            .design()
            .iter()
            .map(|row| with_one(row.to_dense(data.features())))
            .collect(),
        // In units in which most residuals are around 1, where the loss changes from quadratic to linear.
        targets: targets.iter().map(|y| y / 50.0).collect(),
        passes: 0,
    };
    let layout = sums.layout();
    let mut objective = Objective {
        // The solver uses only that the loss is smooth and convex.
        problem: Problem::new(
            LossName::Logistic,
            Penalty::new(PenaltyName::L2, 0.5)?,
            Intercept::Free,
            layout,
        )?,
        rows: None,
        sums: Box::new(sums),
    };
    let mut nobody = Unwatched;
    let mut control = Control::new(1e-9.into(), Budget::default(), &mut nobody);
    let solution = wstar::solve::Solver::solve(
        &Newton::default(),
        &mut objective,
        &vec![0.0; layout.len()],
        &mut control,
    )?;
    let end = objective.gradient(&solution.parameters)?;
    println!(
        "{} after {} iterations",
        solution.status.in_words(),
        solution.iterations
    );
    println!(
        "P = {:.6}, at most {:.1e} above the optimum",
        end.objective,
        objective.gap(&solution.parameters, &end)
    );
    Ok(())
}

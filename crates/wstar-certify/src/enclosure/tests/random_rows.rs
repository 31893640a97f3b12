//! Random problems of few rows: columns of odd scales, far from 0, sparse, or large.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use wstar_data::Design;
use wstar_data::linear::Layout;
use wstar_data::run::{Budget, Unwatched};
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Objective, Rows, Validation, Weights};
use wstar_problem::penalty::Penalty;
use wstar_problem::{Intercept, Problem};
use wstar_solve::{Control, Newton, Solver};

/// Rows, a problem, and a point near its optimum.
pub(super) struct Case {
    pub(super) design: Design,
    pub(super) targets: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) problem: Problem,
    pub(super) point: Vec<f64>,
}

impl Case {
    pub(super) fn rows(&self) -> Rows<'_> {
        Rows {
            design: &self.design,
            targets: (&self.targets).into(),
            weights: Weights::Each((&self.weights).into()),
        }
    }

    /// A random case, if its solver finds a point.
    pub(super) fn random(seed: u64) -> Option<Case> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut pick = |n: usize| random.random_range(0..n);
        let (n, d) = (10 + pick(40), 1 + pick(4));
        let loss = [
            LossName::Squared,
            LossName::Logistic,
            LossName::SquaredHinge,
            LossName::ModifiedHuber,
        ][pick(4)];
        let l2 = [0.0, 0.0, 1.0, 1e-4][pick(4)];
        let intercept = [
            Intercept::Free,
            Intercept::Free,
            Intercept::Penalized,
            Intercept::Absent,
        ][pick(4)];
        let kind = pick(5);
        let has_weights = pick(2) == 0;
        let scales: Vec<f64> = (0..d).map(|_| 10f64.powi(pick(11) as i32 - 5)).collect();
        let off = [0.0, 1e-9, 1e-5, 1e-2][pick(4)];
        let mut uniform = || random.random_range(-1.0..1.0f64);
        // A sum of three is bell-shaped.
        let mut normal = || uniform() + uniform() + uniform();
        let mut x: Vec<Vec<f64>> = (0..n).map(|_| (0..d).map(|_| normal()).collect()).collect();
        let truth: Vec<f64> = (0..d).map(|_| normal()).collect();
        let shift = normal();
        let targets: Vec<f64> = x
            .iter()
            .map(|x| {
                let z = x.iter().zip(&truth).map(|(x, w)| x * w).sum::<f64>() + shift + 1.5 * normal();
                match loss {
                    LossName::Squared => z,
                    _ if z > 0.0 => 1.0,
                    _ => -1.0,
                }
            })
            .collect();
        let weights = (0..n)
            .map(|i| {
                if has_weights {
                    [1.0, 0.3, 2.5, 0.0][i % 4]
                } else {
                    1.0
                }
            })
            .collect();
        for x in x.iter_mut() {
            for (x, scale) in x.iter_mut().zip(&scales) {
                match kind {
                    1 => *x *= scale,
                    2 => *x = (*x * 64.0).round() / 64.0 + 1e5,
                    3 if *x < 0.0 => *x = 0.0,
                    4 => *x = (*x * 1e3).round() + 9e12,
                    _ => {}
                }
            }
        }
        let design = match kind {
            3 => {
                let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
                for x in &x {
                    for (j, &x) in x.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                        columns.push(j as u32);
                        values.push(x);
                    }
                    starts.push(values.len());
                }
                Design::from_csr(starts, columns, values, d).unwrap()
            }
            _ => Design::from_rows(&x).unwrap(),
        };
        let layout = Layout {
            outputs: 1,
            features: d,
            intercept: intercept != Intercept::Absent,
        };
        let problem = Problem::new(loss, Penalty { l1: 0.0, l2 }, intercept, layout).unwrap();
        let mut case = Case {
            design,
            targets,
            weights,
            problem,
            point: Vec::new(),
        };
        let mut found = solve(&case.rows(), &case.problem)?;
        found.iter_mut().for_each(|w| *w *= 1.0 + off * normal());
        case.point = found;
        Some(case)
    }
}

/// The optimum in doubles.
pub(super) fn solve(rows: &Rows<'_>, problem: &Problem) -> Option<Vec<f64>> {
    let mut objective = Objective::in_memory(*problem, rows.borrowed(), Validation::Done);
    let mut unwatched = Unwatched;
    let mut control = Control::new(1e-13.into(), Budget::default(), &mut unwatched);
    let start = vec![0.0; problem.layout().len()];
    let solution = Newton::default()
        .solve(&mut objective, &start, &mut control)
        .ok()?;
    let found = solution.parameters;
    found.iter().all(|w| w.is_finite()).then_some(found)
}

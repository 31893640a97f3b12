//! Coordinate descent and orthant-wise Newton on ℓ1-penalised problems: every variant reaches the same optimum, which
//! is compared with the optimality conditions, closed forms and Clarabel.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::borrow::Cow;
use std::path::PathBuf;

use crate::common::real_data;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, ExponentialConeT, IPSolver, NonnegativeConeT, SolverStatus,
    SupportedConeT, ZeroConeT,
};
use proptest::prelude::*;
use wstar::data::linear::Layout;
use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::run::{Budget, Status, Unwatched};
use wstar::data::{Csr, Dense, Design, Raw};
use wstar::problem::loss::LossName;
use wstar::problem::objective::{
    InMemory, Objective, Partitioned, Rows, StreamedSums, SumOverRows, Validation, Weights,
};
use wstar::problem::penalty::Penalty;
use wstar::problem::problem::{Intercept, Problem};
use wstar::solve::{Control, CoordinateDescent, OrthantNewton, Solution, Solver, SolverName};

/// Coordinate descent on working sets, each with its Gram matrix.
const SETS: CoordinateDescent = CoordinateDescent {
    shared: None,
    most_for_gram: 0,
    largest_set_gram: 800,
};
/// Coordinate descent on the columns, without any Gram matrix.
const COLUMNS: CoordinateDescent = CoordinateDescent {
    shared: None,
    most_for_gram: 0,
    largest_set_gram: 0,
};
/// Orthant-wise Newton with products of the Hessian instead of the Hessian.
const PRODUCTS: OrthantNewton = OrthantNewton {
    most_for_hessian: 0,
    most_products: 100,
};

/// A problem: rows `x`, targets `y` and weights `c`.
#[derive(Debug, Clone)]
struct Case {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    c: Vec<f64>,
}

impl Case {
    /// The rows in one of the four storages.
    fn design(&self, storage: usize) -> Design {
        let (rows, features) = (self.x.len(), self.x[0].len());
        let values = self.x.concat();
        let (mut starts, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
        for row in &self.x {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                stored.push(v);
            }
            starts.push(stored.len());
        }
        let narrow = |values: &[f64]| values.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        match storage {
            0 => Design::Dense64(Dense::new(values, rows, features).unwrap()),
            1 => Design::Dense32(Dense::new(narrow(&values), rows, features).unwrap()),
            2 => Design::Sparse64(Csr::new(starts, indices, stored, features).unwrap()),
            _ => Design::Sparse32(Csr::new(starts, indices, narrow(&stored), features).unwrap()),
        }
    }

    fn rows<'a>(&'a self, design: &'a Design) -> Rows<'a> {
        Rows {
            design,
            targets: Cow::Borrowed(&self.y),
            weights: Weights::Each(Cow::Borrowed(&self.c)),
        }
    }

    fn layout(&self, loss: LossName, intercept: Intercept) -> Layout {
        let classes = self.y.iter().fold(0.0f64, |most, &y| most.max(y)) as usize + 1;
        Layout {
            outputs: if loss == LossName::Softmax { classes } else { 1 },
            features: self.x[0].len(),
            intercept: intercept != Intercept::Absent,
        }
    }

    /// The columns scaled by powers of ten, followed by two duplicates, a negated copy, a constant column, a column of
    /// zeros, and 30 combinations of the first and the last column, which are more columns than rows.
    fn with_bad_columns(&self, exponents: &[i32]) -> Case {
        let mut bad = self.clone();
        for row in &mut bad.x {
            let (first, last) = (row[0], row[row.len() - 1]);
            row.iter_mut()
                .zip(exponents)
                .for_each(|(v, &e)| *v *= 10f64.powi(e));
            row.extend([first, first, -first, 1.0, 0.0]);
            row.extend((0..30).map(|k| first * (k % 5) as f64 + last));
        }
        bad
    }

    /// The objective and the violation of the optimality conditions, computed directly from their definitions.
    fn judge(&self, loss: LossName, penalty: Penalty, intercept: Intercept, at: &[f64]) -> (f64, f64) {
        let layout = self.layout(loss, intercept);
        let width = layout.width();
        let mut objective = 0.0;
        let mut gradient = vec![0.0; at.len()];
        let mut sizes = vec![0.0; at.len()];
        for ((x, &y), &c) in self.x.iter().zip(&self.y).zip(&self.c) {
            let mut lifted = x.clone();
            if layout.intercept {
                lifted.push(1.0);
            }
            let z: Vec<f64> = at
                .chunks(width)
                .map(|own| own.iter().zip(&lifted).map(|(w, x)| w * x).sum())
                .collect();
            let slopes: Vec<f64> = match loss {
                LossName::Squared => {
                    objective += 0.5 * c * (z[0] - y).powi(2);
                    vec![z[0] - y]
                }
                LossName::Logistic => {
                    objective += c * ((-(y * z[0]).abs()).exp().ln_1p() + (-y * z[0]).max(0.0));
                    vec![-y / (1.0 + (y * z[0]).exp())]
                }
                LossName::SquaredHinge => {
                    let slack = (1.0 - y * z[0]).max(0.0);
                    objective += c * slack * slack;
                    vec![-2.0 * y * slack]
                }
                _ => {
                    let total: f64 = z.iter().map(|z| z.exp()).sum();
                    objective += c * (total.ln() - z[y as usize]);
                    (0..z.len())
                        .map(|k| z[k].exp() / total - f64::from(u8::from(k == y as usize)))
                        .collect()
                }
            };
            for (k, slope) in slopes.iter().enumerate() {
                for (j, x) in lifted.iter().enumerate() {
                    gradient[k * width + j] += c * slope * x;
                    sizes[k * width + j] += (c * slope * x).abs();
                }
            }
        }
        let mut worst = 0.0f64;
        for (j, &w) in at.iter().enumerate() {
            let free = layout.is_intercept(j) && intercept == Intercept::Free;
            let (l1, l2) = if free {
                (0.0, 0.0)
            } else {
                (penalty.l1, penalty.l2)
            };
            objective += l1 * w.abs() + 0.5 * l2 * w * w;
            let g = gradient[j] + l2 * w;
            let distance = if w == 0.0 {
                (g.abs() - l1).max(0.0)
            } else {
                (g + l1 * w.signum()).abs()
            };
            worst = worst.max(distance / (1.0 + sizes[j]));
        }
        (objective, worst)
    }
}

fn objective<'a>(
    case: &'a Case,
    design: &'a Design,
    loss: LossName,
    penalty: Penalty,
    intercept: Intercept,
) -> Objective<'a> {
    let problem = Problem::new(loss, penalty, intercept, case.layout(loss, intercept)).unwrap();
    Objective::in_memory(problem, case.rows(design), Validation::Done)
}

fn run(solver: &dyn Solver, objective: &mut Objective<'_>, tol: f64) -> Solution {
    let start = vec![0.0; objective.problem.layout().len()];
    let mut unwatched = Unwatched;
    let mut control = Control::new(tol.into(), Budget::default(), &mut unwatched);
    control.max_iterations = 500;
    solver.solve(objective, &start, &mut control).unwrap()
}

/// All variants of the two solvers, with their names.
fn ways(loss: LossName) -> Vec<(&'static str, Box<dyn Solver>)> {
    let mut ways: Vec<(&'static str, Box<dyn Solver>)> = vec![
        (
            "sweeps on the Gram matrix",
            Box::new(CoordinateDescent::default()),
        ),
        ("orthants with the Hessian", Box::new(OrthantNewton::default())),
        ("orthants by products", Box::new(PRODUCTS)),
    ];
    if loss != LossName::Softmax {
        ways.push(("working sets", Box::new(SETS)));
        ways.push(("sweeps on columns", Box::new(COLUMNS)));
    }
    ways
}

fn losses() -> impl Strategy<Value = LossName> {
    prop::sample::select(vec![
        LossName::Squared,
        LossName::Logistic,
        LossName::SquaredHinge,
    ])
}

fn penalties() -> impl Strategy<Value = Penalty> {
    prop_oneof![
        (0.05..3.0f64).prop_map(|l1| Penalty { l1, l2: 0.0 }),
        (0.05..3.0f64, 0.1..1.0f64).prop_map(|(l1, l2)| Penalty { l1, l2 }),
    ]
}

fn intercepts() -> impl Strategy<Value = Intercept> {
    prop::sample::select(vec![Intercept::Free, Intercept::Penalized, Intercept::Absent])
}

/// Random problems: values exact in `f32`, so that all storages hold the same; two classes; some weights are 0.
fn cases() -> impl Strategy<Value = Case> {
    (4..30usize, 1..14usize).prop_flat_map(|(rows, features)| {
        let value = prop_oneof![2 => Just(0i32), 3 => -24..=24i32];
        (
            prop::collection::vec(prop::collection::vec(value, features), rows),
            prop::collection::vec(any::<bool>(), rows),
            prop::collection::vec(prop_oneof![1 => Just(0.0), 5 => 0.1..4.0f64], rows),
        )
            .prop_map(|(x, signs, mut c)| {
                let x = x
                    .into_iter()
                    .map(|row| row.into_iter().map(|v| f64::from(v) / 8.0).collect())
                    .collect();
                let mut y: Vec<f64> = signs.into_iter().map(|s| if s { 1.0 } else { -1.0 }).collect();
                (y[0], y[1]) = (1.0, -1.0);
                (c[0], c[1]) = (1.0, 0.5);
                Case { x, y, c }
            })
    })
}

fn close(a: f64, b: f64, tol: f64) -> bool {
    (a - b).abs() <= tol * a.abs().max(b.abs()).max(1.0)
}

/// A case whose loss is flat at a point for some rows and steep as soon as a weight moves; random cases rarely are.
#[test]
fn kinks_with_bad_columns_are_solved() {
    let mut x = vec![vec![0.0; 8]; 5];
    (x[0][0], x[1][2], x[2][7], x[3][2], x[3][7]) = (0.125, -0.25, -0.625, 1.0, -0.75);
    let few = Case {
        x,
        y: vec![1.0, -1.0, 1.0, 1.0, -1.0],
        c: vec![1.0, 0.5, 2.9524293198987124, 0.7682752406864666, 0.0],
    };
    let full = Case {
        x: vec![
            vec![2.875, 0.75, 0.0, 0.0, -1.125, 0.0, 0.0, -2.5, 2.0],
            vec![-1.375, 0.0, 0.0, 0.0, -1.875, 0.0, 0.0, -2.875, 2.125],
            vec![1.125, 0.0, -0.625, 0.0, -1.25, 0.0, 0.0, 2.75, 0.0],
            vec![0.0, -1.75, -0.125, 0.125, 0.0, 0.0, -2.875, -1.375, -0.875],
            vec![0.0, 0.0, -2.375, 0.0, 0.0, -0.75, 0.0, 1.375, -2.5],
        ],
        y: vec![1.0, -1.0, 1.0, -1.0, -1.0],
        c: vec![1.0, 0.5, 1.11339511006966, 3.996179528297082, 3.369025770907911],
    };
    for (case, l1, exponents) in [
        (few, 0.16099060181420446, [6, -5, 4, -1, 0, -2, -5, 6, 1]),
        (full, 0.5554271106569063, [-1, -5, 6, 3, 1, 3, -6, 4, 5]),
    ] {
        let bad = case.with_bad_columns(&exponents);
        let penalty = Penalty { l1, l2: 0.0 };
        for storage in [0, 2] {
            let design = bad.design(storage);
            for (way, solver) in ways(LossName::SquaredHinge) {
                let mut objective =
                    objective(&bad, &design, LossName::SquaredHinge, penalty, Intercept::Free);
                let status = run(solver.as_ref(), &mut objective, 1e-6).status;
                assert_eq!(status, Status::Converged, "{way}, l1 = {l1}");
            }
        }
    }
}

/// Two rows with positive weight and about forty nearly parallel columns, one of them 100 times as large.
#[test]
fn nearly_parallel_columns_are_solved() {
    let case = Case {
        x: [-1.375, -1.25, -1.0, 0.0].map(|x| vec![x]).to_vec(),
        y: vec![1.0, -1.0, -1.0, -1.0],
        c: vec![1.0, 0.5, 0.0, 0.0],
    };
    let bad = case.with_bad_columns(&[2]);
    let penalty = Penalty {
        l1: 1.6168574312384782,
        l2: 0.1,
    };
    for storage in [0, 2] {
        let design = bad.design(storage);
        for (way, solver) in ways(LossName::Squared) {
            let mut objective = objective(&bad, &design, LossName::Squared, penalty, Intercept::Free);
            let solution = run(solver.as_ref(), &mut objective, 1e-6);
            assert_eq!(solution.status, Status::Converged, "{way}, {storage}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_variants_satisfy_the_optimality_conditions(
        case in cases(), loss in losses(), penalty in penalties(), intercept in intercepts(), storage in 0..4usize,
    ) {
        let design = case.design(storage);
        let mut optimum = f64::NAN;
        for (way, solver) in ways(loss) {
            let solution = run(solver.as_ref(), &mut objective(&case, &design, loss, penalty, intercept), 1e-9);
            prop_assert_eq!(solution.status, Status::Converged, "{}", way);
            let (objective, distance) = case.judge(loss, penalty, intercept, &solution.parameters);
            prop_assert!(distance < 1e-4, "{way}: {distance} from optimal");
            if optimum.is_nan() {
                optimum = objective;
            }
            prop_assert!(close(objective, optimum, 1e-8), "{way}: {objective}, not {optimum}");
        }
    }

    #[test]
    fn a_weight_of_two_is_the_row_twice_and_a_weight_of_zero_no_row(
        case in cases(), loss in losses(), penalty in penalties(), intercept in intercepts(),
    ) {
        let mut weighted = case.clone();
        let mut repeated = Case { x: vec![], y: vec![], c: vec![] };
        for (i, c) in weighted.c.iter_mut().enumerate() {
            *c = if i < 2 { 1.0 } else { (i % 3) as f64 };
            for _ in 0..*c as usize {
                repeated.x.push(case.x[i].clone());
                repeated.y.push(case.y[i]);
                repeated.c.push(1.0);
            }
        }
        for (way, solver) in ways(loss) {
            let objectives = [&weighted, &repeated].map(|case| {
                let design = case.design(2);
                let solution = run(solver.as_ref(), &mut objective(case, &design, loss, penalty, intercept), 1e-9);
                repeated.judge(loss, penalty, intercept, &solution.parameters).0
            });
            prop_assert!(close(objectives[0], objectives[1], 3e-9), "{way}: {objectives:?}");
        }
    }

    #[test]
    fn beyond_the_largest_useful_penalty_every_weight_is_exactly_zero(
        case in cases(), loss in prop::sample::select(vec![LossName::Squared, LossName::Logistic]),
        free in any::<bool>(), storage in 0..4usize,
    ) {
        let total: f64 = case.c.iter().sum();
        let mean = case.c.iter().zip(&case.y).map(|(c, y)| c * y).sum::<f64>() / total;
        // The optimal intercept at zero weights, and the slopes of the loss there.
        let slope = |y: f64| match (loss, free) {
            (LossName::Squared, true) => mean - y,
            (LossName::Squared, false) => -y,
            (_, true) => 0.5 * (1.0 + mean) - 0.5 * (1.0 + y),
            (_, false) => -0.5 * y,
        };
        let largest = (0..case.x[0].len())
            .map(|j| (0..case.x.len()).map(|i| case.c[i] * slope(case.y[i]) * case.x[i][j]).sum::<f64>().abs())
            .fold(0.0, f64::max);
        let penalty = Penalty { l1: 1.0001 * largest + 1e-6, l2: 0.0 };
        let intercept = if free { Intercept::Free } else { Intercept::Absent };
        let design = case.design(storage);
        for (way, solver) in ways(loss) {
            let solution = run(solver.as_ref(), &mut objective(&case, &design, loss, penalty, intercept), 1e-9);
            prop_assert_eq!(solution.status, Status::Converged, "{}", way);
            prop_assert!(solution.parameters[..case.x[0].len()].iter().all(|&w| w == 0.0), "{way}");
        }
    }

    #[test]
    fn bad_columns_are_solved(
        case in cases(), loss in losses(), penalty in penalties(), intercept in intercepts(), exponents in prop::collection::vec(-6..=6i32, 14),
    ) {
        let bad = case.with_bad_columns(&exponents);
        for storage in [0, 2] {
            let design = bad.design(storage);
            let mut optimum = f64::NAN;
            for (way, solver) in ways(loss) {
                let solution = run(solver.as_ref(), &mut objective(&bad, &design, loss, penalty, intercept), 1e-6);
                prop_assert_eq!(solution.status, Status::Converged, "{}", way);
                let (objective, _) = bad.judge(loss, penalty, intercept, &solution.parameters);
                if optimum.is_nan() {
                    optimum = objective;
                }
                prop_assert!(close(objective, optimum, 2e-6), "{way}: {objective}, not {optimum}");
            }
        }
    }

    #[test]
    fn clarabel_agrees(case in cases(), logistic in any::<bool>(), penalty in penalties(), free in any::<bool>()) {
        let (loss, intercept) = (
            if logistic { LossName::Logistic } else { LossName::Squared },
            if free { Intercept::Free } else { Intercept::Absent },
        );
        let Some(known) = by_cones(&case, logistic, penalty, free) else { return Ok(()) };
        let design = case.design(0);
        for (way, solver) in ways(loss) {
            let solution = run(solver.as_ref(), &mut objective(&case, &design, loss, penalty, intercept), 1e-9);
            let (objective, _) = case.judge(loss, penalty, intercept, &solution.parameters);
            prop_assert!(close(objective, known, 1e-6), "{way}: {objective}, not {known}");
        }
    }

    #[test]
    fn softmax_satisfies_the_optimality_conditions(
        case in cases(), penalty in penalties(), intercept in intercepts(), classes in prop::collection::vec(0..3u8, 30),
    ) {
        let mut case = case;
        for (i, y) in case.y.iter_mut().enumerate() {
            *y = if i < 3 { i as f64 } else { f64::from(classes[i]) };
        }
        case.c[..3].fill(1.0);
        let design = case.design(0);
        let mut optimum = f64::NAN;
        for (way, solver) in ways(LossName::Softmax) {
            let loss = LossName::Softmax;
            let solution = run(solver.as_ref(), &mut objective(&case, &design, loss, penalty, intercept), 1e-8);
            prop_assert_eq!(solution.status, Status::Converged, "{}", way);
            let (objective, distance) = case.judge(loss, penalty, intercept, &solution.parameters);
            prop_assert!(distance < 1e-3, "{way}: {distance} from optimal");
            if optimum.is_nan() {
                optimum = objective;
            }
            prop_assert!(close(objective, optimum, 1e-7), "{way}: {objective}, not {optimum}");
        }
    }
}

/// The optimum by Clarabel: least squares as a quadratic programme, logistic loss with exponential cones.
fn by_cones(case: &Case, logistic: bool, penalty: Penalty, free: bool) -> Option<f64> {
    let (n, d) = (case.x.len(), case.x[0].len());
    // Variables: w, b, u ≥ |w|, then for least squares the residuals, for logistic loss t and two terms with sum 1.
    let (b, u, t) = (d, d + 1, 2 * d + 1);
    let variables = t + if logistic { 3 * n } else { n };
    let mut quadratic = vec![vec![0.0; variables]; variables];
    let mut linear = vec![0.0; variables];
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut right: Vec<f64> = Vec::new();
    let mut cones: Vec<SupportedConeT<f64>> = Vec::new();
    // Rows of A·v + s = right with s in its cone. Each call states s = constant + Σ coefficient·v.
    let mut row = |constant: f64, terms: &[(usize, f64)]| {
        let mut row = vec![0.0; variables];
        terms.iter().for_each(|&(at, value)| row[at] -= value);
        rows.push(row);
        right.push(constant);
    };
    let scores = |i: usize, factor: f64| -> Vec<(usize, f64)> {
        let own = case.x[i].iter().enumerate().map(|(j, x)| (j, factor * x));
        own.chain([(b, factor)]).collect()
    };
    for j in 0..d {
        quadratic[j][j] = penalty.l2;
        linear[u + j] = penalty.l1;
    }
    if !free {
        row(0.0, &[(b, 1.0)]);
        cones.push(ZeroConeT(1));
    }
    for j in 0..d {
        row(0.0, &[(u + j, 1.0), (j, 1.0)]);
        row(0.0, &[(u + j, 1.0), (j, -1.0)]);
    }
    cones.push(NonnegativeConeT(2 * d));
    for i in 0..n {
        if !logistic {
            quadratic[t + i][t + i] = case.c[i];
            let mut terms = scores(i, 1.0);
            terms.push((t + i, 1.0));
            row(-case.y[i], &terms);
            cones.push(ZeroConeT(1));
            continue;
        }
        linear[t + i] = case.c[i];
        let (p, q) = (t + n + i, t + 2 * n + i);
        row(1.0, &[(p, -1.0), (q, -1.0)]);
        cones.push(NonnegativeConeT(1));
        let mut terms = scores(i, -case.y[i]);
        terms.push((t + i, -1.0));
        row(0.0, &terms);
        row(1.0, &[]);
        row(0.0, &[(p, 1.0)]);
        row(0.0, &[(t + i, -1.0)]);
        row(1.0, &[]);
        row(0.0, &[(q, 1.0)]);
        cones.extend([ExponentialConeT(), ExponentialConeT()]);
    }
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-9,
        tol_gap_rel: 1e-9,
        ..DefaultSettings::default()
    };
    let (quadratic, rows) = (CscMatrix::from(&quadratic), CscMatrix::from(&rows));
    let mut solver = DefaultSolver::new(&quadratic, &linear, &rows, &right, &cones, settings).unwrap();
    solver.solve();
    (solver.solution.status == SolverStatus::Solved).then_some(solver.solution.obj_val)
}

#[test]
fn an_orthonormal_lasso_is_soft_thresholding() {
    // Columns of a Hadamard matrix, so XᵀX = 8·I.
    let x: Vec<Vec<f64>> = (0..8u32)
        .map(|i| {
            (0..8u32)
                .map(|j| if (i & j).count_ones() % 2 == 0 { 1.0 } else { -1.0 })
                .collect()
        })
        .collect();
    let y = vec![3.0, -1.0, 0.5, 2.0, -4.0, 0.25, 1.0, -0.5];
    let (l1, l2, c) = (2.0, 0.5, 0.75);
    let expected: Vec<f64> = (0..8)
        .map(|j| {
            let product: f64 = (0..8).map(|i| c * x[i][j] * y[i]).sum();
            product.signum() * (product.abs() - l1).max(0.0) / (8.0 * c + l2)
        })
        .collect();
    let case = Case { x, y, c: vec![c; 8] };
    let design = case.design(0);
    for (way, solver) in ways(LossName::Squared) {
        let mut objective = objective(
            &case,
            &design,
            LossName::Squared,
            Penalty { l1, l2 },
            Intercept::Absent,
        );
        let solution = run(solver.as_ref(), &mut objective, 1e-12);
        for (found, expected) in solution.parameters.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-9, "{way}: {found}, not {expected}");
            assert_eq!(*found == 0.0, *expected == 0.0, "{way}");
        }
    }
}

#[test]
fn chunks_and_streams_reach_the_same_optimum() {
    let x: Vec<Vec<f64>> = (0..60)
        .map(|i| {
            (0..6)
                .map(|j| f64::from((i * 7 + j * 13 + i * j) % 11) - 5.0)
                .collect()
        })
        .collect();
    let y: Vec<f64> = (0..60)
        .map(|i| if (i * i) % 7 < 3 { 1.0 } else { -1.0 })
        .collect();
    let case = Case {
        x,
        y,
        c: vec![0.3; 60],
    };
    let design = case.design(3);
    let (loss, intercept) = (LossName::Logistic, Intercept::Free);
    let layout = case.layout(loss, intercept);
    let whole = run(
        &CoordinateDescent::default(),
        &mut objective(&case, &design, loss, Penalty::L1, intercept),
        1e-10,
    );
    let (known, _) = case.judge(loss, Penalty::L1, intercept, &whole.parameters);
    let parts: Vec<Case> = [0..7, 7..40, 40..60]
        .map(|span| Case {
            x: case.x[span.clone()].to_vec(),
            y: case.y[span.clone()].to_vec(),
            c: case.c[span].to_vec(),
        })
        .to_vec();
    let designs: Vec<Design> = parts.iter().map(|part| part.design(1)).collect();
    for (way, solver) in ways(LossName::Softmax) {
        let oracle = |k: usize| -> Box<dyn SumOverRows> {
            Box::new(InMemory::new(parts[k].rows(&designs[k]), loss, layout))
        };
        let mut rows = case.rows(&design);
        let total = rows.total_weight();
        let streamed: Box<dyn SumOverRows> = Box::new(StreamedSums::new(&mut rows, loss, layout, total));
        let partitioned = Box::new(Partitioned::new(oracle(0), vec![oracle(1), oracle(2)]));
        for oracle in [streamed, partitioned] {
            let mut objective = Objective {
                problem: Problem::new(loss, Penalty::L1, intercept, layout).unwrap(),
                rows: None,
                sums: oracle,
            };
            let solution = run(solver.as_ref(), &mut objective, 1e-10);
            assert_eq!(solution.status, Status::Converged, "{way}");
            let (objective, _) = case.judge(loss, Penalty::L1, intercept, &solution.parameters);
            assert!(close(objective, known, 1e-9), "{way}: {objective}, not {known}");
        }
    }
}

#[test]
fn unsupported_problems_are_refused() {
    let case = Case {
        x: vec![vec![1.0, 2.0], vec![0.0, 1.0]],
        y: vec![1.0, -1.0],
        c: vec![1.0, 1.0],
    };
    let design = case.design(0);
    let solvers: [&dyn Solver; 2] = [&CoordinateDescent::default(), &OrthantNewton::default()];
    for solver in solvers {
        for (loss, penalty) in [
            (LossName::Hinge, Penalty::L1),
            (LossName::SigmoidMse, Penalty::L1),
            (LossName::Logistic, Penalty::NONE),
        ] {
            let objective = objective(&case, &design, loss, penalty, Intercept::Free);
            let error = solver.check(&objective).unwrap_err().to_string();
            assert!(error.contains(solver.name().name()), "{error}");
        }
    }
    let mut rowless = objective(&case, &design, LossName::Logistic, Penalty::L1, Intercept::Free);
    rowless.rows = None;
    let error = COLUMNS.check(&rowless).unwrap_err().to_string();
    assert!(error.contains("needs all rows"), "{error}");
    assert_eq!(SolverName::OrthantNewton.name(), "orthant-newton");
}

/// A published data set, one class against the rest.
fn labelled(path: PathBuf, positive: f64) -> (Design, Vec<f64>) {
    let Raw::Matrix(matrix) = read(&Source::Path(path), &ReadOptions::default()).unwrap() else {
        panic!("a matrix was expected");
    };
    let labels = matrix.labels.unwrap();
    let signs = labels
        .iter()
        .map(|&label| if label == positive { 1.0 } else { -1.0 });
    (matrix.design, signs.collect())
}

/// The optimum of ℓ1-penalised logistic loss at C = 1 without an intercept; it must be certified to 1e-6.
fn l1_logistic(solver: &dyn Solver, design: &Design, targets: &[f64], most: u64) -> f64 {
    let layout = Layout {
        outputs: 1,
        features: design.features(),
        intercept: false,
    };
    let rows = Rows {
        design,
        targets: Cow::Borrowed(targets),
        weights: Weights::Same(1.0),
    };
    let problem = Problem::new(LossName::Logistic, Penalty::L1, Intercept::Absent, layout).unwrap();
    let mut objective = Objective::in_memory(problem, rows, Validation::Done);
    let solution = run(solver, &mut objective, 1e-6);
    let passes = objective.sums.passes();
    assert_eq!(solution.status, Status::Converged);
    assert!(passes <= most, "{passes} passes");
    let there = objective.gradient(&solution.parameters).unwrap();
    let gap = objective.gap(&solution.parameters, &there);
    assert!(gap <= 1e-6 * there.objective, "a gap of {gap}");
    println!(
        "{}: {:.8}, relative gap {:.1e}, {} iterations, {passes} passes",
        solver.name().name(),
        there.objective,
        gap / there.objective,
        solution.iterations
    );
    there.objective
}

#[test]
fn a9a_with_l1_logistic() {
    let Some(path) = real_data("a9a/a9a") else { return };
    let (design, targets) = labelled(path, 1.0);
    for (solver, most) in [
        (&CoordinateDescent::default() as &dyn Solver, 12),
        (&SETS, 12),
        (&OrthantNewton::default(), 12),
    ] {
        let objective = l1_logistic(solver, &design, &targets, most);
        assert!(objective <= 10558.72337370 * (1.0 + 1e-6), "{objective}");
    }
}

#[test]
fn newsgroups_with_l1_logistic() {
    let Some(path) = real_data("20news/20news_tfidf.train.svm.gz") else {
        return;
    };
    let (design, targets) = labelled(path, 1.0);
    // Both solvers reached this value independently.
    let objective = l1_logistic(&CoordinateDescent::default(), &design, &targets, 12);
    assert!(close(objective, 1368.394904, 1e-6), "{objective}");
}

#[test]
fn covtype_with_l1_logistic() {
    let Some(path) = real_data("covtype/covtype.binary.scale.svm.gz") else {
        return;
    };
    let (design, targets) = labelled(path, 1.0);
    let objective = l1_logistic(&CoordinateDescent::default(), &design, &targets, 16);
    assert!(close(objective, 298442.831998, 1e-6), "{objective}");
}

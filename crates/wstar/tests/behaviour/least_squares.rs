//! The direct least-squares solvers: agreement with each other and with independent computations, in every storage,
//! with weights, penalties, and badly scaled or dependent columns.
#![allow(clippy::unwrap_used, clippy::excessive_precision, clippy::needless_range_loop)]

use std::borrow::Cow;

use crate::common::solve_in_memory;
use proptest::prelude::*;
use wstar::data::linear::Layout;
use wstar::data::run::{Budget, Status, Unwatched};
use wstar::data::{Csr, Dense, Design};
use wstar::problem::loss::LossName;
use wstar::problem::objective::{InMemory, Objective, Partitioned, Rows, Validation, Weights};
use wstar::problem::penalty::Penalty;
use wstar::problem::problem::{Intercept, Problem};
use wstar::solve::{ClosedForm, Control, LeastSquaresReport, NormalEquations, Qr, Solution, Solver, Svd};

struct Case {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    weights: Vec<f64>,
    l2: f64,
    intercept: Intercept,
}

impl Case {
    fn features(&self) -> usize {
        self.x[0].len()
    }

    fn layout(&self) -> Layout {
        Layout {
            outputs: 1,
            features: self.features(),
            intercept: self.intercept != Intercept::Absent,
        }
    }

    fn solve_on(&self, design: &Design, solver: &dyn Solver) -> Solution {
        let penalty = Penalty { l1: 0.0, l2: self.l2 };
        let problem = Problem::new(LossName::Squared, penalty, self.intercept, self.layout()).unwrap();
        solve_in_memory(problem, &self.rows(design), solver, 1e-9)
    }

    fn rows<'a>(&'a self, design: &'a Design) -> Rows<'a> {
        Rows {
            design,
            targets: Cow::Borrowed(&self.y),
            weights: Weights::Each(Cow::Borrowed(&self.weights)),
        }
    }

    #[track_caller]
    fn solve(&self, solver: &dyn Solver) -> Vec<f64> {
        let solution = self.solve_on(&Design::from_rows(&self.x).unwrap(), solver);
        assert_eq!(solution.status, Status::Converged, "{}", solver.name().name());
        solution.parameters
    }

    fn report(&self, at: &[f64]) -> LeastSquaresReport {
        let design = Design::from_rows(&self.x).unwrap();
        LeastSquaresReport::new(&self.rows(&design), self.layout(), at).unwrap()
    }

    /// The pseudo-inverse solution of the weighted rows (centred for a free intercept), with √l2·I appended.
    fn by_pseudo_inverse(&self) -> Vec<f64> {
        let (n, d) = (self.x.len(), self.features());
        let total: f64 = self.weights.iter().sum();
        let free = self.intercept == Intercept::Free;
        let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
            let sum: f64 = (0..n).map(|i| self.weights[i] * of(i)).sum();
            if free { sum / total } else { 0.0 }
        };
        let x_mean: Vec<f64> = (0..d).map(|j| mean(&|i| self.x[i][j])).collect();
        let y_mean = mean(&|i| self.y[i]);
        let penalized = self.intercept == Intercept::Penalized;
        let width = d + usize::from(penalized);
        let mut a: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let root = self.weights[i].sqrt();
                let mut row: Vec<f64> = (0..d).map(|j| root * (self.x[i][j] - x_mean[j])).collect();
                row.extend(penalized.then_some(root));
                row
            })
            .collect();
        let mut b: Vec<f64> = (0..n)
            .map(|i| self.weights[i].sqrt() * (self.y[i] - y_mean))
            .collect();
        for j in 0..width {
            let mut row = vec![0.0; width];
            row[j] = self.l2.sqrt();
            a.push(row);
            b.push(0.0);
        }
        let mut w = pseudo_inverse_times(&a, &b);
        if free {
            w.push(y_mean - w.iter().zip(&x_mean).map(|(w, x)| w * x).sum::<f64>());
        }
        w
    }
}

/// A⁺b by one-sided Jacobi rotations, where A V = U Σ.
fn pseudo_inverse_times(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let d = a[0].len();
    let mut u: Vec<Vec<f64>> = (0..d).map(|j| a.iter().map(|row| row[j]).collect()).collect();
    let mut v: Vec<Vec<f64>> = (0..d)
        .map(|j| (0..d).map(|i| f64::from(u8::from(i == j))).collect())
        .collect();
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    for _ in 0..60 {
        for p in 0..d {
            for q in p + 1..d {
                let (pp, qq, pq) = (dot(&u[p], &u[p]), dot(&u[q], &u[q]), dot(&u[p], &u[q]));
                if pq.abs() <= 1e-300 || pq * pq <= 1e-34 * pp * qq {
                    continue;
                }
                let zeta = (qq - pp) / (2.0 * pq);
                let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                for side in [&mut u, &mut v] {
                    let (left, right) = side.split_at_mut(q);
                    for (x, y) in left[p].iter_mut().zip(&mut right[0]) {
                        (*x, *y) = (c * *x - c * t * *y, c * t * *x + c * *y);
                    }
                }
            }
        }
    }
    let largest = u.iter().map(|u| dot(u, u)).fold(0.0, f64::max);
    let mut w = vec![0.0; d];
    for (u, v) in u.iter().zip(&v) {
        let square = dot(u, u);
        if square > 1e-24 * largest {
            let c = dot(u, b) / square;
            w.iter_mut().zip(v).for_each(|(w, v)| *w += c * v);
        }
    }
    w
}

const SOLVERS: [&dyn Solver; 3] = [&NormalEquations::ANY, &Qr, &Svd];

#[track_caller]
fn near(found: &[f64], known: &[f64], within: f64) {
    assert_eq!(found.len(), known.len());
    let size = known.iter().fold(1e-300, |most: f64, k| most.max(k.abs()));
    for (f, k) in found.iter().zip(known) {
        assert!((f - k).abs() <= within * size, "{found:?}, not {known:?}");
    }
}

/// Deterministic pseudorandom numbers, exact in f32.
fn numbers(count: usize, seed: u32) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from((state >> 16) as i16) / 4096.0
    };
    (0..count).map(|_| next()).collect()
}

fn case(n: usize, d: usize, seed: u32) -> Case {
    let values = numbers(n * d, seed);
    Case {
        x: values.chunks(d).map(<[f64]>::to_vec).collect(),
        y: numbers(n, seed + 1),
        weights: numbers(n, seed + 2).iter().map(|w| w.abs()).collect(),
        l2: 0.0,
        intercept: Intercept::Free,
    }
}

fn storages(x: &[Vec<f64>]) -> Vec<Design> {
    let (n, d) = (x.len(), x[0].len());
    let values: Vec<f64> = x.concat();
    let narrow = |values: &[f64]| -> Vec<f32> { values.iter().map(|&v| v as f32).collect() };
    assert!(values.iter().all(|&v| f64::from(v as f32) == v));
    let (mut starts, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
    for row in x {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            stored.push(v);
        }
        starts.push(stored.len());
    }
    vec![
        Design::Dense32(Dense::new(narrow(&values), n, d).unwrap()),
        Design::Dense64(Dense::new(values, n, d).unwrap()),
        Design::Sparse32(Csr::new(starts.clone(), indices.clone(), narrow(&stored), d).unwrap()),
        Design::Sparse64(Csr::new(starts, indices, stored, d).unwrap()),
    ]
}

#[test]
fn all_solvers_agree_on_all_storages() {
    for intercept in [Intercept::Free, Intercept::Penalized, Intercept::Absent] {
        for l2 in [0.0, 2.5] {
            // Enough rows for several blocks and lanes; some rows have weight 0.
            let mut case = case(1500, 5, 7);
            case.x.iter_mut().for_each(|row| row[3] = row[3].max(0.0));
            case.weights.iter_mut().step_by(7).for_each(|w| *w = 0.0);
            (case.l2, case.intercept) = (l2, intercept);
            let known = case.by_pseudo_inverse();
            for design in storages(&case.x) {
                for solver in SOLVERS {
                    let solution = case.solve_on(&design, solver);
                    assert_eq!(solution.status, Status::Converged);
                    near(&solution.parameters, &known, 1e-12);
                }
            }
        }
    }
}

#[test]
fn one_feature_has_a_closed_form() {
    for intercept in [Intercept::Free, Intercept::Absent] {
        for l2 in [0.0, 3.0] {
            let mut case = case(40, 1, 3);
            (case.l2, case.intercept) = (l2, intercept);
            let known = case.by_pseudo_inverse();
            near(&case.solve(&ClosedForm), &known, 1e-12);
            near(&case.solve(&Qr), &case.solve(&ClosedForm), 1e-15);
        }
    }
    // The slope s_xy/s_x² by hand: x = 1, 2, 3 and y = 1, 3, 2 give s_xy = 1 and s_x² = 2.
    let mut by_hand = case(3, 1, 0);
    by_hand.x = vec![vec![1.0], vec![2.0], vec![3.0]];
    by_hand.y = vec![1.0, 3.0, 2.0];
    by_hand.weights = vec![1.0; 3];
    assert_eq!(by_hand.solve(&ClosedForm), [0.5, 1.0]);
    // A constant x has slope 0.
    by_hand.x = vec![vec![0.1]; 3];
    assert_eq!(by_hand.solve(&ClosedForm), [0.0, 2.0]);
    assert!(
        ClosedForm
            .check(&objective(
                &case(9, 2, 1),
                &Design::from_rows(&case(9, 2, 1).x).unwrap()
            ))
            .is_err()
    );
}

fn problem(case: &Case, loss: LossName, penalty: Penalty) -> Problem {
    Problem::new(loss, penalty, case.intercept, case.layout()).unwrap()
}

fn objective<'a>(case: &'a Case, design: &'a Design) -> Objective<'a> {
    let problem = problem(case, LossName::Squared, Penalty::NONE);
    Objective::in_memory(problem, case.rows(design), Validation::Done)
}

#[test]
fn unsupported_problems_are_refused() {
    let case = case(20, 2, 1);
    let design = Design::from_rows(&case.x).unwrap();
    for solver in SOLVERS {
        let mut other = objective(&case, &design);
        other.problem = problem(&case, LossName::Logistic, Penalty::NONE);
        assert!(solver.check(&other).unwrap_err().to_string().contains("squared"));
        let mut other = objective(&case, &design);
        other.problem = problem(&case, LossName::Squared, Penalty::L1);
        assert!(solver.check(&other).unwrap_err().to_string().contains("l1"));
        let mut other = objective(&case, &design);
        other.rows = None;
        assert_eq!(
            solver.check(&other).is_ok(),
            solver.name() == NormalEquations::ANY.name()
        );
    }
}

#[test]
fn normal_equations_need_no_rows_in_memory() {
    let case = case(300, 3, 5);
    let (first, second) = (
        Design::from_rows(&case.x[..100]).unwrap(),
        Design::from_rows(&case.x[100..]).unwrap(),
    );
    let part = |design, from: usize, to: usize| Rows {
        design,
        targets: Cow::Borrowed(&case.y[from..to]),
        weights: Weights::Each(Cow::Borrowed(&case.weights[from..to])),
    };
    let whole = Design::from_rows(&case.x).unwrap();
    let mut objective = objective(&case, &whole);
    objective.rows = None;
    let local = |rows| Box::new(InMemory::new(rows, LossName::Squared, case.layout())) as Box<_>;
    objective.sums = Box::new(Partitioned::new(
        local(part(&first, 0, 100)),
        vec![local(part(&second, 100, 300))],
    ));
    let mut unwatched = Unwatched;
    let mut control = Control::new(1e-9.into(), Budget::default(), &mut unwatched);
    let solution = NormalEquations::ANY
        .solve(&mut objective, &[0.0; 4], &mut control)
        .unwrap();
    assert_eq!(solution.status, Status::Converged);
    near(&solution.parameters, &case.by_pseudo_inverse(), 1e-12);
}

#[test]
fn dependent_columns_give_the_minimum_norm_solution() {
    for intercept in [Intercept::Free, Intercept::Penalized, Intercept::Absent] {
        // A duplicate, a sum of two columns, a constant column, a column of zeros.
        let mut case = case(60, 3, 11);
        case.intercept = intercept;
        for row in &mut case.x {
            row.extend([row[0], row[1] + row[2], 3.0, 0.0]);
        }
        let known = case.by_pseudo_inverse();
        for solver in SOLVERS {
            let found = case.solve(solver);
            near(&found, &known, 1e-10);
            let report = case.report(&found);
            assert_eq!(
                (report.rank(), report.parameters()),
                (4, if intercept == Intercept::Absent { 7 } else { 8 })
            );
            assert!(report.condition_number() < 100.0);
        }
    }
}

#[test]
fn fewer_rows_than_columns_give_the_minimum_norm_solution() {
    for intercept in [Intercept::Free, Intercept::Penalized, Intercept::Absent] {
        let mut case = case(9, 20, 13);
        case.intercept = intercept;
        case.weights = vec![1.0; 9];
        let known = case.by_pseudo_inverse();
        for solver in SOLVERS {
            near(&case.solve(solver), &known, 1e-10);
        }
        let report = case.report(&known);
        assert_eq!((report.rank(), report.degrees_of_freedom()), (9, 0.0));
        assert_eq!(report.residual_deviation(), None);
        case.l2 = 0.3;
        let known = case.by_pseudo_inverse();
        for solver in SOLVERS {
            near(&case.solve(solver), &known, 1e-11);
        }
    }
}

#[test]
fn the_minimum_norm_is_on_the_scale_of_the_data() {
    // A column and 1000 times it: only w₁ + 1000w₂ is determined, and the minimum-norm solution has w₂ = 1000w₁.
    let mut case = case(50, 1, 17);
    let slope = case.solve(&Qr)[0];
    case.x.iter_mut().for_each(|row| row.push(1000.0 * row[0]));
    for solver in SOLVERS {
        let found = case.solve(solver);
        let first = slope / 1_000_001.0;
        assert!((found[0] / first - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found[1] / (1000.0 * first) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn scaled_columns_scale_the_weights() {
    let plain = case(200, 5, 19);
    let known = plain.solve(&Qr);
    let factors = [1e-6, 1e6, 1.0, 1e3, 1e-3];
    let mut scaled = case(200, 5, 19);
    for row in &mut scaled.x {
        row.iter_mut().zip(factors).for_each(|(x, f)| *x *= f);
    }
    for solver in SOLVERS {
        let mut found = scaled.solve(solver);
        found.iter_mut().zip(factors).for_each(|(w, f)| *w *= f);
        near(&found, &known, 1e-12);
    }
    // With a penalty the scale matters: it is the scale of the data, not an internal scale of the solver.
    scaled.l2 = 10.0;
    let known = scaled.by_pseudo_inverse();
    for solver in SOLVERS {
        let found = scaled.solve(solver);
        for ((found, known), factor) in found.iter().zip(&known).zip(factors) {
            assert!((found - known).abs() * factor < 1e-9, "{found} {known}");
        }
    }
}

#[test]
fn weights_over_ten_orders_and_means_far_from_zero_are_solved() {
    let mut case = case(300, 4, 23);
    let exponents = numbers(300, 24);
    for (w, e) in case.weights.iter_mut().zip(&exponents) {
        *w = 10f64.powf(5.0 * e / 8.0);
    }
    near(&case.solve(&Qr), &case.by_pseudo_inverse(), 1e-10);
    // Far from the origin the slopes do not change, only the intercept does.
    let known = case.solve(&Qr);
    case.x.iter_mut().flatten().for_each(|x| *x += 65536.0);
    for solver in [&Qr as &dyn Solver, &Svd] {
        let found = case.solve(solver);
        near(&found[..4], &known[..4], 1e-14);
        let moved = known[4] - 65536.0 * known[..4].iter().sum::<f64>();
        assert!((found[4] / moved - 1.0).abs() < 1e-13);
    }
    near(&case.solve(&NormalEquations::ANY)[..4], &known[..4], 1e-5);
}

#[test]
fn nearly_dependent_columns_keep_their_digits() {
    // x₂ = x₁ + 2⁻³⁰·e exactly, so w₁ and w₂ are known from the regression on x₁ and e.
    let mut case = case(100, 2, 29);
    case.weights = vec![1.0; 100];
    let separate = case.solve(&Qr);
    let small = 2f64.powi(-30);
    for row in &mut case.x {
        row[1] = row[0] + small * row[1];
    }
    let found = case.solve(&Qr);
    let second = separate[1] / small;
    let first = separate[0] - second;
    assert!((found[1] / second - 1.0).abs() < 1e-13, "{found:?} {second}");
    assert!((found[0] / first - 1.0).abs() < 1e-13, "{found:?} {first}");
    assert!(case.report(&found).condition_number() > 1e8);
}

#[test]
fn exact_data_beyond_the_reach_of_f64_are_still_solved() {
    // x₂ = x₁ + 2⁻⁴⁸·e with small integers, so x₂ is exact. The condition number is 10¹⁵, beyond the threshold of
    // the rank, although only e explains the target.
    let mut case = case(25, 2, 37);
    case.weights = vec![1.0; 25];
    for (i, row) in case.x.iter_mut().enumerate() {
        row.iter_mut().for_each(|x| *x = x.round().clamp(-4.0, 4.0));
        case.y[i] = 10.0 * row[1] + (i % 3) as f64;
    }
    let separate = case.solve(&Qr);
    let small = 2f64.powi(-48);
    for row in &mut case.x {
        row[1] = row[0] + small * row[1];
    }
    let second = separate[1] / small;
    let first = separate[0] - second;
    for solver in [&Qr as &dyn Solver, &Svd] {
        let found = case.solve(solver);
        assert!((found[1] / second - 1.0).abs() < 1e-12, "{found:?} {second}");
        assert!((found[0] / first - 1.0).abs() < 1e-12, "{found:?} {first}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let mut case = case(5000, 6, 31);
    case.x.iter_mut().for_each(|row| row[5] = row[0] - row[1]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| SOLVERS.map(|solver| case.solve(solver)))
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(5));
}

#[test]
fn the_report_of_a_known_fit() {
    let mut case = case(3, 1, 0);
    case.x = vec![vec![1.0], vec![2.0], vec![3.0]];
    case.y = vec![1.0, 3.0, 2.0];
    case.weights = vec![1.0, 1.0, 2.0];
    // Equivalent to the last row repeated: x̄ = 9/4, ȳ = 2, s_xy = 1, s_x² = 11/4.
    let found = case.solve(&Qr);
    near(&found, &[4.0 / 11.0, 2.0 - 9.0 / 11.0], 1e-15);
    let report = case.report(&found);
    near(
        &[report.residual_sum_of_squares(), report.total_sum_of_squares()],
        &[2.0 - 4.0 / 11.0, 2.0],
        1e-15,
    );
    assert_eq!(
        (report.rank(), report.total_weight(), report.degrees_of_freedom()),
        (2, 4.0, 2.0)
    );
    assert!((report.r_squared().unwrap() - 2.0 / 11.0).abs() < 1e-15);
    assert!((report.residual_deviation().unwrap() - (9.0f64 / 11.0).sqrt()).abs() < 1e-15);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// For any shape, rank, weights and penalty the gradient vanishes and the solution is that of the pseudo-inverse.
    #[test]
    fn solvers_agree_with_the_pseudo_inverse(n in 2usize..30, d in 1usize..8, seed in 0u32..10_000,
                                       l2 in prop_oneof![Just(0.0), 0.01..10.0f64],
                                       copies in 0usize..3, kind in 0usize..3) {
        let mut case = case(n, d, seed);
        case.intercept = [Intercept::Free, Intercept::Penalized, Intercept::Absent][kind];
        case.l2 = l2;
        case.weights.iter_mut().for_each(|w| *w = 0.5 + w.abs());
        for row in &mut case.x {
            row.extend_from_within(..copies.min(d));
        }
        let known = case.by_pseudo_inverse();
        // Small random matrices can be nearly singular; then both sides lose digits.
        let report = case.report(&known);
        prop_assume!(report.condition_number() < 1e3);
        for solver in SOLVERS {
            let found = case.solve(solver);
            let size = known.iter().fold(1e-3, |most: f64, k| most.max(k.abs()));
            for (f, k) in found.iter().zip(&known) {
                prop_assert!((f - k).abs() < 1e-8 * size, "{}: {found:?} {known:?}", solver.name().name());
            }
        }
    }
}

//! Least absolute deviations and quantile regression: exact vertices, compared with enumeration, a general solver and
//! published fits.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common::sparse;
use crate::kinked_sets::{Case, INTERCEPTS, PENALTIES, normal};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::certificate::Certificate;
use wstar::certify::duality::DualityGap;
use wstar::data::run::{Status, Unwatched};
use wstar::data::{Dataset, Dense, Design, Target};
use wstar::model::verify;
use wstar::problem::loss::{LossName, Quantile};
use wstar::problem::penalty::Penalty;
use wstar::problem::problem::Intercept;
use wstar::settings::{Method, Options};
use wstar::solve::{FrischNewton, InteriorPoint, SolverName};
use wstar::{Model, fit};

/// The gap allowed at a vertex with its multipliers, which is rounding error only.
const EXACT: f64 = 1e-12;

fn quantile(q: f64) -> LossName {
    LossName::Quantile(Quantile::new(q).unwrap())
}

fn losses() -> [LossName; 4] {
    [LossName::Absolute, quantile(0.5), quantile(0.9), quantile(0.03)]
}

fn case(x: &[Vec<f64>], targets: Vec<f64>, loss: LossName, intercept: Intercept) -> Case {
    let features = x.first().map_or(0, Vec::len);
    Case {
        design: Design::Dense64(Dense::new(x.concat(), x.len(), features).unwrap()),
        weights: vec![1.0; targets.len()],
        targets,
        loss,
        penalty: Penalty::NONE,
        intercept,
    }
}

/// The rows, each followed by 1 if there is an intercept.
fn lifted(case: &Case) -> Vec<Vec<f64>> {
    let rows = case.design.iter();
    rows.map(|row| {
        let mut x = row.to_dense(case.design.features());
        x.extend((case.intercept != Intercept::Absent).then_some(1.0));
        x
    })
    .collect()
}

/// Solves a square linear system by elimination; `None` if the matrix is singular.
fn solved(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for k in 0..n {
        let at = (k..n).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))?;
        rows.swap(k, at);
        if rows[k][k].abs() < 1e-9 {
            return None;
        }
        let pivot = rows[k].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k] / pivot[k];
            row.iter_mut()
                .zip(&pivot)
                .for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    Some((0..n).map(|k| rows[k][n] / rows[k][k]).collect())
}

/// The minimum of the objective over all vertices: every choice of columns and of as many interpolated rows.
fn enumerated(case: &Case) -> f64 {
    let x = lifted(case);
    let width = case.layout().len();
    let mut least = case.value(&vec![0.0; width]);
    for columns in 1u32..1 << width {
        let columns: Vec<usize> = (0..width).filter(|j| columns >> j & 1 == 1).collect();
        for rows in 0u32..1 << x.len() {
            if rows.count_ones() as usize != columns.len() {
                continue;
            }
            let system = (0..x.len()).filter(|i| rows >> i & 1 == 1).map(|i| {
                let mut row: Vec<f64> = columns.iter().map(|&j| x[i][j]).collect();
                row.push(case.targets[i]);
                row
            });
            if let Some(solution) = solved(system.collect()) {
                let mut at = vec![0.0; width];
                columns.iter().zip(solution).for_each(|(&j, value)| at[j] = value);
                least = least.min(case.value(&at));
            }
        }
    }
    least
}

/// Solves, and checks the gap and the vertex from the data alone.
#[track_caller]
fn vertex(case: &Case, solver: &FrischNewton) -> f64 {
    let context = format!("{:?} {:?}", case.loss, case.intercept);
    // The gap below is that of a vertex, for any tolerance.
    let solution = case.solve(solver, 1e-6);
    assert_eq!(solution.status, Status::Converged, "{context}");
    let gap = case.gap(&solution);
    assert!(gap.abs() <= EXACT, "{context}: a gap of {gap:e}");
    // A vertex interpolates at least as many rows as it has nonzero parameters, unless there are fewer rows.
    let (w, b) = case.layout().output(&solution.parameters, 0);
    let interpolated = (case.design.iter().zip(&case.targets)).filter(|(x, y)| {
        let size = x
            .to_dense(w.len())
            .iter()
            .zip(w)
            .map(|(x, w)| (x * w).abs())
            .sum::<f64>();
        (*y - (x.dot(w) + b)).abs() <= 1e-13 * (1.0 + y.abs() + size + b.abs())
    });
    let nonzero = solution.parameters.iter().filter(|w| **w != 0.0).count();
    assert!(
        interpolated.count() >= nonzero.min(case.design.rows()),
        "{context}: not a vertex"
    );
    case.value(&solution.parameters)
}

fn claim(model: &Model) -> &DualityGap {
    match model.certificate() {
        Certificate::DualityGap { parts } => &parts[0],
        other => panic!("{other:?}"),
    }
}

/// Fits from settings; the model must survive serialisation and `verify`.
#[track_caller]
fn certified(data: &Dataset, settings: &Options) -> Model {
    let model = fit(data, settings, &mut Unwatched).unwrap();
    assert_eq!(model.record().status, Status::Converged, "{:?}", model.record());
    let text = serde_json::to_string(&model).unwrap();
    let model: Model = serde_json::from_str(&text).unwrap();
    let verdict = verify(&model, data).unwrap();
    assert!(verdict.holds(), "{:?}", verdict.objections());
    assert!(claim(&model).relative_gap.abs() <= EXACT, "{:?}", claim(&model));
    assert_eq!(
        model.record().solver.as_ref().unwrap().name,
        SolverName::FrischNewton
    );
    model
}

fn lad(q: Option<f64>) -> Options {
    Options {
        quantile: q.map(|q| Quantile::new(q).unwrap()),
        ..Options::of(Method::Lad)
    }
}

/// A plane with heavy-tailed noise.
fn heavy(rows: usize, features: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..rows)
        .map(|_| {
            let x: Vec<f64> = (0..features).map(|_| normal(&mut random)).collect();
            let z: f64 = x.iter().enumerate().map(|(j, x)| x * (j as f64 - 1.5)).sum();
            let noise = normal(&mut random) / (-(1.0 - random.random::<f64>()).ln()).sqrt();
            (x, z + 2.0 + noise)
        })
        .unzip()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_vertex_is_better(
        rows in prop::collection::vec((prop::array::uniform2(-3.0..3.0f64), -5.0..5.0f64, 0..4usize), 1..9),
        loss in 0..4usize, intercept in 0..3usize, features in 1..3usize, whole: bool,
    ) {
        // Integers produce ties, equal rows and singular square systems.
        let round = |v: f64| if whole { v.round() } else { v };
        let x: Vec<Vec<f64>> = rows.iter().map(|row| row.0[..features].iter().map(|&v| round(v)).collect()).collect();
        let targets = rows.iter().map(|row| round(row.1)).collect();
        let mut case = case(&x, targets, losses()[loss], INTERCEPTS[intercept]);
        case.weights = rows.iter().map(|row| [1.0, 2.0, 0.25, 1.0][row.2]).collect();
        let (found, least) = (vertex(&case, &FrischNewton::default()), enumerated(&case));
        prop_assert!((found - least).abs() <= 1e-12 * least.max(1.0), "{} against {}", found, least);
    }

    #[test]
    fn an_intercept_alone_is_an_order_statistic(
        values in prop::collection::vec((-20i32..20, 1..5u32), 1..60), q in 0.02..0.98f64,
    ) {
        let targets: Vec<f64> = values.iter().map(|value| f64::from(value.0)).collect();
        let mut case = case(&vec![vec![0.0]; values.len()], targets, quantile(q), Intercept::Free);
        case.weights = values.iter().map(|value| f64::from(value.1)).collect();
        let found = case.solve(&FrischNewton::default(), 1e-9).parameters;
        prop_assert_eq!(found[0], 0.0);
        prop_assert!(case.targets.contains(&found[1]), "{} is no target", found[1]);
        let weight = |keep: &dyn Fn(f64) -> bool| -> f64 {
            (case.targets.iter().zip(&case.weights)).filter(|(y, _)| keep(**y)).map(|(_, c)| c).sum()
        };
        let total = weight(&|_| true);
        prop_assert!(weight(&|y| y < found[1]) <= q * total + 1e-9);
        prop_assert!(weight(&|y| y > found[1]) <= (1.0 - q) * total + 1e-9);
    }

    #[test]
    fn a_quantile_has_its_share_of_rows_on_each_side(
        seed in 0..1000u64, q in 0.02..0.98f64, rows in 20..200usize, whole: bool,
    ) {
        let (x, mut y) = heavy(rows, 3, seed);
        if whole {
            y.iter_mut().for_each(|y| *y = y.round());
        }
        let case = case(&x, y, quantile(q), Intercept::Free);
        let solution = case.solve(&FrischNewton::default(), 1e-9);
        prop_assert!(case.gap(&solution).abs() <= EXACT);
        let (w, b) = case.layout().output(&solution.parameters, 0);
        let (mut below, mut above) = (0.0, 0.0);
        for (x, y) in case.design.iter().zip(&case.targets) {
            let off = y - (x.dot(w) + b);
            below += f64::from(u8::from(off < -1e-9));
            above += f64::from(u8::from(off > 1e-9));
        }
        prop_assert!(below <= q * rows as f64 + 1e-9 && above <= (1.0 - q) * rows as f64 + 1e-9);
    }
}

/// Brownlee's stack loss data: air flow, water temperature, acid concentration, and stack loss.
const STACK_LOSS: [[f64; 4]; 21] = [
    [80.0, 27.0, 89.0, 42.0],
    [80.0, 27.0, 88.0, 37.0],
    [75.0, 25.0, 90.0, 37.0],
    [62.0, 24.0, 87.0, 28.0],
    [62.0, 22.0, 87.0, 18.0],
    [62.0, 23.0, 87.0, 18.0],
    [62.0, 24.0, 93.0, 19.0],
    [62.0, 24.0, 93.0, 20.0],
    [58.0, 23.0, 87.0, 15.0],
    [58.0, 18.0, 80.0, 14.0],
    [58.0, 18.0, 89.0, 14.0],
    [58.0, 17.0, 88.0, 13.0],
    [58.0, 18.0, 82.0, 11.0],
    [58.0, 19.0, 93.0, 12.0],
    [50.0, 18.0, 89.0, 8.0],
    [50.0, 18.0, 86.0, 7.0],
    [50.0, 19.0, 72.0, 8.0],
    [50.0, 19.0, 79.0, 8.0],
    [50.0, 20.0, 80.0, 9.0],
    [56.0, 20.0, 82.0, 15.0],
    [70.0, 20.0, 91.0, 15.0],
];

#[test]
fn the_published_fit_to_stack_loss() {
    let rows: Vec<Vec<f64>> = STACK_LOSS.iter().map(|row| row[..3].to_vec()).collect();
    let data = Dataset::measured(&rows, STACK_LOSS.map(|row| row[3]).to_vec()).unwrap();
    let model = certified(&data, &lad(None));
    let plane = &model.predictor().hyperplanes().unwrap()[0];
    let found = [
        plane.intercept,
        plane.weights[0],
        plane.weights[1],
        plane.weights[2],
    ];
    // Bloomfield and Steiger 1983; also the example of R's quantreg package.
    for (found, published) in found.iter().zip([-39.68986, 0.83188, 0.57391, -0.06087]) {
        assert!((found - published).abs() < 5e-6, "{found} against {published}");
    }
    assert!(
        (claim(&model).primal - 42.08116).abs() < 1e-5,
        "{}",
        claim(&model).primal
    );
    let model = certified(&data, &lad(Some(0.5)));
    assert!((2.0 * claim(&model).primal - 42.08116).abs() < 1e-5);
}

#[test]
fn every_intercept_weight_and_storage() {
    for loss in losses() {
        for intercept in INTERCEPTS {
            let mut case = Case::random(7, 60, 4, loss);
            (case.penalty, case.intercept) = (Penalty::NONE, intercept);
            let plain = vertex(&case, &FrischNewton::default());
            let reference = case.reference();
            assert!(
                plain - reference <= 1e-9 * reference,
                "{plain} against {reference}"
            );
            for (i, weight) in case.weights.iter_mut().enumerate() {
                *weight = if i % 7 == 3 {
                    0.0
                } else {
                    10f64.powi(i as i32 % 7 - 3)
                };
            }
            let found: Vec<f64> = (case.storages().iter())
                .map(|case| vertex(case, &FrischNewton::default()))
                .collect();
            for objective in &found {
                assert!((objective - found[0]).abs() <= 1e-12 * found[0], "{found:?}");
            }
            let reference = case.storages()[0].reference();
            assert!(
                found[0] - reference <= 1e-8 * reference.max(1.0),
                "{found:?} against {reference}"
            );
        }
    }
}

#[test]
fn scaled_and_dependent_columns() {
    for loss in losses() {
        let case = {
            let mut case = Case::random(5, 100, 5, loss);
            case.penalty = Penalty::NONE;
            case
        };
        let plain = vertex(&case, &FrischNewton::default());
        let scaled = case.scaled(&[1e-6, 1.0, 1e6, 30.0, 1e-2]);
        let found = vertex(&scaled, &FrischNewton::default());
        assert!((found - plain).abs() <= 1e-11 * plain, "{found} against {plain}");
        // A constant column, a duplicate, a column of zeros, and a sum of two columns.
        let x: Vec<Vec<f64>> = (case.design.iter())
            .map(|row| {
                let x = row.to_dense(5);
                vec![x[0], 3.0, x[1], x[2], x[1], 0.0, x[3], x[4], x[0] + x[3]]
            })
            .collect();
        for intercept in [Intercept::Free, Intercept::Absent] {
            let wide = Case {
                design: Design::Dense64(Dense::new(x.concat(), 100, 9).unwrap()),
                intercept,
                ..case.clone()
            };
            let found = vertex(&wide, &FrischNewton::default());
            assert!((found - plain).abs() <= 1e-11 * plain, "{found} against {plain}");
        }
    }
}

#[test]
fn as_many_columns_as_rows_and_more() {
    for (rows, features) in [(1, 1), (4, 3), (5, 5), (6, 5), (4, 9), (20, 50), (1, 3)] {
        for intercept in INTERCEPTS {
            for loss in losses() {
                let mut case = Case::random(3, rows, features, loss);
                (case.penalty, case.intercept) = (Penalty::NONE, intercept);
                let found = vertex(&case, &FrischNewton::default());
                if case.layout().len() >= rows {
                    assert!(found <= 1e-12, "{rows} × {features}: {found}");
                }
            }
        }
    }
}

#[test]
fn ties_by_the_hundred() {
    for (seed, rows, features) in [(1, 500, 4), (2, 2000, 10), (3, 3000, 2)] {
        // Integer data, most of them exactly on a plane.
        let (x, y) = heavy(rows, features, seed);
        let noise = x.iter().zip(y).map(|(x, y)| {
            let plane: f64 = x.iter().enumerate().map(|(j, x)| x * (j as f64 - 1.5)).sum();
            (0.4 * (y - 2.0 - plane)).round()
        });
        let noise: Vec<f64> = noise.collect();
        let whole = |x: &Vec<f64>| x.iter().map(|v| (2.0 * v).round()).collect();
        let x: Vec<Vec<f64>> = x.iter().map(whole).collect();
        let y: Vec<f64> = (x.iter().zip(&noise))
            .map(|(x, noise)| {
                3.0 + noise
                    + x.iter()
                        .enumerate()
                        .map(|(j, x)| x * (2.0 - j as f64))
                        .sum::<f64>()
            })
            .collect();
        for loss in losses() {
            let mut case = case(&x, y.clone(), loss, Intercept::Free);
            let found = vertex(&case, &FrischNewton::default());
            let solution = case.solve(&FrischNewton::default(), 1e-9);
            let (w, b) = case.layout().output(&solution.parameters, 0);
            let interpolated =
                (case.design.iter().zip(&case.targets)).filter(|(x, y)| (x.dot(w) + b - *y).abs() < 1e-9);
            let interpolated = interpolated.count();
            assert!(
                loss != LossName::Absolute || interpolated > 3 * features,
                "{interpolated} rows are interpolated"
            );
            let near = case.value(&case.solve(&InteriorPoint::default(), 1e-9).parameters);
            assert!(
                found <= near * (1.0 + 1e-12) && near - found <= 1e-8 * near,
                "{found} {near}"
            );
            // Weight 2 for every row doubles the objective.
            case.weights.fill(2.0);
            let twice = vertex(&case, &FrischNewton::default());
            assert!((twice - 2.0 * found).abs() <= 1e-11 * found);
        }
    }
}

#[test]
fn preprocessing_does_not_change_the_optimum() {
    let all = FrischNewton {
        preprocess_from: 0,
        ..FrischNewton::default()
    };
    for (whole, features) in [(false, 3), (true, 3), (false, 1), (true, 6)] {
        let (mut x, mut y) = heavy(30_000, features, 11);
        if whole {
            x.iter_mut().flatten().for_each(|v| *v = (2.0 * *v).round());
            y.iter_mut().for_each(|y| *y = (0.5 * *y).round());
        }
        // A column that is nonzero in few rows, so a sample hardly contains it, and a linearly dependent column.
        for (i, x) in x.iter_mut().enumerate() {
            x.push(f64::from(u8::from(i % 7001 == 5)));
            x.push(2.0 * x[0] - 1.0);
        }
        for loss in [LossName::Absolute, quantile(0.95)] {
            let mut case = case(&x, y.clone(), loss, Intercept::Free);
            for (i, weight) in case.weights.iter_mut().enumerate() {
                *weight = [1.0, 0.5, 3.0, 0.0][i % 4];
            }
            let (few, every) = (vertex(&case, &FrischNewton::default()), vertex(&case, &all));
            assert!((few - every).abs() <= 1e-12 * every, "{few} against {every}");
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, y) = heavy(20_000, 5, 3);
    let data = Dataset::measured(&x, y).unwrap();
    let fits: Vec<String> = [1, 2, 5]
        .into_iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let model = pool.install(|| certified(&data, &lad(Some(0.7))));
            serde_json::to_string(&(model.predictor(), model.certificate())).unwrap()
        })
        .collect();
    assert!(fits.iter().all(|fit| *fit == fits[0]));
    let other = certified(&sparse(&data), &lad(Some(0.7)));
    let (one, other) = (
        claim(&certified(&data, &lad(Some(0.7)))).primal,
        claim(&other).primal,
    );
    assert!((one - other).abs() <= 1e-12 * one);
}

#[test]
fn quantiles_with_every_penalty() {
    for q in [0.1, 0.5, 0.75] {
        for penalty in PENALTIES {
            for intercept in INTERCEPTS {
                let mut case = Case::random(9, 60, 4, quantile(q));
                (case.penalty, case.intercept) = (penalty, intercept);
                let solution = case.solve(&InteriorPoint::default(), 1e-9);
                assert_eq!(solution.status, Status::Converged);
                assert!(case.gap(&solution) <= 2e-9);
                let (found, reference) = (case.value(&solution.parameters), case.reference());
                assert!(
                    found - reference <= 2e-9 * reference,
                    "{found} against {reference}"
                );
            }
        }
    }
}

#[test]
fn invalid_quantiles_are_refused() {
    for q in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
        assert!(Quantile::new(q).unwrap_err().to_string().contains("quantile"));
        assert!(serde_json::from_str::<Quantile>(&q.to_string()).is_err());
    }
    let settings = Options {
        method: Some(Method::LeastSquares),
        ..lad(Some(0.3))
    };
    assert!(
        settings
            .for_target(&Target::Unknown)
            .unwrap_err()
            .to_string()
            .contains("quantile does not go with")
    );
    let settings = Options {
        loss: Some(LossName::Absolute),
        ..lad(Some(0.3))
    };
    assert!(settings.for_target(&Target::Unknown).is_err());
    let mut case = Case::random(1, 10, 2, LossName::Absolute);
    assert!(wstar::solve::Solver::check(&FrischNewton::default(), &case.objective()).is_err());
    (case.loss, case.penalty) = (LossName::Hinge, Penalty::NONE);
    assert!(wstar::solve::Solver::check(&FrischNewton::default(), &case.objective()).is_err());
}

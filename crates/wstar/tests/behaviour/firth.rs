//! Firth's correction, compared with closed forms and independent computations.
#![allow(clippy::unwrap_used, clippy::needless_range_loop)]

use wstar::certificate::Certificate;
use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::run::{Status, Unwatched};
use wstar::data::{self, Dataset, Design, Preparation};
use wstar::model::{Model, Predictor};
use wstar::settings::{Method, Options};

fn firth() -> Options {
    Options {
        firth: true,
        tol: Some(1e-10),
        ..Options::of(Method::Logistic)
    }
}

fn coefficients(model: &Model) -> Vec<f64> {
    let Predictor::Linear { discriminants, .. } = model.predictor() else {
        panic!("not linear")
    };
    let mut all = vec![discriminants[0].intercept];
    all.extend(&discriminants[0].weights);
    all
}

/// Fits, and verifies the certificate.
fn fit(data: &Dataset, settings: &Options) -> Model {
    let model = wstar::estimate::fit(data, settings, &mut Unwatched).unwrap();
    assert_eq!(model.record().status, Status::Converged);
    assert!(matches!(model.certificate(), Certificate::Stationarity { .. }));
    let verdict = wstar::verify(&model, data).unwrap();
    assert!(verdict.holds(), "{:?}", verdict.objections());
    model
}

/// Rows of one binary feature, with the given counts of (x, y) = (0, 0), (0, 1), (1, 0), (1, 1).
fn table(counts: [usize; 4]) -> Dataset {
    let mut rows = Vec::new();
    let mut labels = Vec::new();
    for (cell, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            rows.push(vec![(cell / 2) as f64]);
            labels.push(if cell % 2 == 1 { "yes" } else { "no" });
        }
    }
    Dataset::labelled(&rows, &labels).unwrap()
}

#[test]
fn a_table_of_two_by_two_gets_half_a_count_in_each_cell() {
    // The model is saturated, so Jeffreys' prior adds ½ to every cell (Firth 1993, section 3.3). This includes tables
    // with an empty cell, for which no maximum-likelihood estimate exists.
    for counts in [
        [10, 3, 4, 12],
        [10, 0, 4, 12],
        [7, 0, 0, 9],
        [1, 1, 1, 1],
        [30, 1, 0, 2],
    ] {
        let model = fit(&table(counts), &firth());
        let [a, b, c, d] = counts.map(|count| count as f64 + 0.5);
        let found = coefficients(&model);
        let intercept = (b / a).ln();
        assert!((found[0] - intercept).abs() < 1e-8, "{counts:?}: {found:?}");
        assert!(
            (found[1] - ((d / c).ln() - intercept)).abs() < 1e-8,
            "{counts:?}: {found:?}"
        );
        // The standard error of the log-odds ratio comes from the information matrix at the estimate.
        let (p, q) = (b / (a + b), d / (c + d));
        let (n, m) = ((counts[0] + counts[1]) as f64, (counts[2] + counts[3]) as f64);
        let error = (1.0 / (n * p * (1.0 - p)) + 1.0 / (m * q * (1.0 - q))).sqrt();
        let inference = model.inference().unwrap();
        assert!((inference.coefficients()[0].standard_error() - error).abs() < 1e-7);
        assert!(inference.aic().is_none());
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let twice = table([6, 2, 0, 4]);
    let mut once = table([3, 1, 0, 2]);
    let weights: Vec<f64> = vec![2.0; once.rows()];
    once = once.with_weights(weights).unwrap();
    let (twice, once) = (fit(&twice, &firth()), fit(&once, &firth()));
    for (a, b) in coefficients(&twice).iter().zip(coefficients(&once)) {
        assert!((a - b).abs() < 1e-9);
    }
}

/// −ℓ − ½ ln det I by definition, for three parameters. The second feature is reduced by 1000 to lose no digits.
fn objective(rows: &[Vec<f64>], labels: &[&str], beta: &[f64]) -> f64 {
    let mut information = [[0.0f64; 3]; 3];
    let mut value = 0.0;
    for (row, label) in rows.iter().zip(labels) {
        let x = [1.0, row[0], row[1] - 1000.0];
        let z: f64 = x.iter().zip(beta).map(|(x, b)| x * b).sum();
        let p = 1.0 / (1.0 + (-z).exp());
        value -= if *label == "yes" { p.ln() } else { (1.0 - p).ln() };
        for j in 0..3 {
            for k in 0..3 {
                information[j][k] += p * (1.0 - p) * x[j] * x[k];
            }
        }
    }
    let m = information;
    let determinant = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    value - 0.5 * determinant.ln()
}

#[test]
fn the_estimate_maximises_the_corrected_likelihood() {
    // Separable classes in two features; one feature has another offset and scale.
    let rows: Vec<Vec<f64>> = (0..14)
        .map(|i| vec![f64::from(i), 1000.0 + 0.01 * f64::from(i * i % 11)])
        .collect();
    let labels: Vec<&str> = (0..14).map(|i| if i < 8 { "no" } else { "yes" }).collect();
    let data = Dataset::labelled(&rows, &labels).unwrap();
    let model = fit(&data, &firth());
    let mut beta = coefficients(&model);
    beta[0] += 1000.0 * beta[2];
    let best = objective(&rows, &labels, &beta);
    assert!((best - model.record().objective.unwrap()).abs() < 1e-6 * best.abs().max(1.0));
    for step in [1e-3, -1e-3, 0.1, -0.1] {
        for direction in [
            [1.0, 0.0, 0.0],
            [0.0, 0.1, 0.0],
            [0.0, 0.0, 1.0],
            [-2.0, 1.0, 0.0],
        ] {
            let moved: Vec<f64> = beta.iter().zip(direction).map(|(b, d)| b + step * d).collect();
            assert!(objective(&rows, &labels, &moved) > best, "{step} {direction:?}");
        }
    }
}

#[test]
fn settings_that_change_the_likelihood_are_refused() {
    let data = table([3, 1, 2, 2]);
    for settings in [
        Options {
            c: Some(2.0),
            ..firth()
        },
        Options {
            penalty: Some(wstar::problem::penalty::PenaltyName::L2),
            ..firth()
        },
        Options {
            method: Some(Method::Svm),
            ..firth()
        },
    ] {
        let error = wstar::estimate::fit(&data, &settings, &mut Unwatched)
            .unwrap_err()
            .to_string();
        assert!(error.contains("firth"), "{error}");
    }
    // Two equal columns make the information matrix singular.
    let rows = [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [2.0, 2.0]].map(Vec::from);
    let data = Dataset::labelled(&rows, &["a", "b", "a", "b"]).unwrap();
    let error = wstar::estimate::fit(&data, &firth(), &mut Unwatched)
        .unwrap_err()
        .to_string();
    assert!(error.contains("depend on each other"), "{error}");
}

/// A file of the repository or of the published data, without some classes and columns.
fn some_of(source: &str, target: Option<&str>, dropped: &[&str], classes: &[&str]) -> Dataset {
    let raw = read(&Source::parse(source).unwrap(), &ReadOptions::default()).unwrap();
    let how = Preparation {
        target: target.map(Into::into),
        drop: dropped.iter().map(|&name| name.into()).collect(),
        ..Preparation::default()
    };
    let all = data::prepare::prepare(raw, &how).unwrap();
    let (codes, names) = all.require_classes().unwrap();
    let kept: Vec<usize> = (0..all.rows())
        .filter(|&i| classes.contains(&names.name(codes[i])))
        .collect();
    let rows: Vec<Vec<f64>> = kept
        .iter()
        .map(|&i| all.design().row(i).to_dense(all.features()))
        .collect();
    let labels: Vec<&str> = kept.iter().map(|&i| names.name(codes[i])).collect();
    Dataset::labelled(&rows, &labels).unwrap()
}

/// The expected results of a set: coefficients with the intercept first, their standard errors, and ℓ + ½ ln det I.
struct Reference {
    data: Dataset,
    coefficients: &'static [f64],
    standard_errors: &'static [f64],
    likelihood: f64,
}

/// Computed with mpmath 1.4.1 in 40 digits from the definition: the root of Σ(yᵢ − pᵢ + hᵢ(½ − pᵢ))xᵢ by Fisher scoring
/// until steps are below 1e-25, with I = Σ pᵢ(1 − pᵢ)xᵢxᵢᵀ, leverages hᵢ, and standard errors from I⁻¹. The package
/// firthmodels 0.8.2 agrees in coefficients and likelihood to the six or more digits to which it converges. (Its
/// standard errors are those of the augmented data with weights pᵢ(1 − pᵢ)(1 + hᵢ), a different definition with smaller
/// values.)
fn references() -> Vec<Reference> {
    let mut all = vec![
        // Separable: no maximum-likelihood estimate exists.
        Reference {
            data: some_of("@iris", None, &[], &["setosa", "versicolor"]),
            coefficients: &[
                2.53285943150002,
                -0.399062789146491,
                -2.108422776657,
                0.97174766700433,
                4.06917614069683,
            ],
            standard_errors: &[
                8.32354172147572,
                2.47084261863818,
                2.18504159397326,
                2.47737191519171,
                5.47188689594457,
            ],
            likelihood: -4.45663940028071,
        },
        Reference {
            data: some_of("@iris", None, &[], &["versicolor", "virginica"]),
            coefficients: &[
                -20.1922237384405,
                -1.54626383922647,
                -3.55795329040159,
                4.75380442587122,
                9.94304025178171,
            ],
            standard_errors: &[
                9.47679175645804,
                1.5837986109559,
                2.26430831518721,
                1.9668354664261,
                3.82703067090345,
            ],
            likelihood: -9.449701771396,
        },
        Reference {
            data: some_of(
                "@wine",
                None,
                &[
                    "alcalinity of ash",
                    "magnesium",
                    "total phenols",
                    "flavanoids",
                    "nonflavanoid phenols",
                    "proanthocyanins",
                    "color intensity",
                    "hue",
                    "od280/od315 of diluted wines",
                    "proline",
                ],
                &["class 1", "class 2"],
            ),
            coefficients: &[
                61.7852207867499,
                -4.19901394791672,
                -0.0851921682460182,
                -2.87209786369709,
            ],
            standard_errors: &[
                10.7464173215585,
                0.772430370550127,
                0.322508617280612,
                1.34115180938192,
            ],
            likelihood: -21.018185315508629,
        },
    ];
    // The credit cards of James, Witten, Hastie and Tibshirani: 333 of 10,000 default. Balances in thousands and
    // incomes in tens of thousands of dollars, which shifts digits of the reference and subtracts ln 10⁷ from its
    // likelihood.
    if let Some(path) = crate::common::real_data("islr/Default.csv") {
        let mut data = some_of(path.to_str().unwrap(), Some("default"), &[], &["No", "Yes"]);
        let units = [1.0, 1e3, 1e4];
        let rows: Vec<Vec<f64>> = data
            .design()
            .iter()
            .map(|row| {
                row.to_dense(3)
                    .iter()
                    .zip(units)
                    .map(|(x, unit)| x / unit)
                    .collect()
            })
            .collect();
        data = data.with_design(Design::from_rows(&rows).unwrap()).unwrap();
        all.push(Reference {
            data,
            coefficients: &[
                -10.8337726338604,
                -0.644249932529919,
                5.71726236040209,
                0.0302082405988541,
            ],
            standard_errors: &[
                0.490242033699472,
                0.235680949556556,
                0.2307932218499,
                0.0818310566480611,
            ],
            likelihood: -761.050571802826 - 16.1180956509583,
        });
    }
    all
}

#[test]
fn coefficients_errors_and_likelihood_are_those_of_forty_digits() {
    let near = |found: f64, truth: f64, what: &str| {
        let off = (found - truth).abs() / truth.abs();
        assert!(off < 2e-8, "{what}: {found} for {truth}, off by {off:.1e}");
    };
    for reference in references() {
        // The tightest tolerance that rounding allows, which depends on the set.
        let at = |tol: f64| {
            let settings = Options {
                tol: Some(tol),
                ..firth()
            };
            wstar::estimate::fit(&reference.data, &settings, &mut Unwatched).unwrap()
        };
        let model = [1e-13, 1e-12, 1e-11]
            .into_iter()
            .map(at)
            .find(|model| model.record().status == Status::Converged)
            .unwrap();
        let verdict = wstar::verify(&model, &reference.data).unwrap();
        assert!(verdict.holds(), "{:?}", verdict.objections());
        let found = coefficients(&model);
        assert_eq!(found.len(), reference.coefficients.len());
        for (&found, &truth) in found.iter().zip(reference.coefficients) {
            near(found, truth, "coefficient");
        }
        near(
            model.record().objective.unwrap(),
            -reference.likelihood,
            "likelihood",
        );
        // The standard error of the intercept is the last one.
        let inference = model.inference().unwrap();
        let errors = inference.coefficients().iter().map(|c| c.standard_error());
        let truth = reference.standard_errors[1..]
            .iter()
            .chain(&reference.standard_errors[..1]);
        for (found, &truth) in errors.zip(truth) {
            near(found, truth, "standard error");
        }
    }
}

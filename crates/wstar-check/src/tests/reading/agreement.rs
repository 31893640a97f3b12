//! The engine and this crate must agree on the rows, the weights and the objective of every model.

use crate::check::check;
use crate::design::Design;
use crate::duality_gap::Claim;
use crate::model::Model;
use crate::problem::{Intercept, Loss, Problem};
use crate::reduction::Reduction;
use crate::regularized::Settings;
use crate::verdict::{Options, Verdict};

use crate::tests::reading::{fixture, model, source};

/// Model, data, and whether rows with missing values are left out.
const CASES: [(&str, &str, bool); 11] = [
    ("flowers-softmax.json", "flowers.csv", false),
    ("flowers-pairs.json", "flowers.csv", false),
    ("flowers-rest.json", "flowers.csv", false),
    ("flowers-positive.json", "flowers.csv", false),
    ("flowers-huber.json", "flowers.csv", false),
    ("prices-ridge.json", "prices.csv", false),
    ("prices-lasso.json", "prices.csv", false),
    ("prices-lad.json", "prices.csv", true),
    ("prices-quantile.json", "prices.csv", false),
    ("sparse-logistic.json", "sparse.svm", false),
    ("sparse-svm.json", "sparse.svm", false),
];

/// P in plain arithmetic.
fn objective(problem: &Problem, design: &Design, targets: &[f64], weights: &[f64], point: &[f64]) -> f64 {
    let mut sum = 0.0;
    for output in point.chunks(problem.width()) {
        for (j, w) in output.iter().enumerate() {
            if j < problem.features || problem.intercept == Intercept::Penalized {
                sum += problem.l1 * w.abs() + 0.5 * problem.l2 * w * w;
            }
        }
    }
    for i in 0..design.rows() {
        let score = |output: &[f64]| {
            let products = design.row(i).entries().map(|(j, x)| output[j] * x);
            products.sum::<f64>() + output.get(problem.features).unwrap_or(&0.0)
        };
        let z: Vec<f64> = point.chunks(problem.width()).map(score).collect();
        let (margin, r) = (targets[i] * z[0], targets[i] - z[0]);
        let loss = match problem.loss {
            Loss::Squared => 0.5 * r * r,
            Loss::Logistic => (-margin).exp().ln_1p(),
            Loss::Hinge => (1.0 - margin).max(0.0),
            Loss::SquaredHinge => (1.0 - margin).max(0.0).powi(2),
            Loss::ModifiedHuber if margin < -1.0 => -4.0 * margin,
            Loss::ModifiedHuber => (1.0 - margin).max(0.0).powi(2),
            Loss::Absolute => r.abs(),
            Loss::Quantile(q) => (q * r).max((q - 1.0) * r),
            Loss::SigmoidMse => (1.0 + margin.exp()).powi(-2),
            Loss::Softmax => z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[targets[i] as usize],
        };
        sum += weights[i] * loss;
    }
    sum
}

#[test]
fn objectives_are_those_of_the_engine() {
    for (name, data, drop_missing) in CASES {
        let model = model(name);
        let rows = source(&model, data, drop_missing).unwrap().rows;
        let settings = Settings::read(&model.root().field("settings").unwrap()).unwrap();
        let (claims, planes) = (Claim::read_all(&model).unwrap(), model.hyperplanes().unwrap());
        let reduction = Reduction::new(&settings, &model.schema, planes.len(), &rows).unwrap();
        assert_eq!(reduction.parts.len(), claims.len(), "{name}");
        for (index, (&part, claim)) in reduction.parts.iter().zip(&claims).enumerate() {
            let (targets, weights) = (part.targets(&rows), reduction.weights(part, &rows));
            let point = reduction.point(index, &planes);
            let found = objective(&reduction.problem, &rows.design, &targets, &weights, &point);
            let difference = (found - claim.primal).abs() / claim.primal;
            assert!(difference < 1e-13, "{name} {index}: {found} {}", claim.primal);
        }
    }
}

#[test]
fn claims_of_the_engine_are_proved() {
    for (name, data, drop_missing) in CASES {
        let model = model(name);
        let rows = source(&model, data, drop_missing).unwrap().rows;
        let verdict = check(&model, &rows, Options::default()).unwrap();
        assert!(verdict.is_proved(), "{name}: {:?}", verdict.objections);
    }
}

/// The rows of a file, the objections, and the statements that are not proved.
fn verdict(name: &str, data: &str) -> Verdict {
    let model = model(name);
    let rows = source(&model, data, false).unwrap().rows;
    check(&model, &rows, Options::default()).unwrap()
}

#[test]
fn other_claims_of_the_engine_are_proved() {
    for (name, data, summary, statements) in [
        ("flowers-averaged", "flowers.csv", "no run under", 6),
        ("flowers-voted", "flowers.csv", "no run under", 5),
        ("flowers-worst", "flowers.csv", "no run under", 3),
        (
            "flowers-kozinec",
            "flowers.csv",
            "intervals for the largest margins have relative widths of at most 4.8e-3",
            1,
        ),
        ("flowers-gaussian", "flowers.csv", "stored parameters deviate", 2),
        ("flowers-lda", "flowers.csv", "stored parameters deviate", 2),
        ("flowers-naive", "flowers.csv", "stored parameters deviate", 2),
        (
            "flowers-multinomial",
            "flowers.csv",
            "stored parameters deviate",
            2,
        ),
        (
            "flowers-minimax",
            "flowers.csv",
            "the radii are known up to a relative width of 1.3e-15",
            3,
        ),
        (
            "sparse-minimax",
            "sparse.svm",
            "the radii are known up to a relative width of",
            2,
        ),
        (
            "flowers-sigmoid",
            "flowers.csv",
            "the relative gradient is at most 5.3e-10",
            3,
        ),
        (
            "flowers-firth-rest",
            "flowers.csv",
            "the relative gradient is at most 7.6e-7",
            3,
        ),
    ] {
        let found = verdict(&format!("{name}.json"), data);
        assert!(
            found.is_proved() && found.summary.starts_with(summary),
            "{name}: {found:?}"
        );
        let results = found
            .statements
            .iter()
            .filter(|statement| statement.proved == Some(true));
        assert_eq!(results.count(), statements, "{name}: {found:?}");
    }
}

/// The verdict's objections after a change of the model file, or why it is not readable.
fn after(name: &str, data: &str, old: &str, new: &str) -> Vec<String> {
    let text = String::from_utf8(fixture(name)).unwrap();
    assert!(text.contains(old), "{name} {old}");
    let changed = text.replacen(old, new, 1);
    let objections = Model::read(changed.as_bytes(), name).and_then(|model| {
        let rows = source(&model, data, false)?.rows;
        Ok(check(&model, &rows, Options::default())?.objections)
    });
    objections.unwrap_or_else(|error| vec![error.to_string()])
}

#[test]
fn forged_statements_are_objections() {
    for (old, new, objection) in [
        ("\"primal\":", "\"primal\":70,\"other\":", "P is stated to be"),
        ("\"dual\":", "\"dual\":70,\"other\":", "the lower bound"),
        ("\"gap\":", "\"gap\":0.001,\"other\":", "is not P − D"),
        (
            "\"relative_gap\":",
            "\"relative_gap\":-9,\"other\":",
            "the stated relative gap",
        ),
        (
            "\"rows\":80,\"support\"",
            "\"rows\":81,\"support\"",
            "the claim is about 81 rows",
        ),
        (
            "\"rows\":80,\"passes\"",
            "\"rows\":81,\"passes\"",
            "the model was trained on 81 rows",
        ),
        (
            "\"objective\":",
            "\"objective\":1",
            "the objective is stated to be",
        ),
        (
            "\"link\":\"logit\"",
            "\"link\":\"margin\"",
            "the scores are called margin",
        ),
        ("\"tol\":", "\"tol\":2", "the tolerance is"),
        (
            "\"intercept\":\"free\"",
            "\"intercept\":\"absent\"",
            "the model has an intercept",
        ),
        ("\"parts\":[", "\"parts\":[],\"other\":[", "0 claims are made"),
    ] {
        let found = after("sparse-logistic.json", "sparse.svm", old, new);
        assert!(
            found.iter().any(|found| found.contains(objection)),
            "{old}: {found:?}"
        );
    }
}

#[test]
fn forged_statements_of_other_claims_are_objections() {
    for (name, old, new, objection) in [
        (
            "flowers-halving",
            "\"radius\":",
            "\"radius\":1,\"other\":",
            "the radius is stated to be 1.0",
        ),
        (
            "flowers-halving",
            "\"slack\":0",
            "\"slack\":1",
            "the slack is stated to be 1",
        ),
        (
            "flowers-halving",
            "\"rate\":1.0",
            "\"rate\":2.0",
            "the conditions of the run",
        ),
        (
            "flowers-halving",
            "\"iterations\":",
            "\"iterations\":1",
            "updates are stated",
        ),
        (
            "flowers-inverse",
            "\"intercept\":0.0},\"cond",
            "\"intercept\":0.5},\"cond",
            "the run had none",
        ),
        (
            "flowers-kozinec",
            "\"lower\":",
            "\"lower\":1.25,\"other\":",
            "lower is stated to be 1.25",
        ),
        (
            "flowers-kozinec",
            "\"upper\":",
            "\"upper\":0.25,\"other\":",
            "upper is stated to be 0.25",
        ),
        (
            "flowers-gaussian",
            "\"deviation\":",
            "\"deviation\":-0.1,\"other\":",
            "the deviation is stated to be -0.1",
        ),
        (
            "flowers-gaussian",
            "\"log_likelihood\":",
            "\"log_likelihood\":9,\"other\":",
            "the log-likelihood is stated",
        ),
        (
            "flowers-gaussian",
            "[5.0,1.0,0.0]",
            "[5.0,1.0,2.0]",
            "other penalties than its settings",
        ),
        (
            "flowers-lda",
            "\"shrinkage\":0.0",
            "\"shrinkage\":0.5",
            "shrinkage or smoothing are not",
        ),
        (
            "flowers-minimax",
            "\"relative_gap\":",
            "\"relative_gap\":-1e-6,\"other\":",
            "the relative gap is stated",
        ),
        (
            "flowers-firth",
            "\"slope\":",
            "\"slope\":1e-7,\"other\":",
            "the slope is stated to be 1e-7",
        ),
        (
            "flowers-firth",
            "\"penalty\":\"none\"",
            "\"penalty\":\"l2\"",
            "stationarity is claimed for another objective",
        ),
    ] {
        let found = after(&format!("{name}.json"), "flowers.csv", old, new);
        assert!(
            found.iter().any(|found| found.contains(objection)),
            "{name} {old}: {found:?}"
        );
    }
}

#[test]
fn runs_that_contradict_the_rows_are_not_proved() {
    let text = String::from_utf8(fixture("flowers-perceptron.json")).unwrap();
    let verdict = |changes: &[(&str, &str)]| {
        let changed = changes.iter().fold(text.clone(), |text, (old, new)| {
            assert!(text.contains(old), "{old}");
            text.replace(old, new)
        });
        let model = Model::read(changed.as_bytes(), "model").unwrap();
        let rows = source(&model, "flowers.csv", false).unwrap().rows;
        check(&model, &rows, Options::default()).unwrap()
    };
    // Other weights, with which rows are on the wrong side although the run is said to have converged.
    let found = verdict(&[(
        "\"weights\":[2.9000000000000004,6.2",
        "\"weights\":[-2.9000000000000004,6.2",
    )]);
    let mistakes = found
        .statements
        .iter()
        .find(|statement| statement.about == "mistakes")
        .unwrap();
    assert!(
        mistakes.proved == Some(false) && !mistakes.text.starts_with('0'),
        "{found:?}"
    );
    // The same weights after fewer updates than they need.
    let fewer = [
        ("\"updates\":9", "\"updates\":1"),
        ("\"iterations\":9", "\"iterations\":1"),
    ];
    let found = verdict(&fewer);
    assert!(
        found.objections[0].contains("a run with 1 updates does not return these weights"),
        "{found:?}"
    );
    // More updates than the bound, which is not a bound if it is smaller.
    let more = [
        ("\"updates\":9", "\"updates\":900"),
        ("\"iterations\":9", "\"iterations\":900"),
    ];
    assert!(!verdict(&more).is_proved());
    let bound = [("\"bound\":250.93823578667886", "\"bound\":250.938235")];
    assert!(verdict(&bound).statements[0].proved == Some(false));
}

#[test]
fn claims_that_are_not_checked_are_named() {
    for (kind, reason) in [
        ("\"none\"", "the model has no certificate"),
        (
            "\"truth\"",
            "a claim of the kind \"truth\" is not checked by this version",
        ),
    ] {
        let found = after("sparse-svm.json", "sparse.svm", "\"duality-gap\"", kind);
        assert_eq!(found, [reason]);
    }
    let found = after(
        "flowers-firth.json",
        "flowers.csv",
        "\"stationarity\"",
        "\"duality-gap\"",
    );
    assert!(
        found[0].contains("no gap can be claimed for this objective"),
        "{found:?}"
    );
    let holdout = model("flowers-holdout.json");
    let refused = source(&holdout, "flowers.csv", false).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("a share of 0.25 was held out"));
}

//! Tests of the methods that minimise a loss, from the command line.

use std::process::Stdio;
use std::time::Duration;

use crate::TestFolder;
use crate::common::real_data;

#[test]
fn defaults_follow_the_target() {
    let folder = TestFolder::new();
    for (data, method) in [
        ("@iris", "softmax"),
        ("@breast-cancer", "logistic"),
        ("@diabetes", "least-squares"),
    ] {
        let object = folder.json(&["train", data, "--json"]);
        assert_eq!(object["method"], method);
        assert_eq!(object["status"], "Converged");
        assert_eq!(object["certificate"]["kind"], "duality-gap");
        assert_eq!(object["certificate"]["holds"], true);
        for field in ["primal", "dual", "gap", "relative_gap"] {
            assert!(object["certificate"][field].is_number(), "{field}");
        }
        assert!(object["objective"].is_number());
        assert!(object["solver"].is_string() && object["solver"] != "auto");
    }
}

#[test]
fn every_solver_finds_the_same_optimum() {
    let folder = TestFolder::new();
    let objective = |arguments: &[&str]| {
        let ran = folder.run(&[&["train", "@breast-cancer", "--standardize", "--json"], arguments].concat());
        let object = ran.expect(0).json();
        object["objective"].as_f64().unwrap()
    };
    for solver in [
        "gradient-descent",
        "newton",
        "newton-cg",
        "bfgs",
        "lbfgs",
        "dual-coordinate-descent",
    ] {
        let found = objective(&["--solver", solver, "--penalize-intercept"]);
        let reference = objective(&["--penalize-intercept"]);
        assert!(
            (found - reference).abs() <= 2e-6 * reference,
            "{solver}: {found} and {reference}"
        );
    }
    let lasso = objective(&["--penalty", "l1"]);
    for solver in ["coordinate-descent", "orthant-newton"] {
        let found = objective(&["--penalty", "l1", "--solver", solver]);
        assert!(
            (found - lasso).abs() <= 2e-6 * lasso,
            "{solver}: {found} and {lasso}"
        );
    }
    let object = |solver: &str| {
        let object = folder.json(&["train", "@diabetes", "--json", "--solver", solver]);
        assert_eq!(object["solver"], solver);
        object["objective"].as_f64().unwrap()
    };
    let qr = object("qr");
    for solver in ["normal-equations", "svd", "newton", "lbfgs", "bfgs"] {
        assert!((object(solver) - qr).abs() <= 1e-6 * qr, "{solver}");
    }
}

#[test]
fn statistics_only_where_they_are_valid() {
    let folder = TestFolder::new();
    let free = folder.json(&["train", "@diabetes", "--json"]);
    let age = &free["inference"]["coefficients"][0];
    assert_eq!(age["name"], "age");
    for field in [
        "estimate",
        "standard_error",
        "statistic",
        "p_value",
        "lower",
        "upper",
    ] {
        assert!(age[field].is_number(), "{field}");
    }
    for field in ["log_likelihood", "aic", "bic"] {
        assert!(free["inference"][field].is_number(), "{field}");
    }
    let ridge = folder.run(&["train", "@diabetes", "--penalty", "l2"]).expect(0);
    ridge.says(&["no standard errors: a penalty"]);
    let ridge = folder.json(&["train", "@diabetes", "--penalty", "l2", "--json"]);
    assert!(ridge["inference"].is_null());
}

#[test]
fn the_default_data_of_islr() {
    let Some(path) = real_data("islr/Default.csv") else {
        return;
    };
    let folder = TestFolder::new();
    let path = path.to_str().unwrap();
    let fit = |extra: &[&str]| {
        let arguments = [
            &[
                "train",
                path,
                "--target",
                "default",
                "--penalty",
                "none",
                "--json",
            ],
            extra,
        ]
        .concat();
        folder.json(&arguments)
    };
    let near = |value: &serde_json::Value, expected: f64, unit: f64| {
        let value = value.as_f64().unwrap();
        assert!(
            (value - expected).abs() <= 0.5 * unit,
            "{value} is not {expected}"
        );
    };
    // James, Witten, Hastie and Tibshirani, An Introduction to Statistical Learning, tables 4.1 and 4.3.
    let one = fit(&["--drop", "student,income"]);
    near(&one["intercept"][0], -10.6513, 1e-4);
    near(&one["weights"][0][0], 0.0054989, 1e-7);
    near(
        &one["inference"]["coefficients"][1]["standard_error"],
        0.3612,
        1e-4,
    );
    let all = fit(&[]);
    near(&all["intercept"][0], -10.869, 1e-3);
    near(&all["weights"][0][0], -0.6468, 1e-4);
    near(&all["weights"][0][1], 0.005737, 1e-6);
    near(&all["weights"][0][2], 3.03e-6, 1e-8);
}

#[test]
fn a_changed_weight_is_detected() {
    let folder = TestFolder::new();
    for arguments in [
        &["@breast-cancer"] as &[&str],
        &["@breast-cancer", "--method", "svm"],
        &["@breast-cancer", "--penalty", "l1"],
        &["@iris", "--method", "svm"],
        &["@diabetes"],
        &["@diabetes", "--method", "lad"],
        &["@diabetes", "--quantile", "0.9"],
        &["@diabetes", "--penalty", "l1"],
    ] {
        folder
            .run(&[&["train", "-o", "m.json"], arguments].concat())
            .expect(0);
        folder.run(&["verify", "m.json", arguments[0]]).expect(0);
        let text = std::fs::read_to_string(folder.path("m.json")).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let weight = document
            .pointer_mut("/predictor/discriminants/0/weights/2")
            .unwrap();
        *weight = serde_json::json!(weight.as_f64().unwrap() * 1.01 + 0.01);
        folder.write("m.json", document.to_string());
        let ran = folder.run(&["verify", "m.json", arguments[0]]).expect(1);
        assert!(ran.out.starts_with("does not hold"), "{}", ran.out);
    }
}

#[test]
fn quantile_regressions_are_optimal() {
    let folder = TestFolder::new();
    for (quantile, words) in [("0.9", "the 0.9 quantile"), ("0.25", "the 0.25 quantile")] {
        let arguments = ["train", "@diabetes", "--quantile", quantile, "-o", "q.json"];
        let ran = folder.run(&arguments).expect(0);
        ran.says(&[words]);
        ran.says(&["solver frisch-newton"]);
        let ran = folder.run(&["verify", "q.json", "@diabetes", "--json"]).expect(0);
        let claim: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert!(claim["relative_gap"].as_f64().unwrap().abs() < 1e-12, "{claim}");
        // With an ℓ2 penalty, by the solvers for general losses.
        let arguments = [
            "train",
            "@diabetes",
            "--quantile",
            quantile,
            "--penalty",
            "l2",
            "-o",
            "r.json",
            "--json",
        ];
        let ran = folder.run(&arguments).expect(0);
        let object: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(object["quantile"].as_f64(), quantile.parse().ok(), "{object}");
        folder.run(&["verify", "r.json", "@diabetes"]).expect(0);
    }
}

#[test]
fn a_fit_that_does_not_converge_is_reported() {
    let folder = TestFolder::new();
    let ran = folder
        .run(&[
            "train",
            "@breast-cancer",
            "--solver",
            "gradient-descent",
            "--max-iter",
            "3",
        ])
        .expect(1);
    ran.says(&["fell short", "not proved"]);
    assert_eq!(folder.files(), ["breast-cancer.wstar.json"]);
    let object = folder
        .run(&[
            "train",
            "@breast-cancer",
            "--solver",
            "lbfgs",
            "--max-iter",
            "3",
            "--json",
        ])
        .expect(1)
        .json();
    assert_eq!(object["status"], "IterationLimit");
    assert_eq!(object["certificate"]["holds"], false);
    folder
        .run(&["verify", "breast-cancer.wstar.json", "@breast-cancer"])
        .expect(1);
}

#[test]
fn a_loss_that_is_not_convex_claims_no_more_than_stationarity() {
    let folder = TestFolder::new();
    let ran = folder
        .run(&[
            "train",
            "@breast-cancer",
            "--standardize",
            "--loss",
            "sigmoid-mse",
            "--method",
            "logistic",
            "--json",
        ])
        .expect(0);
    let object = ran.json();
    assert_eq!(object["certificate"]["kind"], "stationarity");
    assert!(object["certificate"]["slope"].as_f64().unwrap() <= 1e-6);
    folder
        .run(&["verify", "breast-cancer.wstar.json", "@breast-cancer"])
        .expect(0);
}

#[test]
fn streams_reach_the_optimum_of_data_in_memory() {
    let Some(path) = real_data("a9a/a9a") else { return };
    let folder = TestFolder::new();
    let path = path.to_str().unwrap();
    for extra in [
        &["--method", "logistic"] as &[&str],
        &["--method", "svm", "--loss", "squared-hinge"],
        &["--method", "logistic", "--penalty", "l1"],
    ] {
        let train = |more: &[&str], out: &str| {
            let arguments = [
                &["train", path, "--format", "svmlight", "--json", "-o", out],
                extra,
                more,
            ]
            .concat();
            folder.json(&arguments)["objective"].as_f64().unwrap()
        };
        let (memory, stream) = (train(&[], "memory.json"), train(&["--stream"], "stream.json"));
        assert!(
            (memory - stream).abs() <= 1e-6 * memory,
            "{extra:?}: {memory} and {stream}"
        );
        folder
            .run(&["verify", "stream.json", path, "--format", "svmlight"])
            .expect(0);
        folder
            .run(&["verify", "memory.json", path, "--format", "svmlight", "--stream"])
            .expect(0);
    }
}

#[test]
fn a_model_is_a_starting_point() {
    let folder = TestFolder::new();
    folder
        .run(&["train", "@breast-cancer", "-o", "first.json"])
        .expect(0);
    let warm = folder.json(&["train", "@breast-cancer", "--start-from", "first.json", "--json"]);
    assert!(warm["iterations"].as_u64().unwrap() <= 2, "{warm}");
    let ran = folder
        .run(&["train", "@iris", "--start-from", "first.json"])
        .expect(2);
    ran.complains(&["other features"]);
}

#[test]
fn a_killed_fit_resumes_from_its_checkpoint() {
    let Some(path) = real_data("covtype/covtype.binary.scale.svm.gz") else {
        return;
    };
    let folder = TestFolder::new();
    let path = path.to_str().unwrap();
    let arguments = [
        "train",
        path,
        "--solver",
        "lbfgs",
        "--tol",
        "1e-9",
        "--checkpoint",
        "c.json",
        "--json",
        "-o",
        "m.json",
    ];
    let mut child = folder
        .command(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The process is killed as soon as a checkpoint exists.
    let kept = || {
        std::fs::read_to_string(folder.path("c.json")).is_ok_and(|text| text.contains("\"parameters\":[["))
    };
    for _ in 0..600 {
        if kept() || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(kept(), "no checkpoint was written");
    assert!(!folder.path("m.json").exists());

    let other = folder
        .run(&[
            "train",
            path,
            "--tol",
            "1e-9",
            "--C",
            "2",
            "--checkpoint",
            "c.json",
        ])
        .expect(2);
    other.complains(&["another problem"]);

    let first_objective = |trace: &str| {
        let text = std::fs::read_to_string(folder.path(trace)).unwrap();
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        first["objective"].as_f64().unwrap()
    };
    let resumed = folder.json(&[&arguments[..], &["--trace", "resumed.jsonl"]].concat());
    assert!(!folder.path("c.json").exists(), "the checkpoint was not deleted");
    let whole = [
        &arguments[..6],
        &["--json", "-o", "w.json", "--trace", "whole.jsonl"],
    ]
    .concat();
    let whole = folder.json(&whole);
    assert!(first_objective("resumed.jsonl") < first_objective("whole.jsonl"));
    let objective = |object: &serde_json::Value| object["objective"].as_f64().unwrap();
    assert!((objective(&resumed) - objective(&whole)).abs() <= 1e-9 * objective(&whole));
}

#[test]
fn invalid_settings_are_refused() {
    let folder = TestFolder::new();
    folder.write("real.csv", "x,y\n1,0.5\n2,1.25\n3,0.125\n4,2.5\n5,0.75\n");
    folder.write("zero.csv", "x,w,y\n1,0,a\n2,0,b\n3,0,a\n");
    folder.write("nan.csv", "x,w,y\n1,NaN,a\n2,1,b\n3,1,a\n");
    folder.write("negative.csv", "x,w,y\n1,-1,a\n2,1,b\n3,1,a\n");
    for (arguments, expected) in [
        (&["@iris", "--C", "0"] as &[&str], "--C must be a positive number"),
        (&["@iris", "--C", "-1"], "--C must be a positive number"),
        (&["@iris", "--C", "nan"], "--C must be a positive number"),
        (&["@iris", "--lambda", "0"], "--lambda must be a positive number"),
        (
            &["@iris", "--C", "1", "--lambda", "1"],
            "--C does not go with --lambda",
        ),
        (&["@iris", "--tol", "0"], "--tol must be a positive number"),
        (
            &["@iris", "--penalty", "elastic-net", "--l1-ratio", "1.5"],
            "between 0 and 1",
        ),
        (
            &["@iris", "--l1-ratio", "0.5"],
            "--l1-ratio is for the elastic net",
        ),
        (&["@iris", "--solver", "qr"], "qr"),
        (
            &["@breast-cancer", "--method", "svm", "--solver", "newton"],
            "kink",
        ),
        (&["@breast-cancer", "--penalty", "l1", "--solver", "lbfgs"], "l1"),
        (&["@iris", "--loss", "hinge"], "--loss"),
        (
            &["@iris", "--method", "svm", "--multiclass", "softmax"],
            "softmax",
        ),
        (&["@iris", "--method", "least-squares"], "categories"),
        (&["@iris", "--class-weight", "setosa"], "--class-weight"),
        (&["@iris", "--class-weight", "tulip:2"], "no class"),
        (&["@iris", "--class-weight", "setosa:-1"], "at least 0"),
        (&["@iris", "--momentum", "1"], "--momentum"),
        (&["@iris", "--batch", "0"], "--batch"),
        (
            &["@iris", "--no-intercept", "--penalize-intercept"],
            "--penalize-intercept",
        ),
        (&["real.csv", "--method", "logistic"], "real number"),
        (&["zero.csv", "--sample-weight", "w"], "weight"),
        (&["nan.csv", "--sample-weight", "w"], "w"),
        (&["negative.csv", "--sample-weight", "w"], "weight"),
        (&["@diabetes", "--class-weight", "balanced"], "real number"),
        (&["@diabetes", "--quantile", "1"], "--quantile"),
        (
            &["@diabetes", "--method", "least-squares", "--quantile", "0.9"],
            "--quantile does not go with",
        ),
        (
            &["@diabetes", "--quantile", "0.9", "--loss", "absolute"],
            "--loss",
        ),
        (
            &[
                "@diabetes",
                "--quantile",
                "0.9",
                "--penalty",
                "l2",
                "--solver",
                "frisch-newton",
            ],
            "interior-point",
        ),
        (
            &["@diabetes", "--method", "lad", "--class-weight", "balanced"],
            "--class-weight",
        ),
        (&["@iris", "--method", "lda", "--C", "1"], "--C does not go with"),
        (&["@breast-cancer", "--start", "1,2"], "--start has 2 numbers"),
        (&["@iris", "--start-from", "absent.json"], "absent.json"),
    ] {
        let ran = folder.run(&[&["train"], arguments].concat()).expect(2);
        assert_eq!(ran.err.lines().count(), 1, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
        assert!(
            !folder.files().iter().any(|name| name.ends_with(".wstar.json")),
            "{arguments:?}"
        );
    }
}

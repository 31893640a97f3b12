//! Proved digits from the command line.

use serde_json::Value;

use crate::TestFolder;
use crate::common::real_data;

/// The ends of the interval of a number at a pointer below `proved`.
fn interval(object: &Value, path: &str, at: &str) -> (f64, f64) {
    let end = |end: &str| {
        object
            .pointer(&format!("{path}/{end}{at}"))
            .unwrap()
            .as_f64()
            .unwrap()
    };
    (end("lower"), end("upper"))
}

#[test]
fn train_prints_intervals_in_the_shape_of_the_weights() {
    let folder = TestFolder::new();
    let object = folder
        .run(&["train", "@breast-cancer", "--json"])
        .expect(0)
        .json();
    let weights = object["weights"][0].as_array().unwrap();
    assert_eq!(
        object["proved"]["weights"]["lower"][0].as_array().unwrap().len(),
        weights.len()
    );
    for (j, w) in weights.iter().enumerate() {
        let (lower, upper) = interval(&object, "/proved/weights", &format!("/0/{j}"));
        let w = w.as_f64().unwrap();
        assert!(
            lower <= upper && upper - lower <= 1e-8 * (1.0 + w.abs()),
            "{j}: {lower} {upper}"
        );
        assert!((w - lower).abs() <= 0.02 * (1.0 + w.abs()), "{j}: {w} {lower}");
    }
    let (lower, upper) = interval(&object, "/proved/intercept", "/0");
    assert!(lower < upper);
    // Softmax has no enclosure, and scaled columns have none.
    for arguments in [
        &["train", "@iris", "--json"][..],
        &["train", "@breast-cancer", "--standardize", "--json"],
    ] {
        assert!(
            folder.run(arguments).expect(0).json().get("proved").is_none(),
            "{arguments:?}"
        );
    }
}

#[test]
fn least_squares_has_proved_standard_errors() {
    let folder = TestFolder::new();
    let object = folder.run(&["train", "@diabetes", "--json"]).expect(0).json();
    let coefficients = object["inference"]["coefficients"].as_array().unwrap();
    for (j, c) in coefficients.iter().enumerate() {
        let (lower, upper) = interval(&object, "/inference/std_error", &format!("/{j}"));
        let error = c["standard_error"].as_f64().unwrap();
        assert!(
            upper - lower <= 1e-8 * error && (error - lower).abs() <= 1e-8 * error,
            "{error} {lower} {upper}"
        );
    }
    let shown = folder.run(&["train", "@diabetes"]).expect(0).out;
    assert!(
        shown.contains("every coefficient to ")
            && shown.contains("standard errors to ")
            && shown.contains("(proved)")
    );
}

#[test]
fn balance_predicts_default_with_proved_digits() {
    let Some(path) = real_data("islr/Default.csv") else {
        return;
    };
    let path = path.to_str().unwrap();
    let folder = TestFolder::new();
    let fit = [
        "train",
        path,
        "--target",
        "default",
        "--drop",
        "student,income",
        "--penalty",
        "none",
    ];
    let object = folder
        .run(&[&fit[..], &["--json", "--prove", "digits"]].concat())
        .expect(0)
        .json();
    let (lower, upper) = interval(&object, "/proved/intercept", "/0");
    assert!(lower <= -10.65133062095797 + 1e-14 && -10.65133062095797 - 1e-14 <= upper);
    assert!(upper - lower <= 2e-13, "{lower} {upper}");
    let (lower, upper) = interval(&object, "/proved/weights", "/0/0");
    assert!(lower <= 0.005498916934904633 + 1e-18 && 0.005498916934904633 - 1e-18 <= upper);
    assert!(upper - lower <= 2e-16, "{lower} {upper}");
    let (lower, upper) = interval(&object, "/inference/std_error", "/1");
    assert!(
        (lower - 0.36116872521).abs() <= 1e-9 && upper - lower <= 1e-8,
        "{lower} {upper}"
    );
    let shown = folder
        .run(&[&fit[..], &["--digits", "12"]].concat())
        .expect(0)
        .out;
    assert!(
        shown.contains("-10.6513306210") && shown.contains("0.00549891693490"),
        "{shown}"
    );
    let model = folder.run(&[&fit[..], &["--digits", "12", "--out", "m.json", "--quiet"]].concat());
    model.expect(0);
    folder.run(&["verify", "m.json", path]).expect(0);
}

#[test]
fn what_cannot_be_proved_is_said() {
    let folder = TestFolder::new();
    let path = folder.write("t.csv", "a,y\n1,p\n2,n\n3,p\n4,n\n2.5,p\n");
    let path = path.to_str().unwrap();
    let streamed = folder.run(&[
        "train", path, "--stream", "--method", "logistic", "--prove", "digits",
    ]);
    assert!(streamed.expect(2).err.contains("--prove"));
    let hinge = folder
        .run(&["train", path, "--method", "svm", "--digits", "5"])
        .expect(0)
        .out;
    assert!(hinge.contains("no digits of the optimum are proved"), "{hinge}");
    assert!(
        folder
            .run(&["train", path, "--digits", "0"])
            .expect(2)
            .err
            .contains("--digits")
    );
}

//! Tests of `wstar compare` and `--method min-error` from the command line.

use crate::TestFolder;

/// Exclusive or with its corners repeated 2, 3, 2 and 2 times. Every hyperplane misclassifies a corner: two errors.
const CORNERS: &str = "x,y,class
0,0,a\n0,0,a\n1,1,a\n1,1,a\n1,1,a\n0,1,b\n0,1,b\n1,0,b\n1,0,b
";
const LINE: &str = "x,class\n0,a\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7,b\n";

#[test]
fn the_least_error_is_found_proved_and_verified() {
    let folder = TestFolder::new();
    folder.write("line.csv", LINE);
    let object = folder.json(&["train", "line.csv", "--method", "min-error", "--json"]);
    assert_eq!(object["status"], "Converged");
    let certificate = &object["certificate"];
    assert_eq!(certificate["kind"], "min-error");
    assert_eq!(certificate["holds"], true);
    assert_eq!(certificate["errors"], 2, "of a a b a b a b b");
    assert_eq!(certificate["lower_bound"], 2);
    assert_eq!(object["train"]["error"], 0.25);
    let verified = folder.json(&["verify", "line.wstar.json", "line.csv", "--json"]);
    assert_eq!(verified["holds"], true);
    assert_eq!(verified["lower_bound"], 2);
    let shown = folder
        .run(&["train", "line.csv", "--method", "min-error"])
        .expect(0)
        .out;
    assert!(
        shown.contains("2 errors, and no hyperplane does better"),
        "{shown}"
    );
}

/// Random rows without structure: six features and a class.
fn noise() -> String {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) % 1000
    };
    let mut text = String::from("a,b,c,d,e,f,class\n");
    for _ in 0..80 {
        let cells: Vec<String> = (0..6).map(|_| next().to_string()).collect();
        let class = if next() < 500 { "no" } else { "yes" };
        text += &format!("{},{class}\n", cells.join(","));
    }
    text
}

#[test]
fn a_search_that_ends_early_is_reported() {
    let folder = TestFolder::new();
    folder.write("mess.csv", noise());
    let arguments = ["train", "mess.csv", "--method", "min-error", "--max-iter", "5"];
    let object = folder
        .run(&[&arguments[..], &["--json"]].concat())
        .expect(1)
        .json();
    assert_eq!(object["status"], "IterationLimit");
    assert_eq!(object["certificate"]["holds"], false);
    let (errors, bound) = (
        &object["certificate"]["errors"],
        &object["certificate"]["lower_bound"],
    );
    assert!(
        errors.as_f64() > bound.as_f64() && bound.as_f64() > Some(0.0),
        "{errors} and {bound}"
    );
    let verified = folder
        .run(&["verify", "mess.wstar.json", "mess.csv", "--json"])
        .expect(1)
        .json();
    assert_eq!(verified["holds"], false);
    assert_eq!(&verified["lower_bound"], bound, "verify finds another bound");
    let shown = folder.run(&arguments).expect(1).out;
    assert!(
        shown.contains("not proved") && shown.contains("--max-iter"),
        "{shown}"
    );
    let compared = folder.json(&["compare", "mess.csv", "--max-seconds", "0.2", "--json"]);
    assert_eq!(compared["least_error"]["proved"], false);
    assert!(compared["least_error"]["lower_bound"].as_f64() < compared["least_error"]["errors"].as_f64());
}

#[test]
fn methods_are_compared_with_the_optimum() {
    let folder = TestFolder::new();
    folder.write("corners.csv", CORNERS);
    let object = folder.json(&["compare", "corners.csv", "--json"]);
    assert_eq!(object["rows"], 9);
    assert_eq!(object["features"], 2);
    assert_eq!(object["classes"], serde_json::json!(["a", "b"]));
    let methods: Vec<&str> = object["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["method"].as_str().unwrap())
        .collect();
    let expected = [
        "perceptron",
        "pocket",
        "svm",
        "logistic",
        "mse-classifier",
        "lda",
        "min-error",
    ];
    assert_eq!(methods, expected);
    let least = &object["least_error"];
    assert_eq!(least["proved"], true);
    assert_eq!((&least["errors"], &least["lower_bound"]), (&2.into(), &2.into()));
    for method in object["methods"].as_array().unwrap() {
        let errors = method["train"]["errors"].as_u64().unwrap();
        assert!(errors >= least["errors"].as_u64().unwrap(), "{method}");
        let share = method["train"]["error"].as_f64().unwrap();
        assert!((share - errors as f64 / 9.0).abs() < 1e-12, "{method}");
        assert!(method["certificate"]["kind"].is_string());
        assert!(method["certificate"]["holds"].is_boolean());
        assert!(method["seconds"].is_number());
        assert!(method["status"].is_string());
    }
    let shown = folder.run(&["compare", "corners.csv"]).expect(0).out;
    for method in expected {
        assert!(shown.contains(method), "{shown}");
    }
    assert!(shown.contains("no hyperplane has an error below 2"), "{shown}");
    assert!(folder.files() == ["corners.csv"], "compare writes no model");
}

#[test]
fn methods_can_be_chosen() {
    let folder = TestFolder::new();
    let arguments = [
        "compare",
        "@iris",
        "--positive",
        "virginica",
        "--methods",
        "svm,min-error",
        "--json",
    ];
    let object = folder.json(&arguments);
    assert_eq!(object["methods"].as_array().unwrap().len(), 2);
    assert_eq!(object["least_error"]["proved"], true);
    assert_eq!(object["least_error"]["errors"], 1);
    let refused = folder
        .run(&["compare", "@iris", "--methods", "least-squares"])
        .expect(2);
    refused.complains(&["real target"]);
    folder
        .run(&["compare", "@iris", "--methods", "nonsense"])
        .expect(2);
    let none = folder.run(&["compare", "@iris", "--max-seconds", "0"]).expect(2);
    none.complains(&["--max-seconds"]);
}

#[test]
fn several_classes_are_compared_without_the_optimum() {
    let folder = TestFolder::new();
    let ran = folder
        .run(&[
            "compare",
            "@iris",
            "--methods",
            "logistic,lda,min-error",
            "--json",
        ])
        .expect(0);
    ran.complains(&["two classes"]);
    let object = ran.json();
    assert_eq!(object["methods"].as_array().unwrap().len(), 2);
    assert!(object["least_error"].is_null());
    let refused = folder.run(&["train", "@iris", "--method", "min-error"]).expect(2);
    refused.complains(&["--positive"]);
}

#[test]
fn invalid_comparisons_are_refused() {
    let folder = TestFolder::new();
    folder.write("one.csv", "x,class\n1,a\n2,a\n");
    folder.write("row.csv", "x,class\n1,a\n");
    folder.write("none.csv", "class\na\nb\n");
    folder.write("nan.csv", "x,class\n1,a\nNaN,b\n");
    folder.write("real.csv", "x,y\n1,1.5\n2,2.5\n3,3.25\n");
    for file in [
        "one.csv",
        "row.csv",
        "none.csv",
        "nan.csv",
        "real.csv",
        "absent.csv",
    ] {
        for command in [
            vec!["compare", file],
            vec!["train", file, "--method", "min-error"],
        ] {
            let ran = folder.run(&command).expect(2);
            assert_eq!(ran.err.trim_end().lines().count(), 1, "{command:?}: {}", ran.err);
            assert!(ran.out.is_empty());
        }
    }
}

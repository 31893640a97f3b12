//! Results on real data that are known from other sources.

use crate::TestFolder;
use crate::common::real_data;

#[test]
fn sms_spam_from_raw_text() {
    let Some(messages) = real_data("sms_spam/SMSSpamCollection") else {
        return;
    };
    let folder = TestFolder::new();
    for method in ["averaged-perceptron", "voted-perceptron"] {
        let object = folder.json(&[
            "train",
            messages.to_str().unwrap(),
            "--format",
            "tsv",
            "--header",
            "no",
            "--target",
            "x1",
            "--text",
            "x2",
            "--holdout",
            "0.2",
            "--method",
            method,
            "--json",
        ]);
        assert_eq!(object["classes"], serde_json::json!(["ham", "spam"]));
        let error = object["test"]["error"].as_f64().unwrap();
        assert!(error <= 0.02, "{method}: {error}");
    }
}

#[test]
fn nine_against_the_rest_from_the_published_files() {
    let names = [
        "mnist/train-images-idx3-ubyte.gz",
        "mnist/train-labels-idx1-ubyte.gz",
        "mnist/t10k-images-idx3-ubyte.gz",
        "mnist/t10k-labels-idx1-ubyte.gz",
    ];
    let Some(paths) = names
        .iter()
        .map(|name| real_data(name))
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let folder = TestFolder::new();
    let object = folder.json(&[
        "train",
        paths[0],
        "--labels",
        paths[1],
        "--test",
        paths[2],
        "--test-labels",
        paths[3],
        "--positive",
        "9",
        "--method",
        "voted-perceptron",
        "--epochs",
        "1",
        "--no-intercept",
        "--json",
    ]);
    assert_eq!(object["rows"], 60000);
    assert_eq!(object["features"], 784);
    // The lecture's table: a test error of 0.039 after one pass.
    let error = object["test"]["error"].as_f64().unwrap();
    assert!((error - 0.039).abs() <= 0.004, "{error}");
}

#[test]
fn several_classes_one_against_the_rest() {
    let folder = TestFolder::new();
    let object = folder.json(&["train", "@digits", "--holdout", "0.25", "--json"]);
    assert_eq!(object["weights"].as_array().unwrap().len(), 10);
    assert!(
        object["test"]["error"].as_f64().unwrap() < 0.1,
        "{}",
        object["test"]
    );
}

#[test]
fn naive_bayes_on_words() {
    let folder = TestFolder::new();
    let object = folder.json(&[
        "train",
        "@spam",
        "--method",
        "naive-bayes",
        "--density",
        "multinomial",
        "--text-weighting",
        "counts",
        "--ngrams",
        "1",
        "--holdout",
        "0.2",
        "--json",
    ]);
    assert_eq!(object["certificate"]["holds"], true);
    assert!(
        object["test"]["error"].as_f64().unwrap() < 0.03,
        "{}",
        object["test"]
    );
}

#[test]
fn a_penalty_matrix_moves_the_decision() {
    let folder = TestFolder::new();
    folder
        .run(&["train", "@breast-cancer", "--method", "lda", "-o", "plain.json"])
        .expect(0);
    let plain = folder.json(&["evaluate", "plain.json", "@breast-cancer", "--json"]);
    // Missing a malignant tumour (the second class) costs fifty times as much as a false alarm.
    folder
        .run(&[
            "train",
            "@breast-cancer",
            "--method",
            "lda",
            "--penalties",
            "0,1;50,0",
            "-o",
            "safe.json",
        ])
        .expect(0);
    let safe = folder.json(&["evaluate", "safe.json", "@breast-cancer", "--json"]);
    assert_eq!(plain["classes"], serde_json::json!(["benign", "malignant"]));
    let missed = |object: &serde_json::Value| object["confusion"][1][0].as_f64().unwrap();
    assert!(
        missed(&safe) < missed(&plain),
        "{} {}",
        missed(&safe),
        missed(&plain)
    );
    assert!(safe["risk"].is_number());
}

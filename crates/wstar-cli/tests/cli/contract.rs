//! Names, fields, streams and exit codes on which scripts depend.

use crate::TestFolder;
use crate::common::real_data;

#[test]
fn train_prints_one_screen_and_writes_a_model() {
    let folder = TestFolder::new();
    let ran = folder.run(&["train", "@iris"]).expect(0);
    assert!(
        ran.out.starts_with("iris: 150 rows × 4 features, 3 classes"),
        "{}",
        ran.out
    );
    ran.says(&["certified"]);
    assert!(ran.out.lines().count() <= 24, "more than a screen:\n{}", ran.out);
    assert!(ran.err.is_empty(), "{}", ran.err);
    assert!(!ran.out.contains('\x1b'), "colour codes without a terminal");
    assert_eq!(folder.files(), ["iris.wstar.json"]);
}

#[test]
fn train_json_is_one_object_with_the_fields_of_the_contract() {
    let folder = TestFolder::new();
    for method in [
        "perceptron",
        "online-perceptron",
        "averaged-perceptron",
        "pocket",
        "kozinec",
        "lda",
        "minimax",
    ] {
        let object = folder.json(&[
            "train",
            "@iris",
            "--positive",
            "setosa",
            "--method",
            method,
            "--json",
        ]);
        assert_eq!(object["method"], method);
        assert_eq!(object["rows"], 150);
        assert_eq!(object["features"], 4);
        assert_eq!(object["classes"], serde_json::json!(["rest", "setosa"]));
        assert_eq!(object["certificate"]["holds"], true, "{method}: {object}");
        assert!(object["certificate"]["kind"].is_string());
        assert_eq!(object["weights"][0].as_array().unwrap().len(), 4, "{method}");
        assert!(object["intercept"][0].is_number());
        assert!(object["train"]["error"].is_number());
        for part in ["read", "solve", "certify", "total"] {
            assert!(object["seconds"][part].as_f64().unwrap() >= 0.0, "{part}");
        }
        for field in ["solver", "status", "iterations", "passes"] {
            assert!(!object[field].is_null(), "{method}: {field}");
        }
    }
}

#[test]
fn mistake_bound_fields() {
    let folder = TestFolder::new();
    let object = folder.json(&[
        "train",
        "@iris",
        "--positive",
        "setosa",
        "--method",
        "perceptron",
        "--json",
    ]);
    let certificate = &object["certificate"];
    assert_eq!(certificate["kind"], "mistake-bound");
    let number = |name: &str| certificate[name].as_f64().unwrap();
    assert!(number("updates") <= number("bound"));
    // A hyperplane separates these classes, so the bound is Novikoff's and the slack is 0.
    assert_eq!(number("slack"), 0.0);
    let novikoff = (number("radius") / number("margin")).powi(2);
    assert!((number("bound") - novikoff).abs() <= 1e-6 * novikoff);
}

#[test]
fn a_fit_that_does_not_converge_exits_with_1() {
    let folder = TestFolder::new();
    let data = folder.write("xor.csv", "a,b,y\n0,0,n\n1,1,n\n0,1,p\n1,0,p\n");
    let data = data.to_str().unwrap();
    let ran = folder
        .run(&["train", data, "--method", "perceptron", "--epochs", "50"])
        .expect(1);
    ran.says(&["fell short"]);
    assert_eq!(
        folder.files(),
        ["xor.csv", "xor.wstar.json"],
        "the model is not written"
    );
    let object = folder
        .run(&[
            "train",
            data,
            "--method",
            "perceptron",
            "--epochs",
            "50",
            "--json",
        ])
        .expect(1)
        .json();
    assert_eq!(object["status"], "IterationLimit");
    let object = folder
        .run(&["train", data, "--method", "kozinec", "--epochs", "50", "--json"])
        .expect(1)
        .json();
    assert_eq!(object["certificate"]["holds"], false);
}

#[test]
fn predict_matches_columns_by_name() {
    let folder = TestFolder::new();
    folder.write(
        "train.csv",
        "size,colour,kind\n1,red,a\n2,red,a\n8,blue,b\n9,green,b\n",
    );
    folder
        .run(&["train", "train.csv", "--method", "perceptron"])
        .expect(0);
    folder.write("new.csv", "extra,colour,size\nx,blue,8.5\ny,red,1.5\n");
    assert_eq!(
        folder
            .run(&["predict", "train.wstar.json", "new.csv"])
            .expect(0)
            .out,
        "b\na\n"
    );
    let scores = folder
        .run(&["predict", "train.wstar.json", "new.csv", "--scores"])
        .expect(0)
        .out;
    let lines: Vec<&str> = scores.lines().collect();
    assert_eq!(lines[0], "score");
    assert!(lines[1].parse::<f64>().unwrap() > 0.0 && lines[2].parse::<f64>().unwrap() < 0.0);

    let ran = folder
        .run(&["predict", "train.wstar.json", "new.csv", "--proba"])
        .expect(2);
    ran.complains(&["no probabilities"]);

    folder.write("unseen.csv", "colour,size\npurple,8.5\n");
    let ran = folder
        .run(&["predict", "train.wstar.json", "unseen.csv"])
        .expect(2);
    ran.complains(&["purple", "--unseen ignore"]);
    assert_eq!(
        folder
            .run(&["predict", "train.wstar.json", "unseen.csv", "--unseen", "ignore"])
            .expect(0)
            .out,
        "b\n"
    );
}

#[test]
fn probabilities_are_csv_and_sum_to_one() {
    let folder = TestFolder::new();
    folder.run(&["train", "@iris", "--method", "gaussian"]).expect(0);
    let out = folder
        .run(&["predict", "iris.wstar.json", "@iris", "--proba"])
        .expect(0)
        .out;
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("setosa,versicolor,virginica"));
    let rows: Vec<Vec<f64>> = lines
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), 150);
    assert!(
        rows.iter()
            .all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12)
    );
}

#[test]
fn evaluate_json_has_the_fields_of_the_contract() {
    let folder = TestFolder::new();
    folder.run(&["train", "@iris", "--method", "lda"]).expect(0);
    let object = folder.json(&["evaluate", "iris.wstar.json", "@iris", "--json"]);
    assert_eq!(object["rows"], 150);
    // Fisher's iris data: linear discriminant analysis makes three errors on its training set.
    assert!((object["error"].as_f64().unwrap() - 0.02).abs() < 1e-12);
    assert!((object["accuracy"].as_f64().unwrap() - 0.98).abs() < 1e-12);
    assert_eq!(object["confusion"][0], serde_json::json!([50.0, 0.0, 0.0]));
    assert!(object["log_loss"].is_number());
    assert_eq!(object["classes"][2], "virginica");

    let text = folder
        .run(&["evaluate", "iris.wstar.json", "@iris"])
        .expect(0)
        .out;
    assert!(text.contains("error      2.0 %"), "{text}");
    let object = folder.json(&[
        "evaluate",
        "iris.wstar.json",
        "@iris",
        "--penalties",
        "0,1,1;1,0,10;1,1,0",
        "--json",
    ]);
    assert!(object["risk"].as_f64().unwrap() > 0.02, "{object}");
}

#[test]
fn verify_holds_and_fails_when_a_weight_is_changed() {
    let folder = TestFolder::new();
    for (method, field) in [
        ("perceptron", "/predictor/discriminants/0/weights/2"),
        ("kozinec", "/predictor/discriminants/0/weights/2"),
        ("kozinec", "/certificate/parts/0/positive/0/1"),
        ("lda", "/predictor/estimate/means/1/0"),
        ("naive-bayes", "/predictor/estimate/variances/0/0"),
        ("minimax", "/predictor/estimate/balls/0/centre/1"),
        ("averaged-perceptron", "/certificate/parts/0/separator/weights/0"),
        ("voted-perceptron", "/certificate/parts/0/radius"),
    ] {
        folder
            .run(&[
                "train",
                "@iris",
                "--positive",
                "setosa",
                "--method",
                method,
                "-o",
                "m.json",
            ])
            .expect(0);
        let holds = folder.json(&["verify", "m.json", "@iris", "--json"]);
        assert_eq!(holds["holds"], true, "{method}");
        let text = std::fs::read_to_string(folder.path("m.json")).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let weight = document
            .pointer_mut(field)
            .unwrap_or_else(|| panic!("{method}: no {field}"));
        *weight = serde_json::json!(-1.5 * weight.as_f64().unwrap() + 1.0);
        folder.write("m.json", document.to_string());
        let ran = folder.run(&["verify", "m.json", "@iris"]).expect(1);
        assert!(ran.out.starts_with("does not hold"), "{method}: {}", ran.out);
    }
}

#[test]
fn verify_leaves_out_the_rows_that_were_held_out() {
    let folder = TestFolder::new();
    let object = folder.json(&[
        "train",
        "@wine",
        "--holdout",
        "0.25",
        "--method",
        "lda",
        "--seed",
        "7",
        "--json",
    ]);
    assert!(object["test"]["error"].as_f64().unwrap() < 0.1);
    assert!(object["rows"].as_u64().unwrap() < 178);
    folder.run(&["verify", "wine.wstar.json", "@wine"]).expect(0);
}

#[test]
fn the_model_file_depends_on_data_and_seed_alone() {
    let folder = TestFolder::new();
    let train = |out: &str, threads: &str, seed: &str| {
        folder
            .run(&[
                "train",
                "@digits",
                "--threads",
                threads,
                "--seed",
                seed,
                "-o",
                out,
            ])
            .expect(0);
        std::fs::read(folder.path(out)).unwrap()
    };
    let first = train("a.json", "1", "3");
    assert!(first == train("b.json", "2", "3"), "two threads change the model");
    assert!(first != train("c.json", "2", "4"), "the seed is not used");
}

#[test]
fn traces_are_lines_of_json() {
    let folder = TestFolder::new();
    folder.write("spam.csv", "free,money,kind\n0,1,spam\n1,0,ham\n0,0,ham\n");
    folder
        .run(&[
            "train",
            "spam.csv",
            "--method",
            "perceptron",
            "--ties",
            "positive",
            "--start",
            "-3,4,2",
            "--trace",
            "t.jsonl",
        ])
        .expect(0);
    let trace = std::fs::read_to_string(folder.path("t.jsonl")).unwrap();
    let steps: Vec<serde_json::Value> = trace
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // The lecture's run: (b, w1, w2) after each example.
    let expected = [
        [-2.0, 4.0, 3.0],
        [-3.0, 3.0, 3.0],
        [-3.0, 3.0, 3.0],
        [-3.0, 3.0, 3.0],
        [-4.0, 2.0, 3.0],
        [-4.0, 2.0, 3.0],
        [-3.0, 2.0, 4.0],
        [-3.0, 2.0, 4.0],
        [-3.0, 2.0, 4.0],
        [-3.0, 2.0, 4.0],
    ];
    for (step, [b, w1, w2]) in steps.iter().zip(expected) {
        assert_eq!(step["intercept"], b, "{step}");
        assert_eq!(step["weights"], serde_json::json!([w1, w2]), "{step}");
    }
    assert_eq!(steps[0]["row"], 0);
    assert_eq!(steps[0]["mistake"], true);
    assert_eq!(steps[2]["mistake"], false);
}

#[test]
fn data_sets_are_listed_with_source_and_licence() {
    let folder = TestFolder::new();
    let text = folder.run(&["datasets"]).expect(0).out;
    for name in ["@iris", "@wine", "@spam", "CC BY 4.0"] {
        assert!(text.contains(name), "{name}");
    }
    let iris = folder.run(&["datasets", "iris"]).expect(0).out;
    assert_eq!(iris.lines().count(), 151);
    folder.write("iris.csv", iris);
    folder.run(&["train", "iris.csv"]).expect(0);
}

#[test]
fn inspect_shows_weights_by_name() {
    let folder = TestFolder::new();
    folder.run(&["train", "@iris", "--method", "lda"]).expect(0);
    let text = folder.run(&["inspect", "iris.wstar.json"]).expect(0).out;
    assert!(
        text.contains("petal length") && text.contains("virginica"),
        "{text}"
    );
    let object = folder.json(&["inspect", "iris.wstar.json", "--json"]);
    assert_eq!(object["names"].as_array().unwrap().len(), 4);
}

#[test]
fn inspect_shows_every_setting_that_matters() {
    let folder = TestFolder::new();
    let train = [
        "train",
        "@breast-cancer",
        "--standardize",
        "--class-weight",
        "balanced",
    ];
    folder.run(&train).expect(0);
    let text = folder.run(&["inspect", "breast-cancer.wstar.json"]).expect(0).out;
    for part in [
        "loss logistic",
        "penalty l2",
        "C 1.0",
        "intercept free",
        "tol 1e-6",
        "class_weight balanced",
        "command: wstar train DATA --method logistic --class-weight balanced",
        "30 of numbers, standardised",
        "solver newton",
        "iterations",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    folder.run(&["train", "@iris", "--method", "perceptron"]);
    let text = folder.run(&["inspect", "iris.wstar.json"]).expect(0).out;
    for part in ["family perceptrons", "ties mistake", "updates"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn standardised_weights_are_shown_in_raw_units() {
    let folder = TestFolder::new();
    let args = [
        "train",
        "@wine",
        "--positive",
        "class 1",
        "--standardize",
        "--method",
        "perceptron",
        "--json",
    ];
    let mut args = args.to_vec();
    let classes = folder.json(&["train", "@wine", "--method", "lda", "--json"])["classes"].clone();
    args[3] = classes[0].as_str().unwrap();
    let object = folder.json(&args);
    let weights: Vec<f64> = object["weights"][0]
        .as_array()
        .unwrap()
        .iter()
        .map(|weight| weight.as_f64().unwrap())
        .collect();
    let intercept = object["intercept"][0].as_f64().unwrap();
    // Scores from the raw columns must have the signs of the predictions.
    let raw = folder.run(&["datasets", "wine"]).expect(0).out;
    let predicted = folder.run(&["predict", "wine.wstar.json", "@wine"]).expect(0).out;
    for (line, label) in raw.lines().skip(1).zip(predicted.lines()) {
        let cells: Vec<f64> = line
            .split(',')
            .take(13)
            .map(|cell| cell.parse().unwrap())
            .collect();
        let score: f64 = cells.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + intercept;
        assert_eq!(score > 0.0, label == args[3], "{line}");
    }
}

#[test]
fn test_files_may_have_fewer_columns_in_svmlight() {
    let (Some(train), Some(test)) = (real_data("a9a/a9a"), real_data("a9a/a9a.t")) else {
        return;
    };
    let folder = TestFolder::new();
    let object = folder.json(&[
        "train",
        train.to_str().unwrap(),
        "--format",
        "svmlight",
        "--test",
        test.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(object["rows"], 32561);
    assert_eq!(object["features"], 123);
    // The published linear models reach an error of 0.15 on this test set.
    assert!(object["test"]["error"].as_f64().unwrap() < 0.17, "{object}");
}

//! Separation from the command line: verdicts, proofs, and their consequences for other methods.

use serde_json::Value;

use crate::TestFolder;

/// Exclusive or; two classes that touch in one point; two classes that a line separates.
const XOR: &[u8] = b"a,b,y\n0,0,even\n1,1,even\n0,1,odd\n1,0,odd\n";
const TOUCHING: &[u8] = b"a,y\n0,no\n1,no\n1,yes\n2,yes\n";
const APART: &[u8] = b"a,b,y\n0,0,no\n1,0,no\n0,1,no\n3,3,yes\n4,3,yes\n";

#[test]
fn verdicts_and_their_proofs() {
    let folder = TestFolder::new();
    for (content, verdict) in [
        (XOR, "inseparable"),
        (TOUCHING, "quasi-separable"),
        (APART, "separable"),
    ] {
        folder.write("d.csv", content);
        let object = folder.json(&["separate", "d.csv", "--json", "--proof", "p.json"]);
        assert_eq!(object["verdict"], verdict);
        assert_eq!(object.get("weights").is_some(), verdict != "inseparable");
        assert_eq!(object.get("proof").is_some(), verdict != "separable");
        let seconds = object["seconds"].as_object().unwrap();
        assert!(seconds.contains_key("total"));
        let checked = folder.json(&["verify", "p.json", "d.csv", "--json"]);
        assert_eq!(checked["holds"], true);
        assert_eq!(checked["verdict"], verdict);
        let text = folder.run(&["verify", "p.json", "d.csv"]).expect(0);
        assert!(text.out.starts_with("holds"), "{}", text.out);
        let text = folder.run(&["separate", "d.csv"]).expect(0);
        text.says(&[verdict]);
    }
}

#[test]
fn the_combinations_of_exclusive_or_coincide() {
    let folder = TestFolder::new();
    folder.write("xor.csv", XOR);
    let object = folder.json(&["separate", "xor.csv", "--json"]);
    assert_eq!(object["proof"]["points"], serde_json::json!([0, 1, 2, 3]));
    assert_eq!(
        object["proof"]["weights"],
        serde_json::json!(["1/2", "1/2", "1/2", "1/2"])
    );
    assert_eq!(object["proof"]["exact"], true);
    assert_eq!(object["margin"], serde_json::json!({"lower": 0.0, "upper": 0.0}));
}

#[test]
fn a_proof_fails_on_other_data_and_when_it_is_changed() {
    let folder = TestFolder::new();
    folder.write("d.csv", APART);
    folder.run(&["separate", "d.csv", "--proof", "p.json"]).expect(0);
    // One point among those of the first class now has the other label.
    folder.write("e.csv", b"a,b,y\n0,0,no\n1,0,no\n0,1,yes\n3,3,yes\n4,3,yes\n");
    let ran = folder.run(&["verify", "p.json", "e.csv"]).expect(1);
    ran.says(&["does not hold"]);
    folder.write("f.csv", b"a,b,y\n0,0,no\n3,3,yes\n");
    let ran = folder.run(&["verify", "p.json", "f.csv"]).expect(2);
    ran.complains(&["5 rows"]);
    let text = String::from_utf8(std::fs::read(folder.path("p.json")).unwrap()).unwrap();
    folder.write(
        "q.json",
        text.replace("\"separable\"", "\"inseparable\"").as_bytes(),
    );
    let ran = folder.run(&["verify", "q.json", "d.csv"]);
    assert!(ran.code != 0, "{}", ran.out);
}

#[test]
fn several_classes_make_a_table() {
    let folder = TestFolder::new();
    let object = folder.json(&["separate", "@iris", "--json"]);
    let verdicts = |name: &str| -> Vec<Value> {
        let list = object[name].as_array().unwrap();
        list.iter().map(|one| one["verdict"].clone()).collect()
    };
    // Fisher's iris data: setosa is separable from both other classes, which overlap.
    assert_eq!(verdicts("pairs"), ["separable", "separable", "inseparable"]);
    assert_eq!(
        verdicts("against_rest"),
        ["separable", "inseparable", "inseparable"]
    );
    let text = folder.run(&["separate", "@iris"]).expect(0);
    text.says(&["versicolor | virginica"]);
    let pair = folder.json(&["separate", "@iris", "--pair", "setosa,virginica", "--json"]);
    assert_eq!(pair["verdict"], "separable");
    let ran = folder.run(&["separate", "@iris", "--proof", "p.json"]).expect(2);
    ran.complains(&["--pair"]);
    let ran = folder
        .run(&["separate", "@iris", "--pair", "setosa,rose"])
        .expect(2);
    ran.complains(&["rose", "virginica"]);
}

#[test]
fn nothing_to_separate() {
    let folder = TestFolder::new();
    folder.write("one.csv", b"a,y\n1,p\n2,p\n");
    let ran = folder.run(&["separate", "one.csv"]).expect(2);
    ran.complains(&["same class"]);
    folder.write("real.csv", b"a,y\n1,1.5\n2,2.5\n3,4.25\n");
    assert_eq!(
        folder
            .run(&["separate", "real.csv"])
            .expect(2)
            .err
            .lines()
            .count(),
        1
    );
    // One point per class.
    folder.write("two.csv", b"a,y\n1,p\n2,n\n");
    let object = folder.json(&["separate", "two.csv", "--json"]);
    assert_eq!(object["verdict"], "separable");
    // The interval is rounded outwards, so it contains the true margin.
    let ends = ["lower", "upper"].map(|end| object["margin"][end].as_f64().unwrap());
    assert!(
        ends[0] <= 0.5 && 0.5 <= ends[1] && ends[1] - ends[0] < 1e-12,
        "{ends:?}"
    );
    // The same point with both labels.
    folder.write("same.csv", b"a,y\n1,p\n1,n\n");
    let object = folder.json(&["separate", "same.csv", "--json"]);
    assert_eq!(object["verdict"], "inseparable");
}

#[test]
fn likelihoods_without_a_maximum() {
    let folder = TestFolder::new();
    for (content, word) in [(APART, "separated"), (TOUCHING, "quasi-separated")] {
        folder.write("d.csv", content);
        let ran = folder.run(&["train", "d.csv", "--penalty", "none"]).expect(1);
        for part in [word, "increases without bound", "·a", "--firth", "--penalty l2"] {
            assert!(ran.out.contains(part), "{part} is not in {}", ran.out);
        }
        let object = folder
            .run(&["train", "d.csv", "--penalty", "none", "--json"])
            .expect(1)
            .json();
        assert_eq!(object["status"], "Diverging");
        assert_eq!(object["certificate"]["holds"], false);
        assert!(object.get("inference").is_none());
        folder.run(&["verify", "d.wstar.json", "d.csv"]).expect(1);
        folder.run(&["train", "d.csv", "--firth"]).expect(0);
        folder.run(&["verify", "d.wstar.json", "d.csv"]).expect(0);
    }
    // Overlapping classes give an ordinary fit.
    folder.write("d.csv", b"a,y\n0,no\n2,no\n1,yes\n3,yes\n");
    let object = folder.json(&["train", "d.csv", "--penalty", "none", "--json"]);
    assert_eq!(object["status"], "Converged");
    // One of three classes is separable from the rest; then two planes separate three classes on a line; then all
    // overlap.
    let ran = folder.run(&["train", "@iris", "--penalty", "none"]).expect(1);
    ran.says(&["setosa"]);
    folder.write("m.csv", b"a,y\n0,l\n1,l\n2,m\n3,m\n4,r\n5,r\n");
    folder
        .run(&["train", "m.csv", "--penalty", "none", "--method", "softmax"])
        .expect(1);
    folder.write("m.csv", b"a,y\n0,l\n3,l\n2,m\n5,m\n4,r\n1,r\n0,m\n5,l\n");
    folder
        .run(&["train", "m.csv", "--penalty", "none", "--method", "softmax"])
        .expect(0);
}

#[test]
fn the_largest_margin() {
    let folder = TestFolder::new();
    // The nearest points are (1, 0), (0, 1) and (3, 3); each is at distance 5/√8 from the line x + y = 3.5.
    folder.write("d.csv", APART);
    let object = folder.json(&["train", "d.csv", "--method", "hard-margin", "--json"]);
    let certificate = &object["certificate"];
    assert_eq!(certificate["kind"], "hard-margin");
    let margin = 2.5 / 2f64.sqrt();
    assert!((certificate["lower"].as_f64().unwrap() - margin).abs() < 1e-9);
    assert!((certificate["upper"].as_f64().unwrap() - margin).abs() < 1e-9);
    assert!((certificate["width"][0].as_f64().unwrap() - 2.0 * margin).abs() < 1e-9);
    assert_eq!(object["support_vectors"]["count"], 3);
    folder.run(&["verify", "d.wstar.json", "d.csv"]).expect(0);
    let text = folder
        .run(&["train", "d.csv", "--method", "hard-margin"])
        .expect(0);
    text.says(&["1/‖w‖", "2/‖w‖"]);
    // The soft margin approaches it as C grows.
    let soft = folder.json(&[
        "train", "d.csv", "--method", "svm", "--C", "1e6", "--tol", "1e-9", "--json",
    ]);
    let (hard, soft) = (
        object["objective"].as_f64().unwrap(),
        soft["objective"].as_f64().unwrap(),
    );
    assert!((hard - soft).abs() <= 1e-8 * hard, "{hard} {soft}");
    // A changed multiplier is detected.
    folder
        .run(&["train", "d.csv", "--method", "hard-margin"])
        .expect(0);
    let text = String::from_utf8(std::fs::read(folder.path("d.wstar.json")).unwrap()).unwrap();
    let mut model: Value = serde_json::from_str(&text).unwrap();
    let support = model.pointer_mut("/certificate/parts/0/support/0/1").unwrap();
    *support = serde_json::json!(support.as_f64().unwrap() * 1.01);
    folder.write("e.wstar.json", model.to_string());
    folder.run(&["verify", "e.wstar.json", "d.csv"]).expect(1);
    for content in [XOR, TOUCHING] {
        folder.write("d.csv", content);
        let ran = folder
            .run(&["train", "d.csv", "--method", "hard-margin", "-o", "none.json"])
            .expect(2);
        ran.complains(&["coincide", "rows"]);
        assert!(!folder.files().contains(&"none.json".to_string()));
    }
}

#[test]
fn support_vectors_by_their_cases() {
    let folder = TestFolder::new();
    // By symmetry, one point of each class is on the margin at C = 1, and one of each is far inside it.
    folder.write("d.csv", b"a,y\n-3,n\n-1,n\n0.5,n\n3,p\n1,p\n-0.5,p\n");
    let object = folder.json(&[
        "train",
        "d.csv",
        "--method",
        "svm",
        "--tol",
        "1e-9",
        "--support",
        "s.csv",
        "--json",
    ]);
    let margin = &object["support_vectors"]["margin"];
    let total = ["outside", "on_margin", "inside"].map(|case| margin[case].as_u64().unwrap());
    assert_eq!(total.iter().sum::<u64>(), 6);
    assert_eq!(
        object["support_vectors"]["count"].as_u64().unwrap(),
        total[1] + total[2]
    );
    assert_eq!(margin["wrong"], 2);
    assert!(margin["slackness"].as_f64().unwrap() < 1e-7);
    // The gap is quadratic in the error of α.
    assert!(margin["rebuilt_weights"].as_f64().unwrap() < 1e-3);
    assert_eq!(total, [2, 2, 2], "{lines}", lines = margin);
    let lines = String::from_utf8(std::fs::read(folder.path("s.csv")).unwrap()).unwrap();
    assert_eq!(lines.lines().count() as u64, 1 + total[1] + total[2], "{lines}");
    let text = folder.run(&["train", "d.csv", "--method", "svm"]).expect(0);
    text.says(&["on the margin", "w = Σαyx"]);
    let ran = folder.run(&["train", "d.csv", "--support", "t.csv"]).expect(2);
    ran.complains(&["--method svm"]);
}

#[test]
fn the_soft_margin_converges_to_the_hard_margin() {
    let folder = TestFolder::new();
    let train = |options: &[&str]| {
        let given = [
            "train",
            "@iris",
            "--positive",
            "setosa",
            "--json",
            "--tol",
            "1e-8",
        ];
        folder.json(&[&given, options].concat())
    };
    let hard = train(&["--method", "hard-margin"]);
    let three = |object: &serde_json::Value| object["support_vectors"]["count"] == 3;
    assert!(three(&hard), "{hard}");
    for c in ["1", "1e3", "1e6", "1e9"] {
        let soft = train(&["--method", "svm", "--C", c]);
        assert!(three(&soft), "C = {c}: {}", soft["support_vectors"]);
        let weights = |object: &serde_json::Value| -> Vec<f64> {
            let weights = object["weights"][0].as_array().unwrap();
            weights.iter().map(|w| w.as_f64().unwrap()).collect()
        };
        for (soft, hard) in weights(&soft).iter().zip(weights(&hard)) {
            // The objective is within 1e-8, and its error is quadratic in the error of the weights.
            assert!((soft - hard).abs() <= 2e-4, "C = {c}: {soft} for {hard}");
        }
    }
    let text = folder
        .run(&[
            "train",
            "@iris",
            "--positive",
            "setosa",
            "--method",
            "hard-margin",
        ])
        .expect(0);
    text.says(&["3 support vectors, all on the margin", "Σαy = 0 to"]);
}

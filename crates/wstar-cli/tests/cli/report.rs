//! Tests of `wstar report` and `wstar plot`.

use std::process::Command;

use crate::TestFolder;

/// The text of a page between two markers, unescaped.
fn between(page: &str, from: &str, to: &str) -> String {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    let text = rest.split_once(to).unwrap().0;
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_string(), |text, (escaped, plain)| {
        text.replace(escaped, plain)
    })
}

impl TestFolder {
    fn page(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Trains and reports; returns the page.
    fn reported(&self, train: &[&str], data: &str) -> String {
        let trained = self.run(&[&["train", data, "--out", "m.json", "--quiet"], train].concat());
        assert_eq!(trained.code, 0, "{}", trained.err);
        let reported = self.run(&["report", "m.json", data, "-o", "r.html"]);
        assert_eq!(reported.code, 0, "{}", reported.err);
        assert!(reported.out.starts_with("report: r.html"), "{}", reported.out);
        self.page("r.html")
    }
}

const PEOPLE: &str = "id,height,weight,colour,kind\n1,150,4,red,a\n2,160,5,blue,b\n3,170,4.5,red,a\n4,151,9,green,b\n\
                      5,162,8,blue,b\n6,175,9.5,green,a\n7,155,7,red,b\n8,158,6,blue,a\n";

#[test]
fn the_command_in_a_report_makes_the_same_model() {
    let folder = TestFolder::new();
    folder.write("people's data.csv", PEOPLE);
    folder.write(
        "mail.csv",
        "n,mail,label\n1,free money now,spam\n2,see you now,ham\n3,money for free,spam\n4,lunch with you,ham\n",
    );
    let cases: [(&str, &[&str]); 8] = [
        (
            "@breast-cancer",
            &["--standardize", "--C", "0.5", "--tol", "1e-9"],
        ),
        (
            "@iris",
            &[
                "--method",
                "svm",
                "--multiclass",
                "ovo",
                "--loss",
                "squared-hinge",
                "--seed",
                "3",
            ],
        ),
        (
            "@iris",
            &[
                "--positive",
                "virginica",
                "--penalty",
                "none",
                "--class-weight",
                "virginica:2",
            ],
        ),
        (
            "@diabetes",
            &[
                "--penalty",
                "elastic-net",
                "--lambda",
                "0.5",
                "--l1-ratio",
                "0.25",
            ],
        ),
        (
            "@breast-cancer",
            &[
                "--method",
                "pocket",
                "--epochs",
                "5",
                "--schedule",
                "halving",
                "--halving-steps",
                "7",
            ],
        ),
        (
            "people's data.csv",
            &[
                "--drop",
                "id,weight",
                "--method",
                "naive-bayes",
                "--penalties",
                "0,1;5,0",
            ],
        ),
        ("people's data.csv", &["--categorical", "id", "--holdout", "0.25"]),
        (
            "mail.csv",
            &[
                "--text",
                "mail",
                "--drop",
                "n",
                "--ngrams",
                "1",
                "--text-weighting",
                "counts",
                "--min-df",
                "2",
                "--max-terms",
                "3",
            ],
        ),
    ];
    for (data, train) in cases {
        let page = folder.reported(train, data);
        let command = between(&page, "<dt>training</dt><dd>", "</dd>");
        let first = std::fs::read(folder.path("m.json")).unwrap();
        std::fs::remove_file(folder.path("m.json")).unwrap();
        let script = format!(
            "{} --out m.json --quiet",
            command.replacen("wstar", "\"$WSTAR\"", 1)
        );
        let again = Command::new("sh")
            .args(["-c", &script])
            .env("WSTAR", env!("CARGO_BIN_EXE_wstar"))
            .current_dir(folder.path(""))
            .output()
            .unwrap();
        assert!(
            again.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&again.stderr)
        );
        assert!(
            first == std::fs::read(folder.path("m.json")).unwrap(),
            "{command}"
        );
        assert!(page.contains("Proved:") || page.contains("Not proved completely:"));
        assert!(page.contains("from the training rows alone"), "{command}");
    }
}

#[test]
fn a_report_is_self_contained() {
    let folder = TestFolder::new();
    for (data, train, figures) in [
        ("@breast-cancer", ["--method", "logistic"], 8),
        ("@iris", ["--method", "softmax"], 8),
        ("@diabetes", ["--method", "least-squares"], 3),
        ("@breast-cancer", ["--method", "lda"], 7),
    ] {
        let page = folder.reported(&train, data);
        let found = page.matches("<figure>").count();
        assert!(found >= figures, "{data}: {found} figures");
        let without = page.replace("http://www.w3.org/2000/svg", "");
        for reaching in ["http:", "https:", "src=", "@import", "url(", "<link"] {
            assert!(!without.contains(reaching), "{data}: {reaching}");
        }
        assert!(page.contains("wstar verify m.json"));
        // Every colour is resolved by the theme, and no number is NaN or infinite.
        assert!(!page.contains("#01F7") && !page.contains("NaN") && !page.contains(">inf"));
        folder.run(&["report", "m.json", data, "-o", "again.html"]);
        assert_eq!(
            page,
            folder.page("again.html"),
            "the same command, the same bytes"
        );
    }
}

#[test]
fn numbers_of_a_report_are_those_of_evaluate() {
    let folder = TestFolder::new();
    let page = folder.reported(&[], "@breast-cancer");
    let judged = folder.run(&["evaluate", "m.json", "@breast-cancer", "--json"]);
    let judged: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    let auc = format!("{:.4}", judged["auc"].as_f64().unwrap());
    assert!(page.contains(&format!("<dd>{auc}</dd>")), "{auc}");
    assert!(page.contains(&format!("malignant: AUC {auc}")));
    for row in judged["confusion"].as_array().unwrap() {
        for cell in row.as_array().unwrap() {
            assert!(page.contains(&format!("<td>{}</td>", cell.as_f64().unwrap())));
        }
    }
}

#[test]
fn other_rows_are_detected_and_a_false_claim_is_refuted() {
    let folder = TestFolder::new();
    folder.reported(&[], "@iris");
    let text = folder.run(&["datasets", "iris"]).out;
    // Reordered columns are the same rows; one changed cell makes them different rows.
    let turned: String = text
        .lines()
        .map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n")
        .collect();
    folder.write("turned.csv", turned);
    let same = folder.run(&["report", "m.json", "turned.csv", "-o", "r.html"]);
    assert!(
        same.code == 0 && same.out.contains("checked again, and holds"),
        "{}{}",
        same.out,
        same.err
    );
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(7);
    folder.write("fewer.csv", lines.join("\n"));
    let fewer = folder.run(&["report", "m.json", "fewer.csv", "-o", "r.html"]);
    assert!(
        fewer.code == 0 && fewer.out.contains("not the rows of the training"),
        "{}",
        fewer.out
    );
    assert!(
        folder
            .page("r.html")
            .contains("not those that the model was trained on")
    );

    // With a changed weight the model is no longer the optimum.
    let mut model: serde_json::Value = serde_json::from_str(&folder.page("m.json")).unwrap();
    let weight = &mut model["predictor"]["discriminants"][0]["weights"][0];
    *weight = (weight.as_f64().unwrap() + 0.25).into();
    folder.write("false.json", model.to_string());
    let refuted = folder.run(&["report", "false.json", "@iris", "-o", "r.html"]);
    assert_eq!(refuted.code, 1, "{}{}", refuted.out, refuted.err);
    assert!(folder.page("r.html").contains("Does not hold:"));

    // A file of an older version has neither a history nor a digest.
    let mut older: serde_json::Value = serde_json::from_str(&folder.page("m.json")).unwrap();
    for field in ["history", "digest"] {
        assert!(older.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    folder.write("older.json", older.to_string());
    let read = folder.run(&["report", "older.json", "@iris", "-o", "r.html"]);
    assert!(
        read.code == 0 && read.out.contains("checked again, and holds"),
        "{}{}",
        read.out,
        read.err
    );
    assert!(folder.page("r.html").contains("has no history"));
    let elsewhere = folder.run(&["report", "older.json", "fewer.csv", "-o", "r.html"]);
    assert!(
        elsewhere.code == 0 && elsewhere.out.contains("may not be"),
        "{}",
        elsewhere.out
    );
}

#[test]
fn held_out_rows_are_evaluated_and_the_others_verified() {
    let folder = TestFolder::new();
    let page = folder.reported(&["--holdout", "0.3", "--seed", "4"], "@breast-cancer");
    assert!(page.contains("that were held out of the training"));
    let trained = folder.run(&[
        "train",
        "@breast-cancer",
        "--holdout",
        "0.3",
        "--seed",
        "4",
        "--json",
        "--out",
        "n.json",
    ]);
    let trained: serde_json::Value = serde_json::from_str(&trained.out).unwrap();
    let auc = trained["test"]["auc"].as_f64().unwrap();
    assert!(page.contains(&format!("<dd>{auc:.4}</dd>")), "{auc}");
}

#[test]
fn names_are_never_markup() {
    let folder = TestFolder::new();
    folder.write(
        "evil.csv",
        "\"<img src=x onerror=alert(1)>\",b,kind\n1,2,\"<script>alert(1)</script>\"\n2,1,\"a&b\"\n3,5,\"a&b\"\n\
         4,1,\"<script>alert(1)</script>\"\n",
    );
    let page = folder.reported(&[], "evil.csv");
    assert!(!page.contains("<img") && !page.contains("<script>alert"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("a&amp;b"));
    let plotted = folder.run(&["plot", "boundary", "m.json", "evil.csv", "-o", "b.svg"]);
    assert_eq!(plotted.code, 0, "{}", plotted.err);
    assert!(!folder.page("b.svg").contains("<img"));
}

#[test]
fn every_picture_is_drawn_for_suitable_models() {
    let folder = TestFolder::new();
    folder.write("plane.csv", PEOPLE.replace("id,", "drop,"));
    let train = |arguments: &[&str]| {
        let trained = folder.run(&[&["train"], arguments, &["--quiet"]].concat());
        assert!(trained.code < 2, "{}", trained.err);
    };
    train(&["@breast-cancer", "--out", "two.json"]);
    train(&["@diabetes", "--out", "real.json"]);
    train(&[
        "plane.csv",
        "--drop",
        "drop,colour",
        "--method",
        "gaussian",
        "--out",
        "plane.json",
    ]);
    train(&[
        "@iris",
        "--method",
        "perceptron",
        "--epochs",
        "20",
        "--out",
        "iris.json",
    ]);
    let cases = [
        (
            "two.json",
            "@breast-cancer",
            "roc precision-recall calibration scores confusion coefficients convergence components",
        ),
        (
            "real.json",
            "@diabetes",
            "residuals residual-histogram coefficients",
        ),
        (
            "plane.json",
            "plane.csv",
            "boundary calibration scores confusion roc",
        ),
        (
            "iris.json",
            "@iris",
            "roc scores confusion coefficients convergence components",
        ),
    ];
    for (model, data, kinds) in cases {
        for kind in kinds.split(' ') {
            let svg = folder.run(&["plot", kind, model, data, "-o", "p.svg"]);
            assert_eq!(
                (svg.code, svg.out.as_str()),
                (0, ""),
                "{model} {kind}: {}",
                svg.err
            );
            let text = folder.page("p.svg");
            assert!(text.starts_with("<?xml") && text.contains("<desc") && text.ends_with("</svg>\n"));
            let png = folder.run(&[
                "plot", kind, model, data, "-o", "p.png", "--size", "800x500", "--theme", "dark",
            ]);
            assert_eq!(png.code, 0, "{model} {kind}: {}", png.err);
            let bytes = std::fs::read(folder.path("p.png")).unwrap();
            assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
            // The width and height are at the start of the header.
            assert_eq!(
                (&bytes[16..20], &bytes[20..24]),
                (&800u32.to_be_bytes()[..], &500u32.to_be_bytes()[..])
            );
        }
    }
}

#[test]
fn pictures_that_cannot_be_drawn_are_reported() {
    let folder = TestFolder::new();
    folder.run(&["train", "@breast-cancer", "--out", "two.json", "--quiet"]);
    folder.run(&[
        "train",
        "@breast-cancer",
        "--method",
        "svm",
        "--out",
        "svm.json",
        "--quiet",
    ]);
    folder.write("broken.json", "{\"format\": \"wstar-model\"");
    std::fs::create_dir(folder.path("folder")).unwrap();
    let before = folder.files();
    let cases: [(&[&str], &str); 12] = [
        (&["report", "absent.json", "@iris"], "absent.json"),
        (&["report", "broken.json", "@iris"], "not a whole model file"),
        (&["report", "two.json", "@iris"], "column"),
        (&["report", "two.json", "absent.csv"], "absent.csv"),
        (
            &["report", "two.json", "@breast-cancer", "-o", "folder"],
            "is a directory",
        ),
        (
            &["report", "two.json", "@breast-cancer", "-o", "nowhere/r.html"],
            "nowhere",
        ),
        (
            &["plot", "roc", "two.json", "@breast-cancer", "-o", "p.jpg"],
            "neither .svg nor .png",
        ),
        (
            &[
                "plot",
                "roc",
                "two.json",
                "@breast-cancer",
                "-o",
                "p.svg",
                "--size",
                "9x9",
            ],
            "not a valid size",
        ),
        (
            &["plot", "residuals", "two.json", "@breast-cancer", "-o", "p.svg"],
            "predicts classes",
        ),
        (
            &["plot", "boundary", "two.json", "@breast-cancer", "-o", "p.svg"],
            "two features",
        ),
        (
            &["plot", "calibration", "svm.json", "@breast-cancer", "-o", "p.svg"],
            "no probabilities",
        ),
        (
            &["plot", "pie", "two.json", "@breast-cancer", "-o", "p.svg"],
            "possible values",
        ),
    ];
    for (arguments, said) in cases {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(folder.files(), before);
}

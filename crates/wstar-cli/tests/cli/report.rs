//! `wstar report` and `wstar plot`.

use std::process::Command;

use crate::Place;

/// The text of a page between two marks, unescaped.
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

impl Place {
    fn page(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Trains and reports; the page.
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
    let place = Place::new();
    place.write("people's data.csv", PEOPLE);
    place.write(
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
        let page = place.reported(train, data);
        let command = between(&page, "<dt>training</dt><dd>", "</dd>");
        let first = std::fs::read(place.path("m.json")).unwrap();
        std::fs::remove_file(place.path("m.json")).unwrap();
        let script = format!(
            "{} --out m.json --quiet",
            command.replacen("wstar", "\"$WSTAR\"", 1)
        );
        let again = Command::new("sh")
            .args(["-c", &script])
            .env("WSTAR", env!("CARGO_BIN_EXE_wstar"))
            .current_dir(place.path(""))
            .output()
            .unwrap();
        assert!(
            again.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&again.stderr)
        );
        assert!(first == std::fs::read(place.path("m.json")).unwrap(), "{command}");
        assert!(page.contains("Proved:") || page.contains("Not proved to the end:"));
        assert!(page.contains("from the training rows alone"), "{command}");
    }
}

#[test]
fn a_report_needs_nothing_else() {
    let place = Place::new();
    for (data, train, figures) in [
        ("@breast-cancer", ["--method", "logistic"], 8),
        ("@iris", ["--method", "softmax"], 8),
        ("@diabetes", ["--method", "least-squares"], 3),
        ("@breast-cancer", ["--method", "lda"], 7),
    ] {
        let page = place.reported(&train, data);
        let found = page.matches("<figure>").count();
        assert!(found >= figures, "{data}: {found} figures");
        let without = page.replace("http://www.w3.org/2000/svg", "");
        for reaching in ["http:", "https:", "src=", "@import", "url(", "<link"] {
            assert!(!without.contains(reaching), "{data}: {reaching}");
        }
        assert!(page.contains("wstar verify m.json"));
        // No colour was left without a theme, and nothing is not a number.
        assert!(!page.contains("#01F7") && !page.contains("NaN") && !page.contains(">inf"));
        place.run(&["report", "m.json", data, "-o", "again.html"]);
        assert_eq!(page, place.page("again.html"), "the same command, the same bytes");
    }
}

#[test]
fn numbers_of_a_report_are_those_of_evaluate() {
    let place = Place::new();
    let page = place.reported(&[], "@breast-cancer");
    let judged = place.run(&["evaluate", "m.json", "@breast-cancer", "--json"]);
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
fn other_rows_are_told_apart_and_a_false_claim_is_refuted() {
    let place = Place::new();
    place.reported(&[], "@iris");
    let text = place.run(&["datasets", "iris"]).out;
    // The columns in another order are the same rows; one cell changed makes other rows.
    let turned: String = text
        .lines()
        .map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n")
        .collect();
    place.write("turned.csv", turned);
    let same = place.run(&["report", "m.json", "turned.csv", "-o", "r.html"]);
    assert!(
        same.code == 0 && same.out.contains("checked again, and holds"),
        "{}{}",
        same.out,
        same.err
    );
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(7);
    place.write("fewer.csv", lines.join("\n"));
    let fewer = place.run(&["report", "m.json", "fewer.csv", "-o", "r.html"]);
    assert!(
        fewer.code == 0 && fewer.out.contains("not the rows of the training"),
        "{}",
        fewer.out
    );
    assert!(
        place
            .page("r.html")
            .contains("not those that the model was trained on")
    );

    // A weight that was changed is not the optimum.
    let mut model: serde_json::Value = serde_json::from_str(&place.page("m.json")).unwrap();
    let weight = &mut model["predictor"]["discriminants"][0]["weights"][0];
    *weight = (weight.as_f64().unwrap() + 0.25).into();
    place.write("false.json", model.to_string());
    let refuted = place.run(&["report", "false.json", "@iris", "-o", "r.html"]);
    assert_eq!(refuted.code, 1, "{}{}", refuted.out, refuted.err);
    assert!(place.page("r.html").contains("Does not hold:"));

    // A file of an older program has neither a history nor a digest.
    let mut older: serde_json::Value = serde_json::from_str(&place.page("m.json")).unwrap();
    for field in ["history", "digest"] {
        assert!(older.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    place.write("older.json", older.to_string());
    let read = place.run(&["report", "older.json", "@iris", "-o", "r.html"]);
    assert!(
        read.code == 0 && read.out.contains("checked again, and holds"),
        "{}{}",
        read.out,
        read.err
    );
    assert!(place.page("r.html").contains("holds no history"));
    let elsewhere = place.run(&["report", "older.json", "fewer.csv", "-o", "r.html"]);
    assert!(
        elsewhere.code == 0 && elsewhere.out.contains("may not be"),
        "{}",
        elsewhere.out
    );
}

#[test]
fn held_out_rows_are_judged_and_the_others_checked() {
    let place = Place::new();
    let page = place.reported(&["--holdout", "0.3", "--seed", "4"], "@breast-cancer");
    assert!(page.contains("that were held out of the training"));
    let trained = place.run(&[
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
    let place = Place::new();
    place.write(
        "evil.csv",
        "\"<img src=x onerror=alert(1)>\",b,kind\n1,2,\"<script>alert(1)</script>\"\n2,1,\"a&b\"\n3,5,\"a&b\"\n\
         4,1,\"<script>alert(1)</script>\"\n",
    );
    let page = place.reported(&[], "evil.csv");
    assert!(!page.contains("<img") && !page.contains("<script>alert"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("a&amp;b"));
    let plotted = place.run(&["plot", "boundary", "m.json", "evil.csv", "-o", "b.svg"]);
    assert_eq!(plotted.code, 0, "{}", plotted.err);
    assert!(!place.page("b.svg").contains("<img"));
}

#[test]
fn every_picture_is_drawn_where_it_fits() {
    let place = Place::new();
    place.write("plane.csv", PEOPLE.replace("id,", "drop,"));
    let train = |arguments: &[&str]| {
        let trained = place.run(&[&["train"], arguments, &["--quiet"]].concat());
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
            let svg = place.run(&["plot", kind, model, data, "-o", "p.svg"]);
            assert_eq!(
                (svg.code, svg.out.as_str()),
                (0, ""),
                "{model} {kind}: {}",
                svg.err
            );
            let text = place.page("p.svg");
            assert!(text.starts_with("<?xml") && text.contains("<desc") && text.ends_with("</svg>\n"));
            let png = place.run(&[
                "plot", kind, model, data, "-o", "p.png", "--size", "800x500", "--theme", "dark",
            ]);
            assert_eq!(png.code, 0, "{model} {kind}: {}", png.err);
            let bytes = std::fs::read(place.path("p.png")).unwrap();
            assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
            // Width and height stand at the start of the header.
            assert_eq!(
                (&bytes[16..20], &bytes[20..24]),
                (&800u32.to_be_bytes()[..], &500u32.to_be_bytes()[..])
            );
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_said_and_nothing_is_written() {
    let place = Place::new();
    place.run(&["train", "@breast-cancer", "--out", "two.json", "--quiet"]);
    place.run(&[
        "train",
        "@breast-cancer",
        "--method",
        "svm",
        "--out",
        "svm.json",
        "--quiet",
    ]);
    place.write("broken.json", "{\"format\": \"wstar-model\"");
    std::fs::create_dir(place.path("folder")).unwrap();
    let before = place.files();
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
            "no size for a picture",
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
        let ran = place.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(place.files(), before);
}

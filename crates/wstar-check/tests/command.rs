//! The exit codes and the output of the program.

#![allow(clippy::unwrap_used)]

use std::process::Command;

/// The path of a file in `tests/fixtures`.
fn path(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn run(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_wstar-check"))
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn exit_codes_and_statements() {
    let (model, data) = (path("sparse-svm.json"), path("sparse.svm"));
    let (code, text) = run(&[&model, &data]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("proved: the relative gap is at most "), "{text}");
    assert!(
        text.contains("these rows    are those of ") && text.contains("as read by this program"),
        "{text}"
    );

    let (code, text) = run(&[&model, &data, "--tol", "1e-30"]);
    assert_eq!(code, 1);
    assert!(
        text.starts_with("not proved: ") && text.contains("the tolerance is 1e-30 (given)"),
        "{text}"
    );
    assert!(text.contains("this is not proved"), "{text}");

    let (code, text) = run(&[&model, &path("prices.csv")]);
    assert_eq!(code, 2);
    assert!(text.starts_with("wstar-check: "), "{text}");
    let (model, data) = (model.as_str(), data.as_str());
    for arguments in [
        &[][..],
        &[model],
        &["--tol"],
        &[model, data, "--tol", "x"],
        &[model, data, "--speed"],
        &["a", "b"],
    ] {
        assert_eq!(run(arguments).0, 2, "{arguments:?}");
    }
    assert_eq!(run(&["--help"]).0, 0);
}

#[test]
fn claims_of_all_kinds_have_statements() {
    for (name, data, kind) in [
        ("flowers-worst.json", "flowers.csv", "mistake-bound"),
        ("flowers-kozinec.json", "flowers.csv", "separation"),
        ("sparse-bernoulli.json", "sparse.svm", "maximum-likelihood"),
        ("sparse-minimax.json", "sparse.svm", "enclosing-ball"),
        ("flowers-sigmoid.json", "flowers.csv", "stationarity"),
    ] {
        let (model, data) = (path(name), path(data));
        let (code, text) = run(&[&model, &data]);
        assert!(code == 0 && text.starts_with("proved: "), "{text}");
        let (code, text) = run(&[&model, &data, "--json"]);
        assert_eq!(code, 0);
        let start = format!("{{\"proved\":true,\"kind\":\"{kind}\",");
        assert!(
            text.starts_with(&start) && !text.contains("\"proved\":false"),
            "{text}"
        );
        assert_eq!(run(&[&model, &data, "--digits"]).0, 2);
        let code = run(&[&model, &data, "--tol", "1e-18"]).0;
        assert_eq!(code, if kind == "mistake-bound" { 2 } else { 1 });
    }
}

#[test]
fn canonical_rows_are_written_and_checked() {
    let (model, data) = (path("prices-ridge.json"), path("prices.csv"));
    let file = std::env::temp_dir().join(format!("wstar-check-{}.rows", std::process::id()));
    let rows = file.to_str().unwrap();
    assert_eq!(run(&[&model, &data, "--write-rows", rows]).0, 0);
    let (code, text) = run(&[&model, "--rows", rows]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("is asserted by the engine and not proved here"),
        "{text}"
    );
    let (code, text) = run(&[&model, "--rows", rows, "--json"]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(code, 0);
    assert!(
        text.starts_with("{\"proved\":true,\"kind\":\"duality-gap\",\"gap\":"),
        "{text}"
    );
    assert!(text.contains("\"read_here\":false"), "{text}");
}

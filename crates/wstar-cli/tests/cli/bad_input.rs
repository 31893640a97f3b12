//! Bad input produces a one-line error and exit code 2, and leaves no incomplete file.

use std::io::Write;

use crate::TestFolder;

/// Trains on a file and expects a one-line error that contains all the given strings.
#[track_caller]
fn refused(name: &str, content: &[u8], arguments: &[&str], parts: &[&str]) {
    refused_by("train", name, content, arguments, parts);
}

/// The same for any command.
#[track_caller]
fn refused_by(command: &str, name: &str, content: &[u8], arguments: &[&str], parts: &[&str]) {
    let folder = TestFolder::new();
    folder.write(name, content);
    let before = folder.files();
    let ran = folder.run(&[&[command, name], arguments].concat());
    let shown = &content[..content.len().min(200)];
    assert_eq!(
        ran.code,
        2,
        "{:?}: {}{}",
        String::from_utf8_lossy(shown),
        ran.out,
        ran.err
    );
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.len() < 400, "{}", ran.err);
    assert!(ran.out.is_empty(), "{}", ran.out);
    for part in parts {
        assert!(ran.err.contains(part), "{part} is not in: {}", ran.err);
    }
    assert_eq!(folder.files(), before, "a file was written");
}

#[test]
fn numbers_whose_squares_overflow() {
    let classes = b"a,b,y\n1e300,1,p\n2e300,2,n\n-1e300,3,p\n3,4,n\n";
    for method in [
        "logistic",
        "softmax",
        "svm",
        "mse-classifier",
        "lda",
        "gaussian",
        "naive-bayes",
        "minimax",
        "perceptron",
        "pocket",
        "kozinec",
    ] {
        refused(
            "huge.csv",
            classes,
            &["--method", method],
            &["huge.csv", "row 0, column a: 1e300", "units"],
        );
    }
    let values = b"a,y\n1,1e300\n2,2.5\n3,-1e300\n";
    for method in ["least-squares", "lad"] {
        refused(
            "huge.csv",
            values,
            &["--method", method],
            &["row 0, target: 1e300"],
        );
    }
}

#[test]
fn csv_files() {
    refused("e.csv", b"", &[], &["e.csv", "empty"]);
    refused("h.csv", b"a,b,y\n", &[], &["h.csv", "rows"]);
    refused(
        "r.csv",
        b"a,b,y\n1,2,p\n1,2\n2,1,n\n",
        &[],
        &["r.csv:3", "2", "3"],
    );
    refused("q.csv", b"a,y\n\"1,p\n2,n\n", &[], &["q.csv:2:1", "quote"]);
    let mut many = String::from("a,y\n");
    for i in 0..20 {
        many += &format!("{i},{}\n", if i < 10 { "p" } else { "n" });
    }
    refused(
        "c.csv",
        format!("{many}x7,p\n").as_bytes(),
        &[],
        &["c.csv:22:1", "\"x7\"", "column a", "--drop a"],
    );
    refused(
        "i.csv",
        format!("{many}inf,p\n").as_bytes(),
        &[],
        &["i.csv:22:1", "column a"],
    );
    refused(
        "o.csv",
        format!("{many}1e999,p\n").as_bytes(),
        &[],
        &["o.csv:22:1", "column a"],
    );
    refused(
        "m.csv",
        format!("{many}NaN,p\n").as_bytes(),
        &[],
        &["m.csv:22:1", "missing", "--missing"],
    );
    refused("u.csv", b"a,y\n1,p\xff\n2,n\n", &[], &["u.csv:2:4", "UTF-8"]);
    refused("z.csv", b"a,y\n1,p\0\n2,n\n", &[], &["z.csv:2:4", "NUL"]);
    refused("d.csv", b"a,a,y\n1,2,p\n2,1,n\n", &[], &["d.csv:1", "\"a\""]);
    refused("one.csv", b"a,b,y\n1,2,p\n", &[], &["one.csv", "same class"]);
    refused(
        "oneclass.csv",
        b"a,b,y\n1,2,p\n2,2,p\n",
        &[],
        &["oneclass.csv", "same class"],
    );
    refused(
        "t.csv",
        b"balance,y\n1,p\n2,n\n",
        &["--target", "ballance"],
        &["ballance", "balance"],
    );
    refused(
        "p.csv",
        b"a,y\n1,yes\n2,no\n",
        &["--positive", "yess"],
        &["yess", "yes"],
    );
    refused(
        "only.csv",
        b"y\np\nn\n",
        &["--header", "yes"],
        &["only.csv", "column"],
    );
    let mut text = String::from("a,y\n");
    for i in 0..2500 {
        text += &format!("word{i},{}\n", if i % 2 == 0 { "p" } else { "n" });
    }
    refused("k.csv", text.as_bytes(), &[], &["column a", "--text", "--drop"]);
}

#[test]
fn svmlight_files() {
    refused("e.svm", b"", &[], &["e.svm", "empty"]);
    refused("c.svm", b"# nothing\n\n", &[], &["c.svm", "rows"]);
    refused(
        "z.svm",
        b"1 1:1\n-1 0:1 2:1\n",
        &["--base", "1"],
        &["z.svm:2:4", "0"],
    );
    refused(
        "b.svm",
        b"1 1:1\n-1 4294967296:1\n",
        &[],
        &["b.svm:2:4", "4294967296"],
    );
    refused("d.svm", b"1 1:1\n-1 3:1 3:2\n", &[], &["d.svm:2", "3"]);
    refused("v.svm", b"1 1:1\n-1 3:abc\n", &[], &["v.svm:2:6", "abc"]);
    refused("n.svm", b"1 1:1\n-1 3:nan\n", &[], &["n.svm:2:6", "nan"]);
    refused("i.svm", b"1 1:1\n-1 3:1e400\n", &[], &["i.svm:2:6"]);
    refused("l.svm", b"1 1:1\nx 3:1\n", &[], &["l.svm:2:1", "x"]);
    refused("m.svm", b"1 1:1\n1,3 3:1\n", &[], &["m.svm:2:1"]);
    refused("k.svm", b"1 1:1\n-1 3\n", &[], &["k.svm:2:4"]);
}

#[test]
fn a_line_of_ten_megabytes() {
    let mut line = b"1".to_vec();
    for j in 1..800_000u32 {
        write!(line, " {j}:1.5").unwrap();
    }
    assert!(line.len() > 8 << 20);
    let folder = TestFolder::new();
    folder.write("long.svm", [&line[..], b"\n-1 1:2\n"].concat());
    folder
        .run(&["train", "long.svm", "--method", "online-perceptron", "--quiet"])
        .expect(0);
    refused("long.csv", &vec![b'x'; 10 << 20], &[], &["long.csv"]);
}

#[test]
fn files_that_cannot_be_read() {
    let folder = TestFolder::new();
    for (name, part) in [
        (".", "directory"),
        ("absent.csv", "no such file"),
        ("@irsi", "@iris"),
    ] {
        let ran = folder.run(&["train", name]).expect(2);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        ran.complains(&[part]);
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all("a,y\n1,p\n2,n\n".repeat(1000).as_bytes()).unwrap();
    let whole = gzip.finish().unwrap();
    refused(
        "cut.csv.gz",
        &whole[..whole.len() / 2],
        &[],
        &["cut.csv.gz", "gzip"],
    );
    let mut bad = whole.clone();
    let last = bad.len() - 6;
    bad[last] ^= 0xff;
    refused("bad.csv.gz", &bad, &[], &["bad.csv.gz", "gzip"]);
}

#[test]
#[cfg(unix)]
fn no_permission_to_write() {
    let folder = TestFolder::new();
    folder.write("old.json", "precious");
    for target in ["no/such/folder/m.json", ".", "/proc/m.json"] {
        let ran = folder.run(&["train", "@iris", "-o", target]).expect(2);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    // A device that is always full: the old model remains.
    let ran = folder
        .run(&[
            "train",
            "@iris",
            "--method",
            "perceptron",
            "--trace",
            "/dev/full",
            "-o",
            "old.json",
        ])
        .expect(2);
    ran.complains(&["/dev/full"]);
    assert_eq!(
        std::fs::read_to_string(folder.path("old.json")).unwrap(),
        "precious"
    );
}

#[test]
fn model_files() {
    let folder = TestFolder::new();
    folder
        .run(&["train", "@iris", "-o", "good.json", "--quiet"])
        .expect(0);
    let good = std::fs::read_to_string(folder.path("good.json")).unwrap();
    let cases: Vec<(&str, String, &str)> = vec![
        ("empty", String::new(), "not a whole model file"),
        (
            "cut",
            good[..good.len() / 2].to_string(),
            "not a whole model file",
        ),
        ("other", "{\"hello\": 1}".into(), "not a wstar model file"),
        (
            "newer",
            good.replacen("\"version\":2", "\"version\":99", 1),
            "newer",
        ),
        (
            "shape",
            good.replacen("\"features\":4", "\"features\":5", 1),
            "m.json",
        ),
        ("text", "label,text\n".into(), "not a whole model file"),
    ];
    for (name, content, part) in cases {
        folder.write("m.json", content);
        for command in ["predict", "evaluate", "verify"] {
            let ran = folder.run(&[command, "m.json", "@iris"]).expect(2);
            assert_eq!(ran.err.lines().count(), 1, "{name}: {}", ran.err);
            assert!(
                ran.err.contains("m.json") && ran.err.contains(part),
                "{name}: {}",
                ran.err
            );
        }
    }
    let ran = folder.run(&["predict", "good.json", "@wine"]).expect(2);
    ran.complains(&["sepal length"]);
}

#[test]
fn invalid_settings() {
    let folder = TestFolder::new();
    for (arguments, part) in [
        (
            &["--method", "perceptron", "--learning-rate", "-1"][..],
            "--learning-rate must be a positive number",
        ),
        (&["--method", "lda", "--epochs", "3"], "--epochs does not go with"),
        (&["--method", "kozinec", "--epsilon", "2"], "epsilon"),
        (
            &["--method", "perceptron", "--start", "1,2", "--positive", "setosa"],
            "5 are needed",
        ),
        (&["--method", "perceptron", "--start", "1,2"], "15 are needed"),
        (&["--epochs", "0"], "--epochs"),
        (&["--method", "lda", "--trace", "t.jsonl"], "--trace"),
        (&["--holdout", "1.5"], "1.5"),
        (&["--method", "averaged-perceptron", "--rule", "worst"], "worst"),
        (&["--drop", "sepal lenght"], "sepal length"),
        (&["--text", "petal wdth"], "petal width"),
        (&["--sample-weight", "species"], "species"),
        (&["--penalties", "0,1", "--method", "lda"], "penal"),
    ] {
        let ran = folder.run(&[&["train", "@iris"], arguments].concat()).expect(2);
        assert_eq!(ran.err.lines().count(), 1, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{arguments:?}: {}", ran.err);
    }
    assert!(folder.files().is_empty());
    folder.run(&["train", "@iris", "--method", "percptron"]).expect(2);
    let ran = folder
        .run(&["train", "@diabetes", "--method", "perceptron"])
        .expect(2);
    ran.complains(&["real number", "--categorical"]);
}

#[test]
fn n_less_than_d_duplicate_and_constant_columns_are_accepted() {
    let folder = TestFolder::new();
    folder.write(
        "wide.csv",
        "a,b,c,d,e,y\n1,1,0,7,1e200,p\n2,2,0,7,-1e200,n\n1.5,1.5,0,7,1,p\n3,3,0,7,1,n\n",
    );
    // Numbers whose squares overflow are rejected instead of becoming infinities.
    let ran = folder.run(&["train", "wide.csv", "--method", "lda"]).expect(2);
    ran.complains(&["1e200", "column e"]);
    let ran = folder
        .run(&["train", "wide.csv", "--method", "online-perceptron"])
        .expect(2);
    ran.complains(&["wide.csv"]);
    folder
        .run(&[
            "train",
            "wide.csv",
            "--drop",
            "e",
            "--method",
            "online-perceptron",
            "--quiet",
        ])
        .expect(0);
    let ran = folder
        .run(&["train", "wide.csv", "--drop", "e", "--method", "lda"])
        .expect(2);
    ran.complains(&["--shrinkage"]);
    folder
        .run(&[
            "train",
            "wide.csv",
            "--drop",
            "e",
            "--method",
            "lda",
            "--shrinkage",
            "1e-3",
            "--quiet",
        ])
        .expect(0);
}

/// The commands of exact two-class geometry, each with the options of the file that it would write.
const GEOMETRY: [(&str, &[&str]); 4] = [
    ("separate", &["--proof", "p.json"]),
    ("compare", &[]),
    ("train", &["--method", "hard-margin"]),
    ("train", &["--method", "min-error"]),
];

#[test]
fn geometry_of_invalid_data() {
    let files: [(&[u8], &str); 8] = [
        (b"", "the file is empty"),
        (b"x,y\n", "there are no rows"),
        (b"x,y\n1,a\n", "the same class, \"a\""),
        (b"x,y\n1,a\n2,a\n3,a\n", "the same class, \"a\""),
        (b"x,z,y\n1,2,a\nNaN,3,b\n2,1,a\n", "bad.csv:3:1"),
        (b"x,z,y\n1,2,a\n2,b\n3,4,b\n", "bad.csv:3:4"),
        (b"x,x,y\n1,1,a\n2,2,b\n", "both called \"x\""),
        (b"x,z,y\n1e200,1,a\n2e200,2,b\n3,4,b\n", "row 0, column x: 1e200"),
    ];
    for (content, part) in files {
        for (command, arguments) in GEOMETRY {
            refused_by(command, "bad.csv", content, arguments, &["bad.csv", part]);
        }
    }
    refused(
        "real.csv",
        b"x,y\n1,1.5\n3,1e200\n4,2\n",
        &["--method", "lad", "--quantile", "0.3"],
        &["row 1, target: 1e200"],
    );
    for quantile in ["0", "1", "-1", "nan"] {
        refused(
            "real.csv",
            b"x,y\n1,1.5\n3,2.5\n4,2\n",
            &["--method", "lad", "--quantile", quantile],
            &["strictly between 0 and 1"],
        );
    }
}

#[test]
fn geometry_of_degenerate_data() {
    // Equal columns, a constant column, fewer rows than columns, only constants, numbers near the largest double.
    for content in [
        "x,z,y\n1,1,a\n2,2,a\n3,3,b\n4,4,b\n",
        "x,z,y\n1,7,a\n2,7,b\n3,7,a\n4,7,b\n",
        "a,b,c,d,e,y\n1,2,3,4,5,p\n2,1,0,3,1,q\n0,1,1,2,9,p\n",
        "x,y\n7,a\n7,b\n7,a\n",
        "x,z,y\n1e99,1,a\n2e99,2,b\n-1e99,3,a\n3,4,b\n",
    ] {
        let folder = TestFolder::new();
        folder.write("odd.csv", content);
        folder
            .run(&["separate", "odd.csv", "--proof", "p.json"])
            .expect(0);
        folder.run(&["verify", "p.json", "odd.csv"]).expect(0);
        folder.json(&["compare", "odd.csv", "--json"]);
        folder
            .run(&["train", "odd.csv", "--method", "min-error", "-o", "m.json"])
            .expect(0);
        folder.run(&["verify", "m.json", "odd.csv"]).expect(0);
    }
}

#[test]
fn proofs_of_other_data() {
    let folder = TestFolder::new();
    folder.write("cat.csv", "c,x,y\nred,1,a\nblue,2,a\nred,5,b\nblue,6,b\n");
    folder
        .run(&["separate", "cat.csv", "--proof", "p.json"])
        .expect(0);
    folder.write("unseen.csv", "c,x,y\nred,1,a\ngreen,2,a\nred,5,b\nblue,6,b\n");
    folder.write("class.csv", "c,x,y\nred,1,a\nred,2,z\nred,5,b\nblue,6,b\n");
    folder.write("less.csv", "c,x,y\nred,1,a\nblue,2,a\nred,5,b\n");
    folder.write("other.csv", "c,x,y\nred,1,a\nblue,9,a\nred,5,b\nblue,6,b\n");
    for (data, part) in [
        ("unseen.csv", "\"green\" in column c"),
        ("class.csv", "\"z\" in column y"),
        ("@iris", "no column c"),
        ("none.csv", "none.csv"),
    ] {
        let ran = folder.run(&["verify", "p.json", data]).expect(2);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    let ran = folder.run(&["verify", "p.json", "other.csv"]).expect(1);
    ran.says(&["does not hold"]);
    assert_ne!(folder.run(&["verify", "p.json", "less.csv"]).code, 0);
    for command in ["predict", "evaluate"] {
        let ran = folder.run(&[command, "p.json", "cat.csv"]).expect(2);
        ran.complains(&["not a wstar model"]);
    }
}

#[test]
#[cfg(unix)]
fn output_that_cannot_be_written() {
    let folder = TestFolder::new();
    folder.write("two.csv", "x,y\n0,a\n1,a\n3,b\n4,b\n");
    for arguments in [
        &["separate", "two.csv"][..],
        &["separate", "two.csv", "--json"],
        &["compare", "two.csv"],
        &["train", "two.csv", "--method", "hard-margin", "-o", "m.json"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = folder.command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    let ran = folder
        .run(&["separate", "two.csv", "--proof", "no/such/p.json"])
        .expect(2);
    assert!(
        ran.err.contains("no/such/p.json") && ran.out.is_empty(),
        "{}",
        ran.err
    );
}

#[test]
#[cfg(unix)]
fn a_pipe_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = TestFolder::new();
    folder.write("two.csv", "x,y\n0,a\n1,a\n3,b\n4,b\n");
    let pipe = folder.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mkfifo does not exist");
        return;
    }
    for arguments in [
        ["separate", "two.csv", "--proof", "pipe"],
        ["train", "two.csv", "--quiet", "--out=pipe"],
    ] {
        let from = pipe.clone();
        let reading = std::thread::spawn(move || std::fs::read_to_string(from).unwrap());
        folder.run(&arguments).expect(0);
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
        let read: serde_json::Value = serde_json::from_str(&reading.join().unwrap()).unwrap();
        assert!(read["format"].as_str().unwrap().starts_with("wstar-"));
    }
}

//! Learning from data that do not fit into memory, or that can be read only once.

use std::fmt::Write;

use crate::TestFolder;

/// A deterministic svmlight file: sparse rows labelled by the sign of a fixed sum, with a few labels flipped.
fn generated(rows: usize) -> String {
    let mut text = String::new();
    let mut state = 1u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for _ in 0..rows {
        let mut columns: Vec<u64> = (0..12).map(|_| 1 + draw(2000)).collect();
        columns.sort_unstable();
        columns.dedup();
        let score: i64 = columns.iter().map(|&j| if j % 3 == 0 { 2 } else { -1 }).sum();
        let flip = draw(20) == 0;
        let label = if (score > 0) != flip { "+1" } else { "-1" };
        write!(text, "{label}").unwrap();
        for j in columns {
            write!(text, " {j}:{}", 0.25 + draw(100) as f64 / 64.0).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn streaming_equals_memory_bit_for_bit() {
    let folder = TestFolder::new();
    // Larger than a chunk of 4 MB, so that there are several chunks.
    folder.write("data.svm", generated(60_000));
    assert!(std::fs::metadata(folder.path("data.svm")).unwrap().len() > 8_000_000);
    for method in ["online-perceptron", "averaged-perceptron", "voted-perceptron"] {
        let common = [
            "train", "data.svm", "--method", method, "--rule", "cyclic", "--epochs", "2", "--quiet",
        ];
        folder
            .run(&[&common[..], &["-o", "memory.json"]].concat())
            .expect(0);
        folder
            .run(&[&common[..], &["--stream", "-o", "stream.json"]].concat())
            .expect(0);
        // Only a model of rows in memory has a digest, which is the last field of the file.
        let memory = std::fs::read_to_string(folder.path("memory.json")).unwrap();
        let memory = format!("{}}}\n", memory.split_once(",\"digest\":").unwrap().0);
        let stream = std::fs::read_to_string(folder.path("stream.json")).unwrap();
        assert!(memory == stream, "{method}: the models differ");
        folder.run(&["verify", "stream.json", "data.svm"]).expect(0);
    }
}

#[test]
fn standard_input_is_read_once() {
    let folder = TestFolder::new();
    let data = generated(3_000);
    folder.write("data.svm", &data);
    let ran = folder
        .run_with(
            &[
                "train",
                "-",
                "--format",
                "svmlight",
                "--method",
                "online-perceptron",
                "--stream",
                "-o",
                "in.json",
            ],
            data.as_bytes(),
        )
        .expect(0);
    // Progress at 1, 2, 4 … examples, as online learners print it.
    ran.complains(&["2,048"]);
    ran.says(&["no proof"]);
    folder
        .run(&[
            "train",
            "data.svm",
            "--method",
            "online-perceptron",
            "-o",
            "file.json",
            "--quiet",
        ])
        .expect(0);
    let a = folder
        .run(&["predict", "in.json", "data.svm", "--scores"])
        .expect(0)
        .out;
    let b = folder
        .run(&["predict", "file.json", "data.svm", "--scores"])
        .expect(0)
        .out;
    assert!(a == b, "a stream and a file give different models");

    let ran = folder
        .run_with(
            &[
                "train",
                "-",
                "--format",
                "svmlight",
                "--stream",
                "--method",
                "averaged-perceptron",
                "--epochs",
                "3",
            ],
            data.as_bytes(),
        )
        .expect(2);
    ran.complains(&["only once"]);
}

#[test]
fn a_class_that_appears_late_is_an_error_unless_declared() {
    let folder = TestFolder::new();
    let mut data = generated(50_000).replace("-1 ", "+1 ");
    data.push_str("-1 1:1\n");
    folder.write("late.svm", &data);
    let ran = folder
        .run(&["train", "late.svm", "--method", "online-perceptron", "--stream"])
        .expect(2);
    ran.complains(&["--classes"]);
    folder
        .run(&[
            "train",
            "late.svm",
            "--method",
            "online-perceptron",
            "--stream",
            "--classes",
            "-1,1",
            "--quiet",
        ])
        .expect(0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_stream_needs_constant_memory() {
    let folder = TestFolder::new();
    let block = generated(20_000);
    let mut data = String::new();
    while data.len() < 120 << 20 {
        data.push_str(&block);
    }
    folder.write("big.svm", &data);
    drop(data);
    let shell = format!(
        "ulimit -v 1500000; {} train big.svm --method online-perceptron --stream --quiet & pid=$!; peak=0; \
         while kill -0 $pid 2>/dev/null; do now=$(awk '/VmHWM/{{print $2}}' /proc/$pid/status 2>/dev/null); \
         [ \"${{now:-0}}\" -gt $peak ] && peak=$now; sleep 0.02; done; wait $pid || exit 9; echo $peak",
        env!("CARGO_BIN_EXE_wstar")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &shell])
        .current_dir(folder.directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let peak: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert!(peak > 1_000 && peak <= 64 << 10, "{peak} kB resident");
}

//! Tests of the command line as users see it, one module per behaviour.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod bad_input;
#[path = "../../../wstar/tests/behaviour/common.rs"]
mod common;
mod compare;
mod contract;
mod convex;
mod independent_check;
mod lab;
mod learning;
mod proved_digits;
mod report;
mod separate;
mod streaming;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A temporary folder for one test, removed afterwards.
struct TestFolder {
    directory: tempfile::TempDir,
}

/// The exit code and the output of a run.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl TestFolder {
    fn new() -> Self {
        TestFolder {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wstar"));
        command.args(arguments).current_dir(self.directory.path());
        command
    }

    /// Runs the program in the folder.
    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs the program in the folder, which must succeed, and parses the single object that `--json` prints.
    #[track_caller]
    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        self.run(arguments).expect(0).json()
    }

    /// Runs the program with these bytes on its standard input.
    fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The program may exit before it has read everything.
        let feeding = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = Ran::of(child.wait_with_output().unwrap());
        feeding.join().unwrap();
        ran
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The single object that `--json` prints.
    #[track_caller]
    fn json(&self) -> serde_json::Value {
        assert_eq!(
            self.out.trim_end().lines().count(),
            1,
            "{}\n{}",
            self.out,
            self.err
        );
        serde_json::from_str(&self.out).unwrap()
    }

    /// Asserts that the output contains each of these texts.
    #[track_caller]
    fn says(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.out.contains(text), "{text} is not in: {}", self.out);
        }
    }

    /// Asserts that the messages contain each of these texts.
    #[track_caller]
    fn complains(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.err.contains(text), "{text} is not in: {}", self.err);
        }
    }

    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        self
    }
}

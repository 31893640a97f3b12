//! The command line as its users meet it: one module a behaviour.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod bad_input;
#[path = "../../../wstar/tests/common/mod.rs"]
mod common;
mod compare;
mod contract;
mod convex;
mod lab;
mod learning;
mod report;
mod separate;
mod streaming;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for each test, removed afterwards.
struct Place {
    folder: tempfile::TempDir,
}

/// What a run of the program left.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Self {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wstar"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    /// Runs the program in the folder.
    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).stdin(Stdio::null()).output().unwrap())
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
        // The program may end before it has read everything.
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

    /// The one object that `--json` prints.
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

    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        self
    }
}

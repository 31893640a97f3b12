//! The gates on the architecture: allowed dependencies between crates, no cycles between the files of a crate, each name
//! once in a crate, and no command-line options in the library.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::file_uses;
use crate::step::root;

/// Each library crate, and the crates of the project that it may depend on.
const LAYERS: [(&str, &[&str]); 8] = [
    ("wstar-check", &[]),
    ("wstar-numeric", &[]),
    ("wstar-data", &["wstar-numeric"]),
    ("wstar-problem", &["wstar-numeric", "wstar-data"]),
    ("wstar-certify", &["wstar-numeric", "wstar-data", "wstar-problem"]),
    ("wstar-solve", &["wstar-numeric", "wstar-data", "wstar-problem"]),
    ("wstar-separate", &["wstar-numeric", "wstar-data"]),
    (
        "wstar",
        &[
            "wstar-numeric",
            "wstar-data",
            "wstar-problem",
            "wstar-certify",
            "wstar-solve",
            "wstar-separate",
        ],
    ),
];

/// Dependencies between crates that [`LAYERS`] does not allow. Tests may use any crate.
pub(crate) fn forbidden_dependencies() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (name, allowed) in LAYERS {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
        found.extend(
            dependencies(&text)
                .into_iter()
                .filter(|dependency| !allowed.contains(&dependency.as_str()))
                .map(|dependency| format!("{name} may not depend on {dependency}")),
        );
    }
    Ok(found)
}

/// The crates of the project that a manifest depends on.
fn dependencies(manifest: &str) -> Vec<String> {
    let lines = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1);
    let own = lines.take_while(|line| !line.starts_with('['));
    own.filter(|line| line.starts_with("wstar"))
        .map(|line| line.split(['.', ' ', '=']).next().unwrap_or_default().to_string())
        .collect()
}

/// Whether a file belongs to a library crate. The main file of a crate's binary is a front end.
pub(crate) fn is_library(path: &Path) -> bool {
    let is_binary = path.file_name().is_some_and(|name| name == "main.rs");
    !is_binary
        && LAYERS
            .iter()
            .any(|(name, _)| path.starts_with(Path::new("crates").join(name).join("src")))
}

/// The line numbers, from 1, of string literals that name a command-line option.
pub(crate) fn option_lines(text: &str) -> Vec<usize> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let speaks = |line: &&str| {
        let line = line.trim_start();
        let quoted = line.split('"').skip(1).step_by(2);
        !line.starts_with("//") && quoted.into_iter().any(names_option)
    };
    let lines = code.lines().enumerate();
    lines
        .filter(|(_, line)| speaks(line))
        .map(|(at, _)| at + 1)
        .collect()
}

fn names_option(text: &str) -> bool {
    text.match_indices("--")
        .any(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Cycles between the files of a crate and between its top-level modules, given the path below `src` and the text of
/// each file.
pub(crate) fn cycles(files: &[(String, String)]) -> Result<Vec<String>> {
    let uses = file_uses::file_uses(files)?;
    let of_files = file_uses::cycles(&uses);
    let of_modules = file_uses::cycles(&file_uses::of_modules(&uses));
    let line = |cycle: Vec<String>| format!("{} use each other in a circle", cycle.join(", "));
    Ok(of_files.into_iter().chain(of_modules).map(line).collect())
}

/// Names that a crate uses twice: of two files, or of two types. The files are given as in [`cycles`].
pub(crate) fn names_used_twice(files: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in files {
        let name = path.rsplit('/').next().unwrap_or_default();
        if !["mod.rs", "tests.rs"].contains(&name) {
            places.entry(format!("file {name}")).or_default().push(path);
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for name in code.lines().filter_map(defined_type) {
            places.entry(format!("type {name}")).or_default().push(path);
        }
    }
    let twice = places.into_iter().filter(|(_, paths)| paths.len() > 1);
    twice
        .map(|(name, paths)| format!("{name} in {}", paths.join(", ")))
        .collect()
}

/// The name of the type or trait that a line at the top level of a file defines.
fn defined_type(line: &str) -> Option<&str> {
    let line = line
        .strip_prefix("pub ")
        .or(line.strip_prefix("pub(crate) "))
        .unwrap_or(line);
    let line = line.strip_prefix("pub(super) ").unwrap_or(line);
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |&(path, text): &(&str, &str)| (path.to_string(), text.to_string());
        files.iter().map(owned).collect()
    }

    #[test]
    fn a_repeated_name_is_found() {
        let twice = files(&[
            (
                "a/x.rs",
                "pub struct Factor;\nimpl T for Factor {\n    type Output = f64;\n}",
            ),
            (
                "b/x.rs",
                "enum Factor<T> {}\n#[cfg(test)]\nmod tests {\nstruct Case;\n}\nstruct Case;",
            ),
            ("b/mod.rs", "struct Case;"),
            ("mod.rs", "impl T for X {\n    type Output = f64;\n}"),
        ]);
        assert_eq!(
            names_used_twice(&twice),
            ["file x.rs in a/x.rs, b/x.rs", "type Factor in a/x.rs, b/x.rs"]
        );
    }

    #[test]
    fn options_are_found_in_string_literals_only() {
        let text =
            "let a = \"use --penalty l2\"; // --x\nlet b = a--c;\n/// \"--doc\"\nlet c = \"a -- b\";\n";
        assert_eq!(option_lines(text), [1]);
    }

    #[test]
    fn dependencies_end_where_the_section_does() {
        let manifest = "[dependencies]\nfaer.workspace = true\nwstar-data.workspace = true\n\n[dev-dependencies]\nwstar-solve.workspace = true\n";
        assert_eq!(dependencies(manifest), ["wstar-data"]);
    }
}

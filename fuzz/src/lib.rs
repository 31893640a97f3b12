//! Fuzz targets: whatever a user can hand to wstar, as functions that eat any bytes and must never panic.
//!
//! Two runners use the same table: the binary `bounded` (mutations of the seeds, stable toolchain,
//! part of `cargo xtask test`) and libFuzzer (`libfuzzer/`, guided by coverage, `cargo xtask fuzz`).
//!
//! A new target is a function in [`targets`], a line in [`TARGETS`], a folder of seeds under
//! `seeds/`, and a binary in `libfuzzer/`; a test checks that none of these was forgotten.

pub mod mutate;
pub mod targets;

/// A target: its name, which is also the name of its folder of seeds, and what it does with the bytes.
pub struct Target {
    /// The name on the command line and of the folder of seeds.
    pub name: &'static str,
    /// Must return whatever the bytes are; a panic is a finding.
    pub run: fn(&[u8]),
}

impl Target {
    const fn new(name: &'static str, run: fn(&[u8])) -> Self {
        Target { name, run }
    }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target::new("design", targets::design),
    Target::new("csv", targets::csv),
    Target::new("tsv", targets::tsv),
    Target::new("svmlight", targets::svmlight),
    Target::new("idx", targets::idx),
    Target::new("any", targets::any),
    Target::new("stream", targets::stream),
    Target::new("prepare", targets::prepare),
    Target::new("model", targets::model),
    Target::new("proof", targets::proof),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_target_has_seeds_and_a_libfuzzer_binary() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifest = fs::read_to_string(here.join("libfuzzer/Cargo.toml")).expect("manifest");
        for Target { name, .. } in TARGETS {
            let seeds = fs::read_dir(here.join("seeds").join(name)).map_or(0, Iterator::count);
            assert!(seeds > 0, "seeds/{name} is empty or absent");
            let binary =
                fs::read_to_string(here.join(format!("libfuzzer/fuzz_targets/{name}.rs"))).expect(name);
            assert!(binary.contains(&format!("targets::{name}")), "{binary}");
            assert!(
                manifest.contains(&format!("name = \"{name}\"")),
                "libfuzzer/Cargo.toml: {name}"
            );
        }
        let binaries = fs::read_dir(here.join("libfuzzer/fuzz_targets"))
            .expect("folder")
            .count();
        assert_eq!(binaries, TARGETS.len(), "a libFuzzer binary without a target");
    }
}

//! Fuzz targets: one function of arbitrary bytes, which must not panic, for every kind of input that a user can
//! pass to wstar.
//!
//! Two runners share the table of targets: the binary `bounded` (mutations of the seeds, stable toolchain,
//! run by `cargo xtask test`) and libFuzzer (`libfuzzer/`, coverage-guided, run by `cargo xtask fuzz`).
//!
//! A new target needs a function in [`targets`], an entry in [`TARGETS`], a folder of seeds under
//! `seeds/`, and a binary in `libfuzzer/`; a test checks that all four exist.

pub mod mutate;
pub mod targets;

/// A fuzz target: its name and its function.
pub struct Target {
    /// The name on the command line, which is also the name of the folder of seeds.
    pub name: &'static str,
    /// The function. It must return for all bytes; a panic is a finding.
    pub run: fn(&[u8]),
}

impl Target {
    const fn new(name: &'static str, run: fn(&[u8])) -> Self {
        Target { name, run }
    }
}

/// All targets.
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

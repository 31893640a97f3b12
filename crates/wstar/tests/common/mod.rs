//! What several tests need: real data where they are to be had, and the same data in another storage.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use wstar::data::{Dataset, Design};

/// A file or folder among the real data for tests (`WSTAR_DATA`, or `shared/data` beside the project);
/// `None`, said aloud, where it is absent, which CI does not accept.
pub(crate) fn real_data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("WSTAR_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is absent", path.display());
    println!("skipped: {} is absent (set WSTAR_DATA)", path.display());
    None
}

/// The same data, stored by their non-zeros.
pub(crate) fn sparse(data: &Dataset) -> Dataset {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in data.design.iter() {
        row.for_each(|j, v| {
            if v != 0.0 {
                indices.push(j as u32);
                values.push(v);
            }
        });
        starts.push(values.len());
    }
    let mut copy = data.clone();
    copy.design = Design::from_csr(starts, indices, values, data.features()).unwrap();
    copy
}

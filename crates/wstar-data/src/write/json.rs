//! JSON documents that are written completely or not at all.

use std::path::Path;

use serde::Serialize;

use crate::error::Result;
use crate::write::write_whole;

/// Writes a JSON document to a file, completely or not at all.
pub fn write_json(path: &Path, document: &impl Serialize) -> Result<()> {
    write_whole(path, |writer| {
        serde_json::to_writer(&mut *writer, document)?;
        writer.write_all(b"\n")
    })
}

//! The proof file: a versioned JSON document with a checksum over its content. The checksum detects
//! accidental damage; a false proof is detected by the check.

use std::fs;
use std::path::Path;
use wstar_data::error::Remedy;
use wstar_data::setting::Command;

use serde::{Deserialize, Serialize};

use crate::proof::Proof;
use wstar_data::error::{Error, ErrorKind, Result};
use wstar_data::write::write_json;

/// The format name of a proof file.
const FORMAT: &str = "wstar-proof";
/// The version that this program writes and reads.
const VERSION: u32 = 1;

/// The fields that are read first, whatever else the document holds.
#[derive(Deserialize)]
struct Heading {
    format: Option<String>,
    version: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<P> {
    format: String,
    version: u32,
    /// The checksum of the JSON text of `content`.
    checksum: String,
    content: P,
}

impl Proof {
    fn document(&self) -> Result<Document<&Proof>> {
        Ok(Document {
            format: FORMAT.to_owned(),
            version: VERSION,
            checksum: self.checksum()?,
            content: self,
        })
    }

    /// FNV-1a over the JSON text of the content, so that any changed number is detected.
    fn checksum(&self) -> Result<String> {
        let text = serde_json::to_vec(self).map_err(|cause| Error::model(cause.to_string()))?;
        let sum = text.iter().fold(0xCBF2_9CE4_8422_2325u64, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        Ok(format!("{sum:016x}"))
    }

    /// The proof as a JSON document.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(&self.document()?).map_err(|cause| Error::model(cause.to_string()))
    }

    /// Writes the proof to a file, atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        write_json(path, &self.document()?)
    }

    /// Whether the bytes of a file are a proof document rather than a model.
    pub fn is_one(bytes: &[u8]) -> bool {
        serde_json::from_slice::<Heading>(bytes)
            .is_ok_and(|heading| heading.format.as_deref() == Some(FORMAT))
    }

    /// Reads a proof from a file.
    pub fn load(path: &Path) -> Result<Proof> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(Error::new(ErrorKind::Io, "is a directory, not a proof").in_file(&name));
        }
        let bytes = fs::read(path).map_err(|cause| Error::io(&name, &cause))?;
        Proof::from_json(&bytes).map_err(|error| error.in_file(&name))
    }

    /// Reads a proof from the bytes of a file.
    pub fn from_json(bytes: &[u8]) -> Result<Proof> {
        let damaged = |cause: serde_json::Error| {
            let message = cause.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            Error::model(format!("not a whole proof: {message}"))
                .at(cause.line() as u64, cause.column() as u64)
        };
        let heading: Heading = serde_json::from_slice(bytes).map_err(damaged)?;
        if heading.format.as_deref() != Some(FORMAT) {
            return Err(Error::model("not a wstar proof")
                .remedy(Remedy::Run("proofs are written by".into(), Command::Separate)));
        }
        if heading.version != Some(u64::from(VERSION)) {
            let version = heading
                .version
                .map_or("no version".to_owned(), |v| format!("version {v}"));
            return Err(Error::model(format!(
                "a proof of {version}; this program reads version {VERSION}"
            ))
            .remedy(Remedy::Run("write it again with".into(), Command::Separate)));
        }
        let document: Document<Proof> = serde_json::from_slice(bytes).map_err(damaged)?;
        if document.checksum != document.content.checksum()? {
            return Err(Error::model(
                "the proof was damaged: its checksum does not fit its content",
            ));
        }
        Ok(document.content)
    }
}

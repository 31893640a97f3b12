//! Texts as vectors: bag of words, tf-idf, hashing.

use serde::{Deserialize, Serialize};

/// How a text column is encoded, with what was learnt from the training texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextEncoding {
    /// Placeholder.
    pub vocabulary: Vec<String>,
}

impl TextEncoding {
    /// How many columns of the design it makes.
    pub fn width(&self) -> usize {
        self.vocabulary.len()
    }

    /// The word of column `j`, or the number of its bucket where words are hashed.
    pub fn word(&self, j: usize) -> String {
        self.vocabulary[j].clone()
    }
}

/// How texts are to be encoded.
#[derive(Debug, Clone, Default)]
pub struct TextOptions {}

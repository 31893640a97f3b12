//! Notes about a data set for the user.

use std::fmt;

use crate::one_of_each;

/// A note about a data set: what was left out when it was prepared. It names no setting, so that its words are those of
/// every front end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatasetNote {
    /// Cells of categories that did not occur in training are encoded as none of the known levels.
    UnseenCategories {
        /// The column.
        column: String,
        /// The number of cells.
        cells: usize,
    },
    /// Stored entries of features that did not occur in training were left out.
    UnseenFeatures {
        /// The number of entries.
        entries: usize,
        /// The last feature of the training set, as the data number features.
        last: usize,
    },
    /// Rows with missing values were left out.
    IncompleteRows {
        /// The number of rows.
        rows: usize,
    },
}

impl DatasetNote {
    /// One value of every variant at least, for the tests of a front end's wording.
    pub fn samples() -> Vec<DatasetNote> {
        one_of_each!(DatasetNote {
            DatasetNote::UnseenCategories { .. } => [DatasetNote::UnseenCategories {
                column: "colour".into(),
                cells: 3,
            }],
            DatasetNote::UnseenFeatures { .. } => [DatasetNote::UnseenFeatures { entries: 5, last: 100 }],
            DatasetNote::IncompleteRows { .. } => [1, 2].map(|rows| DatasetNote::IncompleteRows { rows }),
        })
    }
}

impl fmt::Display for DatasetNote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatasetNote::UnseenCategories { column, cells } => write!(
                out,
                "column {column}: {cells} cells have a value that training never saw; they count for nothing"
            ),
            DatasetNote::UnseenFeatures { entries, last } => write!(
                out,
                "{entries} entries left out: their features, beyond {last}, did not occur in training"
            ),
            DatasetNote::IncompleteRows { rows } => {
                let plural = if *rows == 1 { "row" } else { "rows" };
                write!(out, "{rows} {plural} with missing values left out")
            }
        }
    }
}

//! The data of a fit: a design matrix, a target, weights, and the schema that made them from raw columns.

mod dataset;
mod design;
mod prepare;
mod row;
mod scale;
mod schema;
mod table;
mod text;

pub use dataset::{Classes, Dataset, Target};
pub use design::{Csr, Dense, Design};
pub use prepare::{Matrix, Missing, Preparation, Raw, TargetKind, Unseen};
pub use row::Row;
pub use scale::Scaling;
pub use schema::{Encoding, Origin, RawColumn, Schema};
pub use table::{Cells, Column, Numbers, Table, Texts};
pub use text::{TextEncoding, TextOptions};

//! The data of a fit: a design matrix, a target, weights, and the schema that made them from raw columns.

mod apply;
mod block;
mod columns;
mod components;
mod compress;
mod dataset;
mod design;
mod digest;
mod encode;
mod interleave;
mod magnitude;
mod missing;
mod narrow;
mod portions;
mod prepare;
mod raw;
mod row;
mod scale;
mod schema;
mod select;
mod split;
mod table;
mod target;
mod text;

pub use apply::{Applied, Unseen, prepare_with};
pub(crate) use block::Block;
pub use block::BlockColumn;
pub use columns::Columns;
pub use components::Components;
pub use dataset::{Classes, Dataset, Target};
pub(crate) use design::exact_in_f32;
pub use design::{Csr, Dense, Design};
pub(crate) use magnitude::{
    any_too_large, may_hide_too_large, refuse_huge, refuse_huge_features, refuse_huge_targets,
};
pub use missing::Missing;
pub use portions::Portions;
pub use prepare::{Preparation, TargetKind, prepare};
pub use raw::{Matrix, Raw};
pub use row::Row;
pub use scale::Scaling;
pub use schema::{Encoding, Origin, RawColumn, Schema};
pub use split::{holdout, split_raw};
pub use table::{Cells, Column, Numbers, Table, Texts};
pub use text::{Terms, TextEncoding, TextOptions, Weighting};

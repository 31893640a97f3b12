//! The report: a model, its proof and its pictures on one page that needs nothing else; and each picture alone, as SVG
//! or PNG.
//!
//! All numbers come from the library. [`Subject`] asks it for them, [`Kind`] makes charts of them, `draw/` draws those,
//! and [`page`] sets everything on a page. The words in which the command line speaks of models are here too, so that a
//! report and a terminal say the same.

mod claim;
pub mod draw;
mod how;
mod kind;
mod page;
mod pictures;
mod subject;
pub mod words;

pub use claim::claim;
pub use draw::{Picture, Size, Theme};
pub use how::{command, how};
pub use kind::Kind;
pub use page::{Made, page};
pub use subject::{Standing, Subject};

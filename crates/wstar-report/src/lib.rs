//! The report: a self-contained HTML page with a model, its certificate and its plots; and each plot alone, as SVG or
//! PNG.
//!
//! All numbers come from the library. [`Subject`] collects them, [`Kind`] turns them into charts, `draw/` draws the
//! charts, and [`page`] assembles the page. The command line takes its wording of models and certificates from this
//! crate, so that a report and the terminal agree.
//!
//! - `subject`: a model, labelled rows, and the quantities computed from both.
//! - `kind`: the kinds of plots; `pictures`: the plots, one file each; [`draw`]: charts as plain data, and their rendering.
//! - `page`: the HTML page.
//! - `claim`, `how`: a certificate in one sentence; the method, and the command that reproduces the model.
//! - [`words`]: readable formatting of numbers and counts.

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

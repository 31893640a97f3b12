//! The drawing module: a [`Chart`] is plain data, and [`Chart::draw`] renders it as SVG with plotters.
//!
//! Colours are roles ([`Ink`]). Each role is drawn in a placeholder colour that occurs nowhere else and is replaced
//! afterwards: on the page by a variable of the style sheet, so that a picture follows the page's theme, and in a
//! picture of its own by a colour of a fixed theme.
//!
//! - `chart`: charts as plain data, and their rendering as SVG. `picture`, `size`: a rendered chart, and its size.
//! - `marks`, `theme`: the shapes of classes; the colours of the roles in each theme.
//! - `png`: rendering of SVG as PNG.
//! - `escape`: escaping of text for HTML and SVG.

mod chart;
mod escape;
mod marks;
mod picture;
mod png;
mod size;
mod theme;

pub(crate) use chart::thinned;
pub use chart::{Axis, Chart, Mark, Ticks};
pub(crate) use escape::escaped;
pub use marks::Shape;
pub use picture::Picture;
pub use size::Size;
pub(crate) use theme::variables;
pub use theme::{Ink, Theme};

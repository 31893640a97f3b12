//! A rendered chart, and its forms: in a page, in an SVG file and in a PNG file.

use wstar::data::error::Result;

use super::png;
use super::size::Size;
use super::theme::{Theme, as_variables, in_colours};

/// A rendered chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The name used in identifiers.
    pub(crate) id: String,
    /// The SVG, in the placeholder colours of the roles.
    pub(crate) svg: String,
    pub(crate) size: Size,
}

impl Picture {
    /// The SVG element for a page whose style sheet defines the colour variables.
    pub fn embedded(&self) -> String {
        as_variables(&self.svg)
    }

    /// The content of an SVG file.
    pub fn to_svg(&self, theme: Theme) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}",
            in_colours(&self.svg, theme)
        )
    }

    /// The content of a PNG file.
    pub fn to_png(&self, theme: Theme) -> Result<Vec<u8>> {
        png::render(&in_colours(&self.svg, theme), self.size)
    }

    /// The name used in identifiers and file names.
    pub fn id(&self) -> &str {
        &self.id
    }
}

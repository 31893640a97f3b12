//! Every picture, from plain data: a [`Chart`] says what is shown, [`Chart::draw`] draws it with plotters as SVG.
//!
//! Colours are roles ([`Ink`]), drawn as colours that nothing else has. On the page the style sheet's variables take
//! their place, so that a picture follows the page's theme; alone, a theme's own colours do.

mod chart;
mod marks;
mod png;
mod theme;

pub(crate) use chart::thinned;
pub use chart::{Axis, Chart, Mark, Ticks};
pub use marks::Shape;
pub(crate) use theme::variables;
pub use theme::{Ink, Theme};

use wstar::{Error, Result};

/// How wide a picture is in its own units; letters and lines are sized for this.
pub(crate) const WIDTH: f64 = 520.0;

/// How large a picture alone is, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Across.
    pub width: u32,
    /// Down.
    pub height: u32,
}

impl Size {
    /// As it is on the page.
    pub const DEFAULT: Size = Size {
        width: 640,
        height: 420,
    };

    /// The least and the most pixels a side may have.
    const RANGE: std::ops::RangeInclusive<u32> = 100..=8000;

    /// From `WIDTHxHEIGHT`.
    pub fn parse(text: &str) -> Result<Self> {
        let side = |text: &str| text.trim().parse().ok().filter(|side| Size::RANGE.contains(side));
        let sides = text
            .split_once(['x', '×'])
            .and_then(|(width, height)| Some((side(width)?, side(height)?)));
        match sides {
            // A picture much longer than wide has no room for its letters.
            Some((width, height)) if width <= 4 * height && height <= 4 * width => Ok(Size { width, height }),
            _ => Err(Error::settings(format!("{text:?} is no size for a picture")).hint(
                "write it as 960x600: each side from 100 to 8000, the longer at most four times the other",
            )),
        }
    }
}

/// A picture that has been drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its name in identifiers.
    pub(crate) id: String,
    /// SVG, in the colours of roles.
    pub(crate) svg: String,
    pub(crate) size: Size,
}

impl Picture {
    /// As an element of a page that has the variables of the style sheet.
    pub fn embedded(&self) -> String {
        theme::as_variables(&self.svg)
    }

    /// As a file of its own.
    pub fn to_svg(&self, theme: Theme) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}",
            theme::in_colours(&self.svg, theme)
        )
    }

    /// As a PNG file of its own.
    pub fn to_png(&self, theme: Theme) -> Result<Vec<u8>> {
        png::render(&theme::in_colours(&self.svg, theme), self.size)
    }

    /// What it is called, for identifiers and file names.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Text that may stand in a page or a picture.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Neither XML nor HTML has a way to write these.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        let size = Size::parse("960x600").unwrap();
        assert_eq!((size.width, size.height), (960, 600));
        for wrong in [
            "",
            "960",
            "960x",
            "99x99",
            "8001x8000",
            "axb",
            "400x99",
            "4000x200",
            "-5x300",
        ] {
            assert!(Size::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(
            escaped("<b a=\"x\">&'\u{1}"),
            "&lt;b a=&quot;x&quot;&gt;&amp;&#39;\u{fffd}"
        );
    }
}

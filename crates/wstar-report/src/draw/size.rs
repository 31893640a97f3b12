//! The size of a picture.

use wstar::data::error::{Error, Result};

/// The size of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
}

impl Size {
    /// The size on the page.
    pub const DEFAULT: Size = Size {
        width: 640,
        height: 420,
    };

    /// Side lengths in pixels. Cap: other lengths are refused.
    const RANGE: std::ops::RangeInclusive<u32> = 100..=8000;

    /// Parses `WIDTHxHEIGHT`.
    pub fn parse(text: &str) -> Result<Self> {
        let side = |text: &str| text.trim().parse().ok().filter(|side| Size::RANGE.contains(side));
        let sides = text
            .split_once(['x', '×'])
            .and_then(|(width, height)| Some((side(width)?, side(height)?)));
        match sides {
            // A side more than four times the other leaves no space for the labels.
            Some((width, height)) if width <= 4 * height && height <= 4 * width => Ok(Size { width, height }),
            _ => Err(Error::settings(format!("{text:?} is not a valid size for a picture")).remedy(
                "write it as 960x600: each side from 100 to 8000, the longer at most four times the other",
            )),
        }
    }
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
}

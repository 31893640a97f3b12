//! Rendering of SVG as PNG, with an embedded font, so that the result does not depend on installed fonts.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use wstar::data::error::{Error, Result};

use super::Size;

/// DejaVu Sans; its licence is in the same folder.
static FONT: &[u8] = include_bytes!("../../font/DejaVuSans.ttf");

/// Renders an SVG whose width and height are `size`.
pub(super) fn render(svg: &str, size: Size) -> Result<Vec<u8>> {
    let failed = |cause: String| Error::data(format!("the picture could not be drawn: {cause}"));
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = Options {
        fontdb: Arc::new(fonts),
        font_family: "DejaVu Sans".into(),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|cause| failed(cause.to_string()))?;
    let mut pixels =
        Pixmap::new(size.width, size.height).ok_or_else(|| failed("not enough memory".into()))?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().map_err(|cause| failed(cause.to_string()))
}

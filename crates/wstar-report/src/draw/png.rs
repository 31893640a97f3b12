//! Pictures as pixels. Letters come from a font inside the program, so that a machine without fonts draws the same.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use wstar::{Error, Result};

use super::Size;

/// DejaVu Sans, under the licence beside it.
static FONT: &[u8] = include_bytes!("../../font/DejaVuSans.ttf");

/// Renders SVG in the size that it says itself.
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
    let mut pixels = Pixmap::new(size.width, size.height).ok_or_else(|| failed("no room".into()))?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().map_err(|cause| failed(cause.to_string()))
}

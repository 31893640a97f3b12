//! `wstar plot`: draws one picture of a model.

use std::path::Path;

use anyhow::Result;
use wstar::Model;
use wstar::data::error::Error;
use wstar::data::write;
use wstar_report::Subject;

use crate::answer::Answer;
use crate::drawing::PlotArgs;
use crate::input;

/// The file format of the picture.
enum Format {
    Svg,
    Png,
}

pub(crate) fn run(args: &PlotArgs) -> Result<Answer> {
    let format = format(&args.out)?;
    let model = Model::load(&args.model)?;
    write::check_writable(&args.out)?;
    let parts = input::read_parts(&model, &args.data, &args.file, &args.matching)?;
    let subject = Subject::new(&model, &parts.judged)?;
    let picture = args
        .kind
        .draw(&subject, args.size.unwrap_or_else(|| args.kind.size()))?;
    let content = match format {
        Format::Svg => picture.to_svg(args.theme.into()).into_bytes(),
        Format::Png => picture.to_png(args.theme.into())?,
    };
    write::write_whole(&args.out, |writer| writer.write_all(&content))?;
    Ok(Answer::Yes)
}

fn format(path: &Path) -> Result<Format, Error> {
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        _ => Err(
            Error::settings(format!("{} is neither .svg nor .png", path.display()))
                .remedy("the extension determines the format"),
        ),
    }
}

//! The arguments of the commands that draw pictures: `report` and `plot`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use wstar_report::{Kind, Size, Theme};

use crate::file_args::{FileArgs, MatchArgs};

#[derive(Debug, Args)]
#[command(
    after_help = "The page is one file that needs no network: the claim and its proof in plain words, how well the model performs,
its weights, and every picture that applies. On the rows of the training the proof is checked again (exit code 1
if it does not hold). If rows were held out of the training, the model is evaluated on those rows.

Examples:
  wstar report iris.wstar.json @iris
  wstar report mail.wstar.json new.csv -o mail.html"
)]
pub(crate) struct ReportArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// A file, - for standard input, or @NAME
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// The page to write [default: NAME.report.html in the current folder]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) matching: MatchArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Print errors only
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "The extension of FILE determines the format: .svg or .png.

Examples:
  wstar plot roc cancer.wstar.json @breast-cancer -o roc.svg
  wstar plot coefficients cancer.wstar.json @breast-cancer -o weights.png --size 1600x1000
  wstar plot boundary points.wstar.json points.csv -o points.png --theme dark")]
pub(crate) struct PlotArgs {
    /// The kind of picture
    #[arg(value_parser = kind_parser())]
    pub(crate) kind: Kind,
    /// The model file
    pub(crate) model: PathBuf,
    /// A file, - for standard input, or @NAME
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The size in pixels [default: 640x420, or 640x540]
    #[arg(long, value_name = "WxH", value_parser = Size::parse)]
    pub(crate) size: Option<Size>,
    /// The colours
    #[arg(long, value_enum, default_value_t = ThemeArg::Light)]
    pub(crate) theme: ThemeArg,
    #[command(flatten)]
    pub(crate) matching: MatchArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ThemeArg {
    Light,
    Dark,
}

impl From<ThemeArg> for Theme {
    fn from(theme: ThemeArg) -> Self {
        match theme {
            ThemeArg::Light => Theme::Light,
            ThemeArg::Dark => Theme::Dark,
        }
    }
}

/// Parses a kind of picture by its name; the help lists all kinds with their descriptions.
fn kind_parser() -> impl TypedValueParser<Value = Kind> {
    let values = Kind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.description()));
    PossibleValuesParser::new(values).try_map(|name| {
        let known = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or("no such picture")
    })
}

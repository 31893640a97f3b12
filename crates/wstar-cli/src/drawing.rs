//! The arguments of the commands that draw.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use wstar_report::{Kind, Size, Theme};

use crate::args::{FileArgs, MatchArgs};

#[derive(Debug, Args)]
#[command(
    after_help = "The page is one file that needs no network: the claim and its proof in plain words, how well the model does,
its weights, and every picture that fits. On the rows of the training the proof is checked again (exit code 1
if it does not hold); if rows were held out of the training, the model is judged on those.

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
    /// Where the page goes [default: NAME.report.html in the current folder]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) matching: MatchArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Say nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "The ending of FILE says what it becomes: .svg or .png.

Examples:
  wstar plot roc cancer.wstar.json @breast-cancer -o roc.svg
  wstar plot coefficients cancer.wstar.json @breast-cancer -o weights.png --size 1600x1000
  wstar plot boundary points.wstar.json points.csv -o points.png --theme dark")]
pub(crate) struct PlotArgs {
    /// What to show
    #[arg(value_parser = kind_parser())]
    pub(crate) kind: Kind,
    /// The model file
    pub(crate) model: PathBuf,
    /// A file, - for standard input, or @NAME
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// Where the picture goes
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// How large it is, in pixels [default: 640x420, or 640x540]
    #[arg(long, value_name = "WxH", value_parser = Size::parse)]
    pub(crate) size: Option<Size>,
    /// Its colours
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

/// Every picture by its name, each with what it shows.
fn kind_parser() -> impl TypedValueParser<Value = Kind> {
    let values = Kind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.description()));
    PossibleValuesParser::new(values).try_map(|name| {
        let known = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or("no such picture")
    })
}

//! The arguments that specify how a file is read and how its rows are matched to a model.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How a data file is read, by any command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct FileArgs {
    /// The format, if the file name does not show it
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,
    /// The file of labels that belongs to IDX images
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Whether the first line of a CSV or TSV file holds names
    #[arg(long, value_enum, default_value_t = HeaderArg::Auto)]
    pub(crate) header: HeaderArg,
    /// What separates the cells of a CSV file [default: detected]
    #[arg(long, value_name = "CHAR")]
    pub(crate) delimiter: Option<char>,
    /// How decimals are written
    #[arg(long, value_enum, default_value_t = DecimalArg::Point)]
    pub(crate) decimal: DecimalArg,
    /// The index of the first feature of an svmlight file [default: 1, or 0 if 0 occurs]
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u32).range(0..=1))]
    pub(crate) base: Option<u32>,
}

impl FileArgs {
    /// Whether no option says how to read the file.
    pub(crate) fn is_default(&self) -> bool {
        let FileArgs {
            format,
            labels,
            header,
            delimiter,
            decimal,
            base,
        } = self;
        format.is_none()
            && labels.is_none()
            && delimiter.is_none()
            && base.is_none()
            && matches!((header, decimal), (HeaderArg::Auto, DecimalArg::Point))
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FormatArg {
    Csv,
    Tsv,
    Svmlight,
    Idx,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum HeaderArg {
    Auto,
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DecimalArg {
    Point,
    Comma,
}

/// How rows are matched to a model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Matching")]
pub(crate) struct MatchArgs {
    /// The treatment of categories that do not occur in the training data
    #[arg(long, value_enum, default_value_t = UnseenArg::Refuse)]
    pub(crate) unseen: UnseenArg,
    /// The target column, if it has another name than in training
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum UnseenArg {
    Refuse,
    Ignore,
}

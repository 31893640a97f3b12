//! Reads data as the arguments specify, for training or for a model whose schema names the columns.

use anyhow::{Result, bail};
use wstar::Model;
use wstar::data::error::Error;
use wstar::data::read;
use wstar::data::read::dataset_stream::DatasetStream;
use wstar::data::read::{Chunks, Format, Header, ReadOptions, Source};
use wstar::data::{
    self, Applied, Dataset, Encoding, Missing, Preparation, Raw, Schema, Target, TargetKind, TextOptions,
    Unseen, Weighting,
};
use wstar::settings::Method;

use crate::args::{ColumnArgs, MissingArg, WeightingArg};
use crate::file_args::{DecimalArg, FileArgs, FormatArg, HeaderArg, MatchArgs, UnseenArg};
use crate::output;

/// The read options given by the arguments.
pub(crate) fn read_options(file: &FileArgs) -> Result<ReadOptions> {
    let delimiter = match file.delimiter {
        Some(delimiter) if !delimiter.is_ascii() || matches!(delimiter, '"' | '\n' | '\r') => {
            bail!("--delimiter takes one plain character, not {delimiter:?}")
        }
        delimiter => delimiter.map(|delimiter| delimiter as u8),
    };
    Ok(ReadOptions {
        format: file.format.map(|format| match format {
            FormatArg::Csv => Format::Csv,
            FormatArg::Tsv => Format::Tsv,
            FormatArg::Svmlight => Format::Svmlight,
            FormatArg::Idx => Format::Idx,
        }),
        labels: file.labels.clone(),
        header: match file.header {
            HeaderArg::Auto => Header::Auto,
            HeaderArg::Yes => Header::Present,
            HeaderArg::No => Header::Absent,
        },
        delimiter,
        decimal_comma: matches!(file.decimal, DecimalArg::Comma),
        base: file.base,
        ..ReadOptions::default()
    })
}

/// The read options for training data.
pub(crate) fn training_options(file: &FileArgs, columns: &ColumnArgs) -> Result<ReadOptions> {
    Ok(ReadOptions {
        numeric: columns.numeric.clone(),
        categorical: columns.categorical.clone(),
        text: columns.text.clone(),
        drop: columns.drop.clone(),
        ..read_options(file)?
    })
}

/// How training data are encoded.
pub(crate) fn preparation(columns: &ColumnArgs, method: Option<Method>) -> Preparation {
    Preparation {
        target: columns.target.clone(),
        target_kind: match method {
            Some(method) if method.is_regression() => TargetKind::Real,
            _ => TargetKind::Auto,
        },
        positive: columns.positive.clone(),
        // The reader already skips dropped columns.
        drop: Vec::new(),
        sample_weight: columns.sample_weight.clone(),
        missing: match columns.missing {
            MissingArg::Refuse => Missing::Refuse,
            MissingArg::Mean => Missing::Mean,
            MissingArg::Drop => Missing::Drop,
        },
        standardize: columns.standardize,
        text: TextOptions {
            weighting: match columns.text_weighting {
                WeightingArg::Counts => Weighting::Counts,
                WeightingArg::Binary => Weighting::Binary,
                WeightingArg::TfIdf => Weighting::TfIdf,
            },
            sublinear: true,
            ngrams: columns.ngrams,
            min_df: columns.min_df,
            max_features: columns.max_terms,
            hash_bits: columns.hash_bits,
        },
    }
}

/// Encodes raw rows, and prints the notes of the encoding.
pub(crate) fn prepare(raw: Raw, preparation: &Preparation) -> Result<Dataset> {
    let data = data::prepare::prepare(raw, preparation)?;
    complain_of(&data);
    Ok(data)
}

/// Reads and encodes rows whose classes a command compares.
pub(crate) fn read_classes(source: &Source, file: &FileArgs, columns: &ColumnArgs) -> Result<Dataset> {
    let raw = read::read(source, &training_options(file, columns)?)?;
    prepare(raw, &preparation(columns, None))
}

/// The purpose for which rows are read for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Prediction: the target is ignored, and every row is kept.
    Predict,
    /// Evaluation: the target is required.
    Evaluate { drop_missing: bool },
    /// Verification: exactly the rows of the training.
    Verify,
}

/// Reads rows and encodes them by the schema of the model.
pub(crate) fn read_for(
    model: &Model,
    name: &str,
    file: &FileArgs,
    matching: Option<&MatchArgs>,
    purpose: Purpose,
) -> Result<Dataset> {
    let source = Source::parse(name)?;
    let target = matching.and_then(|matching| matching.target.as_deref());
    let options = read_options(file)?.matching(model.schema(), target);
    let mut raw = read::read(&source, &options)?;
    if purpose == Purpose::Verify
        && let Some(fraction) = model.settings().common().holdout()
    {
        raw = data::split_raw(
            raw,
            &preparation_of(model),
            fraction,
            model.settings().common().seed(),
        )?
        .0;
    }
    let how = Applied {
        unseen: match matching.map(|matching| matching.unseen) {
            Some(UnseenArg::Ignore) => Unseen::Ignore,
            _ => Unseen::Refuse,
        },
        drop_missing: matches!(
            purpose,
            Purpose::Verify | Purpose::Evaluate { drop_missing: true }
        ),
        with_target: purpose != Purpose::Predict,
        target: target.map(str::to_string),
        with_weights: purpose != Purpose::Predict,
    };
    let data = prepare_for(model, raw, &how)?;
    if purpose != Purpose::Predict {
        known_target(model, &data, target, &source)?;
    }
    Ok(data)
}

/// The rows of a report: those that the model is evaluated on, and those that it was trained on.
pub(crate) struct Parts {
    /// The rows that the model is evaluated on: the held-out rows if there are any, otherwise all rows.
    pub(crate) judged: Dataset,
    /// The rows of the training if others were held out; `None` if they are the same as `judged`.
    pub(crate) training: Option<Dataset>,
}

/// Reads the rows of a report. If training held rows out and the file is the one it used (the digests are equal),
/// the rows are split in the same way again; otherwise the model is evaluated on all rows.
pub(crate) fn read_parts(model: &Model, name: &str, file: &FileArgs, matching: &MatchArgs) -> Result<Parts> {
    let source = Source::parse(name)?;
    let target = matching.target.as_deref();
    let raw = read::read(&source, &read_options(file)?.matching(model.schema(), target))?;
    let how = Applied {
        unseen: match matching.unseen {
            UnseenArg::Ignore => Unseen::Ignore,
            UnseenArg::Refuse => Unseen::Refuse,
        },
        drop_missing: true,
        with_target: true,
        target: target.map(str::to_string),
        with_weights: true,
    };
    if let (Some(fraction), Some(digest)) = (model.settings().common().holdout(), model.digest())
        && let Ok((train, test)) = data::split_raw(
            raw.clone(),
            &preparation_of(model),
            fraction,
            model.settings().common().seed(),
        )
        && let Ok(training) = prepare_for(model, train, &how)
        && training.digest() == *digest
    {
        // A category that only held-out rows have must not prevent the report.
        let how = Applied {
            unseen: Unseen::Ignore,
            ..how
        };
        return Ok(Parts {
            judged: prepare_for(model, test, &how)?,
            training: Some(training),
        });
    }
    let judged = prepare_for(model, raw, &how)?;
    known_target(model, &judged, target, &source)?;
    Ok(Parts {
        judged,
        training: None,
    })
}

/// The columns of a file that the model does not use. Empty for standard input, and if the columns cannot be read.
pub(crate) fn unused_columns(model: &Model, name: &str, file: &FileArgs) -> Vec<String> {
    /// Size of the first chunk, in bytes; only this chunk is read. Heuristic: trades the cost of this additional read
    /// for the length of the lines that fit; not measured yet.
    const PEEK: usize = 1 << 16;
    let first = || {
        let source = Source::parse(name)
            .ok()
            .filter(|source| !matches!(source, Source::Stdin))?;
        let mut chunks = Chunks::open(&source, &read_options(file).ok()?, PEEK).ok()?;
        chunks.next().ok()?
    };
    let Some(Raw::Table(table)) = first() else {
        return Vec::new();
    };
    let schema = model.schema();
    let names = table.columns.into_iter().map(|column| column.name);
    names
        .filter(|name| {
            schema.columns.iter().all(|column| column.name != *name)
                && schema.target.as_ref() != Some(name)
                && schema.sample_weight.as_ref() != Some(name)
        })
        .collect()
}

/// Returns an error if the rows have no target.
fn known_target(model: &Model, data: &Dataset, target: Option<&str>, source: &Source) -> Result<()> {
    if *data.target() == Target::Unknown {
        let named = target
            .or(model.schema().target.as_deref())
            .unwrap_or("with the labels");
        return Err(Error::data(format!("there is no target column {named}"))
            .remedy("name it with --target")
            .in_file(source.name())
            .into());
    }
    Ok(())
}

/// Reads the rows of the training chunk by chunk.
pub(crate) fn stream_for(model: &Model, name: &str, file: &FileArgs) -> Result<DatasetStream> {
    if model.settings().common().holdout().is_some() {
        bail!(
            "rows were held out of the training, and they cannot be identified in a stream: leave --stream out"
        );
    }
    let options = read_options(file)?.matching(model.schema(), None);
    let chunks = Chunks::open(&Source::parse(name)?, &options, Chunks::BYTES)?;
    let how = Applied {
        drop_missing: true,
        with_target: true,
        with_weights: true,
        ..Applied::default()
    };
    Ok(DatasetStream::matching(
        chunks,
        Schema::clone(model.schema()),
        model.classes().clone(),
        how,
    ))
}

/// Encodes raw rows by the schema of a model, and prints the notes of the encoding.
pub(crate) fn prepare_for(model: &Model, raw: Raw, how: &Applied) -> Result<Dataset> {
    let classes = (!model.predictor().is_regression()).then_some(model.classes());
    let data = data::prepare_with(raw, model.schema(), classes, how)?;
    complain_of(&data);
    Ok(data)
}

/// Prints the notes of an encoding.
fn complain_of(data: &Dataset) {
    for note in data.notes() {
        output::complain(&note.to_string());
    }
}

/// The preparation of the training data, restricted to the settings that decide which rows are kept.
fn preparation_of(model: &Model) -> Preparation {
    let fills = model
        .schema()
        .columns
        .iter()
        .any(|column| match &column.encoding {
            // The encoding of texts accepts missing values without a value to replace them.
            Encoding::Text(_) => false,
            encoding => encoding.fills(),
        });
    Preparation {
        target: model.schema().target.clone(),
        target_kind: if model.predictor().is_regression() {
            TargetKind::Real
        } else {
            TargetKind::Classes
        },
        positive: model.schema().positive.clone(),
        sample_weight: model.schema().sample_weight.clone(),
        missing: if fills { Missing::Mean } else { Missing::Drop },
        ..Preparation::default()
    }
}

/// Parses a matrix of penalties: rows separated by semicolons, numbers by commas.
pub(crate) fn penalties(text: &str) -> Result<Vec<Vec<f64>>> {
    text.split(';')
        .map(|row| {
            row.split(',')
                .map(|cell| match cell.trim().parse() {
                    Ok(number) => Ok(number),
                    Err(_) => bail!("--penalties: {cell:?} is not a number (write it as 0,1;5,0)"),
                })
                .collect()
        })
        .collect()
}

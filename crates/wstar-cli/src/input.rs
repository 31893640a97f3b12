//! From arguments to data: for training, and for a model that already knows its columns.

use anyhow::{Result, bail};
use wstar::Error;
use wstar::Model;
use wstar::data::{
    self, Applied, Dataset, Encoding, Missing, Preparation, Raw, Schema, Target, TargetKind, TextOptions,
    Unseen, Weighting,
};
use wstar::io::{self, Chunks, Format, Header, ReadOptions, Source};
use wstar::online::Streamed;
use wstar::settings::Method;

use crate::args::{
    ColumnArgs, DecimalArg, FileArgs, FormatArg, HeaderArg, MatchArgs, MissingArg, UnseenArg, WeightingArg,
};
use crate::output;

/// How a file is to be read.
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

/// How training data are to be read.
pub(crate) fn training_options(file: &FileArgs, columns: &ColumnArgs) -> Result<ReadOptions> {
    Ok(ReadOptions {
        numeric: columns.numeric.clone(),
        categorical: columns.categorical.clone(),
        text: columns.text.clone(),
        drop: columns.drop.clone(),
        ..read_options(file)?
    })
}

/// What is to be made of training data.
pub(crate) fn preparation(columns: &ColumnArgs, method: Option<Method>) -> Preparation {
    Preparation {
        target: columns.target.clone(),
        target_kind: match method {
            Some(method) if method.is_regression() => TargetKind::Real,
            _ => TargetKind::Auto,
        },
        positive: columns.positive.clone(),
        // Dropped columns are not even read.
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

/// What a model is given new rows for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To predict: the target does not matter, and every row needs an answer.
    Predict,
    /// To judge: the target is needed.
    Evaluate { drop_missing: bool },
    /// To re-check: the rows of the training, as they were.
    Verify,
}

/// Rows for a model.
pub(crate) fn read_for(
    model: &Model,
    name: &str,
    file: &FileArgs,
    matching: Option<&MatchArgs>,
    purpose: Purpose,
) -> Result<Dataset> {
    let source = Source::parse(name)?;
    let target = matching.and_then(|matching| matching.target.as_deref());
    let options = read_options(file)?.matching(&model.schema, target);
    let mut raw = io::read(&source, &options)?;
    if purpose == Purpose::Verify
        && let Some(fraction) = model.settings.holdout
    {
        raw = data::split_raw(raw, &preparation_of(model), fraction, model.settings.seed)?.0;
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

/// Rows for a report: those to judge the model on, and those it may have been trained on.
pub(crate) struct Parts {
    /// The rows to judge by; with rows held out of the training, only those.
    pub(crate) judged: Dataset,
    /// The rows of the training, if others were held out; else they are those to judge by.
    pub(crate) training: Option<Dataset>,
}

/// Rows for a report. Of the very file of a training that held rows out, both parts; else all rows.
pub(crate) fn read_parts(model: &Model, name: &str, file: &FileArgs, matching: &MatchArgs) -> Result<Parts> {
    let source = Source::parse(name)?;
    let target = matching.target.as_deref();
    let raw = io::read(&source, &read_options(file)?.matching(&model.schema, target))?;
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
    if let (Some(fraction), Some(digest)) = (model.settings.holdout, &model.digest)
        && let Ok((train, test)) =
            data::split_raw(raw.clone(), &preparation_of(model), fraction, model.settings.seed)
        && let Ok(training) = prepare_for(model, train, &how)
        && training.digest() == *digest
    {
        // A level that only held-out rows have is no reason for having no report.
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

/// The columns of a file that a model does not know; none of a stream, or where they cannot be told.
pub(crate) fn unused_columns(model: &Model, name: &str, file: &FileArgs) -> Vec<String> {
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
    let schema = &model.schema;
    let names = table.columns.into_iter().map(|column| column.name);
    names
        .filter(|name| {
            schema.columns.iter().all(|column| column.name != *name)
                && schema.target.as_ref() != Some(name)
                && schema.sample_weight.as_ref() != Some(name)
        })
        .collect()
}

/// Refuses rows without a target.
fn known_target(model: &Model, data: &Dataset, target: Option<&str>, source: &Source) -> Result<()> {
    if data.target == Target::Unknown {
        let named = target
            .or(model.schema.target.as_deref())
            .unwrap_or("with the labels");
        return Err(Error::data(format!("there is no target column {named}"))
            .hint("name it with --target")
            .in_file(source.name())
            .into());
    }
    Ok(())
}

/// The rows of a training, as they were, a chunk at a time.
pub(crate) fn stream_for(model: &Model, name: &str, file: &FileArgs) -> Result<Streamed> {
    if model.settings.holdout.is_some() {
        bail!("rows were held out of the training, and a stream cannot tell which: leave --stream out");
    }
    let options = read_options(file)?.matching(&model.schema, None);
    let chunks = Chunks::open(&Source::parse(name)?, &options, Chunks::BYTES)?;
    let how = Applied {
        drop_missing: true,
        with_target: true,
        with_weights: true,
        ..Applied::default()
    };
    Ok(Streamed::matching(
        chunks,
        Schema::clone(&model.schema),
        model.classes.clone(),
        how,
    ))
}

/// Encodes raw rows by the schema of a model, and passes on what that led to.
pub(crate) fn prepare_for(model: &Model, raw: Raw, how: &Applied) -> Result<Dataset> {
    let classes = (!model.predictor.is_regression()).then_some(&model.classes);
    let data = data::prepare_with(raw, &model.schema, classes, how)?;
    data.notes.iter().for_each(|note| output::complain(note));
    Ok(data)
}

/// The preparation that led to a model, as far as it decides which rows there are.
fn preparation_of(model: &Model) -> Preparation {
    let fills = model.schema.columns.iter().any(|column| match &column.encoding {
        Encoding::Number { fill } => fill.is_some(),
        Encoding::OneHot { fill, .. } => fill.is_some(),
        Encoding::Text(_) => false,
    });
    Preparation {
        target: model.schema.target.clone(),
        target_kind: if model.predictor.is_regression() {
            TargetKind::Real
        } else {
            TargetKind::Classes
        },
        positive: model.schema.positive.clone(),
        sample_weight: model.schema.sample_weight.clone(),
        missing: if fills { Missing::Mean } else { Missing::Drop },
        ..Preparation::default()
    }
}

/// A matrix of penalties as typed: rows apart by semicolons, numbers by commas.
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

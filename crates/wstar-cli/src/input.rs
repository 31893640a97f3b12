//! From arguments to data: for training, and for a model that already knows its columns.

use anyhow::{Result, bail};
use wstar::Error;
use wstar::Model;
use wstar::data::{
    self, Applied, Dataset, Encoding, Missing, Preparation, Raw, Target, TargetKind, TextOptions, Unseen,
    Weighting,
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
    if purpose != Purpose::Predict && data.target == Target::Unknown {
        let named = target
            .or(model.schema.target.as_deref())
            .unwrap_or("with the labels");
        return Err(Error::data(format!("there is no target column {named}"))
            .hint("name it with --target")
            .in_file(source.name())
            .into());
    }
    Ok(data)
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
        model.schema.clone(),
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

//! Training data: a schema is learnt from the raw columns, and the data are encoded by it.

use crate::prepare::missing_values::drop_such_rows;
use crate::setting::Setting;
use rayon::prelude::*;

use crate::DatasetNote;
use crate::error::{Error, Result};
use crate::prepare::column_roles::Roles;
use crate::prepare::encode::{Unseen, encode};
use crate::prepare::missing_values::{complete_rows, refuse_missing};
use crate::prepare::sample_weights::sample_weights;
use crate::prepare::target;
use crate::raw::select_columns;
use crate::{
    Cells, Column, ColumnSource, Dataset, Encoding, Matrix, Missing, Numbers, Preparation, Raw, RawColumn,
    Scaling, Schema, Table, Target, TextEncoding, Texts,
};

/// Learns a schema from training data and encodes the data by it.
///
/// ```
/// use wstar_data::{Cells, Column, Preparation, Raw, Table, prepare};
/// let column = |name: &str, values: [f64; 2]| Column {
///     name: name.into(),
///     cells: Cells::Numbers(values.into_iter().collect()),
///     first_missing: None,
/// };
/// let columns = vec![column("height", [1.5, 1.75]), column("grown-up", [0.0, 1.0])];
/// let raw = Raw::Table(Table { source: "people".into(), columns, rows: 2 });
/// let data = prepare(raw, &Preparation::default()).unwrap();
/// assert_eq!(data.classes().unwrap().names(), ["0", "1"]);
/// assert_eq!(data.schema().feature_name(0), "height");
/// ```
pub fn prepare(raw: Raw, how: &Preparation) -> Result<Dataset> {
    let source = raw.source().to_owned();
    learn(raw, how).map_err(|error| error.in_file(source))
}

fn learn(raw: Raw, how: &Preparation) -> Result<Dataset> {
    raw.check()?;
    let mut data = match raw {
        Raw::Table(table) => learn_table(table, how)?,
        Raw::Matrix(matrix) => learn_matrix(matrix, how)?,
    };
    if how.standardize {
        let scaling = Scaling::learn(&data.design, data.weights.as_deref());
        data.design = scaling.apply(data.design)?;
        data.schema.scaling = Some(scaling);
    }
    if let (Some(_), Target::Classes { classes, .. }) = (&how.positive, &data.target) {
        data.schema.positive = classes.names().last().cloned();
    }
    Ok(data)
}

fn learn_table(mut table: Table, how: &Preparation) -> Result<Dataset> {
    let roles = Roles::of(&table, how)?;
    let mut notes = Vec::new();
    let mut take = |index: usize| {
        let nothing = Column {
            name: String::new(),
            cells: Cells::Texts(Texts::default()),
            first_missing: None,
        };
        std::mem::replace(&mut table.columns[index], nothing)
    };
    let mut columns: Vec<Column> = roles.used().map(&mut take).collect();
    let mut rows = table.rows;
    if how.missing == Missing::Drop
        && let Some(kept) = complete_rows(columns.iter(), rows)?
    {
        columns = select_columns(&columns, &kept);
        notes.push(DatasetNote::IncompleteRows {
            rows: rows - kept.len(),
        });
        rows = kept.len();
    }
    let target = columns
        .pop()
        .ok_or_else(|| Error::data("there is no target column"))?;
    let weight = roles.weight.and_then(|_| columns.pop());

    refuse_missing(&target, drop_such_rows)?;
    let learnt_target = target::learn(&target.cells, &format!("column {}", target.name), how)?;
    let weights = weight.as_ref().map(sample_weights).transpose()?;
    if how.missing == Missing::Refuse {
        let refused = columns.par_iter().find_map_first(|column| {
            let remedy = || {
                [
                    Setting::Missing.any(["mean", "drop"]),
                    Setting::Drop.to(&column.name),
                ]
            };
            refuse_missing(column, remedy).err()
        });
        refused.map_or(Ok(()), Err)?;
    }
    let encodings: Vec<Result<Encoding>> = columns
        .par_iter()
        .map(|column| learn_encoding(column, how))
        .collect();
    let mut schema = Schema {
        origin: ColumnSource::Table,
        columns: Vec::with_capacity(columns.len()),
        features: 0,
        target: Some(target.name),
        positive: None,
        sample_weight: weight.map(|column| column.name),
        scaling: None,
    };
    for (column, encoding) in columns.iter().zip(encodings) {
        let encoding = encoding?;
        schema.features += encoding.width();
        schema.columns.push(RawColumn {
            name: column.name.clone(),
            encoding,
        });
    }
    let design = encode(columns, rows, &schema, Unseen::Refuse, &mut notes)?;
    Ok(Dataset {
        source: table.source,
        design,
        target: learnt_target,
        weights,
        schema,
        notes,
        by_position: false,
    })
}

fn learn_matrix(matrix: Matrix, how: &Preparation) -> Result<Dataset> {
    let named = how
        .target
        .iter()
        .chain(&how.drop)
        .chain(&how.sample_weight)
        .next();
    if let Some(name) = named {
        return Err(Error::settings(format!(
            "there is no column {name}: the columns of this format have no names"
        )));
    }
    if matrix.design.features() == 0 {
        return Err(Error::data("there are no features: every row is empty"));
    }
    let labels = matrix
        .labels
        .ok_or_else(|| Error::data("there are no labels to learn from").remedy(Setting::Labels.to("FILE")))?;
    let target = target::learn(&Cells::Numbers(Numbers::F64(labels)), "the label", how)?;
    let schema = Schema {
        origin: matrix.origin,
        columns: Vec::new(),
        features: matrix.design.features(),
        target: None,
        positive: None,
        sample_weight: None,
        scaling: None,
    };
    Ok(Dataset {
        source: matrix.source,
        design: matrix.design,
        target,
        weights: None,
        schema,
        notes: Vec::new(),
        by_position: false,
    })
}

/// Learns the encoding of one column.
fn learn_encoding(column: &Column, how: &Preparation) -> Result<Encoding> {
    let name = &column.name;
    let fill = how.missing == Missing::Mean;
    let empty =
        || Error::data(format!("every value of column {name} is missing")).remedy(Setting::Drop.to(name));
    match &column.cells {
        Cells::Numbers(numbers) => {
            if numbers.iter().all(f64::is_nan) {
                return Err(empty());
            }
            Ok(Encoding::Number {
                fill: fill.then(|| mean(numbers)),
            })
        }
        Cells::Categories { codes, levels } => {
            let mut counts = vec![0usize; levels.len()];
            for &code in codes {
                if let Some(count) = counts.get_mut(code as usize) {
                    *count += 1;
                }
            }
            let mut used: Vec<(&String, usize)> = levels.iter().zip(counts).filter(|(_, n)| *n > 0).collect();
            used.sort_unstable();
            let highest = used.iter().map(|(_, count)| *count).max().ok_or_else(empty)?;
            let frequent = used.iter().find(|(_, count)| *count == highest);
            Ok(Encoding::OneHot {
                fill: frequent.filter(|_| fill).map(|(level, _)| (*level).clone()),
                levels: used.iter().map(|(level, _)| (*level).clone()).collect(),
            })
        }
        Cells::Texts(texts) => {
            let encoding = TextEncoding::learn(texts, &how.text)?;
            if encoding.width() == 0 {
                return Err(Error::data(format!(
                    "the texts of column {name} have no word that occurs in {} of them",
                    how.text.min_df
                ))
                .remedy(Setting::Drop.to(name)));
            }
            Ok(Encoding::Text(encoding))
        }
    }
}

/// The mean of the numbers that are not missing.
fn mean(numbers: &Numbers) -> f64 {
    let present = || numbers.iter().filter(|value| !value.is_nan());
    let count = present().count() as f64;
    let mean = present().sum::<f64>() / count;
    if mean.is_finite() {
        mean
    } else {
        // The sum can overflow although the mean does not.
        present().map(|value| value / count).sum()
    }
}

//! Encoding of new rows by the schema of a model. Columns are matched by name, numbered features by number, in any order.

use crate::error::Remedy;
use crate::prepare::missing_values::drop_such_rows;
use crate::setting::Setting;
use rustc_hash::FxHashMap;

use crate::DatasetNote;
use crate::error::{Error, Result};
use crate::prepare::encode::{Unseen, converted, encode};
use crate::prepare::missing_values::{complete_rows, refuse_missing};
use crate::prepare::sample_weights::sample_weights;
use crate::prepare::target;
use crate::prepare::target::suggestion;
use crate::raw::select_columns;
use crate::schema::text_encoding::SparseRows;
use crate::{
    Cells, Classes, Column, ColumnSource, Dataset, Design, Matrix, Numbers, Raw, Schema, Table, Target,
};

/// Options for encoding new rows by the schema of a model.
#[derive(Debug, Clone, Default)]
pub struct Applied {
    /// The treatment of categories that did not occur in training.
    pub unseen: Unseen,
    /// Whether rows with a missing value that the schema does not replace are left out; otherwise they are refused.
    pub drop_missing: bool,
    /// Whether to read the target. If the column is absent, the target is unknown.
    pub with_target: bool,
    /// The name of the target column, if it differs from the name in training.
    pub target: Option<String>,
    /// Whether to read the sample weights, if training had them.
    pub with_weights: bool,
}

/// Encodes new rows by the schema of a model. If the model has classes, the target has the codes of the model.
pub fn prepare_with(raw: Raw, schema: &Schema, classes: Option<&Classes>, how: &Applied) -> Result<Dataset> {
    let source = raw.source().to_owned();
    apply(raw, schema, classes, how).map_err(|error| error.in_file(source))
}

fn apply(raw: Raw, schema: &Schema, classes: Option<&Classes>, how: &Applied) -> Result<Dataset> {
    schema.check()?;
    raw.check()?;
    let mut data = match raw {
        Raw::Table(table) => apply_table(table, schema, classes, how)?,
        Raw::Matrix(matrix) => apply_matrix(matrix, schema, classes, how)?,
    };
    if let Some(scaling) = &schema.scaling {
        data.design = scaling.apply(data.design)?;
    }
    Ok(data)
}

fn apply_table(table: Table, schema: &Schema, classes: Option<&Classes>, how: &Applied) -> Result<Dataset> {
    if schema.origin != ColumnSource::Table {
        return Err(wrong_origin("a table of named columns", &schema.origin));
    }
    let mut given = Given::new(table.columns)?;
    let target_name = how.target.as_ref().or(schema.target.as_ref());
    // The column is copied because it may also be a feature of the model.
    let mut target = target_name
        .filter(|_| how.with_target)
        .and_then(|name| given.copy(name));
    if let (Some(name), None, true) = (&how.target, &target, how.with_target) {
        let error = Error::data(format!("there is no target column {name}"));
        return Err(error.remedy(suggestion(name, &given.names)));
    }
    let weight_name = schema.sample_weight.as_ref().filter(|_| how.with_weights);
    let mut weight = weight_name.map(|name| given.take(name)).transpose()?;
    let mut columns = Vec::with_capacity(schema.columns.len());
    for raw in &schema.columns {
        columns.push(converted(given.take(&raw.name)?, &raw.encoding)?);
    }
    drop(given);

    let (mut rows, mut notes) = (table.rows, Vec::new());
    let unfilled: Vec<usize> = (0..columns.len())
        .filter(|&j| !schema.columns[j].encoding.fills())
        .collect();
    if how.drop_missing {
        let checked = unfilled
            .iter()
            .map(|&j| &columns[j])
            .chain(&target)
            .chain(&weight);
        if let Some(kept) = complete_rows(checked, rows)? {
            let select = |column: Column| select_columns(&[column], &kept).pop();
            columns = select_columns(&columns, &kept);
            (target, weight) = (target.and_then(select), weight.and_then(select));
            notes.push(DatasetNote::IncompleteRows {
                rows: rows - kept.len(),
            });
            rows = kept.len();
        }
    }
    for &j in &unfilled {
        refuse_missing(&columns[j], || {
            Remedy::Effect(
                Setting::Missing.to("mean"),
                "in training fills such values".into(),
            )
        })?;
    }
    let target = match &target {
        None => Target::Unknown,
        Some(column) => {
            refuse_missing(column, drop_such_rows)?;
            let what = format!("column {}", column.name);
            target::apply(&column.cells, &what, classes, schema.positive.as_deref())?
        }
    };
    let weights = weight.as_ref().map(sample_weights).transpose()?;
    let design = encode(columns, rows, schema, how.unseen, &mut notes)?;
    Ok(Dataset {
        source: table.source,
        design,
        target,
        weights,
        schema: schema.clone(),
        notes,
        by_position: false,
    })
}

/// The columns of a new table, found by name.
struct Given {
    names: Vec<String>,
    columns: Vec<Option<Column>>,
    /// The index of each column by its name.
    indices: FxHashMap<String, usize>,
}

impl Given {
    fn new(columns: Vec<Column>) -> Result<Self> {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let mut indices = FxHashMap::default();
        for (index, name) in names.iter().enumerate() {
            if indices.insert(name.clone(), index).is_some() {
                return Err(Error::data(format!("two columns are called {name}")));
            }
        }
        Ok(Given {
            names,
            columns: columns.into_iter().map(Some).collect(),
            indices,
        })
    }

    /// A copy of a column.
    fn copy(&self, name: &str) -> Option<Column> {
        self.columns[*self.indices.get(name)?].clone()
    }

    /// Removes a column; an error if it is absent.
    fn take(&mut self, name: &str) -> Result<Column> {
        let index = self.indices.get(name);
        index
            .and_then(|&index| self.columns[index].take())
            .ok_or_else(|| {
                // Only columns that no other name has matched can be the mistyped one.
                let unused: Vec<&str> = self
                    .columns
                    .iter()
                    .flatten()
                    .map(|column| column.name.as_str())
                    .collect();
                let error = Error::data(format!("there is no column {name}, which the model needs"));
                match unused.is_empty() {
                    true => error,
                    false => error.remedy(suggestion(name, &unused)),
                }
            })
    }
}

fn wrong_origin(given: &str, wanted: &ColumnSource) -> Error {
    Error::data(format!(
        "the data are {given}, but the model was trained on {}",
        match wanted {
            ColumnSource::Table => "a table of named columns".into(),
            ColumnSource::Indexed { .. } => "numbered features (svmlight)".into(),
            ColumnSource::Pixels { height, width } => format!("images of {height}×{width} pixels"),
        }
    ))
}

fn apply_matrix(
    matrix: Matrix,
    schema: &Schema,
    classes: Option<&Classes>,
    how: &Applied,
) -> Result<Dataset> {
    if let Some(name) = how.target.as_ref().filter(|_| how.with_target) {
        return Err(Error::settings(format!(
            "there is no column {name}: the columns of this format have no names"
        )));
    }
    let mut notes = Vec::new();
    let design = match (&matrix.origin, &schema.origin) {
        (ColumnSource::Indexed { base }, ColumnSource::Indexed { base: models }) => {
            by_index(matrix.design, *base, *models, schema.features, &mut notes)?
        }
        (ColumnSource::Indexed { .. }, wanted) => {
            return Err(wrong_origin("numbered features (svmlight)", wanted));
        }
        (given, wanted) if given == wanted && matrix.design.features() == schema.features => matrix.design,
        (ColumnSource::Pixels { height, width }, wanted) => {
            return Err(wrong_origin(
                &format!("images of {height}×{width} pixels"),
                wanted,
            ));
        }
        (ColumnSource::Table, wanted) => return Err(wrong_origin("a matrix without names", wanted)),
    };
    let target = match matrix.labels.filter(|_| how.with_target) {
        None => Target::Unknown,
        Some(labels) => {
            let cells = Cells::Numbers(Numbers::F64(labels));
            target::apply(&cells, "the label", classes, schema.positive.as_deref())?
        }
    };
    Ok(Dataset {
        source: matrix.source,
        design,
        target,
        weights: None,
        schema: schema.clone(),
        notes,
        by_position: false,
    })
}

/// Moves features, which the data number from `base`, to the columns of a model that numbers them from `models`. Features
/// that did not occur in training have no weight and are left out.
fn by_index(
    design: Design,
    base: u32,
    models: u32,
    features: usize,
    notes: &mut Vec<DatasetNote>,
) -> Result<Design> {
    if base == models && design.features() <= features {
        match design {
            Design::Sparse32(matrix) => return Ok(Design::Sparse32(matrix.widened(features))),
            Design::Sparse64(matrix) => return Ok(Design::Sparse64(matrix.widened(features))),
            dense if dense.features() == features => return Ok(dense),
            _ => {}
        }
    }
    let (mut rows, mut left_out, mut before) = (SparseRows::new(), 0usize, None);
    for (i, row) in design.iter().enumerate() {
        row.for_each(|j, v| match (j + base as usize).checked_sub(models as usize) {
            Some(index) if index < features => rows.put(index as u32, v),
            Some(_) => left_out += 1,
            None => before = before.or(Some(i)),
        });
        rows.end_row();
    }
    if let Some(row) = before {
        return Err(Error::data(format!(
            "row {row} has a feature {base}, but the features of the model are numbered from {models}"
        ))
        .remedy("number the features as in training"));
    }
    if left_out > 0 {
        notes.push(DatasetNote::UnseenFeatures {
            entries: left_out,
            last: features + models as usize - 1,
        });
    }
    Design::from_csr(rows.starts, rows.indices, rows.values, features)
}

//! New rows by the schema of a model: columns found by name, features by number, whatever their order.

use rustc_hash::FxHashMap;

use crate::data::encode::{as_asked, encode};
use crate::data::missing::{complete_rows, note_dropped, refuse_missing};
use crate::data::prepare::sample_weights;
use crate::data::raw::select_columns;
use crate::data::target::{self, suggestion};
use crate::data::text::SparseRows;
use crate::data::{
    Cells, Classes, Column, Dataset, Design, Matrix, Numbers, Origin, Raw, Schema, Table, Target,
};
use crate::error::{Error, Result};

/// What is to be done about a category that training never saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unseen {
    /// Refuse, naming it.
    #[default]
    Refuse,
    /// Encode it as none of the known levels.
    Ignore,
}

/// How new rows are to be read by a model's schema.
#[derive(Debug, Clone, Default)]
pub struct Applied {
    /// What to do about a category that training never saw.
    pub unseen: Unseen,
    /// Whether rows with a missing value that the schema cannot fill are left out; else they are refused.
    pub drop_missing: bool,
    /// Whether the target is wanted. If it is and the column is absent, the target is unknown.
    pub with_target: bool,
    /// The target column, where it is not called as in training.
    pub target: Option<String>,
    /// Whether the sample weights are wanted, if training had them.
    pub with_weights: bool,
}

/// Encodes new rows by the schema of a model and, if it has classes, their codes in the model.
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
    if schema.origin != Origin::Table {
        return Err(wrong_origin("a table of named columns", &schema.origin));
    }
    let mut given = Given::new(table.columns)?;
    let target_name = how.target.as_ref().or(schema.target.as_ref());
    // A copy, since a caller may name a column that is also a feature of the model.
    let mut target = target_name
        .filter(|_| how.with_target)
        .and_then(|name| given.copy(name));
    if let (Some(name), None, true) = (&how.target, &target, how.with_target) {
        let error = Error::data(format!("there is no target column {name}"));
        return Err(error.hint(suggestion(name, &given.names)));
    }
    let weight_name = schema.sample_weight.as_ref().filter(|_| how.with_weights);
    let mut weight = weight_name.map(|name| given.take(name)).transpose()?;
    let mut columns = Vec::with_capacity(schema.columns.len());
    for raw in &schema.columns {
        columns.push(as_asked(given.take(&raw.name)?, &raw.encoding)?);
    }
    drop(given);

    let (mut rows, mut notes) = (table.rows, Vec::new());
    let unfilled: Vec<usize> = (0..columns.len())
        .filter(|&j| !schema.columns[j].encoding.fills())
        .collect();
    if how.drop_missing {
        let looked_at = unfilled
            .iter()
            .map(|&j| &columns[j])
            .chain(&target)
            .chain(&weight);
        if let Some(kept) = complete_rows(looked_at, rows)? {
            let select = |column: Column| select_columns(&[column], &kept).pop();
            columns = select_columns(&columns, &kept);
            (target, weight) = (target.and_then(select), weight.and_then(select));
            note_dropped(rows - kept.len(), &mut notes);
            rows = kept.len();
        }
    }
    for &j in &unfilled {
        refuse_missing(
            &columns[j],
            "train with --missing mean to have such values filled",
        )?;
    }
    let target = match &target {
        None => Target::Unknown,
        Some(column) => {
            refuse_missing(column, "use --missing drop to leave such rows out")?;
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
    })
}

/// The columns of a new table, found by name.
struct Given {
    names: Vec<String>,
    columns: Vec<Option<Column>>,
    places: FxHashMap<String, usize>,
}

impl Given {
    fn new(columns: Vec<Column>) -> Result<Self> {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let mut places = FxHashMap::default();
        for (place, name) in names.iter().enumerate() {
            if places.insert(name.clone(), place).is_some() {
                return Err(Error::data(format!("two columns are called {name}")));
            }
        }
        Ok(Given {
            names,
            columns: columns.into_iter().map(Some).collect(),
            places,
        })
    }

    fn copy(&self, name: &str) -> Option<Column> {
        self.columns[*self.places.get(name)?].clone()
    }

    fn take(&mut self, name: &str) -> Result<Column> {
        let place = self.places.get(name);
        place
            .and_then(|&place| self.columns[place].take())
            .ok_or_else(|| {
                // What the model has found already is not what was mistyped.
                let unused: Vec<&str> = self
                    .columns
                    .iter()
                    .flatten()
                    .map(|column| column.name.as_str())
                    .collect();
                let error = Error::data(format!("there is no column {name}, which the model needs"));
                match unused.is_empty() {
                    true => error,
                    false => error.hint(suggestion(name, &unused)),
                }
            })
    }
}

fn wrong_origin(given: &str, wanted: &Origin) -> Error {
    Error::data(format!(
        "the data are {given}, but the model was trained on {}",
        match wanted {
            Origin::Table => "a table of named columns".into(),
            Origin::Indexed { .. } => "numbered features (svmlight)".into(),
            Origin::Pixels { height, width } => format!("images of {height}×{width} pixels"),
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
        (Origin::Indexed { base }, Origin::Indexed { base: models }) => {
            by_index(matrix.design, *base, *models, schema.features, &mut notes)?
        }
        (Origin::Indexed { .. }, wanted) => return Err(wrong_origin("numbered features (svmlight)", wanted)),
        (given, wanted) if given == wanted && matrix.design.features() == schema.features => matrix.design,
        (Origin::Pixels { height, width }, wanted) => {
            return Err(wrong_origin(
                &format!("images of {height}×{width} pixels"),
                wanted,
            ));
        }
        (Origin::Table, wanted) => return Err(wrong_origin("a matrix without names", wanted)),
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
    })
}

/// Puts features, numbered from `base`, where a model that numbers from `models` has them. Those that
/// training never saw have no weight and are left out.
fn by_index(
    design: Design,
    base: u32,
    models: u32,
    features: usize,
    notes: &mut Vec<String>,
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
            Some(place) if place < features => rows.put(place as u32, v),
            Some(_) => left_out += 1,
            None => before = before.or(Some(i)),
        });
        rows.end_row();
    }
    if let Some(row) = before {
        return Err(Error::data(format!(
            "row {row} has a feature {base}, but the features of the model are numbered from {models}"
        ))
        .hint("number the features as in training"));
    }
    if left_out > 0 {
        notes.push(format!(
            "{left_out} entries left out: their features, beyond {}, did not occur in training",
            features + models as usize - 1
        ));
    }
    Design::from_csr(rows.starts, rows.indices, rows.values, features)
}

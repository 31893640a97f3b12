//! From raw data to a data set: which column is the target, which are dropped, how the rest is encoded.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::data::encode::{as_asked, encode};
use crate::data::target::{self, suggestion};
use crate::data::text::SparseRows;
use crate::data::{
    Cells, Classes, Column, Dataset, Design, Encoding, Numbers, Origin, RawColumn, Scaling, Schema, Table,
    Target, TextEncoding, TextOptions, Texts,
};
use crate::error::{Error, Result};

/// Raw data, as the readers give them.
#[derive(Debug, Clone)]
pub enum Raw {
    /// Named columns.
    Table(Table),
    /// A matrix whose columns have no names.
    Matrix(Matrix),
}

/// A matrix read from a format without column names (svmlight, IDX), with its labels.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// What it was read from, for messages.
    pub source: String,
    /// The rows.
    pub design: Design,
    /// The label of each row, if the file has them.
    pub labels: Option<Vec<f64>>,
    /// Which format it came from.
    pub origin: Origin,
}

/// What is to be done about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Refuse, naming the first one.
    #[default]
    Refuse,
    /// Put the column's mean (a category: its most frequent level).
    Mean,
    /// Leave the row out.
    Drop,
}

/// What is to be done about a category that training never saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unseen {
    /// Refuse, naming it.
    #[default]
    Refuse,
    /// Encode it as none of the known levels.
    Ignore,
}

/// Whether the target is one of classes or a real number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetKind {
    /// Classes if it is a category, or whole numbers with few different values; else real.
    #[default]
    Auto,
    /// Always classes.
    Classes,
    /// Always real; a category is refused.
    Real,
}

/// What to make of raw data.
#[derive(Debug, Clone, Default)]
pub struct Preparation {
    /// The target column; the last one if not named.
    pub target: Option<String>,
    /// Classes or real.
    pub target_kind: TargetKind,
    /// This value of the target against all others.
    pub positive: Option<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// The column that holds sample weights.
    pub sample_weight: Option<String>,
    /// What to do about missing values.
    pub missing: Missing,
    /// Whether to standardise columns.
    pub standardize: bool,
    /// How texts are encoded.
    pub text: TextOptions,
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

/// Learns a schema from training data and encodes them by it.
pub fn prepare(raw: Raw, how: &Preparation) -> Result<Dataset> {
    let source = raw.source().to_owned();
    let learnt = match raw {
        Raw::Table(table) => learn_table(table, how),
        Raw::Matrix(matrix) => learn_matrix(matrix, how),
    };
    learnt.map_err(|error| error.in_file(source))
}

/// Encodes new rows by the schema of a model and, if it has classes, their codes in the model.
pub fn prepare_with(raw: Raw, schema: &Schema, classes: Option<&Classes>, how: &Applied) -> Result<Dataset> {
    schema.check()?;
    let source = raw.source().to_owned();
    let applied = match raw {
        Raw::Table(table) => apply_table(table, schema, classes, how),
        Raw::Matrix(matrix) => apply_matrix(matrix, schema, classes, how),
    };
    applied.map_err(|error| error.in_file(source))
}

impl Raw {
    /// What it was read from.
    pub fn source(&self) -> &str {
        match self {
            Raw::Table(table) => &table.source,
            Raw::Matrix(matrix) => &matrix.source,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Raw::Table(table) => table.rows,
            Raw::Matrix(matrix) => matrix.design.rows(),
        }
    }

    /// The rows at the given positions, in that order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Raw::Table(table) => Raw::Table(Table {
                source: table.source.clone(),
                columns: select_columns(&table.columns, rows),
                rows: rows.len(),
            }),
            Raw::Matrix(matrix) => Raw::Matrix(Matrix {
                source: matrix.source.clone(),
                design: matrix.design.select(rows),
                labels: matrix
                    .labels
                    .as_ref()
                    .map(|labels| rows.iter().map(|&i| labels[i]).collect()),
                origin: matrix.origin.clone(),
            }),
        }
    }
}

fn select_columns(columns: &[Column], rows: &[usize]) -> Vec<Column> {
    let select = |column: &Column| Column {
        name: column.name.clone(),
        cells: match &column.cells {
            Cells::Numbers(Numbers::F32(values)) => {
                Cells::Numbers(Numbers::F32(rows.iter().map(|&i| values[i]).collect()))
            }
            Cells::Numbers(Numbers::F64(values)) => {
                Cells::Numbers(Numbers::F64(rows.iter().map(|&i| values[i]).collect()))
            }
            Cells::Categories { codes, levels } => Cells::Categories {
                codes: rows.iter().map(|&i| codes[i]).collect(),
                levels: levels.clone(),
            },
            Cells::Texts(texts) => {
                let mut selected = Texts::default();
                rows.iter().for_each(|&i| selected.push(texts.get(i)));
                Cells::Texts(selected)
            }
        },
        first_missing: column.first_missing,
    };
    columns.par_iter().map(select).collect()
}

/// The columns of a table by what they are for.
pub(super) struct Roles {
    pub(super) target: usize,
    weight: Option<usize>,
    features: Vec<usize>,
}

impl Roles {
    /// Finds out which column is what.
    pub(super) fn of(table: &Table, how: &Preparation) -> Result<Self> {
        let mut places = FxHashMap::default();
        for (place, column) in table.columns.iter().enumerate() {
            if places.insert(column.name.as_str(), place).is_some() {
                return Err(Error::data(format!("two columns are called {}", column.name)));
            }
        }
        let find = |name: &String, role: &str| {
            places.get(name.as_str()).copied().ok_or_else(|| {
                let error = Error::data(format!("there is no {role}column {name}"));
                error.hint(suggestion(name, &names(&table.columns)))
            })
        };
        let dropped: Vec<usize> = how
            .drop
            .iter()
            .map(|name| find(name, ""))
            .collect::<Result<_>>()?;
        let weight = how
            .sample_weight
            .as_ref()
            .map(|name| find(name, "weight "))
            .transpose()?;
        let target = match &how.target {
            Some(name) => find(name, "target ")?,
            None => (0..table.columns.len())
                .rev()
                .find(|place| !dropped.contains(place) && weight != Some(*place))
                .ok_or_else(|| Error::data("no column is left for the target"))?,
        };
        let clash = |what: &str| {
            Err(Error::settings(format!(
                "column {} is {what}",
                table.columns[target].name
            )))
        };
        if dropped.contains(&target) {
            return clash("both the target and to be dropped");
        }
        if weight == Some(target) {
            return clash("both the target and the sample weight");
        }
        let features: Vec<usize> = (0..table.columns.len())
            .filter(|place| *place != target && weight != Some(*place) && !dropped.contains(place))
            .collect();
        if features.is_empty() {
            return Err(Error::data(format!(
                "no column is left to learn from: {} is the target",
                table.columns[target].name
            )));
        }
        Ok(Roles {
            target,
            weight,
            features,
        })
    }

    /// The columns that training looks at.
    fn used(&self) -> impl Iterator<Item = usize> + '_ {
        self.features
            .iter()
            .copied()
            .chain(self.weight)
            .chain([self.target])
    }
}

fn names(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| column.name.clone()).collect()
}

/// The rows in which no column has a missing value; `None` if that is all of them.
fn complete_rows<'a>(columns: impl Iterator<Item = &'a Column>, rows: usize) -> Option<Vec<usize>> {
    let mut complete = vec![true; rows];
    for column in columns {
        match &column.cells {
            Cells::Numbers(numbers) => {
                let present = numbers.iter().map(|value| !value.is_nan());
                complete
                    .iter_mut()
                    .zip(present)
                    .for_each(|(complete, present)| *complete &= present);
            }
            Cells::Categories { codes, .. } => {
                let present = codes.iter().map(|&code| code != Cells::MISSING);
                complete
                    .iter_mut()
                    .zip(present)
                    .for_each(|(complete, present)| *complete &= present);
            }
            // An empty text is a text without words.
            Cells::Texts(_) => {}
        }
    }
    let kept: Vec<usize> = (0..rows).filter(|&i| complete[i]).collect();
    (kept.len() < rows).then_some(kept)
}

/// The rows of a table that `--missing drop` keeps; `None` if that is all of them.
pub(super) fn rows_to_keep(table: &Table, roles: &Roles) -> Option<Vec<usize>> {
    complete_rows(roles.used().map(|place| &table.columns[place]), table.rows)
}

/// A missing value that nothing may stand in for.
fn refuse_missing(column: &Column, rows: usize, hint: &str) -> Result<()> {
    let Some(kept) = complete_rows(std::iter::once(column), rows) else {
        return Ok(());
    };
    let name = &column.name;
    let error = match column.first_missing {
        Some(place) => Error::data(format!("a missing value in column {name}")).at(place.line, place.column),
        None => {
            let row = (0..)
                .zip(&kept)
                .find(|(i, kept)| i != *kept)
                .map_or(kept.len(), |(i, _)| i);
            Error::data(format!("a missing value in column {name} (row {row})"))
        }
    };
    Err(error.hint(hint))
}

fn note_dropped(dropped: usize, notes: &mut Vec<String>) {
    if dropped > 0 {
        let rows = if dropped == 1 { "row" } else { "rows" };
        notes.push(format!("{dropped} {rows} with missing values left out"));
    }
}

fn refuse_empty(rows: usize) -> Result<()> {
    if rows == 0 {
        return Err(Error::data("there are no rows"));
    }
    Ok(())
}

fn learn_table(mut table: Table, how: &Preparation) -> Result<Dataset> {
    let roles = Roles::of(&table, how)?;
    refuse_empty(table.rows)?;
    let mut notes = Vec::new();
    let mut take = |place: usize| {
        let nothing = Column {
            name: String::new(),
            cells: Cells::Texts(Texts::default()),
            first_missing: None,
        };
        std::mem::replace(&mut table.columns[place], nothing)
    };
    let mut columns: Vec<Column> = roles.used().map(&mut take).collect();
    let mut rows = table.rows;
    if how.missing == Missing::Drop
        && let Some(kept) = complete_rows(columns.iter(), rows)
    {
        if kept.is_empty() {
            return Err(Error::data("every row has a missing value: no row is left"));
        }
        columns = select_columns(&columns, &kept);
        note_dropped(rows - kept.len(), &mut notes);
        rows = kept.len();
    }
    // In the order of `Roles::used`.
    let target = columns
        .pop()
        .ok_or_else(|| Error::data("there is no target column"))?;
    let weight = roles.weight.and_then(|_| columns.pop());

    refuse_missing(&target, rows, "use --missing drop to leave such rows out")?;
    let learnt_target = target::learn(&target.cells, &format!("column {}", target.name), how)?;
    let weights = weight.as_ref().map(sample_weights).transpose()?;
    if how.missing == Missing::Refuse {
        for column in &columns {
            let hint = format!("use --missing mean|drop, or --drop {}", column.name);
            refuse_missing(column, rows, &hint)?;
        }
    }
    let encodings: Vec<Result<Encoding>> = columns
        .par_iter()
        .map(|column| learn_encoding(column, how))
        .collect();
    let mut schema = Schema {
        origin: Origin::Table,
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
    finish(table.source, design, learnt_target, weights, schema, how, notes)
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
    refuse_empty(matrix.design.rows())?;
    if matrix.design.features() == 0 {
        return Err(Error::data("there are no features: every row is empty"));
    }
    let labels = matrix.labels.ok_or_else(|| {
        Error::data("there are no labels to learn from").hint("name them with --labels FILE")
    })?;
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
    finish(
        matrix.source,
        matrix.design,
        target,
        None,
        schema,
        how,
        Vec::new(),
    )
}

fn finish(
    source: String,
    mut design: Design,
    target: Target,
    weights: Option<Vec<f64>>,
    mut schema: Schema,
    how: &Preparation,
    notes: Vec<String>,
) -> Result<Dataset> {
    if how.standardize {
        let scaling = Scaling::learn(&design, weights.as_deref());
        design = scaling.apply(design)?;
        schema.scaling = Some(scaling);
    }
    if let (Some(_), Target::Classes { classes, .. }) = (&how.positive, &target) {
        schema.positive = classes.names().last().cloned();
    }
    Ok(Dataset {
        source,
        design,
        target,
        weights,
        schema,
        notes,
    })
}

fn learn_encoding(column: &Column, how: &Preparation) -> Result<Encoding> {
    let name = &column.name;
    let fill = how.missing == Missing::Mean;
    let empty =
        || Error::data(format!("every value of column {name} is missing")).hint(format!("use --drop {name}"));
    match &column.cells {
        Cells::Numbers(numbers) => {
            let mean = mean(numbers).ok_or_else(empty)?;
            Ok(Encoding::Number {
                fill: fill.then_some(mean),
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
                .hint(format!("use --drop {name}")));
            }
            Ok(Encoding::Text(encoding))
        }
    }
}

/// The mean of what is not missing.
fn mean(numbers: &Numbers) -> Option<f64> {
    let present = || numbers.iter().filter(|value| !value.is_nan());
    let count = present().count();
    let mean = present().sum::<f64>() / count as f64;
    let mean = if mean.is_finite() {
        mean
    } else {
        // The sum can overflow where the mean does not.
        present().map(|value| value / count as f64).sum()
    };
    (count > 0).then_some(mean)
}

fn sample_weights(column: &Column) -> Result<Vec<f64>> {
    let name = &column.name;
    let Cells::Numbers(numbers) = &column.cells else {
        return Err(Error::data(format!(
            "column {name} cannot be the sample weight: it does not hold numbers"
        )));
    };
    if let Some(row) = numbers
        .iter()
        .position(|weight| !(weight.is_finite() && weight >= 0.0))
    {
        let weight = numbers.get(row);
        return Err(Error::data(if weight.is_nan() {
            format!("the sample weight in column {name} is missing in row {row}")
        } else {
            format!("{weight} in column {name} (row {row}) is no sample weight: it must be 0 or more")
        }));
    }
    if numbers.iter().all(|weight| weight == 0.0) {
        return Err(Error::data(format!("every sample weight in column {name} is 0")));
    }
    Ok(numbers.iter().collect())
}

fn apply_table(table: Table, schema: &Schema, classes: Option<&Classes>, how: &Applied) -> Result<Dataset> {
    if schema.origin != Origin::Table {
        return Err(wrong_origin("a table of named columns", &schema.origin));
    }
    let (mut rows, source) = (table.rows, table.source);
    refuse_empty(rows)?;
    let all_names = names(&table.columns);
    let mut given: FxHashMap<String, Column> = FxHashMap::default();
    for column in table.columns {
        if given.contains_key(&column.name) {
            return Err(Error::data(format!("two columns are called {}", column.name)));
        }
        given.insert(column.name.clone(), column);
    }
    // The target may also be a feature of the model, where the caller names another one: hence copies.
    let wanted = how
        .target
        .as_ref()
        .or(schema.target.as_ref())
        .filter(|_| how.with_target);
    let mut target = wanted.and_then(|name| given.get(name)).cloned();
    if let (Some(name), None, true) = (&how.target, &target, how.with_target) {
        return Err(
            Error::data(format!("there is no target column {name}")).hint(suggestion(name, &all_names))
        );
    }
    let weight_name = schema.sample_weight.as_ref().filter(|_| how.with_weights);
    let mut weight = match weight_name {
        Some(name) => Some(take_column(&mut given, name, &all_names)?),
        None => None,
    };
    let mut columns = Vec::with_capacity(schema.columns.len());
    for raw in &schema.columns {
        columns.push(as_asked(
            take_column(&mut given, &raw.name, &all_names)?,
            &raw.encoding,
        )?);
    }
    drop(given);

    let mut notes = Vec::new();
    let unfilled = |columns: &[Column]| -> Vec<usize> {
        (0..columns.len())
            .filter(|&j| !schema.columns[j].encoding.fills())
            .collect()
    };
    let unfilled = unfilled(&columns);
    if how.drop_missing {
        let looked_at = unfilled
            .iter()
            .map(|&j| &columns[j])
            .chain(&target)
            .chain(&weight);
        if let Some(kept) = complete_rows(looked_at, rows) {
            if kept.is_empty() {
                return Err(Error::data("every row has a missing value: no row is left"));
            }
            let select = |column: Column| select_columns(&[column], &kept).pop();
            columns = select_columns(&columns, &kept);
            (target, weight) = (target.and_then(select), weight.and_then(select));
            note_dropped(rows - kept.len(), &mut notes);
            rows = kept.len();
        }
    }
    for &j in &unfilled {
        let hint = "train with --missing mean to have such values filled";
        refuse_missing(&columns[j], rows, hint)?;
    }
    let target = match &target {
        None => Target::Unknown,
        Some(column) => {
            refuse_missing(column, rows, "use --missing drop to leave such rows out")?;
            let what = format!("column {}", column.name);
            target::apply(&column.cells, &what, classes, schema.positive.as_deref())?
        }
    };
    let weights = weight.as_ref().map(sample_weights).transpose()?;
    let design = encode(columns, rows, schema, how.unseen, &mut notes)?;
    scaled(source, design, target, weights, schema, notes)
}

fn take_column(given: &mut FxHashMap<String, Column>, name: &str, all: &[String]) -> Result<Column> {
    given.remove(name).ok_or_else(|| {
        let unused: Vec<String> = all
            .iter()
            .filter(|name| given.contains_key(*name))
            .cloned()
            .collect();
        let known = if unused.is_empty() { all } else { &unused };
        Error::data(format!("there is no column {name}, which the model needs")).hint(suggestion(name, known))
    })
}

fn scaled(
    source: String,
    mut design: Design,
    target: Target,
    weights: Option<Vec<f64>>,
    schema: &Schema,
    notes: Vec<String>,
) -> Result<Dataset> {
    if let Some(scaling) = &schema.scaling {
        design = scaling.apply(design)?;
    }
    Ok(Dataset {
        source,
        design,
        target,
        weights,
        schema: schema.clone(),
        notes,
    })
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
    refuse_empty(matrix.design.rows())?;
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
    scaled(matrix.source, design, target, None, schema, notes)
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

//! From raw data to a data set: which column is the target, which are dropped, how the rest is encoded.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::data::encode::encode;
use crate::data::missing::{complete_rows, note_dropped, refuse_missing};
use crate::data::raw::select_columns;
use crate::data::target::{self, suggestion};
use crate::data::{
    Cells, Column, Dataset, Encoding, Matrix, Missing, Numbers, Origin, Raw, RawColumn, Scaling, Schema,
    Table, Target, TextEncoding, TextOptions, Texts, Unseen,
};
use crate::error::{Error, Result};

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

/// Learns a schema from training data and encodes them by it.
///
/// ```
/// use wstar::data::{Cells, Column, Preparation, Raw, Table, prepare};
/// let column = |name: &str, values: [f64; 2]| Column {
///     name: name.into(),
///     cells: Cells::Numbers(values.into_iter().collect()),
///     first_missing: None,
/// };
/// let columns = vec![column("height", [1.5, 1.75]), column("grown-up", [0.0, 1.0])];
/// let raw = Raw::Table(Table { source: "people".into(), columns, rows: 2 });
/// let data = prepare(raw, &Preparation::default()).unwrap();
/// assert_eq!(data.classes().unwrap().names(), ["0", "1"]);
/// assert_eq!(data.schema.feature_name(0), "height");
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
                let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
                error.hint(suggestion(name, &names))
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

    /// The columns that training looks at: features, weight, target.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> + '_ {
        self.features
            .iter()
            .copied()
            .chain(self.weight)
            .chain([self.target])
    }
}

fn learn_table(mut table: Table, how: &Preparation) -> Result<Dataset> {
    let roles = Roles::of(&table, how)?;
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
        && let Some(kept) = complete_rows(columns.iter(), rows)?
    {
        columns = select_columns(&columns, &kept);
        note_dropped(rows - kept.len(), &mut notes);
        rows = kept.len();
    }
    let target = columns
        .pop()
        .ok_or_else(|| Error::data("there is no target column"))?;
    let weight = roles.weight.and_then(|_| columns.pop());

    refuse_missing(&target, "use --missing drop to leave such rows out")?;
    let learnt_target = target::learn(&target.cells, &format!("column {}", target.name), how)?;
    let weights = weight.as_ref().map(sample_weights).transpose()?;
    if how.missing == Missing::Refuse {
        let refused = columns.par_iter().find_map_first(|column| {
            let hint = format!("use --missing mean|drop, or --drop {}", column.name);
            refuse_missing(column, &hint).err()
        });
        refused.map_or(Ok(()), Err)?;
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
    Ok(Dataset {
        source: table.source,
        design,
        target: learnt_target,
        weights,
        schema,
        notes,
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
    Ok(Dataset {
        source: matrix.source,
        design: matrix.design,
        target,
        weights: None,
        schema,
        notes: Vec::new(),
    })
}

fn learn_encoding(column: &Column, how: &Preparation) -> Result<Encoding> {
    let name = &column.name;
    let fill = how.missing == Missing::Mean;
    let empty =
        || Error::data(format!("every value of column {name} is missing")).hint(format!("use --drop {name}"));
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
                .hint(format!("use --drop {name}")));
            }
            Ok(Encoding::Text(encoding))
        }
    }
}

/// The mean of what is not missing.
fn mean(numbers: &Numbers) -> f64 {
    let present = || numbers.iter().filter(|value| !value.is_nan());
    let count = present().count() as f64;
    let mean = present().sum::<f64>() / count;
    if mean.is_finite() {
        mean
    } else {
        // The sum can overflow where the mean does not.
        present().map(|value| value / count).sum()
    }
}

/// The sample weights of a column.
pub(super) fn sample_weights(column: &Column) -> Result<Vec<f64>> {
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

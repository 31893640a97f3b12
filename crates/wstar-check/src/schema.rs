//! The schema of a model: how raw columns become columns of the design, and labels become targets.

use crate::csv::number;
use crate::json::Node;
use crate::unreadable::{Reading, Unreadable, shown};

/// The kind of file that the rows come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Named columns.
    Table,
    /// Numbered features (svmlight).
    Indexed {
        /// The index of the first feature: 0 or 1.
        base: u64,
    },
    /// Images.
    Pixels,
}

/// How a raw column is encoded.
#[derive(Debug, Clone, PartialEq)]
pub enum Encoding {
    /// A number, and the value in place of a missing one.
    Number {
        /// The value in place of a missing one.
        fill: Option<f64>,
    },
    /// One column for each category, which is 1 in its rows. Two categories make one column, for the second.
    OneHot {
        /// The categories.
        levels: Labels,
        /// The index of the category in place of a missing one.
        fill: Option<usize>,
    },
    /// Text, which is not read here.
    Text,
}

impl Encoding {
    /// The number of columns of the design.
    pub fn width(&self) -> usize {
        match self {
            Encoding::OneHot { levels, .. } if levels.names.len() != 2 => levels.names.len(),
            _ => 1,
        }
    }
}

/// A raw column.
#[derive(Debug, Clone, PartialEq)]
pub struct RawColumn {
    /// Its name in the header.
    pub name: String,
    /// Its encoding.
    pub encoding: Encoding,
}

impl RawColumn {
    fn feature_names(&self) -> Vec<String> {
        match &self.encoding {
            Encoding::OneHot { levels, .. } => {
                let shown = if levels.names.len() == 2 { 1.. } else { 0.. };
                levels.names[shown]
                    .iter()
                    .map(|level| format!("{}={level}", self.name))
                    .collect()
            }
            _ => vec![self.name.clone()],
        }
    }
}

/// Names of classes or categories.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// The names in order.
    pub names: Vec<String>,
    /// The numbers that they denote, if any.
    values: Vec<Option<f64>>,
}

impl Labels {
    /// Labels with these names.
    pub fn new(names: Vec<String>) -> Self {
        Labels {
            values: names.iter().map(|name| number(name.trim_ascii())).collect(),
            names,
        }
    }

    /// The index of the name that is equal to this label, or else of the only name that denotes the same number (`1` and `1.0`).
    /// `None` if there is no such name; an error if several names denote this number.
    pub fn position(&self, label: &str) -> Result<Option<usize>, String> {
        if let Some(exact) = self.names.iter().position(|name| name == label) {
            return Ok(Some(exact));
        }
        let Some(value) = number(label.trim_ascii()) else {
            return Ok(None);
        };
        let mut equal = (0..self.names.len()).filter(|&k| self.values[k] == Some(value));
        match (equal.next(), equal.next()) {
            (_, Some(_)) => Err(format!("{} is the same number as several names", shown(label))),
            (first, None) => Ok(first),
        }
    }
}

/// The encoding of all columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The kind of file.
    pub origin: Origin,
    /// The raw columns in the order of the design; empty unless the file is a table.
    pub columns: Vec<RawColumn>,
    /// The number of columns of the design.
    pub features: usize,
    /// The target column of a table.
    pub target: Option<String>,
    /// Whether the second class is one value of the target, and the first class all others.
    pub against_rest: bool,
    /// The column of sample weights.
    pub sample_weight: Option<String>,
    /// What is subtracted from each column; empty if nothing is.
    pub shifts: Vec<f64>,
    /// The factor of each column after the subtraction; empty if columns are not scaled.
    pub factors: Vec<f64>,
    /// The classes; empty for a real target.
    pub classes: Labels,
}

impl Schema {
    /// Reads the field `schema` of a model file with these classes.
    pub fn read(node: &Node<'_>, classes: Vec<String>) -> Reading<Self> {
        let mut schema = Schema {
            origin: origin(&node.field("origin")?)?,
            columns: Vec::new(),
            features: node.field("features")?.count()? as usize,
            target: text(node, "target")?,
            against_rest: node.optional("positive")?.is_some(),
            sample_weight: text(node, "sample_weight")?,
            shifts: Vec::new(),
            factors: Vec::new(),
            classes: Labels::new(classes),
        };
        for column in node.field("columns")?.items()? {
            schema.columns.push(RawColumn {
                name: column.field("name")?.text()?.to_owned(),
                encoding: encoding(&column.field("encoding")?)?,
            });
        }
        if let Some(scaling) = node.optional("scaling")? {
            schema.shifts = scaling.field("shifts")?.numbers()?;
            schema.factors = scaling.field("factors")?.numbers()?;
            if schema.factors.len() != schema.features
                || !(schema.shifts.is_empty() || schema.shifts.len() == schema.features)
            {
                return Err(scaling.refuse("it does not have one value for each column"));
            }
        }
        if schema.features > u32::MAX as usize {
            return Err(node.refuse("there are too many columns"));
        }
        let width: usize = schema.columns.iter().map(|column| column.encoding.width()).sum();
        let texts = schema
            .columns
            .iter()
            .any(|column| column.encoding == Encoding::Text);
        if schema.origin == Origin::Table && !texts && width != schema.features {
            return Err(node.refuse("its columns do not make as many features as it says"));
        }
        if schema.origin != Origin::Table
            && !(schema.columns.is_empty() && schema.target.is_none() && schema.sample_weight.is_none())
        {
            return Err(node.refuse("only a table has named columns"));
        }
        if let Some(positive) = text(node, "positive")? {
            let rest = if positive == "rest" { "other" } else { "rest" };
            if schema.classes.names != [rest, positive.as_str()] {
                return Err(node.refuse("the classes are not the positive value and the rest"));
            }
        }
        Ok(schema)
    }

    /// The target of a label: the index of its class, or a real number.
    pub fn target_of(&self, label: &str) -> Result<f64, String> {
        if self.classes.names.is_empty() {
            return number(label.trim_ascii())
                .ok_or_else(|| format!("{} is not a number, and the target is one", shown(label)));
        }
        if self.against_rest {
            let rest = &self.classes.names[1..];
            return Ok(f64::from(Labels::new(rest.to_vec()).position(label)?.is_some()));
        }
        match self.classes.position(label)? {
            Some(class) => Ok(class as f64),
            None => Err(format!("{} is not a class of the model", shown(label))),
        }
    }

    /// Whether rows are stored without their zeros: there are categories, and zeros remain zeros.
    pub fn is_sparse(&self) -> bool {
        self.shifts.is_empty() && self.columns.iter().any(|column| column.encoding.width() > 2)
    }

    /// The names of the columns of the design.
    pub fn feature_names(&self) -> Vec<String> {
        let Origin::Indexed { base } = self.origin else {
            let names = self.columns.iter().flat_map(RawColumn::feature_names);
            return names
                .chain((0..self.features).map(|j| format!("column {j}")))
                .take(self.features)
                .collect();
        };
        (0..self.features as u64)
            .map(|j| (j + base).to_string())
            .collect()
    }

    /// Standardises the value of a column: fl(fl(x − shift)·factor), as the engine does.
    #[inline]
    pub fn scaled(&self, column: usize, value: f64) -> f64 {
        match (self.shifts.get(column), self.factors.get(column)) {
            (Some(shift), Some(factor)) => (value - shift) * factor,
            (None, Some(factor)) => value * factor,
            _ => value,
        }
    }
}

fn text(node: &Node<'_>, name: &str) -> Reading<Option<String>> {
    let field = node.optional(name)?;
    field.map(|field| field.text().map(str::to_owned)).transpose()
}

fn origin(node: &Node<'_>) -> Reading<Origin> {
    match node.as_text() {
        Some("table") => return Ok(Origin::Table),
        Some(_) => return Err(node.refuse("an unknown kind of file")),
        None => {}
    }
    if let Some(indexed) = node.optional("indexed")? {
        let base = indexed.field("base")?;
        return match base.count()? {
            base @ (0 | 1) => Ok(Origin::Indexed { base }),
            _ => Err(base.refuse("0 or 1 is expected")),
        };
    }
    node.field("pixels").map(|_| Origin::Pixels)
}

fn encoding(node: &Node<'_>) -> Reading<Encoding> {
    if let Some(column) = node.optional("number")? {
        let fill = column.optional("fill")?.map(|fill| fill.number()).transpose()?;
        return Ok(Encoding::Number { fill });
    }
    if let Some(column) = node.optional("one-hot")? {
        let names = column.field("levels")?.texts()?;
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        if names.is_empty() || distinct.len() < names.len() {
            return Err(column.refuse("the levels are absent or repeated"));
        }
        let levels = Labels::new(names);
        let fill = text(&column, "fill")?;
        let unknown = || column.refuse("the level in place of a missing one is unknown");
        let index = |fill: String| {
            levels
                .names
                .iter()
                .position(|name| *name == fill)
                .ok_or_else(unknown)
        };
        let fill = fill.map(index).transpose()?;
        return Ok(Encoding::OneHot { levels, fill });
    }
    match node.optional("text")? {
        Some(_) => Ok(Encoding::Text),
        None => Err(node.refuse("an unknown encoding")),
    }
}

/// Why rows of this schema cannot be read from a file here, if they cannot.
pub fn unsupported(schema: &Schema) -> Option<Unreadable> {
    let use_rows = "give canonical rows";
    let text = schema
        .columns
        .iter()
        .find(|column| column.encoding == Encoding::Text);
    match (&schema.origin, text) {
        (Origin::Pixels, _) => Some(Unreadable::new(format!("images are not read here: {use_rows}"))),
        (_, Some(column)) => Some(Unreadable::new(format!(
            "column {} is text, which is not read here: {use_rows}",
            shown(&column.name)
        ))),
        _ => None,
    }
}

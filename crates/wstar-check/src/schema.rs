//! The schema of a model: how raw columns become columns of the design, and labels become targets.

use crate::csv::number;
use crate::json::Node;
use crate::unreadable::{Reading, Unreadable, shown};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Table,
    /// Numbered features (svmlight).
    Indexed(u64),
    Pixels,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Encoding {
    /// With the value in place of a missing one.
    Number(Option<f64>),
    /// One column for each category, which is 1 in its rows. Two categories make one column, for the second. With the index of the
    /// category in place of a missing one.
    OneHot(Vec<String>, Option<usize>),
    Text,
}

impl Encoding {
    /// Whether a missing value has another in its place.
    pub(crate) fn is_filled(&self) -> bool {
        !matches!(self, Encoding::Number(None) | Encoding::OneHot(_, None))
    }

    /// The categories that have a column: of two only the second. A number has one column.
    pub(crate) fn levels(&self) -> std::ops::Range<usize> {
        match self {
            Encoding::OneHot(levels, _) if levels.len() != 2 => 0..levels.len(),
            Encoding::OneHot(..) => 1..2,
            _ => 0..1,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawColumn {
    pub(crate) name: String,
    pub(crate) encoding: Encoding,
}

impl RawColumn {
    fn feature_names(&self) -> Vec<String> {
        match &self.encoding {
            Encoding::OneHot(levels, _) => {
                let shown = levels[self.encoding.levels()].iter();
                shown.map(|level| format!("{}={level}", self.name)).collect()
            }
            _ => vec![self.name.clone()],
        }
    }
}

/// The index of the name that is equal to this label, or else of the only name that denotes the same number (`1` and `1.0`). `None` if
/// there is no such name; an error if several names denote this number.
pub(crate) fn position(names: &[String], label: &str) -> Result<Option<usize>, String> {
    let exact = names.iter().position(|name| name == label);
    let Some(value) = number(label.trim_ascii()).filter(|_| exact.is_none()) else {
        return Ok(exact);
    };
    let mut equal = (0..names.len()).filter(|&k| number(names[k].trim_ascii()) == Some(value));
    match (equal.next(), equal.next()) {
        (_, Some(_)) => Err(format!("{} is the same number as several names", shown(label))),
        (first, None) => Ok(first),
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schema {
    pub(crate) origin: Origin,
    /// The raw columns in the order of the design; empty unless the file is a table.
    pub(crate) columns: Vec<RawColumn>,
    pub(crate) features: usize,
    pub(crate) target: Option<String>,
    /// Whether the second class is one value of the target, and the first class all others.
    pub(crate) against_rest: bool,
    pub(crate) sample_weight: Option<String>,
    /// What is subtracted from each column; empty if nothing is.
    pub(crate) shifts: Vec<f64>,
    /// The factor of each column after the subtraction; empty if columns are not scaled.
    pub(crate) factors: Vec<f64>,
    /// The classes; empty for a real target.
    pub(crate) classes: Vec<String>,
}

impl Schema {
    pub(crate) fn read(node: &Node<'_>, classes: Vec<String>) -> Reading<Self> {
        let column = |column: &Node<'_>| {
            Ok(RawColumn {
                name: column.field("name")?.text()?.to_owned(),
                encoding: encoding(&column.field("encoding")?)?,
            })
        };
        let text = |name| node.maybe(name, |field| field.text().map(str::to_owned));
        let scaling = node.optional("scaling")?;
        let scale = |name| match &scaling {
            Some(scaling) => scaling.field(name)?.numbers(),
            None => Ok(Vec::new()),
        };
        let (positive, columns) = (text("positive")?, node.field("columns")?.items()?);
        let schema = Schema {
            origin: origin(&node.field("origin")?)?,
            columns: columns.iter().map(column).collect::<Reading<_>>()?,
            features: node.field("features")?.count()? as usize,
            target: text("target")?,
            against_rest: positive.is_some(),
            sample_weight: text("sample_weight")?,
            shifts: scale("shifts")?,
            factors: scale("factors")?,
            classes,
        };
        let d = schema.features;
        let fits = |numbers: &[f64]| numbers.is_empty() || numbers.len() == d;
        let scales = scaling.is_none() || schema.factors.len() == d && fits(&schema.shifts);
        node.require(scales, "the scaling has not one value for each column")?;
        node.require(d <= u32::MAX as usize, "there are too many columns")?;
        let is_table = schema.origin == Origin::Table;
        let whole = !is_table || schema.text_column().is_some() || schema.widths().sum::<usize>() == d;
        node.require(whole, "its columns do not make its number of features")?;
        let named = !schema.columns.is_empty() || schema.target.is_some() || schema.sample_weight.is_some();
        node.require(is_table || !named, "only a table has named columns")?;
        if let Some(positive) = positive {
            let rest = if positive == "rest" { "other" } else { "rest" };
            let two = schema.classes == [rest, positive.as_str()];
            node.require(two, "the classes are not the positive value and the rest")?;
        }
        Ok(schema)
    }

    /// The target of a label: the index of its class, or a real number.
    pub(crate) fn target_of(&self, label: &str) -> Result<f64, String> {
        if self.classes.is_empty() {
            let number = number(label.trim_ascii());
            return number.ok_or_else(|| format!("{} is not a number, and the target is one", shown(label)));
        }
        if self.against_rest {
            return Ok(f64::from(position(&self.classes[1..], label)?.is_some()));
        }
        let class = position(&self.classes, label)?.map(|class| class as f64);
        class.ok_or_else(|| format!("{} is not a class of the model", shown(label)))
    }

    /// Whether rows are stored without their zeros: there are categories, and zeros remain zeros.
    pub(crate) fn is_sparse(&self) -> bool {
        self.shifts.is_empty() && self.widths().any(|width| width > 2)
    }

    fn widths(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.encoding.levels().len())
    }

    fn text_column(&self) -> Option<&RawColumn> {
        let is_text = |column: &&RawColumn| column.encoding == Encoding::Text;
        self.columns.iter().find(is_text)
    }

    pub(crate) fn feature_names(&self) -> Vec<String> {
        let (numbers, named) = (
            0..self.features,
            self.columns.iter().flat_map(RawColumn::feature_names),
        );
        match self.origin {
            Origin::Indexed(base) => numbers.map(|j| (j as u64 + base).to_string()).collect(),
            _ => named
                .chain(numbers.map(|j| format!("column {j}")))
                .take(self.features)
                .collect(),
        }
    }

    /// Standardises the value of a column: fl(fl(x − shift)·factor), as the engine does.
    #[inline]
    pub(crate) fn scaled(&self, column: usize, value: f64) -> f64 {
        match (self.shifts.get(column), self.factors.get(column)) {
            (Some(shift), Some(factor)) => (value - shift) * factor,
            (None, Some(factor)) => value * factor,
            _ => value,
        }
    }
}

fn origin(node: &Node<'_>) -> Reading<Origin> {
    if node.as_text().is_some() {
        node.choice(&[("table", ())], "kind of file")?;
        return Ok(Origin::Table);
    }
    let Some(indexed) = node.optional("indexed")? else {
        return node.field("pixels").map(|_| Origin::Pixels);
    };
    let base = indexed.field("base")?;
    match base.count()? {
        number @ (0 | 1) => Ok(Origin::Indexed(number)),
        _ => Err(base.refuse("0 or 1 is expected")),
    }
}

fn encoding(node: &Node<'_>) -> Reading<Encoding> {
    if let Some(column) = node.optional("number")? {
        let fill = column.maybe("fill", |fill| fill.number())?;
        return Ok(Encoding::Number(fill));
    }
    let Some(column) = node.optional("one-hot")? else {
        let text = node.optional("text")?.map(|_| Encoding::Text);
        return text.ok_or_else(|| node.refuse("an unknown encoding"));
    };
    let names = column.field("levels")?.names()?;
    let fill = column.maybe("fill", |fill| {
        let (name, unknown) = (fill.text()?, || {
            fill.refuse("the level in place of a missing one is unknown")
        });
        names.iter().position(|level| level == name).ok_or_else(unknown)
    })?;
    column.require(!names.is_empty(), "there are no levels")?;
    Ok(Encoding::OneHot(names, fill))
}

/// Why rows of this schema cannot be read from a file here, if they cannot.
pub(crate) fn unsupported(schema: &Schema) -> Option<Unreadable> {
    let what = match (&schema.origin, schema.text_column()) {
        (Origin::Pixels, _) => "images are".into(),
        (_, Some(column)) => format!("column {} is text, which is", shown(&column.name)),
        _ => return None,
    };
    Some(Unreadable::new(format!(
        "{what} not read here: give canonical rows"
    )))
}

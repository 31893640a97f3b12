//! The roles of the columns of a table: the target, the sample weight, the features.

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::prepare::target::suggestion;
use crate::{Preparation, Table};

/// The roles of the columns of a table, as column indices.
pub(crate) struct Roles {
    pub(crate) target: usize,
    pub(super) weight: Option<usize>,
    features: Vec<usize>,
}

impl Roles {
    /// Assigns the roles; an error if a named column is absent, or if a column has two roles that exclude each other.
    pub(crate) fn of(table: &Table, how: &Preparation) -> Result<Self> {
        let mut indices = FxHashMap::default();
        for (index, column) in table.columns.iter().enumerate() {
            if indices.insert(column.name.as_str(), index).is_some() {
                return Err(Error::data(format!("two columns are called {}", column.name)));
            }
        }
        let find = |name: &String, role: &str| {
            indices.get(name.as_str()).copied().ok_or_else(|| {
                let error = Error::data(format!("there is no {role}column {name}"));
                let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
                error.remedy(suggestion(name, &names))
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
                .find(|index| !dropped.contains(index) && weight != Some(*index))
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
            .filter(|index| *index != target && weight != Some(*index) && !dropped.contains(index))
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

    /// The columns that training uses: features, weight, target.
    pub(crate) fn used(&self) -> impl Iterator<Item = usize> + '_ {
        self.features
            .iter()
            .copied()
            .chain(self.weight)
            .chain([self.target])
    }
}

//! Reader options for the rows of a model whose columns are known.

use crate::read::ReadOptions;
use crate::{Encoding, Schema};

impl ReadOptions {
    /// Reads only the columns that a schema uses, each as the kind that it had in training. The target may have another name
    /// than in training.
    #[must_use]
    pub fn matching(mut self, schema: &Schema, target: Option<&str>) -> Self {
        let mut only = Vec::new();
        for column in &schema.columns {
            let kind = match column.encoding {
                Encoding::Number { .. } => &mut self.numeric,
                Encoding::OneHot { .. } => &mut self.categorical,
                Encoding::Text(_) => &mut self.text,
            };
            kind.push(column.name.clone());
            only.push(column.name.clone());
        }
        let target = target.map(str::to_string).or_else(|| schema.target.clone());
        only.extend(target.into_iter().chain(schema.sample_weight.clone()));
        self.only = Some(only);
        self
    }
}

//! The rows of a data set as the columns of another schema, such as that of a model: they are used as they are, scaled,
//! or refused.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::{ColumnSource, Dataset, Design, Encoding, RawColumn, Schema};

impl Dataset {
    /// The rows as columns of `schema`.
    ///
    /// The schema of the data set says how its rows were made, so nothing is guessed:
    /// - Rows of an equal encoding and scaling are used as they are.
    /// - Rows of an equal encoding without a scaling are scaled as in `schema`.
    /// - Rows [by position](Dataset::by_position), such as those of an array, are numbers in the units of the raw columns.
    ///   They are scaled as in `schema`, which must have as many columns, all of them numbers.
    /// - All other rows are refused.
    ///
    /// ```
    /// use wstar_data::{Dataset, Design, Preparation, prepare, read};
    /// let text = b"height,weight\n1.5,50\n1.7,70\n";
    /// let raw = read::read_bytes("people.csv", text, &read::ReadOptions::default()).unwrap();
    /// let how = Preparation { standardize: true, ..Preparation::default() };
    /// let data = prepare(raw, &how).unwrap();
    /// let array = Dataset::unlabelled(&[[1.7]]).unwrap();
    /// let scaled = array.design_for(data.schema()).unwrap();
    /// assert!((scaled.row(0).to_dense(1)[0] - 1.0).abs() < 1e-12);
    /// ```
    pub fn design_for(&self, schema: &Schema) -> Result<Cow<'_, Design>> {
        let own = &self.schema;
        if own.features != schema.features {
            return Err(refused(&format!(
                "there are {} features, and the model has {}",
                own.features, schema.features
            )));
        }
        match self.by_position {
            true => numbers_only(schema)?,
            false => same_columns(own, schema)?,
        }
        match (&own.scaling, &schema.scaling) {
            (None, None) => Ok(Cow::Borrowed(&self.design)),
            (None, Some(scaling)) => scaling.apply(self.design.clone()).map(Cow::Owned),
            (Some(own), Some(scaling)) if own == scaling => Ok(Cow::Borrowed(&self.design)),
            (Some(_), None) => Err(refused(
                "the rows are standardised, and those of the model are not",
            )),
            (Some(_), Some(_)) => Err(refused(
                "the rows are standardised by other means and deviations than the model's",
            )),
        }
    }

    /// The data set with its rows as columns of `schema`, as in [`Dataset::design_for`].
    pub fn rows_for(&self, schema: &Schema) -> Result<Cow<'_, Dataset>> {
        Ok(match self.design_for(schema)? {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(design) => Cow::Owned(Dataset {
                design,
                source: self.source.clone(),
                target: self.target.clone(),
                weights: self.weights.clone(),
                schema: Schema {
                    scaling: schema.scaling.clone(),
                    ..self.schema.clone()
                },
                notes: self.notes.clone(),
                by_position: self.by_position,
            }),
        })
    }
}

fn refused(what: &str) -> Error {
    Error::data(what).remedy("encode the raw rows with the schema of the model, as in training")
}

/// Refuses a schema whose columns are not all numbers.
fn numbers_only(schema: &Schema) -> Result<()> {
    let number = |column: &&RawColumn| !matches!(column.encoding, Encoding::Number { .. });
    match schema.columns.iter().find(number) {
        None => Ok(()),
        Some(column) => Err(refused(&format!(
            "column {} of the model is not a number, and the rows are numbers without names",
            column.name
        ))),
    }
}

/// Refuses columns that are not those of the model, in the same order and with the same encoding.
fn same_columns(own: &Schema, model: &Schema) -> Result<()> {
    if own.origin != model.origin {
        return Err(refused(match (&own.origin, &model.origin) {
            (ColumnSource::Indexed { .. }, ColumnSource::Indexed { .. }) => {
                "the features are not numbered from the same number as the model's"
            }
            (ColumnSource::Pixels { .. }, ColumnSource::Pixels { .. }) => {
                "the images do not have the size of the model's"
            }
            _ => "the columns are of another kind than the model's: named, numbered or pixels",
        }));
    }
    if own.columns.len() != model.columns.len() {
        return Err(refused(&format!(
            "there are {} columns, and the model has {}",
            own.columns.len(),
            model.columns.len()
        )));
    }
    for (column, wanted) in own.columns.iter().zip(&model.columns) {
        if column.name != wanted.name {
            return Err(refused(&format!(
                "column {} stands where the model has {}",
                column.name, wanted.name
            )));
        }
        if !same_encoding(&column.encoding, &wanted.encoding) {
            return Err(refused(&format!(
                "column {} is not encoded as in the model",
                column.name
            )));
        }
    }
    Ok(())
}

/// Whether the rows of one encoding are rows of the other. Rows for which missing values were refused have none, so they
/// do not depend on what the model fills in.
fn same_encoding(own: &Encoding, model: &Encoding) -> bool {
    match (own, model) {
        (Encoding::Number { fill }, Encoding::Number { fill: wanted }) => fill.is_none() || fill == wanted,
        (
            Encoding::OneHot { levels, fill },
            Encoding::OneHot {
                levels: known,
                fill: wanted,
            },
        ) => levels == known && (fill.is_none() || fill == wanted),
        (Encoding::Text(own), Encoding::Text(model)) => own == model,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{ReadOptions, read_bytes};
    use crate::{Missing, Preparation, prepare};

    fn table(text: &str, how: &Preparation) -> Dataset {
        let raw = read_bytes("data.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
        prepare(raw, how).unwrap()
    }

    fn standardised() -> Preparation {
        Preparation {
            standardize: true,
            ..Preparation::default()
        }
    }

    const ROWS: &str = "a,b,y\n0,1,no\n2,3,yes\n4,1,no\n";

    #[test]
    fn rows_of_the_same_schema_are_used_as_they_are() {
        for how in [Preparation::default(), standardised()] {
            let data = table(ROWS, &how);
            let design = data.design_for(&data.schema).unwrap();
            assert!(matches!(design, Cow::Borrowed(_)));
        }
    }

    #[test]
    fn raw_rows_are_scaled() {
        let model = table(ROWS, &standardised());
        let named = table(ROWS, &Preparation::default());
        let array = Dataset::unlabelled(&[[0.0, 1.0], [2.0, 3.0], [4.0, 1.0]]).unwrap();
        for data in [named, array] {
            let design = data.design_for(&model.schema).unwrap();
            assert_eq!(*design, model.design);
        }
    }

    #[test]
    fn other_rows_are_refused() {
        let model = table(ROWS, &standardised());
        let plain = table(ROWS, &Preparation::default());
        let refused = |data: &Dataset, schema: &Schema, why: &str| {
            let error = data.design_for(schema).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.what_to_do().is_some());
        };
        let other = table(&ROWS.replace("4,1", "5,1"), &standardised());
        refused(&other, &model.schema, "other means");
        refused(&model, &plain.schema, "are standardised");
        let wide = Dataset::unlabelled(&[[0.0, 1.0, 2.0]]).unwrap();
        refused(&wide, &model.schema, "3 features");
        let narrow = Dataset::unlabelled(&[[0.0]]).unwrap();
        refused(&narrow, &model.schema, "1 features");
        let swapped = table(&ROWS.replace("a,b,", "b,a,"), &Preparation::default());
        refused(&swapped, &model.schema, "column b stands where the model has a");
        let array = Dataset::unlabelled(&[[0.0, 1.0]]).unwrap();
        let renamed = array.clone().with_columns(["a", "c"]).unwrap();
        refused(&renamed, &model.schema, "column c");
        let coloured = table(
            "a,colour,y\n0,red,no\n2,blue,yes\n4,red,no\n",
            &Preparation::default(),
        );
        refused(&array, &coloured.schema, "colour of the model is not a number");
    }

    #[test]
    fn levels_and_fills_are_part_of_the_encoding() {
        let colours = "colour,y\nred,no\nblue,yes\nred,no\n";
        let model = table(colours, &Preparation::default());
        let other = table(&colours.replace("blue", "green"), &Preparation::default());
        assert!(other.design_for(&model.schema).is_err());
        let filled = |text: &str| {
            table(
                text,
                &Preparation {
                    missing: Missing::Mean,
                    ..Preparation::default()
                },
            )
        };
        let model = filled("a,b,y\n0,1,no\n,3,yes\n4,1,no\n");
        // No value of these rows was filled in.
        assert!(
            table(ROWS, &Preparation::default())
                .design_for(&model.schema)
                .is_ok()
        );
        // A value of these rows was filled in by another mean.
        let other = filled("a,b,y\n0,1,no\n,3,yes\n6,1,no\n");
        assert!(other.design_for(&model.schema).is_err());
    }
}

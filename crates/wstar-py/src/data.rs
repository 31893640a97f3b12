//! Data sets from what Python hands over.

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wstar::Error;
use wstar::data::{Classes, Dataset, Design, Origin, Schema, Target};

/// What is to be predicted: classes by number and name, or real numbers.
#[derive(FromPyObject)]
pub(crate) enum Goal<'py> {
    #[pyo3(transparent)]
    Classes((PyReadonlyArray1<'py, u32>, Vec<String>)),
    #[pyo3(transparent)]
    Real(PyReadonlyArray1<'py, f64>),
}

/// What the columns are called: names, or numbers for sparse data; and the target's name.
#[derive(FromPyObject)]
pub(crate) struct Names {
    #[pyo3(item)]
    features: Option<Vec<String>>,
    #[pyo3(item)]
    target: Option<String>,
}

/// All of a data set but its rows.
pub(crate) struct Labels {
    target: Target,
    weights: Option<Vec<f64>>,
    names: Names,
}

impl Labels {
    pub(crate) fn new(
        goal: &Goal<'_>,
        weights: Option<&PyReadonlyArray1<'_, f64>>,
        names: Names,
    ) -> PyResult<Self> {
        let target = match goal {
            Goal::Classes((codes, classes)) => {
                let codes = codes.to_vec().map_err(scattered)?;
                if codes.iter().any(|&code| code as usize >= classes.len()) {
                    return Err(PyValueError::new_err("a label has no class"));
                }
                Target::Classes {
                    codes,
                    classes: Classes::ordered(classes.iter().cloned())
                        .map_err(|error| crate::raise(&error))?,
                }
            }
            Goal::Real(values) => Target::Real(values.to_vec().map_err(scattered)?),
        };
        let weights = weights.map(|weights| weights.to_vec().map_err(scattered));
        Ok(Labels {
            target,
            weights: weights.transpose()?,
            names,
        })
    }

    /// The data set of these labels and a design.
    pub(crate) fn with(self, design: Design) -> Result<Dataset, Error> {
        let rows = match &self.target {
            Target::Classes { codes, .. } => codes.len(),
            Target::Real(values) => values.len(),
            Target::Unknown => design.rows(),
        };
        let weights = self.weights.as_ref().map_or(rows, Vec::len);
        if rows != design.rows() || weights != rows {
            return Err(Error::data(format!(
                "{} rows, {rows} labels, {weights} weights",
                design.rows()
            )));
        }
        let mut schema = match self.names.features {
            Some(names) => Schema::numeric(names),
            None if design.is_sparse() => Schema {
                origin: Origin::Indexed { base: 1 },
                columns: Vec::new(),
                features: design.features(),
                ..Schema::numbered(0)
            },
            None => Schema::numbered(design.features()),
        };
        if schema.features != design.features() {
            return Err(Error::data(format!(
                "{} names for {} columns",
                schema.features,
                design.features()
            )));
        }
        schema.target = self.names.target;
        Ok(Dataset {
            source: "X".into(),
            design,
            target: self.target,
            weights: self.weights,
            schema,
            notes: Vec::new(),
        })
    }
}

fn scattered<E>(_: E) -> PyErr {
    PyValueError::new_err("the array does not lie together in memory")
}

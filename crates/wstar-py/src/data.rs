//! Conversion of Python arguments to data sets.

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wstar::data::error::Error;
use wstar::data::{Classes, ColumnSource, Dataset, Design, Schema, Target};

use crate::matrix::{Matrix, scattered};

/// The target: class indices and class names, or real numbers.
#[derive(FromPyObject)]
pub(crate) enum Goal<'py> {
    #[pyo3(transparent)]
    Classes((Codes<'py>, Vec<String>)),
    #[pyo3(transparent)]
    Real(PyReadonlyArray1<'py, f64>),
}

/// The class index of each row, as bytes if there are few classes.
#[derive(FromPyObject)]
pub(crate) enum Codes<'py> {
    #[pyo3(transparent)]
    Short(PyReadonlyArray1<'py, u8>),
    #[pyo3(transparent)]
    Long(PyReadonlyArray1<'py, u32>),
}

impl Codes<'_> {
    fn to_vec(&self) -> PyResult<Vec<u32>> {
        match self {
            Codes::Short(codes) => {
                let codes = codes.as_slice().map_err(scattered)?;
                Ok(codes.iter().map(|&code| u32::from(code)).collect())
            }
            Codes::Long(codes) => codes.to_vec().map_err(scattered),
        }
    }
}

/// A data set as Python passes it.
#[derive(FromPyObject)]
pub(crate) struct Table<'py> {
    #[pyo3(item)]
    pub(crate) x: Matrix<'py>,
    #[pyo3(item)]
    y: Goal<'py>,
    #[pyo3(item)]
    weights: Option<PyReadonlyArray1<'py, f64>>,
    /// The names of the columns; sparse columns without names are numbered from 1.
    #[pyo3(item)]
    features: Option<Vec<String>>,
    /// The name of the target.
    #[pyo3(item)]
    target: Option<String>,
}

/// A data set without its design matrix.
pub(crate) struct Labels {
    target: Target,
    weights: Option<Vec<f64>>,
    features: Option<Vec<String>>,
    target_name: Option<String>,
}

impl Table<'_> {
    /// Copies and checks everything except the design matrix.
    pub(crate) fn labels(&self) -> PyResult<Labels> {
        let target = match &self.y {
            Goal::Classes((codes, classes)) => {
                let codes = codes.to_vec()?;
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
        let weights = self.weights.as_ref();
        let weights = weights.map(|weights| weights.to_vec().map_err(scattered));
        Ok(Labels {
            target,
            weights: weights.transpose()?,
            features: self.features.clone(),
            target_name: self.target.clone(),
        })
    }
}

impl Labels {
    /// Combines the labels and a design into a data set. Columns without names are matched with a model by position.
    pub(crate) fn with(self, design: Design) -> Result<Dataset, Error> {
        let named = self.features.is_some();
        let mut schema = match self.features {
            Some(names) => Schema::numeric(names),
            None if design.is_sparse() => Schema {
                origin: ColumnSource::Indexed { base: 1 },
                columns: Vec::new(),
                features: design.features(),
                ..Schema::numbered(0)
            },
            None => Schema::numbered(design.features()),
        };
        schema.target = self.target_name;
        let mut data = Dataset::new(design, self.target, schema)?.with_source("X");
        if let Some(weights) = self.weights {
            data = data.with_weights(weights)?;
        }
        Ok(if named { data } else { data.by_position() })
    }
}

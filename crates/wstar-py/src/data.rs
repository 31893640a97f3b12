//! Data sets from what Python hands over.

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wstar::Error;
use wstar::data::{Classes, Dataset, Design, Origin, Schema, Target};

use crate::matrix::{Matrix, scattered};

/// What is to be predicted: classes by number and name, or real numbers.
#[derive(FromPyObject)]
pub(crate) enum Goal<'py> {
    #[pyo3(transparent)]
    Classes((Codes<'py>, Vec<String>)),
    #[pyo3(transparent)]
    Real(PyReadonlyArray1<'py, f64>),
}

/// The number of each row's class, in bytes where there are few classes.
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

/// A data set of Python's.
#[derive(FromPyObject)]
pub(crate) struct Table<'py> {
    #[pyo3(item)]
    pub(crate) x: Matrix<'py>,
    #[pyo3(item)]
    y: Goal<'py>,
    #[pyo3(item)]
    weights: Option<PyReadonlyArray1<'py, f64>>,
    /// What the columns are called; sparse ones without names are numbered from 1.
    #[pyo3(item)]
    features: Option<Vec<String>>,
    /// What the target is called.
    #[pyo3(item)]
    target: Option<String>,
}

/// All of a data set but its rows.
pub(crate) struct Labels {
    target: Target,
    weights: Option<Vec<f64>>,
    features: Option<Vec<String>>,
    target_name: Option<String>,
}

impl Table<'_> {
    /// All of it but the rows, read.
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
        let mut schema = match self.features {
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
        schema.target = self.target_name;
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

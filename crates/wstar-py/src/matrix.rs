//! Matrices of Python, read without a copy.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wstar::data::error::Error;
use wstar::data::{ColumnMajor, Csr, Dense, Design};
use wstar::numeric::buffer::lend;

/// A two-dimensional numpy array, or the arrays of a scipy CSR matrix: row starts, column indices and values of the
/// entries, and the number of columns.
#[derive(FromPyObject)]
pub(crate) enum Matrix<'py> {
    #[pyo3(transparent)]
    Dense64(PyReadonlyArray2<'py, f64>),
    #[pyo3(transparent)]
    Dense32(PyReadonlyArray2<'py, f32>),
    #[pyo3(transparent)]
    Sparse64(Sparse<'py, f64>),
    #[pyo3(transparent)]
    Sparse32(Sparse<'py, f32>),
}

type Sparse<'py, T> = (
    PyReadonlyArray1<'py, usize>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, T>,
    usize,
);

/// The borrowed memory of a matrix. Unlike the Python object, it can be sent to another thread.
#[derive(Clone, Copy)]
pub(crate) enum Borrowed<'a> {
    Dense64(&'a [f64], Shape),
    Dense32(&'a [f32], Shape),
    Sparse64(&'a [usize], &'a [u32], &'a [f64], usize),
    Sparse32(&'a [usize], &'a [u32], &'a [f32], usize),
}

#[derive(Clone, Copy)]
pub(crate) struct Shape {
    rows: usize,
    features: usize,
    /// Whether the values are stored in row-major order.
    by_row: bool,
}

impl Shape {
    fn of<T: numpy::Element>(array: &PyReadonlyArray2<'_, T>) -> Self {
        let [rows, features] = [array.shape()[0], array.shape()[1]];
        Shape {
            rows,
            features,
            by_row: array.is_c_contiguous(),
        }
    }
}

/// Copies the rows of a small array.
pub(crate) fn rows_of(values: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<Vec<f64>>> {
    if !values.is_c_contiguous() {
        return Err(scattered(()));
    }
    let width = values.shape()[1].max(1);
    let values = values.as_slice().map_err(scattered)?;
    Ok(values.chunks(width).map(<[f64]>::to_vec).collect())
}

pub(crate) fn scattered<E>(_: E) -> PyErr {
    PyValueError::new_err("the array is not contiguous in memory")
}

impl Matrix<'_> {
    /// Borrows the memory of the matrix; an error if it is not contiguous.
    pub(crate) fn borrow(&self) -> PyResult<Borrowed<'_>> {
        Ok(match self {
            Matrix::Dense64(array) => {
                Borrowed::Dense64(array.as_slice().map_err(scattered)?, Shape::of(array))
            }
            Matrix::Dense32(array) => {
                Borrowed::Dense32(array.as_slice().map_err(scattered)?, Shape::of(array))
            }
            Matrix::Sparse64((starts, indices, values, features)) => Borrowed::Sparse64(
                starts.as_slice().map_err(scattered)?,
                indices.as_slice().map_err(scattered)?,
                values.as_slice().map_err(scattered)?,
                *features,
            ),
            Matrix::Sparse32((starts, indices, values, features)) => Borrowed::Sparse32(
                starts.as_slice().map_err(scattered)?,
                indices.as_slice().map_err(scattered)?,
                values.as_slice().map_err(scattered)?,
                *features,
            ),
        })
    }
}

impl Borrowed<'_> {
    /// The number of columns.
    pub(crate) fn features(&self) -> usize {
        match self {
            Borrowed::Dense64(_, shape) | Borrowed::Dense32(_, shape) => shape.features,
            Borrowed::Sparse64(.., features) | Borrowed::Sparse32(.., features) => *features,
        }
    }

    /// The number of stored values.
    pub(crate) fn stored(&self) -> usize {
        match self {
            Borrowed::Dense64(values, _) | Borrowed::Sparse64(_, _, values, _) => values.len(),
            Borrowed::Dense32(values, _) | Borrowed::Sparse32(_, _, values, _) => values.len(),
        }
    }

    /// Runs `run` on a design that reads this memory without a copy.
    pub(crate) fn with_design<R>(self, run: impl FnOnce(Design) -> Result<R, Error>) -> Result<R, Error> {
        match self {
            Borrowed::Dense64(values, shape) => lend(values, |values| {
                let (rows, features) = (shape.rows, shape.features);
                run(match shape.by_row {
                    true => Design::Dense64(Dense::new(values, rows, features)?),
                    false => Design::Columns64(ColumnMajor::new(values, rows, features)?),
                })
            }),
            Borrowed::Dense32(values, shape) => lend(values, |values| {
                let (rows, features) = (shape.rows, shape.features);
                run(match shape.by_row {
                    true => Design::Dense32(Dense::new(values, rows, features)?),
                    false => Design::Columns32(ColumnMajor::new(values, rows, features)?),
                })
            }),
            Borrowed::Sparse64(starts, indices, values, features) => lend(starts, |starts| {
                lend(indices, |indices| {
                    lend(values, |values| {
                        run(Design::Sparse64(Csr::new(starts, indices, values, features)?))
                    })
                })
            }),
            Borrowed::Sparse32(starts, indices, values, features) => lend(starts, |starts| {
                lend(indices, |indices| {
                    lend(values, |values| {
                        run(Design::Sparse32(Csr::new(starts, indices, values, features)?))
                    })
                })
            }),
        }
    }
}

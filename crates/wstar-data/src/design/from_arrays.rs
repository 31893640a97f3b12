//! Designs from the arrays of a program: rows, and the matrices of `faer`, `ndarray` and `sprs`.
//!
//! Values of matrices are never copied if their memory is contiguous. `ndarray` and `sprs` are features of the crate.

use super::{Csr, Dense, Design};
use crate::ColumnMajor;
use crate::error::{Error, Result};

/// Rows of numbers, in `f32` if that is exact.
macro_rules! from_rows {
    ($($(#[$($generics:tt)*])? $rows:ty),*) => {$(
        impl $(<$($generics)*>)? TryFrom<$rows> for Design {
            type Error = Error;

            fn try_from(rows: $rows) -> Result<Design> {
                Design::from_rows(rows)
            }
        }
    )*};
}

from_rows!(
    &[Vec<f64>],
    &Vec<Vec<f64>>,
    #[const N: usize] &[Vec<f64>; N],
    #[const D: usize] &[[f64; D]],
    #[const D: usize] &Vec<[f64; D]>,
    #[const N: usize, const D: usize] &[[f64; D]; N]
);

/// The numbers that a design stores.
pub trait Stored: Copy + Send + Sync + 'static {
    /// The design of a row-major matrix.
    fn by_rows(matrix: Dense<Self>) -> Design;
    /// The design of a column-major matrix.
    fn by_columns(matrix: ColumnMajor<Self>) -> Design;
    /// The design of a CSR matrix.
    fn sparse(matrix: Csr<Self>) -> Design;
}

macro_rules! stored {
    ($number:ty, $dense:ident, $columns:ident, $sparse:ident) => {
        impl Stored for $number {
            fn by_rows(matrix: Dense<Self>) -> Design {
                Design::$dense(matrix)
            }

            fn by_columns(matrix: ColumnMajor<Self>) -> Design {
                Design::$columns(matrix)
            }

            fn sparse(matrix: Csr<Self>) -> Design {
                Design::$sparse(matrix)
            }
        }
    };
}

stored!(f32, Dense32, Columns32, Sparse32);
stored!(f64, Dense64, Columns64, Sparse64);

/// A matrix of `faer`. It is stored by columns. `faer` pads columns to whole cache lines; a padded matrix is copied.
///
/// ```
/// use wstar_data::Design;
/// let matrix = faer::Mat::from_fn(3, 2, |i, j| (i + 10 * j) as f64);
/// let design = Design::try_from(matrix)?;
/// assert_eq!(design.row(2).to_dense(2), [2.0, 12.0]);
/// # Ok::<(), wstar_data::error::Error>(())
/// ```
impl<T: Stored> TryFrom<faer::Mat<T>> for Design {
    type Error = Error;

    fn try_from(matrix: faer::Mat<T>) -> Result<Design> {
        let (rows, features) = matrix.shape();
        let values = wstar_numeric::buffer::of_columns(matrix);
        Ok(T::by_columns(ColumnMajor::new(values, rows, features)?))
    }
}

#[cfg(feature = "ndarray")]
mod of_ndarray {
    use super::{ColumnMajor, Dense, Design, Error, Result, Stored};
    use ndarray::{ArrayBase, Data, Ix2};
    use wstar_numeric::buffer::Memory;

    /// A matrix of `ndarray`, owned or shared, in row-major or column-major order. A matrix that is not contiguous is
    /// copied.
    ///
    /// ```
    /// use ndarray::array;
    /// let data = wstar_data::Dataset::measured(array![[0.0, 1.0], [2.0, 3.0]], vec![1.0, 2.0])?;
    /// assert_eq!((data.rows(), data.features()), (2, 2));
    /// # Ok::<(), wstar_data::error::Error>(())
    /// ```
    impl<S, T> TryFrom<ArrayBase<S, Ix2>> for Design
    where
        S: Data<Elem = T> + Send + Sync + 'static,
        T: Stored,
    {
        type Error = Error;

        fn try_from(array: ArrayBase<S, Ix2>) -> Result<Design> {
            let (rows, features) = array.dim();
            let by_rows = array.is_standard_layout();
            if !by_rows && !array.t().is_standard_layout() {
                return Design::try_from(array.as_standard_layout().into_owned());
            }
            let values = Memory::of_owner(array, |array| array.as_slice_memory_order().unwrap_or_default());
            Ok(match by_rows {
                true => T::by_rows(Dense::new(values, rows, features)?),
                false => T::by_columns(ColumnMajor::new(values, rows, features)?),
            })
        }
    }
}

#[cfg(feature = "sprs")]
mod of_sprs {
    use super::{Csr, Design, Error, Result, Stored};
    use sprs::CsMatI;

    /// A sparse matrix of `sprs` with `u32` indices, without a copy. A matrix in CSC format is converted to CSR.
    ///
    /// ```
    /// use sprs::{CsMatI, TriMatI};
    /// let mut entries = TriMatI::<f64, u32>::new((2, 3));
    /// entries.add_triplet(1, 2, 5.0);
    /// let matrix: CsMatI<f64, u32, usize> = entries.to_csr();
    /// let design = wstar_data::Design::try_from(matrix)?;
    /// assert_eq!(design.row(1).to_dense(3), [0.0, 0.0, 5.0]);
    /// # Ok::<(), wstar_data::error::Error>(())
    /// ```
    impl<T: Stored + Default> TryFrom<CsMatI<T, u32, usize>> for Design {
        type Error = Error;

        fn try_from(matrix: CsMatI<T, u32, usize>) -> Result<Design> {
            let matrix = matrix.into_csr();
            let features = matrix.cols();
            let (starts, indices, values) = matrix.into_raw_storage();
            Ok(T::sparse(Csr::new(starts, indices, values, features)?))
        }
    }

    /// A sparse matrix of `sprs` with `usize` indices. The indices are converted, the values are not copied.
    impl<T: Stored + Default> TryFrom<sprs::CsMat<T>> for Design {
        type Error = Error;

        fn try_from(matrix: sprs::CsMat<T>) -> Result<Design> {
            let matrix = matrix.into_csr();
            let features = matrix.cols();
            if u32::try_from(features).is_err() {
                return Err(Error::data(format!(
                    "a sparse matrix with {features} columns is too wide: at most 2³² − 1 are supported"
                )));
            }
            let (starts, indices, values) = matrix.into_raw_storage();
            // The indices are less than the number of columns.
            let indices: Vec<u32> = indices.into_iter().map(|j| j as u32).collect();
            Ok(T::sparse(Csr::new(starts, indices, values, features)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_vectors_and_of_arrays_are_the_same_design() {
        let arrays = Design::try_from(&[[0.1, 2.0], [3.0, 4.0]]).unwrap();
        let vectors = Design::try_from(&vec![vec![0.1, 2.0], vec![3.0, 4.0]]).unwrap();
        assert_eq!(arrays, vectors);
        assert!(Design::try_from(&[vec![1.0], vec![]]).is_err());
    }

    #[test]
    fn matrices_of_faer_keep_their_values_with_and_without_padding() {
        for rows in [1, 7, 8, 16] {
            let matrix = faer::Mat::from_fn(rows, 3, |i, j| (i * 3 + j) as f64 + 0.1);
            let design = Design::try_from(matrix).unwrap();
            for i in 0..rows {
                let expected = [0, 1, 2].map(|j| (i * 3 + j) as f64 + 0.1);
                assert_eq!(design.row(i).to_dense(3), expected);
            }
        }
        assert_eq!(Design::try_from(faer::Mat::<f64>::zeros(0, 2)).unwrap().rows(), 0);
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn arrays_of_ndarray_are_used_in_place() {
        use ndarray::{Array2, s};
        let array = Array2::from_shape_fn((4, 3), |(i, j)| (i * 3 + j) as f64);
        let expected: Vec<Vec<f64>> = array.rows().into_iter().map(|row| row.to_vec()).collect();
        let check = |design: Design| {
            let rows: Vec<Vec<f64>> = design.iter().map(|row| row.to_dense(3)).collect();
            assert_eq!(rows, expected);
            design
        };
        let address = array.as_ptr();
        let Design::Dense64(matrix) = check(Design::try_from(array.clone().into_shared()).unwrap()) else {
            panic!("not dense");
        };
        assert_eq!(matrix.values().len(), 12);
        let Design::Dense64(matrix) = check(Design::try_from(array.clone()).unwrap()) else {
            panic!("not dense");
        };
        assert_ne!(matrix.values().as_ptr(), address, "a clone has its own memory");
        let moved = array.clone();
        let address = moved.as_ptr();
        let Design::Dense64(matrix) = check(Design::try_from(moved).unwrap()) else {
            panic!("not dense");
        };
        assert_eq!(matrix.values().as_ptr(), address);
        // Column-major, and every second column of a wider array.
        let columns = array.t().as_standard_layout().into_owned().reversed_axes();
        assert!(matches!(
            check(Design::try_from(columns).unwrap()),
            Design::Columns64(_)
        ));
        let wide = Array2::from_shape_fn((4, 6), |(i, j)| (i * 3 + j / 2) as f64);
        check(Design::try_from(wide.slice_move(s![.., ..;2])).unwrap());
    }

    #[cfg(feature = "sprs")]
    #[test]
    fn sparse_matrices_of_sprs_are_used_in_place() {
        use sprs::{CsMat, CsMatI};
        let parts = || (vec![0usize, 1, 3], vec![2u32, 0, 1], vec![5.0, 6.0, 7.0]);
        let (starts, indices, values) = parts();
        let address = values.as_ptr();
        let matrix = CsMatI::new((2, 3), starts, indices, values);
        let Design::Sparse64(csr) = Design::try_from(matrix).unwrap() else {
            panic!("not sparse");
        };
        assert_eq!(csr.values().as_ptr(), address);
        let (starts, indices, values) = parts();
        let wide = CsMat::new(
            (2, 3),
            starts,
            indices.into_iter().map(|j| j as usize).collect(),
            values,
        );
        for matrix in [wide.clone(), wide.to_csc()] {
            assert_eq!(Design::try_from(matrix).unwrap(), Design::Sparse64(csr.clone()));
        }
    }
}

//! A slice that is either owned or borrowed from the caller, read through the same pointer in both cases. A matrix of
//! another language is used in place, without a copy, and the loops over owned matrices need no additional branch.
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A shared slice whose values stay in place and unchanged as long as a clone of it exists.
pub struct Memory<T> {
    start: NonNull<T>,
    length: usize,
    /// The owner of the values, or the token of a loan.
    keeper: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the values are only read, and their keeper is `Send + Sync`.
unsafe impl<T: Send + Sync> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Memory<T> {}

impl<T> Deref for Memory<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `start` and `length` are those of a slice that the keeper keeps alive and unchanged: values that the keeper
        // owns and lends by a shared reference, or a loan that does not end while a clone of its token exists.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Send + Sync + 'static> From<Vec<T>> for Memory<T> {
    fn from(values: Vec<T>) -> Self {
        Memory::of_owner(values, |values| values)
    }
}

impl<T> Memory<T> {
    /// The values that an owner, such as the array of another library, keeps in memory. They are not copied.
    ///
    /// ```
    /// use wstar_numeric::buffer::Memory;
    /// let shared: std::sync::Arc<[f64]> = [1.0, 2.0].into();
    /// let memory = Memory::of_owner(shared.clone(), |values| values);
    /// assert_eq!(memory.as_ptr(), shared.as_ptr());
    /// ```
    pub fn of_owner<O: Send + Sync + 'static>(owner: O, values: impl FnOnce(&O) -> &[T]) -> Self {
        let keeper = Arc::new(owner);
        let values = values(&keeper);
        Memory {
            start: NonNull::from(values).cast(),
            length: values.len(),
            keeper,
        }
    }
}

/// The values of a matrix of `faer` in column-major order. They are copied if the matrix has padding between its columns.
pub fn of_columns<T: Copy + Send + Sync + 'static>(matrix: faer::Mat<T>) -> Memory<T> {
    let (rows, columns) = matrix.shape();
    if rows > 0 && matrix.col_stride() == rows as isize {
        // SAFETY: the columns have `rows` values each, one after the other, without padding, and the matrix owns them.
        return Memory::of_owner(matrix, |matrix| unsafe {
            std::slice::from_raw_parts(matrix.as_ptr(), rows * columns)
        });
    }
    let mut values = Vec::with_capacity(rows * columns);
    for j in 0..columns {
        values.extend((0..rows).map(|i| matrix[(i, j)]));
    }
    values.into()
}

impl<T: Clone + Send + Sync + 'static> Memory<T> {
    /// The values as an owned vector: moved if this is the only reference to an owned vector, copied otherwise.
    pub fn into_vec(self) -> Vec<T> {
        let is_whole = |owner: &Vec<T>| (owner.as_ptr(), owner.len()) == (self.as_ptr(), self.len());
        if !self.keeper.downcast_ref().is_some_and(is_whole) {
            return self.to_vec();
        }
        match self.keeper.downcast::<Vec<T>>() {
            Ok(values) => Arc::unwrap_or_clone(values),
            Err(_) => unreachable!("the keeper is a vector"),
        }
    }
}

impl<T> Clone for Memory<T> {
    fn clone(&self) -> Self {
        Memory {
            start: self.start,
            length: self.length,
            keeper: Arc::clone(&self.keeper),
        }
    }
}

impl<T: PartialEq> PartialEq for Memory<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: fmt::Debug> fmt::Debug for Memory<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(out)
    }
}

/// Runs a function on borrowed values, without a copy.
///
/// Every clone of the [`Memory`] must be dropped before `run` returns. Otherwise the process is aborted, because the values
/// may be freed next.
///
/// ```
/// use wstar_numeric::buffer::lend;
/// let sum: f64 = lend(&[1.0, 2.0], |values| values.iter().sum());
/// assert_eq!(sum, 3.0);
/// ```
pub fn lend<T, R>(values: &[T], run: impl FnOnce(Memory<T>) -> R) -> R {
    struct Loan(Arc<dyn Any + Send + Sync>);
    impl Drop for Loan {
        fn drop(&mut self) {
            if Arc::get_mut(&mut self.0).is_none() {
                std::process::abort();
            }
        }
    }
    // The loan is dropped on every exit from `run`, including a panic.
    let loan = Loan(Arc::new(()));
    run(Memory {
        start: NonNull::from(values).cast(),
        length: values.len(),
        keeper: Arc::clone(&loan.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_values_are_returned_without_a_copy() {
        let values = vec![1.0, 2.0, 3.0];
        let address = values.as_ptr();
        let memory = Memory::from(values);
        assert_eq!(memory[1..], [2.0, 3.0]);
        let copy = memory.clone();
        assert_eq!(copy, memory);
        drop(copy);
        let values = memory.into_vec();
        assert_eq!((values.as_ptr(), values.len()), (address, 3));
    }

    #[test]
    fn borrowed_values_are_read_in_place_and_copied_to_outlive_the_loan() {
        let values = [1.0f32, 2.0];
        let kept = lend(&values, |memory| {
            assert_eq!(memory.as_ptr(), values.as_ptr());
            memory.clone().into_vec()
        });
        assert_eq!(kept, values);
        assert!(lend(&[] as &[f64], |memory| memory.is_empty()));
    }

    #[test]
    fn an_owner_stays_alive_as_long_as_its_values() {
        struct Owner([f64; 2], std::sync::mpsc::Sender<()>);
        impl Drop for Owner {
            fn drop(&mut self) {
                self.1.send(()).unwrap();
            }
        }
        let (send, dropped) = std::sync::mpsc::channel();
        let memory = Memory::of_owner(Owner([1.0, 2.0], send), |owner| &owner.0);
        let copy = memory.clone();
        drop(memory);
        assert!(dropped.try_recv().is_err());
        assert_eq!(copy[..], [1.0, 2.0]);
        drop(copy);
        assert!(dropped.try_recv().is_ok());
    }

    #[test]
    fn a_range_of_a_vector_becomes_a_vector_of_that_range() {
        let memory = Memory::of_owner(vec![1.0, 2.0, 3.0], |values| &values[1..]);
        assert_eq!(memory.into_vec(), [2.0, 3.0]);
    }

    #[test]
    fn columns_of_faer_are_used_in_place_unless_they_are_padded() {
        for rows in [3, 8, 64] {
            let matrix = faer::Mat::from_fn(rows, 2, |i, j| (10 * i + j) as f64);
            let (address, padded) = (matrix.as_ptr(), matrix.col_stride() != rows as isize);
            let memory = of_columns(matrix);
            assert_eq!(memory.as_ptr() == address, !padded);
            assert_eq!(memory.len(), 2 * rows);
            assert_eq!(memory[rows], 1.0);
        }
    }

    #[test]
    fn a_panic_ends_the_loan() {
        let caught = std::panic::catch_unwind(|| lend(&[1.0], |memory| assert!(memory.is_empty())));
        assert!(caught.is_err());
    }
}

//! Numbers that are our own or someone else's, read through one pointer either way: a matrix of another language
//! is used where it lies, and the loops over our own matrices ask nothing more than before.
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A run of values that stays where it is for as long as anyone holds it.
pub struct Memory<T> {
    start: NonNull<T>,
    length: usize,
    /// The vector that the values lie in, or the token of a loan.
    keeper: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the values are only ever read, and their keeper may go to any thread.
unsafe impl<T: Send + Sync> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Memory<T> {}

impl<T> Deref for Memory<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `start` and `length` are those of a slice that the keeper keeps alive and unchanged: a vector
        // that nobody else can reach, or a loan that does not end while a clone of its token is about.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Send + Sync + 'static> From<Vec<T>> for Memory<T> {
    fn from(values: Vec<T>) -> Self {
        let keeper = Arc::new(values);
        Memory {
            start: NonNull::from(keeper.as_slice()).cast(),
            length: keeper.len(),
            keeper,
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Memory<T> {
    /// The values as a vector of our own: moved if nobody else holds them, else copied.
    pub fn into_vec(self) -> Vec<T> {
        let Memory {
            start,
            length,
            keeper,
        } = self;
        match keeper.downcast::<Vec<T>>() {
            Ok(values) => Arc::unwrap_or_clone(values),
            Err(keeper) => Memory {
                start,
                length,
                keeper,
            }
            .to_vec(),
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

/// Runs something on someone else's values, without a copy.
///
/// Whatever is made of them must be gone when `run` returns; a caller who keeps some ends the process, because
/// the values may vanish next.
///
/// ```
/// use wstar::kernel::memory::lend;
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
    // Its end comes when `run` is left in whatever way, a panic included.
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
    fn our_own_values_come_back_without_a_copy() {
        let values = vec![1.0, 2.0, 3.0];
        let place = values.as_ptr();
        let memory = Memory::from(values);
        assert_eq!(memory[1..], [2.0, 3.0]);
        let copy = memory.clone();
        assert_eq!(copy, memory);
        drop(copy);
        let values = memory.into_vec();
        assert_eq!((values.as_ptr(), values.len()), (place, 3));
    }

    #[test]
    fn lent_values_are_read_in_place_and_copied_when_they_must_outlive_the_loan() {
        let values = [1.0f32, 2.0];
        let kept = lend(&values, |memory| {
            assert_eq!(memory.as_ptr(), values.as_ptr());
            memory.clone().into_vec()
        });
        assert_eq!(kept, values);
        assert!(lend(&[] as &[f64], |memory| memory.is_empty()));
    }

    #[test]
    fn a_panic_ends_the_loan_too() {
        let caught = std::panic::catch_unwind(|| lend(&[1.0], |memory| assert!(memory.is_empty())));
        assert!(caught.is_err());
    }
}

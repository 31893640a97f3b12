//! Computations modulo a prime, repeated with the next prime if one is unlucky.

use crate::exact::exact_outcome::{ExactOutcome, Stop};
use crate::exact::modular::Field;

/// The result modulo the first prime that is not unlucky for the data.
pub(super) fn over_primes<T>(attempt: impl Fn(Field) -> Result<T, Stop>) -> ExactOutcome<T> {
    for field in Field::all() {
        match attempt(field) {
            Ok(found) => return ExactOutcome::Found(found),
            Err(Stop::Absent) => return ExactOutcome::Absent,
            Err(Stop::BudgetSpent) => return ExactOutcome::BudgetSpent,
            Err(Stop::BadPrime) => {}
        }
    }
    ExactOutcome::Absent
}

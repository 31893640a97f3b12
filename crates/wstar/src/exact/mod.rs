//! Exact arithmetic over the binary64 numbers that were read: every one is an integer times a power of two.
//!
//! Signs of scores, convex combinations that vanish, ranks and null vectors, all without rounding. What a
//! solver finds in floating point is only a hint here; what comes back is true.

mod circuit;
mod dixon;
mod integers;
mod long;
mod modular;
mod null;
mod orthogonal;
mod reconstruct;
mod sign;
mod simplex;
mod span;

pub use circuit::circuit;
pub use null::{null_vectors, vanishing};
pub use sign::{Plane, sign, sign_rational};
pub use span::rank_at_least;

pub(crate) use circuit::vanishes;
pub(crate) use long::{Words, lowest_bit};
pub(crate) use orthogonal::{are_independent, first_not_orthogonal};
pub(crate) use sign::dyadic;
pub(crate) use simplex::{Alternative, gordan};

use std::time::{Duration, Instant};

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::One;

use crate::data::Design;
use modular::Field;

/// Rows `aᵢ = yᵢ(xᵢ, 1)` of two classes; without an intercept `aᵢ = yᵢxᵢ`.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// The points `xᵢ`.
    pub design: &'a Design,
    /// `yᵢ`: +1 or −1; 0 where the row takes no part.
    pub signs: &'a [i8],
    /// Whether the rows end in a 1.
    pub intercept: bool,
}

impl Signed<'_> {
    /// The number of coordinates of a row, the last being that of the intercept where there is one.
    pub fn width(&self) -> usize {
        self.design.features() + usize::from(self.intercept)
    }

    /// The rows that take part, in order.
    pub fn participants(&self) -> impl Iterator<Item = usize> {
        (0..self.design.rows()).filter(|&i| self.signs.get(i).is_some_and(|&y| y != 0))
    }

    /// Calls `visit(coordinate, value)` for the stored entries of `aᵢ`, in order.
    pub fn for_each(&self, i: usize, mut visit: impl FnMut(usize, f64)) {
        let y = f64::from(self.signs[i].signum());
        self.design.row(i).for_each(|j, x| visit(j, y * x));
        if self.intercept {
            visit(self.design.features(), y);
        }
    }
}

/// Until when exact arithmetic may go on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Budget {
    until: Option<Instant>,
}

impl Budget {
    /// As long as it takes.
    pub fn unlimited() -> Self {
        Budget::default()
    }

    /// So long from now.
    pub fn within(time: Duration) -> Self {
        Budget {
            until: Instant::now().checked_add(time),
        }
    }

    /// Whether the time is over.
    pub fn is_spent(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// What exact arithmetic came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exactly<T> {
    /// This.
    Found(T),
    /// There is none among the candidates.
    Absent,
    /// It was not decided in time.
    BudgetSpent,
}

impl<T> Exactly<T> {
    /// What was found, if anything was.
    pub fn found(self) -> Option<T> {
        match self {
            Exactly::Found(value) => Some(value),
            Exactly::Absent | Exactly::BudgetSpent => None,
        }
    }
}

/// Why a computation ended without its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// There is none.
    Absent,
    /// The time was over.
    BudgetSpent,
    /// Modulo this prime the data look other than they are.
    BadPrime,
}

/// The result modulo the first prime that is not bad for the data.
fn over_primes<T>(attempt: impl Fn(Field) -> Result<T, Stop>) -> Exactly<T> {
    for field in Field::all() {
        match attempt(field) {
            Ok(found) => return Exactly::Found(found),
            Err(Stop::Absent) => return Exactly::Absent,
            Err(Stop::BudgetSpent) => return Exactly::BudgetSpent,
            Err(Stop::BadPrime) => {}
        }
    }
    Exactly::Absent
}

/// Weights λ > 0 with `Σλᵢaᵢ = 0`, summing to 1 over each class (without an intercept: in all).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circuit {
    /// The rows, increasing.
    pub points: Vec<u64>,
    /// Their weights, over a common denominator that need not be the least of each.
    pub weights: Vec<BigRational>,
}

/// The integers that are `v` times the least common denominator.
pub fn cleared(v: &[BigRational]) -> Vec<BigInt> {
    let mut common = BigInt::one();
    for value in v {
        if !common.is_multiple_of(value.denom()) {
            common = common.lcm(value.denom());
        }
    }
    v.iter()
        .map(|value| value.numer() * (&common / value.denom()))
        .collect()
}

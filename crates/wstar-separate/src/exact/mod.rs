//! Exact arithmetic over binary64 inputs: every finite double is an integer times a power of two.
//!
//! Signs of scores, vanishing convex combinations, ranks and null vectors are computed without rounding.
//! Floating-point results of a solver serve only as hints; what is returned is verified exactly.
//!
//! - [`circuit()`]: exact weights of a vanishing combination, from floating-point ones.
//! - `common_denominator`: rationals as integers over their least common denominator.
//! - `deadline`: the time limit of a computation.
//! - `dixon`: rational solutions of square integer systems by p-adic lifting.
//! - `dyadic`: a double as an odd integer times a power of two.
//! - `exact_outcome`: how a computation can end.
//! - `integer_scaling`: doubles as integers and as residues modulo a prime.
//! - `integer_simplex`: Gordan's alternative by the simplex method in integers.
//! - `long_sums`: sums of products of doubles and long integers.
//! - `modular`: arithmetic and elimination modulo a 57-bit prime.
//! - `null_vectors`: vectors orthogonal to rows.
//! - `orthogonality`: checks that vectors are orthogonal to rows, and independent.
//! - `over_primes`: computations that are repeated if a prime is unlucky.
//! - `rank`: a lower bound on the rank, modulo a prime.
//! - `rational_reconstruction`: rationals from residues.
//! - [`mod@sign`]: the sign of `w·x + b`.
//! - `signed_rows`: the rows of two classes with their signs.

pub(crate) mod circuit;
mod common_denominator;
mod deadline;
mod dixon;
mod dyadic;
mod exact_outcome;
mod integer_scaling;
mod integer_simplex;
mod long_sums;
mod modular;
mod null_vectors;
mod orthogonality;
mod over_primes;
mod rank;
mod rational_reconstruction;
pub mod sign;
mod signed_rows;

pub use circuit::{Circuit, circuit};
pub use common_denominator::cleared;
pub use deadline::Deadline;
pub use exact_outcome::ExactOutcome;
pub use null_vectors::{null_vectors, vanishing};
pub use rank::rank_at_least;
pub use sign::{Plane, sign};
pub use signed_rows::Signed;

pub(crate) use circuit::vanishes;
pub(crate) use dyadic::dyadic;
pub(crate) use integer_simplex::{Alternative, gordan};
pub(crate) use long_sums::{Words, lowest_bit};
pub(crate) use orthogonality::{are_independent, first_not_orthogonal};

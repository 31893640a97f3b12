//! Tests against exact arithmetic, and mutants that show that these tests can fail.

#![allow(clippy::print_stdout)] // The numbers of problems that were proved.
#![allow(clippy::needless_range_loop, clippy::assign_op_pattern)] // Formulas as in a textbook.

mod active_sets;
mod elementary_functions;
mod exact;
mod gaps;
mod geometry;
mod gradients;
mod inverse_factors;
mod likelihoods;
mod mistake_bounds;
mod precisely;
mod proved_digits;
mod random_case;
mod random_problems;
mod random_rows;
mod reading;
mod separations;
mod softmax_gaps;
mod speed;

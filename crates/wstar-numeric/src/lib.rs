//! Numerical kernels of wstar: SIMD loops over dense and sparse rows, compensated and double-double arithmetic, small
//! dense factorisations, number parsing and memory mapping. This is the only crate with `unsafe` code; every `unsafe`
//! block states its condition, and every SIMD kernel is tested against a scalar reference implementation.
//!
//! Vectors and rows:
//! - [`dense`], [`sparse`], [`strided_rows`]: dot products and updates of one row, contiguous, sparse or strided.
//! - [`interleaved_rows`]: blocks of short sparse rows in the SELL format, sixteen rows side by side.
//! - [`row_times_matrix`], [`block_times_matrix`]: one row, or a block of dense rows, against several vectors at once.
//! - [`gram`], [`second_moments`]: weighted Gram matrices; all second moments of (x, 1, y).
//! - `register_tile`: the innermost loop of both, a tile of products held in registers.
//! - [`softplus`]: log(1 + e^(−m)) with its derivatives, and exponentials, for many numbers at once.
//! - [`find_rare`]: a search for a rare value in a long column.
//!
//! Arithmetic and factorisations:
//! - [`double_double`]: double-double numbers and compensated sums.
//! - [`linalg`]: Householder QR, an updating QR, Cholesky in double-double, and a matrix that grows in place.
//! - [`tail_probabilities`]: tails and quantiles of the normal, Student's t and F distributions.
//! - [`agreement`]: when two results computed in different orders count as equal.
//!
//! Text and memory:
//! - [`decimal`]: correctly rounded parsing of decimal numbers, also 32 or 64 bytes at a time.
//! - [`buffer`]: a slice that is owned or borrowed from a caller in another language.
//! - [`memory_map`], [`prefetch`]: memory-mapped files and cache prefetching.
//! - `dispatch`: a macro that compiles one loop for several instruction sets and picks one at run time.

pub mod agreement;
pub mod block_times_matrix;
pub mod buffer;
pub mod decimal;
pub mod dense;
mod dispatch;
pub mod double_double;
pub mod find_rare;
pub mod gram;
pub mod interleaved_rows;
pub mod linalg;
pub mod memory_map;
pub mod prefetch;
mod register_tile;
pub mod row_times_matrix;
pub mod second_moments;
pub mod softplus;
pub mod sparse;
pub mod strided_rows;
pub mod tail_probabilities;

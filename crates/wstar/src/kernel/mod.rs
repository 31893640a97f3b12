//! The hot loops. The only room where `unsafe` and SIMD may live, each with its reason and a test
//! against the plain version.

pub mod census;
pub mod decimal;
pub mod dense;
pub mod double_double;
pub mod gram;
pub mod interleaved;
pub mod logistic;
pub mod map;
pub mod memory;
pub mod moments;
pub mod outputs;
pub mod prefetch;
pub mod rounding;
pub mod scan;
pub mod several;
pub mod sparse;
pub mod strided;
mod tile;
mod widest;

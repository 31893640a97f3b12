//! A criterion by which two numbers that were computed in different orders of summation count as equal.

/// The relative difference allowed between a stored number and the same number recomputed.
/// Heuristic: far above the rounding errors of another order of summation, far below any difference that matters;
/// not measured yet.
pub const AGREEMENT: f64 = 1e-9;

/// Whether two numbers agree up to rounding.
pub fn agree(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= AGREEMENT * a.abs().max(b.abs())
}

//! Scaling by powers of two, which is exact.

/// The power of two 2ᵏ for which `value`·2ᵏ is closest to 1; 1 if `value` is 0 or not finite.
pub fn power_of_two(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 1.0;
    }
    let exponent = (value.log2().round() as i64).clamp(-1000, 1000);
    f64::from_bits(((1023 - exponent) as u64) << 52)
}

//! A double as an odd integer times a power of two.

/// `(m, e)` with `value = m·2^e`, where `m` is odd or `value` is 0.
pub(crate) fn dyadic(value: f64) -> (i64, i32) {
    let bits = value.to_bits();
    let field = ((bits >> 52) & 0x7FF) as i32;
    let stored = (bits & ((1 << 52) - 1)) as i64;
    let (mantissa, exponent) = match field {
        0 => (stored, -1074),
        _ => (stored | 1 << 52, field - 1075),
    };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    let odd = mantissa >> zeros;
    (if value < 0.0 { -odd } else { odd }, exponent + zeros as i32)
}

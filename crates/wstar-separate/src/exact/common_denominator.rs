//! Rationals as integers over their least common denominator.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::One;

/// `v` times its least common denominator, as integers.
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

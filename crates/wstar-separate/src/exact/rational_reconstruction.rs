//! Rational reconstruction: short n and d with `n ≡ d·u (mod M)`.
//!
//! The method is Euclid's algorithm on (M, u), stopped halfway (P. S. Wang, M. J. T. Guy, J. H. Davenport,
//! P-adic reconstruction of rational numbers, SIGSAM Bulletin 16, 1982). Lehmer's variant computes
//! quotients from the leading words, so that the long numbers are updated once per about thirty bits (D. H.
//! Lehmer, Euclid's algorithm for large numbers, 1938; D. E. Knuth, The Art of Computer Programming 2,
//! 4.5.2, algorithm L).

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::Zero;

/// Bits by which M must exceed |n|·d for a result to be accepted. Heuristic: trades digits of
/// M for accidental results, which the caller's check of the solution rejects; not measured yet.
const SURPLUS: u64 = 48;

/// n and d > 0 with `n ≡ d·u (mod M)` and |n|·d shorter than M by `SURPLUS` bits; `None` if there is no
/// such pair.
pub(super) fn rational(residue: &BigUint, modulus: &BigUint) -> Option<(BigInt, BigUint)> {
    let bits = modulus.bits();
    let stop = bits.saturating_sub(SURPLUS) / 2;
    let mut state = Euclid {
        large: modulus.clone(),
        small: residue % modulus,
        before: BigUint::ZERO,
        now: BigUint::from(1u32),
        odd: false,
    };
    while state.small.bits() > stop {
        // Lehmer steps while far from the end; single quotients near it, so that the end is not passed
        // over. Derived: a Lehmer step works on the leading 62 bits.
        if state.small.bits() <= stop + 70 || !state.leap() {
            state.step();
        }
    }
    if state.small.bits() + state.now.bits() + SURPLUS > bits || state.now.is_zero() {
        return None;
    }
    let sign = if state.odd { Sign::Minus } else { Sign::Plus };
    Some((BigInt::from_biguint(sign, state.small), state.now))
}

/// Two successive remainders (`large`, `small`) and the sizes of their cofactors of `u` (`before`, `now`).
/// The signs of the cofactors alternate.
struct Euclid {
    large: BigUint,
    small: BigUint,
    before: BigUint,
    now: BigUint,
    /// Whether the cofactor of the smaller remainder is negative.
    odd: bool,
}

impl Euclid {
    fn step(&mut self) {
        let (quotient, rest) = self.large.div_rem(&self.small);
        self.large = std::mem::replace(&mut self.small, rest);
        let next = &self.before + quotient * &self.now;
        self.before = std::mem::replace(&mut self.now, next);
        self.odd = !self.odd;
    }

    /// As many steps as the leading words determine; `false` if they determine none.
    fn leap(&mut self) -> bool {
        let shift = self.large.bits() - 62;
        let leading = |value: &BigUint| (value >> shift).iter_u64_digits().next().unwrap_or(0) as i64;
        let (mut a, mut b) = (leading(&self.large), leading(&self.small));
        // The remainders are (x·large + y·small, z·large + w·small); the signs alternate.
        let [mut x, mut y, mut z, mut w] = [1i64, 0, 0, 1];
        let mut steps = 0;
        while b + z != 0 && b + w != 0 {
            let quotient = (a + x) / (b + z);
            if quotient != (a + y) / (b + w) {
                break;
            }
            let next = |before: i64, now: i64| quotient.checked_mul(now).and_then(|p| before.checked_sub(p));
            let (Some(next_z), Some(next_w), Some(next_b)) = (next(x, z), next(y, w), next(a, b)) else {
                break;
            };
            // Cap: cofactors have at most 31 bits, half of the leading words; a longer one ends the step.
            if next_z.unsigned_abs() >= 1 << 31 || next_w.unsigned_abs() >= 1 << 31 {
                break;
            }
            (x, z) = (z, next_z);
            (y, w) = (w, next_w);
            (a, b) = (b, next_b);
            steps += 1;
        }
        if y == 0 {
            return false;
        }
        let mix = |p: i64, q: i64| {
            let (p_part, q_part) = (&self.large * p.unsigned_abs(), &self.small * q.unsigned_abs());
            if p_part > q_part {
                p_part - q_part
            } else {
                q_part - p_part
            }
        };
        let (large, small) = (mix(x, y), mix(z, w));
        let join = |p: i64, q: i64| &self.before * p.unsigned_abs() + &self.now * q.unsigned_abs();
        let (before, now) = (join(x, y), join(z, w));
        (self.large, self.small, self.before, self.now) = (large, small, before, now);
        self.odd ^= steps % 2 == 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::{One, Signed};
    use proptest::prelude::*;

    fn long(bytes: &[u8]) -> BigUint {
        BigUint::from_bytes_le(bytes) + 1u32
    }

    proptest! {
        #[test]
        fn quotients_are_reconstructed(n in prop::collection::vec(any::<u8>(), 0..120), d in prop::collection::vec(any::<u8>(), 0..120), negative in any::<bool>()) {
            let (n, d) = (long(&n), long(&d));
            let common = n.gcd(&d);
            let (n, d) = (n / &common, d / &common);
            let sign = if negative { Sign::Minus } else { Sign::Plus };
            let n = BigInt::from_biguint(sign, n);
            let longest = n.bits().max(d.bits());
            // A power of a prime that divides neither n nor d.
            let prime = BigUint::from((1u64 << 57) - 13);
            let modulus = prime.pow((2 * longest + 60).div_ceil(57) as u32);
            let inverse = d.modinv(&modulus).unwrap();
            let residue = (n.clone() * BigInt::from(inverse)).mod_floor(&BigInt::from(modulus.clone()));
            let found = rational(&residue.to_biguint().unwrap(), &modulus);
            prop_assert_eq!(found, Some((n, d)));
        }

        #[test]
        fn random_residues_are_rejected(residue in prop::collection::vec(any::<u8>(), 36)) {
            let modulus = BigUint::from((1u64 << 57) - 13).pow(5);
            let found = rational(&long(&residue), &modulus);
            prop_assert!(found.is_none());
        }
    }

    #[test]
    fn integers_are_reconstructed() {
        let modulus = BigUint::from((1u64 << 57) - 13).pow(4);
        for n in [0u32, 1, 7] {
            let (found, d) = rational(&BigUint::from(n), &modulus).unwrap();
            assert_eq!((found, d), (BigInt::from(n), BigUint::one()));
        }
        let (found, _) = rational(&(&modulus - 5u32), &modulus).unwrap();
        assert!(found.is_negative() && found == BigInt::from(-5));
    }
}

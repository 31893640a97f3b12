//! A compact encoding of the multipliers of a few rows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use wstar_data::error::{Error, Result};

/// The positions of the multipliers of some rows within their ranges, from 0 at one end to 1 at the other, or the multipliers
/// themselves where the range is unbounded.
///
/// Differences of row indices are stored as varints, positions ("shares") as little-endian binary64 or as 16-bit fractions;
/// both are in base64.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredDual {
    rows: String,
    shares: String,
    /// Whether the shares are 16-bit fractions.
    coarse: bool,
}

/// The largest 16-bit integer, which represents a share of 1.
const WHOLE: f64 = u16::MAX as f64;

impl StoredDual {
    /// Encodes pairs of row and share, the shares with 16 bits if `coarse`. The rows must increase strictly.
    pub fn new(pairs: &[(u64, f64)], coarse: bool) -> Self {
        let mut rows = Vec::new();
        let mut shares = Vec::with_capacity(8 * pairs.len());
        let mut last = 0;
        for &(row, share) in pairs {
            let mut distance = row - last;
            last = row;
            while distance >= 0x80 {
                rows.push(distance as u8 | 0x80);
                distance >>= 7;
            }
            rows.push(distance as u8);
            if coarse {
                shares.extend_from_slice(&((share * WHOLE).round() as u16).to_le_bytes());
            } else {
                shares.extend_from_slice(&share.to_le_bytes());
            }
        }
        StoredDual {
            rows: STANDARD_NO_PAD.encode(rows),
            shares: STANDARD_NO_PAD.encode(shares),
            coarse,
        }
    }

    /// Decodes the pairs of row and share.
    pub fn pairs(&self) -> Result<Vec<(u64, f64)>> {
        let damaged = || Error::model("the stored multipliers are damaged");
        let rows = STANDARD_NO_PAD.decode(&self.rows).map_err(|_| damaged())?;
        let mut pairs: Vec<(u64, f64)> = Vec::new();
        let mut bytes = rows.iter();
        for share in self.shares()? {
            let mut distance = 0u64;
            let mut shift = 0;
            loop {
                let &byte = bytes.next().ok_or_else(damaged)?;
                if shift > 56 {
                    return Err(damaged());
                }
                distance |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            let row = match pairs.last() {
                None => distance,
                Some(_) if distance == 0 => return Err(damaged()),
                Some((last, _)) => last.checked_add(distance).ok_or_else(damaged)?,
            };
            if !share.is_finite() {
                return Err(damaged());
            }
            pairs.push((row, share));
        }
        match bytes.next() {
            None => Ok(pairs),
            Some(_) => Err(damaged()),
        }
    }

    fn shares(&self) -> Result<Vec<f64>> {
        let damaged = || Error::model("the stored multipliers are damaged");
        let bytes = STANDARD_NO_PAD.decode(&self.shares).map_err(|_| damaged())?;
        let (shares, rest): (Vec<f64>, &[u8]) = if self.coarse {
            let (shares, rest) = bytes.as_chunks();
            let whole = |share: &[u8; 2]| f64::from(u16::from_le_bytes(*share)) / WHOLE;
            (shares.iter().map(whole).collect(), rest)
        } else {
            let (shares, rest) = bytes.as_chunks();
            (
                shares.iter().map(|share| f64::from_le_bytes(*share)).collect(),
                rest,
            )
        };
        if rest.is_empty() {
            Ok(shares)
        } else {
            Err(damaged())
        }
    }
}

/// The multiplier, for a weight of 1, of a stored share: its position between the ends −`greatest` and −`least` of its range;
/// t/(1 + t) for the distance t from the only finite end; the multiplier itself if there is none.
pub fn multiplier(least: f64, greatest: f64, share: f64) -> f64 {
    match (least.is_finite(), greatest.is_finite()) {
        (true, true) => -greatest + share * (greatest - least),
        (true, false) => -share / (1.0 - share) - least,
        (false, true) => share / (1.0 - share) - greatest,
        (false, false) => share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pairs_round_trip(mut rows in prop::collection::vec(0..u64::MAX / 2, 0..50), shares in prop::collection::vec(0.0..=1.0f64, 50)) {
            rows.sort_unstable();
            rows.dedup();
            rows.iter_mut().for_each(|row| *row >>= 8);
            rows.dedup();
            let pairs: Vec<(u64, f64)> = rows.into_iter().zip(shares).collect();
            prop_assert_eq!(&StoredDual::new(&pairs, false).pairs().unwrap(), &pairs);
            let coarse = StoredDual::new(&pairs, true).pairs().unwrap();
            prop_assert_eq!(coarse.len(), pairs.len());
            for (coarse, fine) in coarse.iter().zip(&pairs) {
                prop_assert!(coarse.0 == fine.0 && (coarse.1 - fine.1).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn damaged_encodings_are_refused() {
        let mut stored = StoredDual::new(&[(3, 0.5), (4, 1.0)], false);
        stored.rows.pop();
        assert!(stored.pairs().is_err());
        for share in [f64::NAN, f64::INFINITY] {
            assert!(StoredDual::new(&[(3, share)], false).pairs().is_err());
        }
    }
}

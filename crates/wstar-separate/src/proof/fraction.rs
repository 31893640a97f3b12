//! The numbers of a proof: doubles, and decimal fractions of any length.

use std::collections::hash_map::Entry;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Zero};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use wstar_data::error::{Error, Result, shown};

/// A coefficient of a hyperplane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fraction {
    /// A double.
    Double(f64),
    /// `"p/q"`, or `"p"`.
    Fraction(String),
}

impl Fraction {
    /// All values as doubles if every one is exact, otherwise all as fractions.
    pub fn all(values: &[BigRational]) -> Vec<Fraction> {
        let doubles: Option<Vec<Fraction>> = values
            .iter()
            .map(|value| double(value).map(Fraction::Double))
            .collect();
        doubles.unwrap_or_else(|| fractions(values).into_iter().map(Fraction::Fraction).collect())
    }
}

/// The double equal to a rational, if there is one.
fn double(value: &BigRational) -> Option<f64> {
    if value.is_zero() {
        return Some(0.0);
    }
    let (n, d) = (value.numer(), value.denom());
    let (quotient, rest) = n.div_rem(&(d >> d.trailing_zeros().unwrap_or(0)));
    let twos = d.trailing_zeros().unwrap_or(0) as i64;
    if !rest.is_zero() {
        return None;
    }
    let zeros = quotient.trailing_zeros().unwrap_or(0);
    let mantissa = i64::try_from(quotient >> zeros)
        .ok()
        .filter(|m| m.unsigned_abs() <= 1 << 53)?;
    let exponent = zeros as i64 - twos;
    // The power of two is applied in two factors, because 2^e alone may be out of range where the product
    // is not.
    if exponent.abs() > 2000 {
        return None;
    }
    let half = (exponent / 2) as i32;
    let size = mantissa as f64 * 2f64.powi(half) * 2f64.powi(exponent as i32 - half);
    let back = BigRational::from_float(size)?;
    (&back == value).then_some(size)
}

/// `"p/q"` of each value, not reduced.
pub(super) fn fractions(values: &[BigRational]) -> Vec<String> {
    // Many values share a denominator, and formatting a long one is expensive.
    let mut written: FxHashMap<&BigInt, String> = FxHashMap::default();
    for value in values {
        if let Entry::Vacant(entry) = written.entry(value.denom()) {
            entry.insert(value.denom().to_string());
        }
    }
    let write = |value: &BigRational| match value.denom().is_one() {
        true => value.numer().to_string(),
        false => format!("{}/{}", value.numer(), written[value.denom()]),
    };
    values.par_iter().map(write).collect()
}

/// Cap: least common multiples taken of distinct denominators; beyond it the fractions are rejected. The
/// denominators of a solution with reduced terms agree after a few.
const MAX_JOINS: usize = 256;

/// Integers over a common denominator.
#[derive(Debug)]
pub(super) struct Fractions {
    pub(super) numerators: Vec<BigInt>,
    pub(super) denominator: BigInt,
}

/// An upper bound on the decimal digits of a number with so many bits.
fn most_digits(bits: u64) -> usize {
    usize::try_from(bits / 3 + 2).unwrap_or(usize::MAX)
}

/// Parses an integer without superfluous signs or leading zeros.
pub(super) fn integer(text: &str, most_bits: u64) -> Result<BigInt> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
        && (!digits.starts_with('0') || text == "0");
    if !plain {
        return Err(Error::model(format!("{} is not an integer", shown(text))));
    }
    if digits.len() > most_digits(most_bits) {
        return Err(Error::model(format!(
            "a number of {} digits is longer than these data can call for",
            digits.len()
        )));
    }
    text.parse()
        .map_err(|_| Error::model(format!("{} is not an integer", shown(text))))
}

/// Parses fractions and brings them to a common denominator. No number may exceed `most_bits`.
pub(super) fn parse(texts: &[&str], most_bits: u64) -> Result<Fractions> {
    let parts: Vec<(&str, &str)> = texts
        .iter()
        .map(|text| text.split_once('/').unwrap_or((text, "1")))
        .collect();
    let mut denominators: FxHashMap<&str, BigInt> = FxHashMap::default();
    let mut common = BigInt::one();
    let mut joins = 0;
    for &(_, q) in &parts {
        let Entry::Vacant(entry) = denominators.entry(q) else {
            continue;
        };
        let denominator = integer(q, most_bits)?;
        if denominator.sign() != Sign::Plus {
            return Err(Error::model(format!("{} is no denominator", shown(q))));
        }
        if !common.is_multiple_of(&denominator) {
            common = if denominator.is_multiple_of(&common) {
                denominator.clone()
            } else {
                joins += 1;
                common.lcm(&denominator)
            };
            if common.bits() > most_bits || joins > MAX_JOINS {
                return Err(Error::model("the denominators have too little in common"));
            }
        }
        entry.insert(denominator);
    }
    let factors: FxHashMap<&str, BigInt> = denominators
        .into_iter()
        .map(|(q, denominator)| (q, &common / denominator))
        .collect();
    let numerators = parts
        .par_iter()
        .map(|&(p, q)| {
            let numerator = integer(p, most_bits)?;
            Ok(match factors[q].is_one() {
                true => numerator,
                false => numerator * &factors[q],
            })
        })
        .collect::<Result<_>>()?;
    Ok(Fractions {
        numerators,
        denominator: common,
    })
}

//! The numbers of a proof: doubles, and fractions of any length in decimal.

use std::collections::hash_map::Entry;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Zero};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, shown};

/// A number of a hyperplane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A double.
    Double(f64),
    /// `"p/q"`, or `"p"`.
    Fraction(String),
}

impl Number {
    /// All as doubles if that is exact, else all as fractions.
    pub fn all(values: &[BigRational]) -> Vec<Number> {
        let doubles: Option<Vec<Number>> = values
            .iter()
            .map(|value| double(value).map(Number::Double))
            .collect();
        doubles.unwrap_or_else(|| fractions(values).into_iter().map(Number::Fraction).collect())
    }
}

/// The double that is equal to a rational, if there is one.
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
    // In two steps, for 2^e alone may leave the range of doubles where the product does not.
    if exponent.abs() > 2000 {
        return None;
    }
    let half = (exponent / 2) as i32;
    let size = mantissa as f64 * 2f64.powi(half) * 2f64.powi(exponent as i32 - half);
    let back = BigRational::from_float(size)?;
    (&back == value).then_some(size)
}

/// `"p/q"` of each, as they are.
pub(super) fn fractions(values: &[BigRational]) -> Vec<String> {
    // Many share a denominator, which is long to write.
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

/// The denominators of a proof that are not equal may be joined so many times: those of a solution that was
/// reduced term by term agree after a few.
const MOST_JOINS: usize = 256;

/// Integers and the common denominator that they are to be divided by.
#[derive(Debug)]
pub(super) struct Fractions {
    pub(super) numerators: Vec<BigInt>,
    pub(super) denominator: BigInt,
}

/// Decimal digits that a number of so many bits can have.
fn most_digits(bits: u64) -> usize {
    usize::try_from(bits / 3 + 2).unwrap_or(usize::MAX)
}

/// An integer without superfluous signs or zeros.
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

/// Fractions over a common denominator; none may be longer than the bits allow.
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
            if common.bits() > most_bits || joins > MOST_JOINS {
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

//! Sums of products of long integers and doubles without rounding. Positive and negative terms are
//! accumulated separately.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use crate::exact::dyadic::dyadic;

/// A long integer as sign and words, lowest word first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words {
    words: Vec<u64>,
    negative: bool,
}

impl From<&BigInt> for Words {
    fn from(value: &BigInt) -> Self {
        Words {
            words: value.iter_u64_digits().collect(),
            negative: value.sign() == Sign::Minus,
        }
    }
}

/// `Σ xᵢ·nᵢ` of doubles and long integers, in units of a power of two that divides all terms.
#[derive(Debug, Default)]
pub(crate) struct LongSum {
    added: Vec<u64>,
    taken: Vec<u64>,
}

impl LongSum {
    /// Adds `x·n/2^least`, where `x` is a multiple of `2^least`.
    pub(crate) fn add(&mut self, x: f64, n: &Words, least: i32) {
        let (mantissa, exponent) = dyadic(x);
        if mantissa == 0 || n.words.is_empty() {
            return;
        }
        let shift = (exponent - least) as usize;
        let factor = u128::from(mantissa.unsigned_abs()) << (shift % 64);
        let sum = if (mantissa < 0) == n.negative {
            &mut self.added
        } else {
            &mut self.taken
        };
        let first = shift / 64;
        add_multiple(sum, first, &n.words, factor as u64);
        add_multiple(sum, first + 1, &n.words, (factor >> 64) as u64);
    }

    /// The sign of the sum; resets the sum to 0.
    pub(crate) fn take_sign(&mut self) -> Ordering {
        let strip = |words: &mut Vec<u64>| {
            while words.last() == Some(&0) {
                words.pop();
            }
        };
        strip(&mut self.added);
        strip(&mut self.taken);
        let order = (self.added.len().cmp(&self.taken.len()))
            .then_with(|| self.added.iter().rev().cmp(self.taken.iter().rev()));
        self.added.clear();
        self.taken.clear();
        order
    }
}

/// `sum += words·factor·2^(64·first)`.
fn add_multiple(sum: &mut Vec<u64>, first: usize, words: &[u64], factor: u64) {
    if factor == 0 {
        return;
    }
    if sum.len() < first + words.len() + 1 {
        sum.resize(first + words.len() + 1, 0);
    }
    let mut carry = 0u64;
    let (target, above) = sum[first..].split_at_mut(words.len());
    for (target, &word) in target.iter_mut().zip(words) {
        let total = u128::from(word) * u128::from(factor) + u128::from(*target) + u128::from(carry);
        (*target, carry) = (total as u64, (total >> 64) as u64);
    }
    for word in above {
        if carry == 0 {
            return;
        }
        let (total, overflow) = word.overflowing_add(carry);
        (*word, carry) = (total, u64::from(overflow));
    }
    if carry != 0 {
        sum.push(carry);
    }
}

/// The exponent of the lowest set bit of a number; `None` for 0.
pub(crate) fn lowest_bit(value: f64) -> Option<i32> {
    match dyadic(value) {
        (0, _) => None,
        (_, exponent) => Some(exponent),
    }
}

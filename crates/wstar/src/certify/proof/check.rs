//! The check of a proof: arithmetic only, exact wherever the proof says so.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use rayon::prelude::*;

use super::{Combination, Interval, Normal, NullVector, Number, Proof, Verdict, interval, number};
use crate::data::Design;
use crate::error::{Error, Result};
use crate::exact::{self, Plane, Signed, Words};

/// What is proved about inexact weights: no hyperplane has a margin above this part of the largest norm.
const INEXACT: f64 = 1e-12;

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// Whether the proof holds.
    pub holds: bool,
    /// Why it does not.
    pub reason: Option<String>,
    /// Whether all of it was checked exactly; else no hyperplane has a margin above `margin.upper`, and that is all.
    pub exact: bool,
    /// The margin's interval, recomputed.
    pub margin: Interval,
}

/// Why a check ends before its end.
enum Stop {
    /// The proof says what is not so.
    Fails(String),
    /// It is no proof, or not one for these data.
    Bad(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Bad(error)
    }
}

fn fails<T>(reason: impl Into<String>) -> std::result::Result<T, Stop> {
    Err(Stop::Fails(reason.into()))
}

type Step<T = ()> = std::result::Result<T, Stop>;

impl Proof {
    /// Checks the proof against the data: the points, and `signs` with +1 for the positive class, −1 for the
    /// negative one and 0 for rows of neither. An error means that it is not a proof for such data at all.
    pub fn check(&self, design: &Design, signs: &[i8]) -> Result<Checked> {
        if (self.rows, self.features) != (design.rows() as u64, design.features() as u64) {
            return Err(Error::model(format!(
                "the proof is for {} rows × {} features, the data have {} × {}",
                self.rows,
                self.features,
                design.rows(),
                design.features()
            )));
        }
        if signs.len() != design.rows() {
            return Err(Error::data(format!(
                "{} signs for {} rows",
                signs.len(),
                design.rows()
            )));
        }
        let signed = Signed {
            design,
            signs,
            intercept: self.intercept,
        };
        let exact = self.proof.as_ref().is_none_or(|combination| combination.exact);
        let mut checked = Checked {
            holds: false,
            reason: None,
            exact,
            margin: Interval {
                lower: 0.0,
                upper: f64::MAX,
            },
        };
        match self.run(&signed, &mut checked.margin) {
            Ok(()) => checked.holds = true,
            Err(Stop::Fails(reason)) => checked.reason = Some(reason),
            Err(Stop::Bad(error)) => return Err(error),
        }
        Ok(checked)
    }

    fn run(&self, signed: &Signed<'_>, margin: &mut Interval) -> Step {
        self.parts()?;
        match (&self.hyperplane, &self.hulls, &self.proof) {
            (Some(plane), Some(hulls), None) => {
                let (weights, intercept) = doubles(plane, signed)?;
                every_sign(
                    signed,
                    |i| exact::sign(signed.design.row(i), &weights, intercept),
                    false,
                )?;
                margin.lower = interval::lower(signed, &weights, intercept);
                margin.upper = interval::upper(signed, hulls);
                if margin.upper == f64::MAX {
                    return fails("the multipliers make no points of the hulls");
                }
            }
            (plane, None, Some(combination)) => {
                vanishing(signed, combination)?;
                *margin = interval::of_combination(signed, combination);
                if !combination.exact {
                    near(signed, margin.upper)?;
                }
                match plane {
                    Some(plane) => weakly(signed, plane)?,
                    None => self.spans(signed, &combination.points)?,
                }
            }
            _ => return Err(Error::model("the proof lacks a part").into()),
        }
        if (self.margin.lower, self.margin.upper) != (margin.lower, margin.upper) {
            return fails(format!(
                "the margin is between {:e} and {:e}, not between {:e} and {:e}",
                margin.lower, margin.upper, self.margin.lower, self.margin.upper
            ));
        }
        Ok(())
    }

    /// Refuses a proof without the parts of its verdict, or with others.
    fn parts(&self) -> Result<()> {
        let has = (
            self.hyperplane.is_some(),
            self.hulls.is_some(),
            self.proof.is_some(),
        );
        let needed = match self.verdict {
            Verdict::Separable => (true, true, false),
            Verdict::QuasiSeparable => (true, false, true),
            Verdict::Inseparable => (false, false, true),
        };
        if has == needed && (self.null_vectors.is_empty() || self.verdict == Verdict::Inseparable) {
            Ok(())
        } else {
            Err(Error::model(format!(
                "the proof does not have the parts that \"{}\" takes",
                self.verdict.name()
            )))
        }
    }

    /// Whether the points span what all rows span.
    fn spans(&self, signed: &Signed<'_>, points: &[u64]) -> Step {
        let width = signed.width();
        let rows: Vec<usize> = signed.participants().collect();
        let vectors = null_vectors(&self.null_vectors, width, most_bits(signed, &rows, width))?;
        if !exact::are_independent(&vectors, width) {
            return fails("the null vectors are not independent");
        }
        if let Some(i) = exact::first_not_orthogonal(signed, &rows, &vectors) {
            return fails(format!("row {i} is not orthogonal to the null vectors"));
        }
        let points: Vec<usize> = points.iter().map(|&i| i as usize).collect();
        let rank = exact::rank_at_least(signed, &points);
        if rank + vectors.len() < width {
            return fails(format!(
                "the points span {rank} dimensions, and the null vectors allow {}",
                width - vectors.len()
            ));
        }
        Ok(())
    }
}

/// The hyperplane of a separable set, which is one of doubles.
fn doubles(plane: &Normal, signed: &Signed<'_>) -> Step<(Vec<f64>, f64)> {
    fits(plane, signed)?;
    let double = |number: &Number| match number {
        Number::Double(value) if value.is_finite() => Ok(*value),
        _ => Err(Error::model(
            "the hyperplane of a separable set is made of finite numbers",
        )),
    };
    let weights = plane.weights.iter().map(double).collect::<Result<_>>()?;
    Ok((weights, double(&plane.intercept)?))
}

fn fits(plane: &Normal, signed: &Signed<'_>) -> Step {
    if plane.weights.len() != signed.design.features() {
        return Err(Error::model("the hyperplane does not have a weight for each feature").into());
    }
    if !signed.intercept && plane.intercept != Number::Double(0.0) {
        return Err(Error::model("the hyperplane has an intercept where there is none").into());
    }
    Ok(())
}

/// Every `aᵢ·v > 0`; weakly: every one ≥ 0, and some > 0.
fn every_sign(signed: &Signed<'_>, score: impl Fn(usize) -> Ordering + Sync, weakly: bool) -> Step {
    let rows: Vec<usize> = signed.participants().collect();
    let side = |i: usize| {
        let order = score(i);
        if signed.signs[i] < 0 {
            order.reverse()
        } else {
            order
        }
    };
    let wrong = |&i: &usize| match side(i) {
        Ordering::Less => true,
        Ordering::Equal => !weakly,
        Ordering::Greater => false,
    };
    if let Some(i) = rows.par_iter().copied().find_first(wrong) {
        return fails(format!("row {i} is not on its side of the hyperplane"));
    }
    if rows.is_empty() || (weakly && !rows.par_iter().any(|&i| side(i).is_gt())) {
        return fails("no row is off the hyperplane");
    }
    Ok(())
}

fn weakly(signed: &Signed<'_>, plane: &Normal) -> Step {
    fits(plane, signed)?;
    let all = || {
        plane
            .weights
            .iter()
            .chain(signed.intercept.then_some(&plane.intercept))
    };
    if all().all(|number| matches!(number, Number::Double(_))) {
        let (weights, intercept) = doubles(plane, signed)?;
        return every_sign(
            signed,
            |i| exact::sign(signed.design.row(i), &weights, intercept),
            true,
        );
    }
    let texts = all()
        .map(|number| match number {
            Number::Fraction(text) => Ok(text.as_str()),
            Number::Double(_) => Err(Error::model("the hyperplane mixes numbers and fractions")),
        })
        .collect::<Result<Vec<&str>>>()?;
    let rows: Vec<usize> = signed.participants().collect();
    let parsed = number::parse(&texts, most_bits(signed, &rows, signed.width()))?;
    // The common denominator is positive: the numerators alone have the same signs.
    let plane = Plane::lifted(&parsed.numerators, signed.intercept);
    every_sign(signed, |i| plane.sign(signed.design.row(i)), true)
}

/// The combination's points are rows that take part, each once, and its weights make their sum vanish.
fn vanishing(signed: &Signed<'_>, combination: &Combination) -> Step {
    let Combination {
        points,
        weights,
        exact,
    } = combination;
    if points.len() != weights.len() || points.is_empty() {
        return Err(Error::model("the proof does not have a weight for each of its points").into());
    }
    let mut rows = Vec::with_capacity(points.len());
    for &i in points {
        match usize::try_from(i)
            .ok()
            .filter(|&i| signed.signs.get(i).is_some_and(|&y| y != 0))
        {
            Some(i) => rows.push(i),
            None => return fails(format!("row {i} is not a point of either class")),
        }
    }
    if !points.is_sorted_by(|a, b| a < b) {
        return Err(Error::model("the points of the proof are not in increasing order").into());
    }
    if !exact {
        return match interval::decimal_hulls(signed, combination) {
            Some(_) => Ok(()),
            None => fails("a weight is not a number above 0"),
        };
    }
    let texts: Vec<&str> = weights.iter().map(String::as_str).collect();
    let most = most_bits(signed, &rows, rows.len().min(signed.width()));
    let parsed = number::parse(&texts, most)?;
    if let Some(at) = parsed.numerators.iter().position(|n| n.sign() != Sign::Plus) {
        return fails(format!("the weight of row {} is not above 0", points[at]));
    }
    let sum_of = |class: i8| -> BigInt {
        let of_class = rows
            .iter()
            .zip(&parsed.numerators)
            .filter(|(i, _)| signed.signs[**i].signum() == class);
        of_class.map(|(_, n)| n).sum()
    };
    let (positive, negative) = (sum_of(1), sum_of(-1));
    let normed = if signed.intercept {
        positive == parsed.denominator && negative == parsed.denominator
    } else {
        positive + negative == parsed.denominator
    };
    if !normed {
        return fails("the weights do not sum to 1");
    }
    let words: Vec<Words> = parsed.numerators.iter().map(Words::from).collect();
    if exact::vanishes(signed, points, &words, |_| true) {
        Ok(())
    } else {
        fails("the two combinations of points are not equal")
    }
}

/// Inexact weights must bring the hulls so near that nothing but rounding is between them.
fn near(signed: &Signed<'_>, upper: f64) -> Step {
    let rows: Vec<usize> = signed.participants().collect();
    let norm = |&i: &usize| {
        let row = signed.design.row(i);
        let mut largest = 0.0f64;
        row.for_each(|_, x| largest = largest.max(x.abs()));
        // Where the squares leave the range, the largest coordinate is a norm that is not too long.
        Some(row.squared_norm().sqrt())
            .filter(|norm| norm.is_finite())
            .unwrap_or(largest)
    };
    let largest = rows.par_iter().map(norm).reduce(|| 0.0, f64::max);
    if upper <= INEXACT * largest {
        Ok(())
    } else {
        fails(format!(
            "the hulls are {upper:e} apart, more than {INEXACT:e} of the largest norm {largest:e}"
        ))
    }
}

/// More bits than the numerators and denominators of a solution with so many unknowns can have (Hadamard), and
/// some for numbers that were chosen.
fn most_bits(signed: &Signed<'_>, rows: &[usize], unknowns: usize) -> u64 {
    let span = |&i: &usize| {
        let (mut least, mut most) = (0, 0);
        signed.for_each(i, |_, value| {
            if let Some(lowest) = exact::lowest_bit(value) {
                least = lowest.min(least);
                most = most.max(value.abs().log2() as i32 + 2);
            }
        });
        (least, most)
    };
    let join = |a: (i32, i32), b: (i32, i32)| (a.0.min(b.0), a.1.max(b.1));
    let (least, most) = rows.par_iter().map(span).reduce(|| (0, 0), join);
    let each = u64::from(most.abs_diff(least)) + 64;
    2 * (unknowns as u64 + 2) * each + 16_384
}

fn null_vectors(vectors: &[NullVector], width: usize, most_bits: u64) -> Result<Vec<Vec<(usize, BigInt)>>> {
    if vectors.len() > width {
        return Err(Error::model("there are more null vectors than dimensions"));
    }
    let entry = |(j, text): &(u64, String)| {
        let j = usize::try_from(*j).ok().filter(|&j| j < width);
        let j = j.ok_or_else(|| Error::model("a null vector has a coordinate that the data do not have"))?;
        Ok((j, number::integer(text, most_bits)?))
    };
    let parse = |vector: &NullVector| -> Result<Vec<(usize, BigInt)>> {
        if !vector.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(Error::model(
                "the coordinates of a null vector are not in increasing order",
            ));
        }
        vector.iter().map(entry).collect()
    };
    vectors.par_iter().map(parse).collect()
}

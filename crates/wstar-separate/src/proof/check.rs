//! The check of a proof by arithmetic alone, exact wherever the proof claims to be.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use rayon::prelude::*;

use crate::exact::{self, Plane, Signed, Words};
use crate::proof::{
    Combination, Fraction, Interval, Normal, NullVector, Proof, Verdict, fraction, rounded_interval,
};
use wstar_data::error::{Error, Result};
use wstar_data::{Dataset, Design};

/// Largest distance of the hulls, relative to the largest norm, that is accepted with inexact weights.
/// Heuristic: a bound well above the rounding error of decimal weights; not measured yet.
const INEXACT: f64 = 1e-12;

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// Whether the proof holds.
    pub holds: bool,
    /// The reason why it does not hold.
    pub reason: Option<String>,
    /// Whether the whole check was exact. Otherwise the only claim is that no margin exceeds
    /// `margin.upper`.
    pub exact: bool,
    /// The recomputed bounds on the maximum margin.
    pub margin: Interval,
}

/// Why a check ended early.
enum CheckStop {
    /// The proof makes a false statement.
    Fails(String),
    /// The document is not a proof, or not one for these data.
    Bad(Error),
}

impl From<Error> for CheckStop {
    fn from(error: Error) -> Self {
        CheckStop::Bad(error)
    }
}

fn fails<T>(reason: impl Into<String>) -> std::result::Result<T, CheckStop> {
    Err(CheckStop::Fails(reason.into()))
}

type Step<T = ()> = std::result::Result<T, CheckStop>;

impl Proof {
    /// Checks a proof that was made from a data set against a data set: the classes must be the same, and the rows encoded
    /// by the same schema.
    ///
    /// ```
    /// use wstar_data::Dataset;
    /// use wstar_data::run::{Budget, Unwatched};
    /// use wstar_separate::margin::{Question, separate_classes};
    /// use wstar_separate::proof::Sides;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [1.0], [2.0]], &["a", "a", "b", "b"])?;
    /// let sides = Sides { positive: 1, negative: None };
    /// let found =
    ///     separate_classes(&data, sides, true, Question::Verdict, Budget::default(), &mut Unwatched)?;
    /// let proof = found.proof.expect("a verdict has a proof");
    /// assert!(proof.check_data(&data)?.holds);
    /// assert!(!proof.check_data(&data.select(&[0, 1, 3, 3]))?.holds);
    /// # Ok::<(), wstar_data::error::Error>(())
    /// ```
    pub fn check_data(&self, data: &Dataset) -> Result<Checked> {
        let Some(points) = &self.points else {
            return Err(Error::model(
                "the proof does not say how its points were made from rows",
            ));
        };
        if data.classes() != Some(&points.classes) {
            return Err(
                Error::data("the classes of the data are not those of the proof").in_file(data.source())
            );
        }
        self.check(&*data.design_for(&points.schema)?, &points.sides.signs(data)?)
    }

    /// Checks the proof against the data: the points, and `signs` with +1 for the positive class, −1 for
    /// the negative class and 0 for all other rows. An error means that the proof is not about data of this
    /// shape.
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
            Err(CheckStop::Fails(reason)) => checked.reason = Some(reason),
            Err(CheckStop::Bad(error)) => return Err(error),
        }
        Ok(checked)
    }

    fn run(&self, signed: &Signed<'_>, margin: &mut Interval) -> Step {
        self.check_fields()?;
        match (&self.hyperplane, &self.hulls, &self.proof) {
            (Some(plane), Some(hulls), None) => {
                // A hyperplane that doubles cannot represent has a positive margin that is not computed.
                margin.lower = on_sides(signed, plane, false)?.map_or(0.0, |(weights, intercept)| {
                    rounded_interval::lower(signed, &weights, intercept)
                });
                margin.upper = rounded_interval::upper(signed, hulls);
                if margin.upper == f64::MAX {
                    return fails("the multipliers make no points of the hulls");
                }
            }
            (plane, None, Some(combination)) => {
                vanishing(signed, combination)?;
                *margin = rounded_interval::of_combination(signed, combination);
                if !combination.exact {
                    hulls_touch(signed, margin.upper)?;
                }
                match plane {
                    Some(plane) => on_sides(signed, plane, true).map(|_| ())?,
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

    /// Rejects a proof whose fields are not those of its verdict.
    fn check_fields(&self) -> Result<()> {
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

    /// Checks that the points span the same space as all rows.
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

/// The coefficients of a hyperplane of doubles.
fn doubles(plane: &Normal, signed: &Signed<'_>) -> Step<(Vec<f64>, f64)> {
    fits(plane, signed)?;
    let double = |number: &Fraction| match number {
        Fraction::Double(value) if value.is_finite() => Ok(*value),
        _ => Err(Error::model("the hyperplane is not made of finite numbers")),
    };
    let weights = plane.weights.iter().map(double).collect::<Result<_>>()?;
    Ok((weights, double(&plane.intercept)?))
}

fn fits(plane: &Normal, signed: &Signed<'_>) -> Step {
    if plane.weights.len() != signed.design.features() {
        return Err(Error::model("the hyperplane does not have a weight for each feature").into());
    }
    if !signed.intercept && plane.intercept != Fraction::Double(0.0) {
        return Err(Error::model("the hyperplane has an intercept where there is none").into());
    }
    Ok(())
}

/// Checks that `aᵢ·v > 0` for all i; with `weakly`, that `aᵢ·v ≥ 0` for all i and `aᵢ·v > 0` for some.
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

/// Checks that every row is on its side of the hyperplane, strictly or weakly. Returns the coefficients if
/// they are doubles.
fn on_sides(signed: &Signed<'_>, plane: &Normal, weakly: bool) -> Step<Option<(Vec<f64>, f64)>> {
    fits(plane, signed)?;
    let all = || {
        plane
            .weights
            .iter()
            .chain(signed.intercept.then_some(&plane.intercept))
    };
    if all().all(|number| matches!(number, Fraction::Double(_))) {
        let (weights, intercept) = doubles(plane, signed)?;
        every_sign(
            signed,
            |i| exact::sign::sign(signed.design.row(i), &weights, intercept),
            weakly,
        )?;
        return Ok(Some((weights, intercept)));
    }
    let texts = all()
        .map(|number| match number {
            Fraction::Fraction(text) => Ok(text.as_str()),
            Fraction::Double(_) => Err(Error::model("the hyperplane mixes numbers and fractions")),
        })
        .collect::<Result<Vec<&str>>>()?;
    let rows: Vec<usize> = signed.participants().collect();
    let parsed = fraction::parse(&texts, most_bits(signed, &rows, signed.width()))?;
    // The common denominator is positive, so the numerators have the signs of the fractions.
    let plane = Plane::lifted(&parsed.numerators, signed.intercept);
    every_sign(signed, |i| plane.sign(signed.design.row(i)), weakly).map(|()| None)
}

/// Checks that the points of the combination are distinct rows that take part, and that the weighted sum
/// vanishes.
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
        return match rounded_interval::decimal_hulls(signed, combination) {
            Some(_) => Ok(()),
            None => fails("a weight is not a number above 0"),
        };
    }
    let texts: Vec<&str> = weights.iter().map(String::as_str).collect();
    let most = most_bits(signed, &rows, rows.len().min(signed.width()));
    let parsed = fraction::parse(&texts, most)?;
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

/// Checks that inexact weights bring the hulls within `INEXACT` of each other, relative to the largest
/// norm.
fn hulls_touch(signed: &Signed<'_>, upper: f64) -> Step {
    let rows: Vec<usize> = signed.participants().collect();
    let norm = |&i: &usize| {
        let row = signed.design.row(i);
        let mut largest = 0.0f64;
        row.for_each(|_, x| largest = largest.max(x.abs()));
        // If the squares overflow, the largest coordinate is a lower bound on the norm.
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

/// An upper bound on the bits of numerators and denominators of an exact solution with this many unknowns
/// (Hadamard), plus an allowance for the coordinates that were chosen freely.
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
    // Cap: longer numbers are rejected. The factor 2 and the 16 384 bits are the allowance.
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
        Ok((j, fraction::integer(text, most_bits)?))
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

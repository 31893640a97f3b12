//! The proof of a verdict on two classes: separable, quasi-separable or inseparable.
//!
//! Write `aᵢ = yᵢ(xᵢ, 1)` (without an intercept: `yᵢxᵢ`), over the binary64 numbers that were read.
//! - *separable*: a hyperplane with every `aᵢ·v > 0`; and its margin, and two near points of the hulls.
//! - *quasi-separable*: weights λ > 0 with `Σλᵢaᵢ = 0`, so that nothing separates strictly; and a hyperplane with
//!   every `aᵢ·v ≥ 0` and some `aᵢ·v > 0`.
//! - *inseparable*: such λ on points that span what all points span. A hyperplane with `aᵢ·v ≥ 0` everywhere has
//!   `aᵢ·v = 0` on those points, and so on all. The span is bounded from below modulo a prime, and from above by
//!   vectors orthogonal to all points.
//!
//! [`Proof::check`] does nothing but arithmetic: no solver, no tolerance.

mod check;
mod file;
mod interval;
mod number;

pub use check::Checked;
pub use number::Number;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;
use serde::{Deserialize, Serialize};

use crate::exact::{Circuit, Signed};
use crate::model::Hyperplane;

/// How two classes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A hyperplane has each class strictly on its own side.
    Separable,
    /// None has; but one has no point on the wrong side, and not all points on itself.
    QuasiSeparable,
    /// Neither: the classes overlap.
    Inseparable,
}

impl Verdict {
    /// Its name, as in files and in the command line's JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Separable => "separable",
            Verdict::QuasiSeparable => "quasi-separable",
            Verdict::Inseparable => "inseparable",
        }
    }
}

/// The names of the two classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classes {
    /// y = +1.
    pub positive: String,
    /// y = −1.
    pub negative: String,
}

/// The best margin lies between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Some hyperplane has this margin; 0 where none separates.
    pub lower: f64,
    /// None has a larger one.
    pub upper: f64,
}

/// A point of each class's hull, by rows and multipliers, which count relative to their sum. Without an
/// intercept there is one hull, of all `yᵢxᵢ`, and it is the first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hulls {
    /// Of the positive class.
    pub positive: Vec<(u64, f64)>,
    /// Of the negative class.
    pub negative: Vec<(u64, f64)>,
}

/// Weights λ > 0 with `Σλᵢaᵢ = 0`, summing to 1 over each class (without an intercept: in all).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Combination {
    /// The rows, counted from 0.
    pub points: Vec<u64>,
    /// Their weights: `"p/q"`, or decimals if not exact.
    pub weights: Vec<String>,
    /// Whether the sum is 0 exactly; else it is within a bound of 0 that the margin's interval states.
    pub exact: bool,
}

impl Combination {
    /// With exact weights.
    pub fn exact(circuit: &Circuit) -> Self {
        Combination {
            points: circuit.points.clone(),
            weights: number::fractions(&circuit.weights),
            exact: true,
        }
    }

    /// With weights in floating point, where exact ones take too long; those that are 0 are left out.
    pub fn decimal(weights: &[(u64, f64)]) -> Self {
        let mut kept: Vec<(u64, f64)> = weights
            .iter()
            .copied()
            .filter(|&(_, weight)| weight > 0.0)
            .collect();
        kept.sort_unstable_by_key(|&(i, _)| i);
        Combination {
            points: kept.iter().map(|&(i, _)| i).collect(),
            weights: kept.iter().map(|&(_, weight)| weight.to_string()).collect(),
            exact: false,
        }
    }
}

/// The hyperplane `w·x + b = 0`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    /// w.
    pub weights: Vec<Number>,
    /// b; 0 without an intercept.
    pub intercept: Number,
}

impl From<&Hyperplane> for Normal {
    fn from(plane: &Hyperplane) -> Self {
        Normal {
            weights: plane.weights.iter().map(|&w| Number::Double(w)).collect(),
            intercept: Number::Double(plane.intercept),
        }
    }
}

impl Normal {
    /// From one vector of rationals, the last of which is the intercept if there is one.
    pub fn from_rationals(vector: &[BigRational], intercept: bool) -> Self {
        let mut numbers = Number::all(vector);
        let last = if intercept { numbers.pop() } else { None };
        Normal {
            weights: numbers,
            intercept: last.unwrap_or(Number::Double(0.0)),
        }
    }
}

/// A vector orthogonal to all points: coordinates (the intercept's is the last) and integers.
pub type NullVector = Vec<(u64, String)>;

/// A verdict on two classes and what proves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// How the classes lie.
    pub verdict: Verdict,
    /// The number of rows of the data, those of other classes included.
    pub rows: u64,
    /// The number of features.
    pub features: u64,
    /// Whether hyperplanes have an intercept.
    pub intercept: bool,
    /// The names of the two classes.
    pub classes: Classes,
    /// The interval of the best margin.
    pub margin: Interval,
    /// The hyperplane, unless the classes are inseparable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperplane: Option<Normal>,
    /// The points of the hulls that bound the margin of separable classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hulls: Option<Hulls>,
    /// The combination that refutes separation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Combination>,
    /// Where inseparable points do not span everything, independent vectors orthogonal to all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub null_vectors: Vec<NullVector>,
}

impl Proof {
    fn new(signed: &Signed<'_>, classes: Classes, verdict: Verdict) -> Self {
        Proof {
            verdict,
            rows: signed.design.rows() as u64,
            features: signed.design.features() as u64,
            intercept: signed.intercept,
            classes,
            margin: Interval {
                lower: 0.0,
                upper: 0.0,
            },
            hyperplane: None,
            hulls: None,
            proof: None,
            null_vectors: Vec::new(),
        }
    }

    /// That a hyperplane separates; its margin is measured here.
    pub fn separable(signed: &Signed<'_>, classes: Classes, plane: &Hyperplane, hulls: Hulls) -> Self {
        let margin = Interval {
            lower: interval::lower(signed, &plane.weights, plane.intercept),
            upper: interval::upper(signed, &hulls),
        };
        Proof {
            margin,
            hyperplane: Some(Normal::from(plane)),
            hulls: Some(hulls),
            ..Proof::new(signed, classes, Verdict::Separable)
        }
    }

    /// That a hyperplane separates weakly and none strictly.
    pub fn quasi_separable(
        signed: &Signed<'_>,
        classes: Classes,
        plane: Normal,
        combination: Combination,
    ) -> Self {
        Proof {
            margin: interval::of_combination(signed, &combination),
            hyperplane: Some(plane),
            proof: Some(combination),
            ..Proof::new(signed, classes, Verdict::QuasiSeparable)
        }
    }

    /// That no hyperplane separates even weakly.
    pub fn inseparable(
        signed: &Signed<'_>,
        classes: Classes,
        combination: Combination,
        null_vectors: &[Vec<BigInt>],
    ) -> Self {
        let sparse = |vector: &Vec<BigInt>| {
            let entries = (0..).zip(vector).filter(|(_, value)| !value.is_zero());
            entries.map(|(j, value)| (j, value.to_string())).collect()
        };
        Proof {
            margin: interval::of_combination(signed, &combination),
            proof: Some(combination),
            null_vectors: null_vectors.iter().map(sparse).collect(),
            ..Proof::new(signed, classes, Verdict::Inseparable)
        }
    }
}

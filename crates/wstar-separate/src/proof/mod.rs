//! The proof of a verdict on two classes: separable, quasi-separable or inseparable.
//!
//! Let `aᵢ = yᵢ(xᵢ, 1)` (without an intercept: `yᵢxᵢ`), over the binary64 inputs.
//!
//! - *separable*: a hyperplane with `aᵢ·v > 0` for all i, its margin, and two points of the hulls that
//!   bound every margin.
//! - *quasi-separable*: weights λ > 0 with `Σλᵢaᵢ = 0`, so that no hyperplane separates strictly; and a
//!   hyperplane with `aᵢ·v ≥ 0` for all i and `aᵢ·v > 0` for some.
//! - *inseparable*: such weights on points that span the same space as all points. Any hyperplane with
//!   `aᵢ·v ≥ 0` for all i then has `aᵢ·v = 0` on those points, and therefore on all points. The dimension
//!   of the span is bounded below modulo a prime, and above by vectors orthogonal to all points.
//!
//! - `check`: the check of a proof.
//! - `proof_file`: the file format.
//! - `fraction`: doubles and fractions of any length.
//! - `combination`: the weights of a vanishing combination.
//! - `normal`: the hyperplane.
//! - `rounded_interval`: bounds on the margin, rounded outwards, and the hull points that prove them.
//! - `sides`: how the rows of a file became the points of a proof.
//!
//! [`Proof::check`] verifies a proof by arithmetic alone: it uses no solver, and no tolerance wherever the
//! proof is exact.

mod check;
mod combination;
mod fraction;
mod normal;
mod proof_file;
mod rounded_interval;
mod sides;

pub use check::Checked;
pub use combination::Combination;
pub use fraction::Fraction;
pub use normal::Normal;
pub use rounded_interval::{Hulls, Interval};
pub use sides::{ClassNames, PointOrigin, Sides, all_sides};

use num_bigint::BigInt;
use num_traits::Zero;
use serde::{Deserialize, Serialize};

use crate::exact::Signed;
use wstar_data::linear::Hyperplane;

/// How two classes lie relative to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Some hyperplane has each class strictly on its own side.
    Separable,
    /// No hyperplane separates strictly, but one has no point on its wrong side and some point off it.
    QuasiSeparable,
    /// The classes overlap: neither of the above.
    Inseparable,
}

impl Verdict {
    /// The name of the verdict, as in files and in the JSON of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Separable => "separable",
            Verdict::QuasiSeparable => "quasi-separable",
            Verdict::Inseparable => "inseparable",
        }
    }
}

/// A vector orthogonal to all points, as pairs of coordinate and integer. The last coordinate is the
/// intercept's.
pub type NullVector = Vec<(u64, String)>;

/// A verdict on two classes and its proof.
///
/// ```
/// use wstar_data::Dataset;
/// use wstar_data::run::{Budget, Unwatched};
/// use wstar_separate::margin::{Question, separate_classes};
/// use wstar_separate::proof::{Proof, Sides, Verdict};
/// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [4.0]], &["a", "a", "b", "b"])?;
/// let sides = Sides { positive: 1, negative: None };
/// let found = separate_classes(&data, sides, true, Question::Margin, Budget::default(), &mut Unwatched)?;
/// let proof = found.proof.expect("a verdict has a proof");
/// assert_eq!(proof.verdict, Verdict::Separable);
/// // A proof survives its file, and is checked in exact arithmetic.
/// let read = Proof::from_json(&proof.to_json()?)?;
/// assert!(read.check_data(&data)?.holds);
/// # Ok::<(), wstar_data::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The verdict.
    pub verdict: Verdict,
    /// The number of rows of the data, including those of other classes.
    pub(crate) rows: u64,
    /// The number of features.
    pub(crate) features: u64,
    /// Whether hyperplanes have an intercept.
    pub intercept: bool,
    /// The names of the two classes.
    pub classes: ClassNames,
    /// Bounds on the maximum margin.
    pub margin: Interval,
    /// The hyperplane, unless the classes are inseparable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperplane: Option<Normal>,
    /// The points of the hulls that bound the margin of separable classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hulls: Option<Hulls>,
    /// The combination that rules out strict separation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Combination>,
    /// Independent vectors orthogonal to all points, for inseparable points that do not span the whole
    /// space.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub null_vectors: Vec<NullVector>,
    /// How the points were made from the rows of a file, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Box<PointOrigin>>,
}

impl Proof {
    fn new(signed: &Signed<'_>, classes: ClassNames, verdict: Verdict) -> Self {
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
            points: None,
        }
    }

    /// The proof that a hyperplane separates; computes the bounds on the margin.
    pub fn separable(signed: &Signed<'_>, classes: ClassNames, plane: &Hyperplane, hulls: Hulls) -> Self {
        let margin = Interval {
            lower: rounded_interval::lower(signed, &plane.weights, plane.intercept),
            upper: rounded_interval::upper(signed, &hulls),
        };
        Proof {
            margin,
            hyperplane: Some(Normal::from(plane)),
            hulls: Some(hulls),
            ..Proof::new(signed, classes, Verdict::Separable)
        }
    }

    /// The proof that a hyperplane separates whose coefficients doubles cannot represent. Its own margin is
    /// not computed.
    pub fn separable_exactly(signed: &Signed<'_>, classes: ClassNames, plane: Normal, hulls: Hulls) -> Self {
        let margin = Interval {
            lower: 0.0,
            upper: rounded_interval::upper(signed, &hulls),
        };
        Proof {
            margin,
            hyperplane: Some(plane),
            hulls: Some(hulls),
            ..Proof::new(signed, classes, Verdict::Separable)
        }
    }

    /// The proof that a hyperplane separates weakly and none strictly.
    pub fn quasi_separable(
        signed: &Signed<'_>,
        classes: ClassNames,
        plane: Normal,
        combination: Combination,
    ) -> Self {
        Proof {
            margin: rounded_interval::of_combination(signed, &combination),
            hyperplane: Some(plane),
            proof: Some(combination),
            ..Proof::new(signed, classes, Verdict::QuasiSeparable)
        }
    }

    /// The proof that no hyperplane separates even weakly.
    pub fn inseparable(
        signed: &Signed<'_>,
        classes: ClassNames,
        combination: Combination,
        null_vectors: &[Vec<BigInt>],
    ) -> Self {
        let sparse = |vector: &Vec<BigInt>| {
            let entries = (0..).zip(vector).filter(|(_, value)| !value.is_zero());
            entries.map(|(j, value)| (j, value.to_string())).collect()
        };
        Proof {
            margin: rounded_interval::of_combination(signed, &combination),
            proof: Some(combination),
            null_vectors: null_vectors.iter().map(sparse).collect(),
            ..Proof::new(signed, classes, Verdict::Inseparable)
        }
    }
}

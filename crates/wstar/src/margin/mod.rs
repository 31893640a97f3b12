//! Separation, and the largest margin.
//!
//! [`separate`] decides how two classes lie (separable, quasi-separable, inseparable) and returns the proof, which
//! has been checked exactly. It peels off columns that separate by themselves, looks for the hyperplane of the
//! largest margin with a dual active set on a few rows at a time, and takes the circuit that such a
//! search ends with, if there is no hyperplane, to exact arithmetic. What rounding leaves undecided, integers decide.

mod active_set;
mod classes;
mod decide;
mod face;
mod factor;
mod frame;
mod hard_margin;
mod peel;
mod ranges;
mod rational;
mod session;
mod wide;
mod working_set;

pub use classes::separate_classes;
pub use hard_margin::{HardMargin, MaximumMargin, hard_margin};

pub(crate) use peel::{weak_column, weak_columns};

use decide::{Answer, Decision};
use session::Session;

use crate::certify::proof::{Classes, Proof};
use crate::error::{Error, Result};
use crate::exact::Signed;
use crate::model::Hyperplane;
use crate::watch::{Budget, Status, Watch};

/// What is asked about two classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// How they lie; the hyperplane of separable ones is any.
    Verdict,
    /// And the largest margin, if they are separable.
    Margin,
}

/// How two classes lie, as far as was found out.
#[derive(Debug, Clone)]
pub struct Separated {
    /// The verdict and its proof; none if the search was stopped, or ended undecided.
    pub proof: Option<Proof>,
    /// The hyperplane of the verdict, or its nearest doubles: it separates strictly or weakly.
    pub hyperplane: Option<Hyperplane>,
    /// `Converged` with a proof; else why there is none (`Completed` if the methods here do not reach so far).
    pub status: Status,
    /// Passes over the rows.
    pub passes: u64,
    /// Changes of active sets.
    pub pivots: u64,
}

/// Decides how two classes lie.
///
/// ```
/// use wstar::certify::proof::{Classes, Verdict};
/// use wstar::data::Design;
/// use wstar::exact::Signed;
/// use wstar::margin::{Question, separate};
/// use wstar::watch::{Budget, Unwatched};
///
/// let design = Design::from_rows(&[vec![0.0], vec![1.0], vec![1.0], vec![2.0]]).unwrap();
/// let signed = Signed { design: &design, signs: &[-1, -1, 1, 1], intercept: true };
/// let classes = Classes { positive: "b".into(), negative: "a".into() };
/// let found = separate(&signed, classes, Question::Margin, Budget::default(), &mut Unwatched).unwrap();
/// let proof = found.proof.unwrap();
/// assert_eq!(proof.verdict, Verdict::QuasiSeparable, "both classes have a point at 1");
/// assert!(proof.check(&design, &[-1, -1, 1, 1]).unwrap().holds);
/// ```
pub fn separate(
    signed: &Signed<'_>,
    classes: Classes,
    question: Question,
    budget: Budget,
    watch: &mut dyn Watch,
) -> Result<Separated> {
    check(signed)?;
    let mut session = Session::start(budget, watch);
    let answer = Decision {
        signed: *signed,
        multipliers: Vec::new(),
        largest: question == Question::Margin,
        session: &mut session,
    }
    .decide();
    session.certifying();
    let (proof, hyperplane) = match answer {
        Answer::Separable(plane, hulls) => (
            Some(Proof::separable(signed, classes, &plane, hulls)),
            Some(plane),
        ),
        Answer::SeparableExactly(normal, plane, hulls) => (
            Some(Proof::separable_exactly(signed, classes, normal, hulls)),
            Some(plane),
        ),
        Answer::Quasi(normal, plane, combination) => (
            Some(Proof::quasi_separable(signed, classes, normal, combination)),
            Some(plane),
        ),
        Answer::Inseparable(combination, orthogonal) => (
            Some(Proof::inseparable(signed, classes, combination, &orthogonal)),
            None,
        ),
        Answer::Undecided => (None, None),
    };
    // Weights that are not exact are worth what their check says.
    let proof = match proof {
        Some(proof) if proof.proof.as_ref().is_some_and(|combination| !combination.exact) => {
            proof.check(signed.design, signed.signs)?.holds.then_some(proof)
        }
        proof => proof,
    };
    let status = match &proof {
        Some(_) => Status::Converged,
        None => session.stopped.unwrap_or(Status::Completed),
    };
    Ok(Separated {
        proof,
        hyperplane,
        status,
        passes: session.passes,
        pivots: session.pivots,
    })
}

/// Refuses what has no two classes.
fn check(signed: &Signed<'_>) -> Result<()> {
    if signed.signs.len() != signed.design.rows() {
        return Err(Error::data(format!(
            "{} labels for {} rows",
            signed.signs.len(),
            signed.design.rows()
        )));
    }
    let [positive, negative] = [1, -1].map(|y| signed.signs.contains(&y));
    if !positive && !negative {
        return Err(Error::data("there are no rows to separate"));
    }
    if signed.intercept && !(positive && negative) {
        return Err(Error::data("there is only one class to separate")
            .hint("with an intercept, every hyperplane far enough away has it on one side"));
    }
    Ok(())
}

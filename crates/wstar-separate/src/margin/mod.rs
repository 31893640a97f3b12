//! Linear separability of two classes, and the maximum-margin hyperplane.
//!
//! [`separate`] decides whether two classes are separable, quasi-separable or inseparable, and returns a
//! proof that was checked exactly. The method has four steps:
//!
//! - `separating_columns`: remove the rows that a single column separates.
//! - `row_working_set`: solve for the maximum-margin hyperplane with a dual active-set method
//!   (`goldfarb_idnani`) on a working set of rows. The result is a hyperplane, or a circuit that proves
//!   there is none. Problems with too many columns for a dense factor use `dual_ascent` instead.
//! - `facial_reduction`: distinguish quasi-separable classes from overlapping ones.
//! - `decide_exactly`: repeat the decision in integer arithmetic where rounding left it open.
//!
//! `decide` combines these steps. [`maximum_margin`] reports the hyperplane with its multipliers, and
//! [`margin_certificate`] recomputes that claim from the data.
//!
//! - `separate_classes`: the same decision for two classes of a data set
//! - `column_ranges`, `coordinates`: the range of every column, and the scaled coordinates of the solver
//! - `search_budget`: the budget, the watcher and the counters of one search

mod column_ranges;
mod coordinates;
mod decide;
mod decide_exactly;
mod dual_ascent;
mod facial_reduction;
mod goldfarb_idnani;
pub mod margin_certificate;
pub mod maximum_margin;
mod row_working_set;
mod search_budget;
mod separate_classes;
mod separating_columns;

pub use maximum_margin::{HardMargin, MaximumMargin, hard_margin};
pub use separate_classes::separate_classes;

pub use separating_columns::{weak_column, weak_columns};

use decide::{Answer, Decision};
use search_budget::Session;

use crate::exact::Signed;
use crate::proof::{ClassNames, Proof, Verdict};
use wstar_data::error::{Error, Result};
use wstar_data::linear::Hyperplane;
use wstar_data::run::{Budget, Status, Watch};

/// What to find out about two classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The verdict only; a separable set gets any separating hyperplane.
    Verdict,
    /// The verdict, and the maximum-margin hyperplane if the classes are separable.
    Margin,
}

/// The outcome of [`separate`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Separated {
    /// The verdict and its proof. Absent if the search was stopped or ended undecided.
    pub proof: Option<Proof>,
    /// The hyperplane of the verdict, rounded to doubles: it separates strictly or weakly.
    pub hyperplane: Option<Hyperplane>,
    /// `Converged` if there is a proof; otherwise why there is none. `Completed` means that the problem is
    /// beyond the reach of the methods here.
    pub status: Status,
    /// The number of passes over the rows.
    pub passes: u64,
    /// The number of active-set changes.
    pub pivots: u64,
}

impl Separated {
    /// The verdict; `None` if the search was stopped or ended undecided.
    pub fn verdict(&self) -> Option<Verdict> {
        self.proof.as_ref().map(|proof| proof.verdict)
    }
}

/// Decides whether two classes are separable, quasi-separable or inseparable.
///
/// ```
/// use wstar_separate::proof::{ClassNames, Verdict};
/// use wstar_data::Design;
/// use wstar_separate::exact::Signed;
/// use wstar_separate::margin::{Question, separate};
/// use wstar_data::run::{Budget, Unwatched};
///
/// let design = Design::from_rows(&[vec![0.0], vec![1.0], vec![1.0], vec![2.0]]).unwrap();
/// let signed = Signed { design: &design, signs: &[-1, -1, 1, 1], intercept: true };
/// let classes = ClassNames { positive: "b".into(), negative: "a".into() };
/// let found = separate(&signed, classes, Question::Margin, Budget::default(), &mut Unwatched).unwrap();
/// let proof = found.proof.unwrap();
/// assert_eq!(proof.verdict, Verdict::QuasiSeparable, "both classes have a point at 1");
/// assert!(proof.check(&design, &[-1, -1, 1, 1]).unwrap().holds);
/// ```
pub fn separate(
    signed: &Signed<'_>,
    classes: ClassNames,
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
    // A proof with inexact weights holds only if its check succeeds.
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

/// Rejects inputs that do not have two classes to separate.
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
            .remedy("with an intercept, every hyperplane far enough away has it on one side"));
    }
    Ok(())
}

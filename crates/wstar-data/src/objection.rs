//! Objections to a claim: what recomputing it from the data contradicts.

use std::fmt;

use crate::one_of_each;

/// A statement of a claim that the data contradict.
///
/// An objection is data. It names no setting, so that its words are those of every front end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Objection {
    /// The claim is about another number of rows.
    Rows {
        /// The rows of the claim.
        claimed: u64,
        /// The rows of the data.
        found: u64,
    },
    /// The model was trained on another number of rows.
    TrainingRows {
        /// The rows of the training set.
        trained: u64,
        /// The rows of the data.
        found: u64,
    },
    /// A number of the claim differs from the recomputed one.
    Differs {
        /// What is claimed.
        quantity: Quantity,
        /// Its value in the claim.
        claimed: f64,
        /// Its value according to the data.
        found: f64,
    },
    /// A field of the model file differs from what the rows give.
    Statement {
        /// The path of the field.
        field: String,
        /// Its value in the file.
        stated: String,
        /// Its value according to the rows.
        found: String,
    },
    /// The relative duality gap is above the tolerance.
    Gap {
        /// The relative gap.
        relative_gap: f64,
        /// The tolerance.
        tol: f64,
    },
    /// The steepest slope is above the tolerance.
    Slope {
        /// The slope, relative to the most possible.
        slope: f64,
        /// The tolerance.
        tol: f64,
    },
    /// The optimality conditions of the maximum margin hold only up to more than the tolerance.
    Margin {
        /// The relative duality gap.
        relative_gap: f64,
        /// The violation of complementary slackness.
        slackness: f64,
        /// The difference between the sums of the multipliers of both sides.
        imbalance: f64,
        /// The tolerance.
        tol: f64,
    },
    /// The interval of the margin is too wide.
    Interval {
        /// The lower end.
        lower: f64,
        /// The upper end.
        upper: f64,
        /// The relative width that was requested.
        epsilon: f64,
    },
    /// The hyperplane makes other errors than claimed.
    Errors {
        /// The errors of the claim.
        claimed: u64,
        /// Their cost according to the claim.
        claimed_cost: f64,
        /// The errors on the data.
        found: u64,
        /// Their cost.
        found_cost: f64,
    },
    /// The lower bound on the error of every hyperplane is not proved.
    LowerBound {
        /// The bound.
        claimed: f64,
        /// What is wrong with the proof.
        why: String,
    },
    /// A hyperplane with a smaller error may exist.
    LeastError {
        /// The error of the hyperplane.
        cost: f64,
        /// The lower bound on the error of every hyperplane.
        lower_bound: f64,
    },
    /// A hyperplane that is claimed to separate the classes makes mistakes.
    Mistakes(u64),
    /// No bound on the number of mistakes is known.
    NoMistakeBound,
    /// The bound on the number of mistakes does not follow from the data.
    MistakeBound,
    /// The updates exceed the bound.
    UpdatesExceedBound(u64),
    /// The bound is about another number of updates than the model's.
    OtherUpdates,
    /// The bound is about a run with other settings than the model's.
    OtherRun,
    /// The margins are about other hyperplanes than the model's.
    OtherHyperplanes,
    /// The margins are claimed under other settings than the model's.
    OtherSettings,
    /// The claim is about hyperplanes that the settings do not allow.
    ForbiddenHyperplanes,
    /// The model has an intercept that its settings do not allow.
    ForbiddenIntercept,
    /// Another number of claims than of subproblems.
    Claims {
        /// The claims.
        claims: usize,
        /// The subproblems.
        problems: usize,
    },
    /// A ball is larger than the smallest one that encloses the rows.
    Ball {
        /// By how much, relative to its radius.
        relative_gap: f64,
    },
    /// A parameter of a density is not the one of the data.
    Parameter {
        /// The deviation.
        deviation: f64,
    },
    /// The recomputed claim does not hold.
    DoesNotHold,
    /// The model makes no claim.
    NoCertificate,
}

/// A number of a claim that is recomputed from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// The objective.
    Objective,
    /// The objective of the maximum margin, ½‖w‖².
    HalfSquaredNorm,
    /// The value of the dual problem.
    Dual,
    /// The norm of the separator.
    SeparatorNorm,
    /// The largest norm of an example.
    Radius,
    /// The sum of the violations of the separator's margin.
    Slack,
    /// The bound on the number of mistakes.
    Bound,
    /// The margin.
    Margin,
    /// The upper end of the interval of the margin.
    UpperEnd,
    /// The range of parameters that a bound covers.
    Reach,
}

impl Quantity {
    /// All quantities.
    pub fn samples() -> Vec<Quantity> {
        one_of_each!(Quantity {
            Quantity::Objective => [Quantity::Objective],
            Quantity::HalfSquaredNorm => [Quantity::HalfSquaredNorm],
            Quantity::Dual => [Quantity::Dual],
            Quantity::SeparatorNorm => [Quantity::SeparatorNorm],
            Quantity::Radius => [Quantity::Radius],
            Quantity::Slack => [Quantity::Slack],
            Quantity::Bound => [Quantity::Bound],
            Quantity::Margin => [Quantity::Margin],
            Quantity::UpperEnd => [Quantity::UpperEnd],
            Quantity::Reach => [Quantity::Reach],
        })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Quantity::Objective => "the objective",
            Quantity::HalfSquaredNorm => "½‖w‖²",
            Quantity::Dual => "the dual value",
            Quantity::SeparatorNorm => "the separator's norm",
            Quantity::Radius => "the radius",
            Quantity::Slack => "the slack",
            Quantity::Bound => "the bound",
            Quantity::Margin => "the margin",
            Quantity::UpperEnd => "the upper end of the interval",
            Quantity::Reach => "the range of parameters",
        })
    }
}

impl Objection {
    /// One value of every variant at least, for the tests of a front end's wording.
    pub fn samples() -> Vec<Objection> {
        let differs = |quantity| Objection::Differs {
            quantity,
            claimed: 1.0,
            found: 2.0,
        };
        let tol = 1e-6;
        one_of_each!(Objection {
            Objection::Rows { .. } => [Objection::Rows { claimed: 3, found: 4 }],
            Objection::TrainingRows { .. } => [Objection::TrainingRows { trained: 3, found: 4 }],
            Objection::Differs { .. } => Quantity::samples().into_iter().map(differs),
            Objection::Statement { .. } => [Objection::Statement {
                field: "inference.coefficients[0].p_value".into(),
                stated: "0.01".into(),
                found: "0.02".into(),
            }],
            Objection::Gap { .. } => [Objection::Gap { relative_gap: 1e-3, tol }],
            Objection::Slope { .. } => [Objection::Slope { slope: 1e-3, tol }],
            Objection::Margin { .. } => [Objection::Margin {
                relative_gap: 1e-3,
                slackness: 0.0,
                imbalance: 0.0,
                tol,
            }],
            Objection::Interval { .. } => [Objection::Interval {
                lower: 1.0,
                upper: 2.0,
                epsilon: 0.01,
            }],
            Objection::Errors { .. } => [Objection::Errors {
                claimed: 1,
                claimed_cost: 1.0,
                found: 2,
                found_cost: 2.0,
            }],
            Objection::LowerBound { .. } => [Objection::LowerBound {
                claimed: 2.0,
                why: "some hyperplane costs 1".into(),
            }],
            Objection::LeastError { .. } => [Objection::LeastError {
                cost: 2.0,
                lower_bound: 1.0,
            }],
            Objection::Mistakes(_) => [Objection::Mistakes(2)],
            Objection::NoMistakeBound => [Objection::NoMistakeBound],
            Objection::MistakeBound => [Objection::MistakeBound],
            Objection::UpdatesExceedBound(_) => [Objection::UpdatesExceedBound(7)],
            Objection::OtherUpdates => [Objection::OtherUpdates],
            Objection::OtherRun => [Objection::OtherRun],
            Objection::OtherHyperplanes => [Objection::OtherHyperplanes],
            Objection::OtherSettings => [Objection::OtherSettings],
            Objection::ForbiddenHyperplanes => [Objection::ForbiddenHyperplanes],
            Objection::ForbiddenIntercept => [Objection::ForbiddenIntercept],
            Objection::Claims { .. } => [Objection::Claims {
                claims: 2,
                problems: 3,
            }],
            Objection::Ball { .. } => [Objection::Ball { relative_gap: 1e-3 }],
            Objection::Parameter { .. } => [Objection::Parameter { deviation: 1e-3 }],
            Objection::DoesNotHold => [Objection::DoesNotHold],
            Objection::NoCertificate => [Objection::NoCertificate],
        })
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::Rows { claimed, found } => {
                write!(out, "the claim is about {claimed} rows, and these are {found}")
            }
            Objection::TrainingRows { trained, found } => {
                write!(out, "the model was trained on {trained} rows, these are {found}")
            }
            Objection::Differs {
                quantity,
                claimed,
                found,
            } => write!(out, "{quantity} is claimed to be {claimed}, and is {found}"),
            Objection::Statement { field, stated, found } => {
                write!(
                    out,
                    "the model file states {stated} for {field}, and the rows give {found}"
                )
            }
            Objection::Gap { relative_gap, tol } => write!(
                out,
                "the relative gap is {relative_gap:.2e}, and {tol:.0e} was requested"
            ),
            Objection::Slope { slope, tol } => write!(
                out,
                "the steepest slope is {slope:.2e} of the most possible, and {tol:.0e} was requested"
            ),
            Objection::Margin {
                relative_gap,
                slackness,
                imbalance,
                tol,
            } => write!(
                out,
                "relative gap {relative_gap:.2e}, slackness {slackness:.2e}, imbalance {imbalance:.2e}, and {tol:.0e} \
                 was requested"
            ),
            Objection::Interval {
                lower,
                upper,
                epsilon,
            } => write!(
                out,
                "the interval [{lower}, {upper}] is not within {epsilon} of its upper end"
            ),
            Objection::Errors {
                claimed,
                claimed_cost,
                found,
                found_cost,
            } => write!(
                out,
                "the hyperplane is claimed to make {claimed} errors that cost {claimed_cost}, and makes {found} that cost \
                 {found_cost}"
            ),
            Objection::LowerBound { claimed, why } => {
                write!(out, "a lower bound of {claimed} is not proved: {why}")
            }
            Objection::LeastError { cost, lower_bound } => write!(
                out,
                "the least error is not known: the hyperplane's is {cost}, and only {lower_bound} is proved"
            ),
            Objection::Mistakes(wrong) => write!(
                out,
                "the hyperplane is claimed to make no mistake, and makes {wrong}"
            ),
            Objection::NoMistakeBound => write!(out, "no bound on the number of mistakes is known"),
            Objection::MistakeBound => write!(out, "the bound does not follow from the data"),
            Objection::UpdatesExceedBound(updates) => write!(out, "{updates} updates exceed the bound"),
            Objection::OtherUpdates => write!(
                out,
                "the bound is claimed for another number of updates than the model's"
            ),
            Objection::OtherRun => write!(
                out,
                "the bound is claimed for a run with other settings than the model's"
            ),
            Objection::OtherHyperplanes => write!(
                out,
                "the margins are claimed for other hyperplanes than the model's"
            ),
            Objection::OtherSettings => write!(
                out,
                "the margins are claimed under other settings than the model's"
            ),
            Objection::ForbiddenHyperplanes => {
                write!(
                    out,
                    "the claim is about other hyperplanes than the settings allow"
                )
            }
            Objection::ForbiddenIntercept => {
                write!(out, "the model has an intercept, and its settings allow none")
            }
            Objection::Claims { claims, problems } => {
                write!(out, "{claims} claims are made, and there are {problems} problems")
            }
            Objection::Ball { relative_gap } => write!(
                out,
                "a ball is larger than the smallest one by up to {relative_gap:e} of its radius"
            ),
            Objection::Parameter { deviation } => write!(
                out,
                "a parameter deviates by {deviation:e} from its value computed from the data"
            ),
            Objection::DoesNotHold => write!(out, "it does not hold"),
            Objection::NoCertificate => {
                write!(out, "the model has no certificate: its data were read only once")
            }
        }
    }
}

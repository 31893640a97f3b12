//! The verdict about a model file: statements that are proved or not, and objections to what the file states.

use crate::arithmetic::Interval;

/// What the user asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// A tolerance in place of that of the claim.
    pub tol: Option<f64>,
    /// Whether digits of the optimum are to be proved.
    pub digits: bool,
}

/// One statement about the model, with its numbers.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What it is about.
    pub about: String,
    /// The statement.
    pub text: String,
    /// Whether it is proved; absent for a line that states no result.
    pub proved: Option<bool>,
}

/// What is proved about a model.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// The result in one clause, for both outcomes.
    pub summary: String,
    /// The statements.
    pub statements: Vec<Statement>,
    /// Statements of the model file that disagree with what is proved.
    pub objections: Vec<String>,
    /// Further fields of the result as JSON.
    pub fields: Vec<(&'static str, String)>,
    /// The fields of the model file that carry no claim here.
    pub not_checked: &'static str,
}

impl Verdict {
    pub(crate) fn new(not_checked: &'static str) -> Self {
        Verdict {
            not_checked,
            ..Verdict::default()
        }
    }

    /// Whether all statements are proved, of which there is at least one, and nothing in the model file disagrees.
    pub fn is_proved(&self) -> bool {
        let results = || self.statements.iter().filter_map(|statement| statement.proved);
        results().count() > 0 && results().all(|proved| proved) && self.objections.is_empty()
    }

    pub(crate) fn state(&mut self, about: impl Into<String>, text: impl Into<String>, proved: Option<bool>) {
        let (about, text) = (about.into(), text.into());
        self.statements.push(Statement { about, text, proved });
    }

    /// Adds an objection unless the file agrees.
    pub(crate) fn object_unless(&mut self, agrees: bool, objection: impl Into<String>) {
        if !agrees {
            self.objections.push(objection.into());
        }
    }

    /// Adds an objection unless a stated number is within `error` of what is proved.
    pub(crate) fn compare(&mut self, what: &str, stated: f64, proved: Interval, error: f64) {
        let agrees = stated >= proved.lo - error && stated <= proved.hi + error;
        self.object_unless(
            agrees,
            format!(
                "{what} is stated to be {stated:?}, and lies between {:?} and {:?}",
                proved.lo, proved.hi
            ),
        );
    }
}

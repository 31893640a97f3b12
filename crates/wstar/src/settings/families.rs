//! The settings of a fit, by family of methods.

use serde::{Deserialize, Serialize};

use super::common::Common;
use super::{Densities, KozinecMargin, MaximumMargin, Method, MinError, Perceptrons, Regularized, Rule};
use wstar_data::error::Result;
use wstar_problem::multiclass::ClassWeights;

/// The settings of a fit, by family of methods. Defaults are filled in.
///
/// A front end makes them from [`Options`](super::Options); a program makes them with the constructors of a family, such
/// as [`Perceptrons::voted`], or of a method, such as [`Logistic::l2`](super::Logistic::l2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "family", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Settings {
    /// A loss and a penalty over all rows.
    Regularized(Regularized),
    /// Rosenblatt's perceptron and its variants.
    Perceptrons(Perceptrons),
    /// Kozinec's algorithm.
    Kozinec(KozinecMargin),
    /// Bayes rules with estimated densities.
    Densities(Densities),
    /// The maximum-margin hyperplane.
    MaximumMargin(MaximumMargin),
    /// The hyperplane with the fewest training errors.
    MinError(MinError),
}

impl Settings {
    /// Rejects numbers out of range and settings that exclude each other.
    pub fn check(&self) -> Result<()> {
        self.common().check()?;
        match self {
            Settings::Regularized(settings) => settings.check(),
            Settings::Perceptrons(settings) => settings.check(),
            Settings::Kozinec(settings) => settings.check(),
            Settings::Densities(settings) => settings.check(),
            Settings::MaximumMargin(settings) => settings.check(),
            Settings::MinError(settings) => settings.check(),
        }
    }

    /// The method.
    pub fn method(&self) -> Method {
        match self {
            Settings::Regularized(settings) => settings.method,
            Settings::Perceptrons(settings) => settings.method,
            Settings::Kozinec(_) => Method::Kozinec,
            Settings::Densities(settings) => settings.method(),
            Settings::MaximumMargin(_) => Method::HardMargin,
            Settings::MinError(_) => Method::MinError,
        }
    }

    /// The settings that every method has.
    pub fn common(&self) -> &Common {
        match self {
            Settings::Regularized(settings) => &settings.common,
            Settings::Perceptrons(settings) => &settings.common,
            Settings::Kozinec(settings) => &settings.common,
            Settings::Densities(settings) => &settings.common,
            Settings::MaximumMargin(settings) => &settings.common,
            Settings::MinError(settings) => &settings.common,
        }
    }

    /// The settings of a loss and a penalty, for methods of that family.
    pub fn regularized(&self) -> Option<&Regularized> {
        match self {
            Settings::Regularized(settings) => Some(settings),
            _ => None,
        }
    }

    /// Whether the method fits an intercept.
    pub fn has_intercept(&self) -> bool {
        match self {
            Settings::Regularized(settings) => settings.has_intercept(),
            Settings::Perceptrons(settings) => settings.intercept,
            Settings::Kozinec(settings) => settings.intercept,
            Settings::Densities(_) => true,
            Settings::MaximumMargin(settings) => settings.intercept,
            Settings::MinError(settings) => settings.intercept,
        }
    }

    /// The order of the examples, if the method is mistake-driven and the order was chosen.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Settings::Perceptrons(settings) => settings.rule,
            Settings::Kozinec(settings) => settings.rule,
            _ => None,
        }
    }

    /// Whether a mistake-driven method treats the rows as a multiset.
    pub fn is_multiset(&self) -> bool {
        match self {
            Settings::Perceptrons(settings) => settings.multiset,
            Settings::Kozinec(settings) => settings.multiset,
            _ => false,
        }
    }

    /// The relative duality gap to reach, for methods with one.
    pub fn tol(&self) -> Option<f64> {
        match self {
            Settings::Regularized(settings) => Some(settings.tol),
            Settings::MaximumMargin(settings) => Some(settings.tol),
            _ => None,
        }
    }

    /// The weight of each class, if the method has such weights and they are given.
    pub fn class_weight(&self) -> Option<&ClassWeights> {
        match self {
            Settings::Regularized(settings) => settings.class_weight.as_ref(),
            Settings::MinError(settings) => settings.class_weight.as_ref(),
            _ => None,
        }
    }
}

impl From<Regularized> for Settings {
    fn from(settings: Regularized) -> Self {
        Settings::Regularized(settings)
    }
}

impl From<Perceptrons> for Settings {
    fn from(settings: Perceptrons) -> Self {
        Settings::Perceptrons(settings)
    }
}

impl From<KozinecMargin> for Settings {
    fn from(settings: KozinecMargin) -> Self {
        Settings::Kozinec(settings)
    }
}

impl From<Densities> for Settings {
    fn from(settings: Densities) -> Self {
        Settings::Densities(settings)
    }
}

impl From<MaximumMargin> for Settings {
    fn from(settings: MaximumMargin) -> Self {
        Settings::MaximumMargin(settings)
    }
}

impl From<MinError> for Settings {
    fn from(settings: MinError) -> Self {
        Settings::MinError(settings)
    }
}

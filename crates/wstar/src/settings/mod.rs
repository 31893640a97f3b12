//! The settings of a fit: the methods, one type of settings for each family of methods, and their checks.
//!
//! - `method`: the methods and their families.
//! - `options`: settings by name, as a front end collects them.
//! - `conversion`: from options to checked settings and back.
//! - `families`: the settings of a fit, by family.
//! - `regularized`, `perceptron_settings`, `kozinec_settings`, `density_settings`, `margin_settings`,
//!   `min_error_settings`: one file a family.
//! - `common`, `checks`: the settings of every method; checks that several families share.
//! - `prove`: what a fit proves besides its certificate.
//! - `rule`, `density`: which example comes next; the distributions of a feature.
//! - `builders`: one type for each method that minimises a loss and a penalty.
//! - `resolve`: from the settings of the family `Regularized` to the problem that a fit minimises.

mod builders;
mod checks;
mod common;
mod conversion;
mod density;
mod density_settings;
mod families;
mod kozinec_settings;
mod margin_settings;
mod method;
mod min_error_settings;
mod options;
mod perceptron_settings;
mod prove;
mod regularized;
mod resolve;
mod rule;

pub use builders::{Lad, LeastSquares, Logistic, MseClassifier, Softmax, Svm};
pub use common::Common;
pub use density::Density;
pub use density_settings::Densities;
pub use families::Settings;
pub use kozinec_settings::KozinecMargin;
pub use margin_settings::MaximumMargin;
pub use method::{Family, Method};
pub use min_error_settings::MinError;
pub use options::Options;
pub use perceptron_settings::Perceptrons;
pub use prove::Prove;
pub use regularized::{Regularized, Strength};
pub use rule::Rule;

#[cfg(test)]
mod tests;

//! The distributions of a feature in naive Bayes.

use serde::{Deserialize, Serialize};

/// The distribution of a feature within a class, for naive Bayes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Density {
    /// Normal, with one mean and one variance per class.
    #[default]
    Gaussian,
    /// A binary feature: present (greater than 0) or absent.
    Bernoulli,
    /// Counts of multinomial draws.
    Multinomial,
}

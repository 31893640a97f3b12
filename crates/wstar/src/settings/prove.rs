//! What a fit proves besides its certificate.

use serde::{Deserialize, Serialize};

/// What a fit proves besides its certificate, whatever it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Prove {
    /// Intervals for the parameters of the optimum and their standard errors.
    Digits,
}

impl Prove {
    /// The name on the command line and in model files.
    #[inline]
    pub fn name(self) -> &'static str {
        match self {
            Prove::Digits => "digits",
        }
    }
}

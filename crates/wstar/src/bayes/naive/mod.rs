//! Naive Bayes: the features are assumed to be independent given the class, so that
//! p(x | k) = Πⱼ p(xⱼ | k), and each one-dimensional density is estimated separately, in closed form.
//!
//! - `feature_gaussians`, `bernoulli`, `multinomial`: the three densities.
//! - `sufficient_statistics`: estimates from batches of rows.

mod bernoulli;
mod feature_gaussians;
mod multinomial;
mod sufficient_statistics;

pub use bernoulli::{Bernoulli, fit as fit_bernoulli};
pub use feature_gaussians::{NaiveGaussian, fit as fit_gaussian};
pub use multinomial::{Multinomial, fit as fit_multinomial};
pub use sufficient_statistics::Tally;

use wstar_data::error::{Error, Range, Result};
use wstar_data::setting::Setting;

/// Rejects a smoothing of 0 or less: events that do not occur in the training set would have probability 0.
fn check_alpha(alpha: f64) -> Result<()> {
    if alpha.is_finite() && alpha > 0.0 {
        return Ok(());
    }
    Err(Error::out_of_range(Setting::Smoothing, Range::Positive, alpha)
        .remedy("with 0, one value that a class never showed would rule the class out; 1e-10 is nearly 0"))
}

//! Naive Bayes: the features are taken to be independent given the class, so that
//! p(x | k) = Πⱼ p(xⱼ | k), and each one-dimensional density is estimated by itself, in closed form.

mod bernoulli;
mod gaussian;
mod multinomial;
mod tally;

pub use bernoulli::{Bernoulli, fit as fit_bernoulli};
pub use gaussian::{NaiveGaussian, fit as fit_gaussian};
pub use multinomial::{Multinomial, fit as fit_multinomial};
pub use tally::Tally;

use crate::error::{Error, Result};

/// Refuses a smoothing that leaves events impossible that the training set merely does not hold.
fn check_alpha(alpha: f64) -> Result<()> {
    if alpha.is_finite() && alpha > 0.0 {
        return Ok(());
    }
    Err(
        Error::settings(format!("a smoothing alpha of {alpha} is not positive"))
            .hint("with 0, one value that a class never showed would rule the class out; 1e-10 is nearly 0"),
    )
}

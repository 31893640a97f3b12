//! Losses ℓ(y, z) of a score `z` where the truth is `y`. These are scalar functions; none of them sees a design.
//!
//! For classifiers `y` is −1 or +1; for regression it is the target itself. Every convex loss here has infimum 0,
//! so ℓ\*(0) = 0. The bound of the [duality gap](crate::objective) under an ℓ1 penalty relies on that.
//!
//! - `squared`: least squares.
//! - `logistic`, `softmax`: the negative log-likelihood of two classes, and of several.
//! - `hinge`, `squared_hinge`, `modified_huber`: the support vector machine and two smooth variants.
//! - `absolute`: least absolute deviations and quantiles.
//! - `sigmoid_mse`: the squared error of the probability, not convex.
//! - `loss_name`: the losses by name, and the macro that evaluates an expression with the loss of a name.

mod absolute;
mod hinge;
mod logistic;
mod loss_name;
mod modified_huber;
mod sigmoid_mse;
mod softmax;
mod squared;
mod squared_hinge;

pub use absolute::{Absolute, Quantile};
pub use hinge::Hinge;
pub use logistic::Logistic;
pub use loss_name::LossName;
pub use modified_huber::ModifiedHuber;
pub use sigmoid_mse::SigmoidMse;
pub use softmax::Softmax;
pub use squared::Squared;
pub use squared_hinge::SquaredHinge;

/// A loss ℓ(y, z) of one score.
pub trait Loss: Copy + Send + Sync {
    /// ℓ(y, z).
    fn value(self, y: f64, z: f64) -> f64;
    /// ∂ℓ/∂z; at a kink, some subgradient.
    fn slope(self, y: f64, z: f64) -> f64;
    /// ∂²ℓ/∂z²; where it is discontinuous, one of the one-sided limits.
    fn curvature(self, y: f64, z: f64) -> f64;
    /// The conjugate ℓ\*(y, s) = sup_z (s·z − ℓ(y, z)): +∞ where `s` is outside the closure of the slopes of ℓ.
    fn conjugate(self, y: f64, s: f64) -> f64;
    /// The infimum and the supremum of the slopes: outside this interval the conjugate is +∞.
    fn slopes(self, y: f64) -> (f64, f64);

    /// Value, slope and curvature together.
    #[inline]
    fn all(self, y: f64, z: f64) -> (f64, f64, f64) {
        (self.value(y, z), self.slope(y, z), self.curvature(y, z))
    }

    /// Value, slope and, if wanted, curvature of many rows. Overwrites the scores with the slopes.
    #[inline]
    fn each(self, y: &[f64], scores: &mut [f64], values: &mut [f64], mut curvatures: Option<&mut [f64]>) {
        for (at, ((&y, z), value)) in y.iter().zip(scores).zip(values).enumerate() {
            let curvature;
            (*value, *z, curvature) = self.all(y, *z);
            if let Some(curvatures) = curvatures.as_deref_mut() {
                curvatures[at] = curvature;
            }
        }
    }
}

/// A loss ℓ(k, z) of a vector z of scores, one for each class, where the true class is `k`.
pub trait VectorLoss: Copy + Send + Sync {
    /// ℓ(k, z). Overwrites the scores with the gradient ∂ℓ/∂z.
    fn value_and_gradient(self, class: usize, scores: &mut [f64]) -> f64;
    /// The product ∂²ℓ/∂z² · v at the scores whose gradient is `gradient`.
    fn curvature_times(self, class: usize, gradient: &[f64], v: &[f64], out: &mut [f64]);
    /// The conjugate ℓ\*(k, s) = sup_z (s·z − ℓ(k, z)).
    fn conjugate(self, class: usize, s: &[f64]) -> f64;
}

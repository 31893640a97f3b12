//! A-priori bounds of rounding errors (N. J. Higham, Accuracy and Stability of Numerical Algorithms, SIAM 2002, chapter 3).

#[cfg(test)]
use std::cell::Cell;

/// A factor on every bound that is itself a rounded expression of numbers of at least 0. Derived: such an expression with up to
/// 4·10⁶ operations in a row has a relative error below 10⁻⁹.
pub(super) const SLACK: f64 = 1.0 + 1e-9;

/// [`SLACK`] for expressions of a few operations. Derived: up to 40 operations in a row.
pub(super) const FEW: f64 = 1.0 + 20.0 * f64::EPSILON;

#[cfg(test)]
thread_local! {
    /// The unit roundoff that the tests replace, to see that containment depends on it.
    pub(super) static UNIT: Cell<f64> = const { Cell::new(f64::EPSILON / 2.0) };
}

/// The unit roundoff u = 2⁻⁵³.
pub(super) fn unit() -> f64 {
    #[cfg(test)]
    return UNIT.get();
    #[cfg(not(test))]
    return f64::EPSILON / 2.0;
}

/// γₘ = mu/(1 − mu), rounded upwards. It is infinite from mu = ½ on, where nothing is proved.
pub(super) fn gamma(m: usize) -> f64 {
    let mu = m as f64 * unit();
    if mu < 0.5 {
        mu / (1.0 - mu) * SLACK
    } else {
        f64::INFINITY
    }
}

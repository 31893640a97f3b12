//! Bounds on rounding errors, for IEEE 754 binary64 with rounding to nearest.
//!
//! Every bound of this module is a sum or product of terms of at least 0, computed in doubles. Its own rounding is covered by
//! the factor [`UPWARDS`], as long as it has fewer than 10⁹ operations in a chain.

/// Covers the rounding of a computed bound. Derived: γₘ < 10⁻⁶ for m < 9·10⁹.
const UPWARDS: f64 = 1.0 + 1e-6;

/// Added to bounds that may have underflowed. Derived: 10⁹ operations that underflow err by less than 10⁹·2⁻¹⁰⁷⁴.
const UNDERFLOW: f64 = 1e-300;

/// The unit roundoff u of all a-priori bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounding {
    u: f64,
}

impl Rounding {
    /// u = 2⁻⁵³.
    pub(super) const BINARY64: Rounding = Rounding {
        u: 0.5 * f64::EPSILON,
    };

    /// A wrong unit roundoff. With it some bounds of the tests must fail.
    #[cfg(test)]
    pub(super) const MUTANT: Rounding = Rounding { u: 1e-40 };

    /// u.
    pub(super) fn unit(self) -> f64 {
        self.u
    }

    /// An upper bound of γₘ = mu/(1 − mu), the relative error of a chain of m operations; infinite for m > 2⁴³.
    pub(super) fn gamma(self, m: usize) -> f64 {
        let mu = m as f64 * self.u;
        if mu < 1e-3 { 1.01 * mu } else { f64::INFINITY }
    }

    /// A bound on the error of a sum of at most `terms` products in two doubles, for the sum `size` of their magnitudes
    /// (T. Ogita, S. M. Rump, S. Oishi 2005): γ²·size.
    pub(super) fn compensated(self, size: f64, terms: usize) -> f64 {
        if size == 0.0 {
            return 0.0;
        }
        let gamma = self.gamma(terms + 8);
        upwards(gamma * gamma * size) + UNDERFLOW
    }
}

/// An upper bound of a computed bound's exact value. NaN becomes infinite: it proves nothing.
pub(super) fn upwards(bound: f64) -> f64 {
    let bound = bound * UPWARDS;
    if bound.is_nan() { f64::INFINITY } else { bound }
}

/// The larger of two bounds; infinite if one is NaN.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::INFINITY
    } else {
        a.max(b)
    }
}

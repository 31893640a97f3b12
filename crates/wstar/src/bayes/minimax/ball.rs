//! A ball around the prototypes of a class, and the interval for the smallest radius that its multipliers certify.

use serde::{Deserialize, Serialize};

use crate::bayes::minimax::distance::{squared_distance, squared_distances};
use wstar_data::Design;
use wstar_numeric::dense;

/// The smallest enclosing ball of one class, with its certificate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ball {
    /// The centre.
    pub centre: Vec<f64>,
    /// The largest distance of a prototype from the centre: an upper bound on R*.
    pub radius: f64,
    /// The square root of the dual value of the multipliers: a lower bound on R*.
    pub lower: f64,
    /// The support points, as rows of the training set.
    pub support: Vec<usize>,
    /// The multiplier of each support point; the centre is their convex combination.
    pub multipliers: Vec<f64>,
}

impl Ball {
    /// (hi − lo) / hi: the largest possible relative error of the radius.
    pub fn relative_gap(&self) -> f64 {
        relative_gap(self.lower, self.radius)
    }

    pub(crate) fn is_whole(&self, features: usize) -> bool {
        self.centre.len() == features
            && self.centre.iter().all(|c| c.is_finite())
            && self.radius.is_finite()
            && self.radius >= 0.0
            && self.support.len() == self.multipliers.len()
            && self.multipliers.iter().all(|m| m.is_finite() && *m >= 0.0)
    }
}

/// (hi − lo) / hi; 0 for a ball of radius 0.
pub fn relative_gap(lower: f64, upper: f64) -> f64 {
    if upper > 0.0 { (upper - lower) / upper } else { 0.0 }
}

/// The interval [lo, hi] for the radius of the smallest ball around the given rows. hi is the largest distance from the
/// centre. lo² = Σλ‖x − c‖² − ‖Σλ(x − c)‖² over the support is the dual value, computed about the centre to avoid
/// cancellation. Multipliers are first scaled to sum to 1; if one is negative, they prove nothing and lo = 0.
pub fn interval(
    design: &Design,
    rows: &[usize],
    centre: &[f64],
    support: &[usize],
    multipliers: &[f64],
) -> (f64, f64) {
    let upper = squared_distances(design, rows, centre)
        .into_iter()
        .fold(0.0, f64::max)
        .sqrt();
    let total: f64 = multipliers.iter().sum();
    if !(total.is_finite() && total > 0.0 && multipliers.iter().all(|&m| m >= 0.0)) {
        return (0.0, upper);
    }
    let mut spread = 0.0;
    let mut mean = vec![0.0; centre.len()];
    for (&i, multiplier) in support.iter().zip(multipliers) {
        let share = multiplier / total;
        let row = design.row(i);
        spread += share * squared_distance(row, centre, dense::squared_norm(centre));
        row.add_to(share, &mut mean);
        dense::axpy(-share, centre, &mut mean);
    }
    let lower = (spread - dense::squared_norm(&mean)).max(0.0).sqrt();
    (lower.min(upper), upper)
}

//! The geometry of a linear classifier `w·x + b`: scores, distances, margins and projections.

use serde::{Deserialize, Serialize};

use crate::{Design, Row};
use wstar_numeric::dense;

/// The hyperplane `w·x + b = 0`; the side where `w·x + b > 0` is the positive one.
///
/// ```
/// use wstar_data::Row;
/// use wstar_data::linear::Hyperplane;
/// // f(x) = −3 + 4x₁ + 2x₂, where x₁ and x₂ say whether "free" and "money" occur; "free money" is spam.
/// let plane = Hyperplane::new(vec![4.0, 2.0], -3.0);
/// assert_eq!(plane.score(Row::Dense64(&[1.0, 1.0])), 3.0);
/// assert_eq!(plane.threshold(), 3.0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Hyperplane {
    /// The normal vector `w`.
    pub weights: Vec<f64>,
    /// The intercept `b`.
    pub intercept: f64,
}

impl Hyperplane {
    /// The hyperplane with these weights and this intercept.
    #[inline]
    pub fn new(weights: Vec<f64>, intercept: f64) -> Self {
        Hyperplane { weights, intercept }
    }

    /// `w = 0`, `b = 0`: the starting point of most learners.
    #[inline]
    pub fn zero(features: usize) -> Self {
        Hyperplane::new(vec![0.0; features], 0.0)
    }

    /// The lifted form `w̃ = (w, b)`, which scores `x̃ = (x, 1)` without an intercept.
    #[inline]
    pub fn lifted(&self) -> Vec<f64> {
        self.weights.iter().copied().chain([self.intercept]).collect()
    }

    /// The threshold `t = −b` of the form `w·x > t`.
    #[inline]
    pub fn threshold(&self) -> f64 {
        -self.intercept
    }

    /// The score `w·x + b`.
    #[inline]
    pub fn score(&self, x: Row<'_>) -> f64 {
        x.dot(&self.weights) + self.intercept
    }

    /// `‖w‖`.
    #[inline]
    pub fn norm(&self) -> f64 {
        dense::squared_norm(&self.weights).sqrt()
    }

    /// `‖(w, b)‖`, the norm of the lifted form.
    #[inline]
    pub fn lifted_norm(&self) -> f64 {
        (dense::squared_norm(&self.weights) + self.intercept * self.intercept).sqrt()
    }

    /// The distance of `x` from the hyperplane, positive on the positive side; `None` if `w = 0`.
    ///
    /// ```
    /// use wstar_data::Row;
    /// use wstar_data::linear::Hyperplane;
    /// let plane = Hyperplane::new(vec![3.0, 4.0], -5.0);
    /// assert_eq!(plane.signed_distance(Row::Dense64(&[0.0, 0.0])), Some(-1.0));
    /// ```
    #[inline]
    pub fn signed_distance(&self, x: Row<'_>) -> Option<f64> {
        let norm = self.norm();
        (norm > 0.0).then(|| self.score(x) / norm)
    }

    /// The margin of a point with label `y = ±1`: its distance, negative on the wrong side.
    ///
    /// ```
    /// use wstar_data::Row;
    /// use wstar_data::linear::Hyperplane;
    /// let plane = Hyperplane::new(vec![3.0, 4.0], -5.0);
    /// assert_eq!(plane.margin(Row::Dense64(&[0.0, 0.0]), -1.0), Some(1.0), "on the negative side");
    /// ```
    #[inline]
    pub fn margin(&self, x: Row<'_>, y: f64) -> Option<f64> {
        self.signed_distance(x).map(|distance| y * distance)
    }

    /// The margin of a set: the smallest margin of its points. `None` if the set is empty or `w = 0`.
    #[inline]
    pub fn margin_of_set(&self, design: &Design, labels: &[f64]) -> Option<f64> {
        let least = design
            .iter()
            .zip(labels)
            .map(|(x, y)| y * self.score(x))
            .min_by(f64::total_cmp)?;
        let norm = self.norm();
        (norm > 0.0).then(|| least / norm)
    }

    /// The point of the hyperplane nearest to `x`; `None` if `w = 0`.
    ///
    /// ```
    /// use wstar_data::Row;
    /// use wstar_data::linear::Hyperplane;
    /// let plane = Hyperplane::new(vec![0.0, 2.0], -2.0);
    /// assert_eq!(plane.project(Row::Dense64(&[5.0, 3.0])), Some(vec![5.0, 1.0]));
    /// ```
    #[inline]
    pub fn project(&self, x: Row<'_>) -> Option<Vec<f64>> {
        let squared = dense::squared_norm(&self.weights);
        if squared == 0.0 {
            return None;
        }
        let step = -self.score(x) / squared;
        let mut point = x.to_dense(self.weights.len().max(x.width()));
        dense::axpy(step, &self.weights, &mut point);
        Some(point)
    }

    /// Adds `scale·(x, 1)`, or `scale·(x, 0)` without an intercept. The weights are extended to the width of the row if
    /// necessary.
    #[inline]
    pub fn add(&mut self, scale: f64, x: Row<'_>, intercept: bool) {
        self.widen(x.width());
        x.add_to(scale, &mut self.weights);
        if intercept {
            self.intercept += scale;
        }
    }

    /// Extends the weights to at least `features`; new weights are 0.
    #[inline]
    pub fn widen(&mut self, features: usize) {
        if features > self.weights.len() {
            self.weights.resize(features, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spam_example_is_predicted() {
        let plane = Hyperplane::new(vec![4.0, 2.0], -3.0);
        let spam =
            [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]].map(|x| plane.score(Row::Dense64(&x)) > 0.0);
        assert_eq!(spam, [true, true, false, false]);
    }

    #[test]
    fn distances_of_a_three_four_five_triangle() {
        // 3x + 4y = 10 is at distance 2 from the origin. (3, 4) is at distance 5, so 3 beyond the line.
        let plane = Hyperplane::new(vec![3.0, 4.0], -10.0);
        assert_eq!(plane.signed_distance(Row::Dense64(&[0.0, 0.0])), Some(-2.0));
        assert_eq!(plane.margin(Row::Dense64(&[3.0, 4.0]), 1.0), Some(3.0));
        assert_eq!(
            plane.project(Row::Dense64(&[0.0, 0.0])),
            Some(vec![1.2000000000000002, 1.6])
        );
        let design = Design::from_rows(&[vec![3.0, 4.0], vec![0.0, 0.0]]).unwrap();
        assert_eq!(plane.margin_of_set(&design, &[1.0, -1.0]), Some(2.0));
        assert_eq!(
            Hyperplane::zero(2).signed_distance(Row::Dense64(&[1.0, 1.0])),
            None
        );
    }

    proptest! {
        #[test]
        fn projections_are_the_nearest_points_of_the_plane(
            w in prop::collection::vec(-10.0..10.0f64, 3),
            b in -10.0..10.0f64,
            x in prop::collection::vec(-10.0..10.0f64, 3),
        ) {
            prop_assume!(w.iter().any(|v| v.abs() > 0.1));
            let plane = Hyperplane::new(w, b);
            let x = Row::Dense64(&x);
            let p = plane.project(x).unwrap();
            prop_assert!(plane.score(Row::Dense64(&p)).abs() < 1e-10 * (1.0 + plane.norm() * 100.0));
            let distance: f64 = p.iter().zip(x.to_dense(3)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            prop_assert!((distance - plane.signed_distance(x).unwrap().abs()).abs() < 1e-9);
        }
    }
}

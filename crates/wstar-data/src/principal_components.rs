//! Principal components (Pearson 1901): the directions of largest variance, for plots of many columns.
//!
//! Columns are first standardised to mean 0 and standard deviation 1, because otherwise a column in grams would outweigh
//! one in kilograms. The directions are therefore the eigenvectors of the correlation matrix, in order of decreasing
//! eigenvalues.

use faer::{Mat, Side};

use crate::error::{Error, Result};
use crate::{Design, Row};

/// The maximum number of columns. Cap: more columns are refused, because the correlation matrix and its eigenvectors take
/// O(d²) memory and O(d³) time, which a plot does not justify.
const MOST_COLUMNS: usize = 2_000;

/// Principal components of a design.
#[derive(Debug, Clone, PartialEq)]
pub struct Components {
    /// The mean of each column.
    pub(crate) means: Vec<f64>,
    /// The standard deviation of each column; 1 for a constant column.
    pub(crate) deviations: Vec<f64>,
    /// Orthonormal directions in the space of the standardised columns.
    pub(crate) directions: Vec<Vec<f64>>,
    /// The variance along each direction.
    pub(crate) variances: Vec<f64>,
    /// The total variance of the standardised columns: the number of columns that are not constant.
    pub(crate) total: f64,
}

impl Components {
    /// The first `count` components of the rows, weighted if there are weights.
    pub fn learn(design: &Design, weights: Option<&[f64]>, count: usize) -> Result<Self> {
        let features = design.features();
        if features > MOST_COLUMNS {
            return Err(Error::data(format!(
                "principal components of {features} columns: at most {MOST_COLUMNS} are taken"
            )));
        }
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let total: f64 = (0..design.rows()).map(weight).sum();
        if total <= 0.0 {
            return Err(Error::data("no rows have no principal components"));
        }
        let mut means = vec![0.0; features];
        for (i, row) in design.iter().enumerate() {
            row.add_to(weight(i) / total, &mut means);
        }
        let mut products = Mat::<f64>::zeros(features, features);
        let mut centred = vec![0.0; features];
        for (i, row) in design.iter().enumerate() {
            centred.iter_mut().zip(&means).for_each(|(c, mean)| *c = -mean);
            row.add_to(1.0, &mut centred);
            let share = weight(i) / total;
            for (k, &b) in centred.iter().enumerate() {
                for (j, &a) in centred.iter().enumerate().skip(k) {
                    products[(j, k)] += share * a * b;
                }
            }
        }
        // A column whose variation is within rounding error counts as constant. Heuristic: this error is taken as 1e-12 of
        // the mean; not measured yet.
        let least = |j: usize| (means[j].abs() * 1e-12).powi(2);
        let deviations: Vec<f64> = (0..features)
            .map(|j| match products[(j, j)] > least(j) {
                true => products[(j, j)].sqrt(),
                false => f64::INFINITY,
            })
            .collect();
        let correlation = Mat::from_fn(features, features, |j, k| {
            let (j, k) = (j.max(k), j.min(k));
            products[(j, k)] / deviations[j] / deviations[k]
        });
        let eigen = correlation
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::data("the principal components could not be computed"))?;
        // The eigenvalues are in increasing order.
        let kept: Vec<usize> = (0..features).rev().take(count).collect();
        let direction = |&k: &usize| {
            let direction: Vec<f64> = (0..features).map(|j| eigen.U()[(j, k)]).collect();
            // The sign is chosen such that the entry of largest absolute value is positive.
            let largest = direction
                .iter()
                .copied()
                .fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
            direction.iter().map(|v| v * largest.signum()).collect()
        };
        Ok(Components {
            directions: kept.iter().map(direction).collect(),
            variances: kept.iter().map(|&k| eigen.S()[k].max(0.0)).collect(),
            total: deviations
                .iter()
                .filter(|deviation| deviation.is_finite())
                .count() as f64,
            deviations: deviations
                .iter()
                .map(|&deviation| if deviation.is_finite() { deviation } else { 1.0 })
                .collect(),
            means,
        })
    }

    /// The coordinates of a row along the directions.
    pub fn project(&self, row: Row<'_>) -> Vec<f64> {
        let mut standard: Vec<f64> = self.means.iter().map(|mean| -mean).collect();
        row.add_to(1.0, &mut standard);
        standard
            .iter_mut()
            .zip(&self.deviations)
            .for_each(|(value, deviation)| *value /= deviation);
        let along = |direction: &Vec<f64>| direction.iter().zip(&standard).map(|(d, s)| d * s).sum();
        self.directions.iter().map(along).collect()
    }

    /// The fraction of the total variance along direction `k`.
    pub fn share(&self, k: usize) -> f64 {
        match self.variances.get(k) {
            Some(variance) if self.total > 0.0 => variance / self.total,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn correlated_columns_have_one_component() {
        // With correlation 1, all variance is along (1, 1)/√2, whatever the units.
        let rows: Vec<Vec<f64>> = (0..5)
            .map(|i| vec![f64::from(i), 1000.0 * f64::from(i) + 7.0])
            .collect();
        let found = Components::learn(&Design::from_rows(&rows).unwrap(), None, 2).unwrap();
        let half = 0.5f64.sqrt();
        assert!(found.directions[0].iter().all(|v| (v - half).abs() < 1e-12));
        assert!((found.share(0) - 1.0).abs() < 1e-12 && found.share(1).abs() < 1e-12);
        assert_eq!(found.share(2), 0.0);
        let far = found.project(Row::Dense64(&rows[4]));
        assert!((far[0] - 2.0).abs() < 1e-12 && far[1].abs() < 1e-12);
    }

    #[test]
    fn iris_has_the_published_variances() {
        // The textbook eigenvalues of the correlation matrix of iris: 2.918, 0.914, 0.147, 0.021.
        let raw = crate::read::read(
            &crate::read::Source::parse("@iris").unwrap(),
            &crate::read::ReadOptions::default(),
        )
        .unwrap();
        let data = crate::prepare::prepare(raw, &crate::Preparation::default()).unwrap();
        let found = Components::learn(&data.design, None, 4).unwrap();
        for (variance, expected) in found
            .variances
            .iter()
            .zip([2.918_50, 0.914_03, 0.146_76, 0.020_71])
        {
            assert!((variance - expected).abs() < 2e-3, "{variance}");
        }
        assert!(Components::learn(&data.design.select(&[]), None, 2).is_err());
    }

    proptest! {
        #[test]
        fn directions_are_orthonormal_and_variances_decrease(
            values in prop::collection::vec(-5.0..5.0f64, 40), constant in any::<bool>()
        ) {
            let mut rows: Vec<Vec<f64>> = values.chunks(4).map(Vec::from).collect();
            if constant {
                rows.iter_mut().for_each(|row| row[2] = 0.3);
            }
            let design = Design::from_rows(&rows).unwrap();
            let found = Components::learn(&design, None, 4).unwrap();
            for (j, a) in found.directions.iter().enumerate() {
                for (k, b) in found.directions.iter().enumerate() {
                    let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    prop_assert!((product - f64::from(u8::from(j == k))).abs() < 1e-10);
                }
            }
            prop_assert!(found.variances.windows(2).all(|pair| pair[0] >= pair[1] - 1e-12));
            prop_assert!((found.variances.iter().sum::<f64>() - found.total).abs() < 1e-9);
            // The variance of the projections is the reported variance.
            let along: Vec<f64> = design.iter().map(|row| found.project(row)[0]).collect();
            let variance = along.iter().map(|v| v * v).sum::<f64>() / along.len() as f64;
            prop_assert!((variance - found.variances[0]).abs() < 1e-9);
        }
    }
}

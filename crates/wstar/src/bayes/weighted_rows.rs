//! The weighted training sample of the estimators: class weights, and sums over rows that have the same bits for any
//! number of threads.

use rayon::prelude::*;

use wstar_data::error::{Error, Result, shown};
use wstar_data::{Classes, Dataset, Row, refuse_huge};

/// Numbers in all partial sums together. Cap: beyond it, fewer groups of rows are summed in parallel.
const PARTIAL_CELLS: usize = 1 << 23;

/// A validated data set: every weight is finite and non-negative.
pub(crate) struct Sample<'a> {
    pub(crate) data: &'a Dataset,
    pub(crate) codes: &'a [u32],
    pub(crate) classes: &'a Classes,
    /// The weight of each class.
    pub(crate) totals: Vec<f64>,
}

impl<'a> Sample<'a> {
    /// A complete sample; an error unless every class has a positive weight.
    pub(crate) fn new(data: &'a Dataset) -> Result<Self> {
        let sample = Sample::partial(data)?;
        if let Some(k) = sample.totals.iter().position(|&total| total <= 0.0) {
            return Err(Error::data(format!(
                "class {} has no rows of positive weight",
                sample.shown(k)
            ))
            .in_file(data.source()));
        }
        Ok(sample)
    }

    /// A batch of rows, in which classes may be absent.
    pub(crate) fn partial(data: &'a Dataset) -> Result<Self> {
        let (codes, classes) = data.require_classes()?;
        if data.features() == 0 {
            return Err(Error::data("there are no feature columns to learn from").in_file(data.source()));
        }
        let weights_fit = data.weights().is_none_or(|w| w.len() == data.rows());
        if codes.len() != data.rows() || !weights_fit {
            return Err(
                Error::data("the rows, their classes and their weights differ in number")
                    .in_file(data.source()),
            );
        }
        let mut totals = vec![0.0; classes.len()];
        for (i, &code) in codes.iter().enumerate() {
            let weight = data.weight(i);
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(
                    Error::data(format!("row {i}: a sample weight of {weight} is not usable"))
                        .remedy("weights must be finite and not negative")
                        .in_file(data.source()),
                );
            }
            totals[code as usize] += weight;
        }
        refuse_huge(data)?;
        Ok(Sample {
            data,
            codes,
            classes,
            totals,
        })
    }

    /// The relative weight of each class.
    pub(crate) fn priors(&self) -> Vec<f64> {
        let all: f64 = self.totals.iter().sum();
        self.totals.iter().map(|total| total / all).collect()
    }

    /// The name of a class, as shown in messages.
    pub(crate) fn shown(&self, k: usize) -> String {
        shown(self.classes.name(k as u32))
    }

    /// The rows of positive weight of each class.
    pub(crate) fn rows_by_class(&self) -> Vec<Vec<usize>> {
        let mut rows = vec![Vec::new(); self.classes.len()];
        for (i, &code) in self.codes.iter().enumerate() {
            if self.data.weight(i) > 0.0 {
                rows[code as usize].push(i);
            }
        }
        rows
    }

    /// Sums over rows of `cells` numbers per class: calls `add(cells of the row's class, class, weight, row)`
    /// for each row of positive weight. Rows are split into groups by the shape of the data alone, and
    /// the sums of the groups are added in order, so the bits do not depend on the number of threads.
    pub(crate) fn sums<F>(&self, cells: usize, add: F) -> Vec<Vec<f64>>
    where
        F: Fn(&mut [f64], usize, f64, Row<'_>) + Sync,
    {
        let (rows, classes) = (self.data.rows(), self.classes.len());
        let groups = (PARTIAL_CELLS / (cells * classes).max(1))
            // Heuristic: parallelism against memory for partial sums; not measured yet.
            .clamp(1, 64)
            .min(rows.div_ceil(1024))
            .max(1);
        let size = rows.div_ceil(groups).max(1);
        let parts: Vec<Vec<Vec<f64>>> = (0..rows.div_ceil(size))
            .into_par_iter()
            .map(|group| {
                let mut sums = vec![vec![0.0; cells]; classes];
                for i in group * size..((group + 1) * size).min(rows) {
                    let (k, weight) = (self.codes[i] as usize, self.data.weight(i));
                    if weight > 0.0 {
                        add(&mut sums[k], k, weight, self.data.design().row(i));
                    }
                }
                sums
            })
            .collect();
        let mut sums = vec![vec![0.0; cells]; classes];
        for part in parts {
            for (sum, part) in sums.iter_mut().flatten().zip(part.iter().flatten()) {
                *sum += part;
            }
        }
        sums
    }

    /// The mean of each class. Dense rows are taken relative to the first row of their class,
    /// so that a large offset causes no cancellation and the mean of a constant column is exact.
    pub(crate) fn means(&self) -> Vec<Vec<f64>> {
        let features = self.data.features();
        let origins: Vec<Vec<f64>> = if self.data.design().is_sparse() {
            vec![vec![0.0; features]; self.classes.len()]
        } else {
            let first = |rows: Vec<usize>| match rows.first() {
                Some(&i) => self.data.design().row(i).to_dense(features),
                None => vec![0.0; features],
            };
            self.rows_by_class().into_iter().map(first).collect()
        };
        let mut means = self.sums(features, |sums, k, weight, row| {
            let origin = &origins[k];
            row.for_each(|j, v| sums[j] += weight * (v - origin[j]));
        });
        for ((mean, origin), total) in means.iter_mut().zip(&origins).zip(&self.totals) {
            for (m, o) in mean.iter_mut().zip(origin) {
                *m = if *total > 0.0 { o + *m / total } else { 0.0 };
            }
        }
        means
    }
}

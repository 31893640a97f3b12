//! Products with the design matrix in twice the precision: scores x̃·θ and column products X̃ᵀα.

use crate::arithmetic::{Interval, Sum, two_sum};
use crate::design::Row;

/// Sums of a score that run next to each other. They are merged at the end, which adds as many terms to N.
const LANES: usize = 4;

/// The score of a row in two doubles: within `error` of hi + lo.
#[derive(Clone, Copy)]
pub(crate) struct Score {
    hi: f64,
    lo: f64,
    error: f64,
}

impl Score {
    /// The score of a row for the parameters of one output: the weights, then the intercept if there is one.
    #[inline]
    pub(crate) fn new(row: Row<'_>, features: usize, parameters: &[f64]) -> Score {
        let mut lanes = [Sum::default(); LANES];
        for (k, (j, x)) in row.entries().enumerate() {
            lanes[k % LANES].add(parameters[j], x);
        }
        let [mut sum, rest @ ..] = lanes;
        rest.into_iter().for_each(|lane| sum.merge(lane));
        if let Some(&intercept) = parameters.get(features) {
            sum.add(intercept, 1.0);
        }
        let error = sum.error(row.values.len() + LANES + 1);
        Score {
            hi: sum.hi,
            lo: sum.lo,
            error,
        }
    }

    /// t − s·z for s = ±1 as a double and an interval for the rest. The difference of t and the leading part is exact in two
    /// doubles, so the result keeps its relative precision if t and z cancel.
    pub(crate) fn residual_parts(&self, t: f64, s: f64) -> (f64, Interval) {
        let (high, low) = two_sum(t, -s * self.hi);
        let low = Interval::point(low) + Interval::point(-s * self.lo);
        (high, low.widened(self.error))
    }

    /// An interval that contains t − s·z for s = ±1.
    pub(crate) fn residual(&self, t: f64, s: f64) -> Interval {
        let (high, low) = self.residual_parts(t, s);
        Interval::point(high) + low
    }
}

/// X̃ᵀα of one output in two doubles, column by column, the intercept's last.
#[derive(Clone)]
pub(crate) struct ColumnSums {
    sums: Vec<Sum>,
    terms: usize,
}

impl ColumnSums {
    pub(crate) fn new(width: usize) -> ColumnSums {
        let sums = vec![Sum::default(); width];
        ColumnSums { sums, terms: 0 }
    }

    pub(crate) fn width(&self) -> usize {
        self.sums.len()
    }

    /// Adds α times a row, and α to the intercept's column if there is one.
    #[inline]
    pub(crate) fn add(&mut self, row: Row<'_>, features: usize, alpha: f64) {
        if alpha == 0.0 {
            return;
        }
        self.terms += 1;
        row.entries().for_each(|(j, x)| self.sums[j].add(alpha, x));
        if let Some(ones) = self.sums.get_mut(features) {
            ones.add(alpha, 1.0);
        }
    }

    pub(crate) fn add_term(&mut self, j: usize, a: f64, b: f64) {
        self.terms += 1;
        self.sums[j].add(a, b);
    }

    /// An interval that contains the exact sum of column `j`.
    pub(crate) fn interval(&self, j: usize) -> Interval {
        self.sums[j].interval(self.terms)
    }

    /// An interval that contains column `j` minus m times the intercept's column, `at`. The products m·hi and m·lo are added
    /// in two doubles; the error of the intercept's column counts with |m|.
    pub(crate) fn centred(&self, j: usize, at: usize, m: f64) -> Interval {
        let (mut sum, ones) = (self.sums[j], self.sums[at]);
        sum.add(-ones.hi, m);
        sum.add(-ones.lo, m);
        let error = Interval::point(ones.error(self.terms)) * Interval::point(m.abs());
        let centred = sum.interval(self.terms + 2);
        centred.widened(error.hi).widened(f64::MIN_POSITIVE)
    }
}

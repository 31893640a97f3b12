//! Products with the design matrix in twice the precision: scores x̃·θ and column products X̃ᵀα.

use crate::arithmetic::{Interval, Sum, dot_error, two_prod, two_sum};
use crate::design::Row;

/// Sums that run next to each other over a dense row. They are merged at the end, which adds as many terms to N.
const LANES: usize = 4;

/// The score of a row in two doubles: within `error` of hi + lo.
#[derive(Debug, Clone, Copy)]
pub struct Score {
    hi: f64,
    lo: f64,
    error: f64,
}

impl Score {
    /// The score of a row for the parameters of one output: the weights, then the intercept if there is one.
    pub fn new(row: Row<'_>, features: usize, parameters: &[f64]) -> Score {
        let mut lanes = [Sum::default(); LANES];
        if let Some(columns) = row.columns {
            for (&j, &x) in columns.iter().zip(row.values) {
                lanes[0].add(parameters[j as usize], x);
            }
        } else {
            let weights = &parameters[..features];
            let (x, w) = (row.values.chunks_exact(LANES), weights.chunks_exact(LANES));
            for (&x, &w) in x.remainder().iter().zip(w.remainder()) {
                lanes[0].add(w, x);
            }
            for (x, w) in x.zip(w) {
                for k in 0..LANES {
                    lanes[k].add(w[k], x[k]);
                }
            }
        }
        let mut sum = lanes[0];
        lanes[1..].iter().for_each(|&lane| sum.merge(lane));
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

    /// t − s·z for s = ±1 in two doubles, and an upper bound on their error.
    pub fn residual_pair(&self, t: f64, s: f64) -> (f64, f64, f64) {
        let (high, low) = two_sum(t, -s * self.hi);
        let exact = Interval::point(low) + Interval::point(-s * self.lo);
        let rest = low - s * self.lo;
        (
            high,
            rest,
            (exact - Interval::point(rest)).widened(self.error).abs().hi,
        )
    }

    /// An interval that contains t − s·z for s = ±1. The difference of t and the leading part is exact in two doubles, so the
    /// result keeps its relative precision if t and z cancel.
    pub fn residual(&self, t: f64, s: f64) -> Interval {
        let (high, low) = two_sum(t, -s * self.hi);
        let low = Interval::point(low) + Interval::point(-s * self.lo);
        Interval::point(high) + low.widened(self.error)
    }
}

/// X̃ᵀα of one output in two doubles, column by column, the intercept's last.
#[derive(Debug, Clone)]
pub struct ColumnSums {
    hi: Vec<f64>,
    lo: Vec<f64>,
    size: Vec<f64>,
    terms: usize,
}

impl ColumnSums {
    /// Zeros.
    pub fn new(width: usize) -> ColumnSums {
        ColumnSums {
            hi: vec![0.0; width],
            lo: vec![0.0; width],
            size: vec![0.0; width],
            terms: 0,
        }
    }

    /// Adds α times a row, and α to the intercept's column if there is one.
    pub fn add(&mut self, row: Row<'_>, features: usize, alpha: f64) {
        if alpha == 0.0 {
            return;
        }
        self.terms += 1;
        if let Some(columns) = row.columns {
            for (&j, &x) in columns.iter().zip(row.values) {
                self.add_product(j as usize, alpha, x);
            }
        } else {
            let sums = self.hi.iter_mut().zip(&mut self.lo).zip(&mut self.size);
            for (((hi, lo), size), &x) in sums.zip(row.values) {
                let (p, e) = two_prod(alpha, x);
                let (s, f) = two_sum(*hi, p);
                *hi = s;
                *lo += e + f;
                *size += p.abs();
            }
        }
        if self.hi.len() > features {
            self.add_product(features, alpha, 1.0);
        }
    }

    /// Adds one product to a column.
    pub fn add_term(&mut self, j: usize, a: f64, b: f64) {
        self.terms += 1;
        self.add_product(j, a, b);
    }

    fn add_product(&mut self, j: usize, a: f64, b: f64) {
        let mut sum = self.sum(j);
        sum.add(a, b);
        (self.hi[j], self.lo[j], self.size[j]) = (sum.hi, sum.lo, sum.size);
    }

    /// The sum of column `j`.
    pub fn sum(&self, j: usize) -> Sum {
        Sum {
            hi: self.hi[j],
            lo: self.lo[j],
            size: self.size[j],
        }
    }

    /// An upper bound on the error of the sum of column `j`.
    pub fn error(&self, j: usize) -> f64 {
        dot_error(self.size[j], self.terms)
    }

    /// An interval that contains the exact sum of column `j`.
    pub fn interval(&self, j: usize) -> Interval {
        self.sum(j).interval(self.terms)
    }

    /// An interval that contains column `j` minus m times the intercept's column, `at`. The products m·hi and m·lo are added
    /// in two doubles; the error of the intercept's column counts with |m|.
    pub fn centred(&self, j: usize, at: usize, m: f64) -> Interval {
        let (mut sum, of_ones) = (self.sum(j), self.sum(at));
        sum.add(-of_ones.hi, m);
        sum.add(-of_ones.lo, m);
        let error = Interval::point(self.error(at)) * Interval::point(m.abs());
        sum.interval(self.terms + 2)
            .widened(error.hi)
            .widened(f64::MIN_POSITIVE)
    }
}

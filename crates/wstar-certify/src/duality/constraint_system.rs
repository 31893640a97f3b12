//! The linear system of a move onto equality constraints: the moving rows with centred and scaled columns, their Gram matrix, and
//! bounds on its solution (`gram_inverse.rs`).

use faer::Mat;

use crate::duality::claim_sums::Claim;
use crate::duality::column_defects::ColumnProduct;
use crate::duality::error_bounds::{Rounding, upwards};
use crate::duality::gram_inverse::{Dependence, GramInverse};
use crate::duality::moved_rows::MovedRows;
use crate::sequential::product;
use wstar_numeric::double_double::Compensated;

/// Cap: the numbers of a dense copy of the moving rows. Beyond it fewer rows move, and the bound is wider.
pub(super) const MOST_NUMBERS: usize = 1 << 25;

/// The parameters that a bound covers if columns are dependent, as a multiple of max(|θⱼ|, 1). Cap: nothing is claimed for larger
/// ones.
const REACH: f64 = 1000.0;

/// The dual point after the move.
pub(super) struct Feasible {
    /// A bound on the defects of the rows that move.
    pub(super) defects: f64,
    pub(super) products: Vec<ColumnProduct>,
    /// If some columns depend on others only up to rounding: the bound covers parameters of up to this multiple of max(|θⱼ|, 1).
    pub(super) reach: Option<f64>,
}

/// The moving rows as a dense matrix x̂ = SCx̃, with the map.
pub(super) struct CentredRows {
    /// x̂, row by row; each entry has a relative error of at most 2u.
    pub(super) x: Mat<f64>,
    /// The centre of each column.
    pub(super) shift: Vec<f64>,
    /// Powers of two.
    pub(super) scale: Vec<f64>,
}

impl CentredRows {
    /// The constrained columns of the rows: all, or that of the intercept if `order` is 1.
    pub(super) fn new(claim: &Claim<'_>, rows: &MovedRows, k: &[f64], order: usize) -> Self {
        let layout = claim.problem.layout();
        let n = rows.len();
        if order < layout.width() {
            return CentredRows {
                x: Mat::from_fn(n, 1, |_, _| 1.0),
                shift: Vec::new(),
                scale: vec![1.0],
            };
        }
        let features = layout.features;
        let total: f64 = k.iter().sum();
        let mut shift = vec![0.0; features];
        if layout.intercept && total > 0.0 {
            rows.design.add_rows(0..n, k, &mut shift);
            shift.iter_mut().for_each(|sum| *sum /= total);
        }
        let mut x = Mat::zeros(n, order);
        for i in 0..n {
            shift.iter().enumerate().for_each(|(j, m)| x[(i, j)] = -m);
            rows.design
                .row(i)
                .for_each(|j, value| x[(i, j)] = value - shift[j]);
            if layout.intercept {
                x[(i, features)] = 1.0;
            }
        }
        let mut scale = vec![1.0; order];
        for (j, scale) in scale.iter_mut().enumerate().take(features) {
            let square: f64 = (0..n).map(|i| k[i] / total * x[(i, j)] * x[(i, j)]).sum();
            let norm = square.sqrt();
            let exponent = (norm.to_bits() >> 52) as i64 - 1023;
            if (-900..900).contains(&exponent) {
                *scale = f64::from_bits(((1023 - exponent) as u64) << 52);
                (0..n).for_each(|i| x[(i, j)] *= *scale);
            }
        }
        CentredRows { x, shift, scale }
    }

    /// SC times the column products of output `k`, with bounds on the errors.
    pub(super) fn residual(
        &self,
        products: &[ColumnProduct],
        claim: &Claim<'_>,
        output: usize,
    ) -> (Vec<f64>, Vec<f64>) {
        let layout = claim.problem.layout();
        let own = &products[output * layout.width()..(output + 1) * layout.width()];
        if self.scale.len() < layout.width() {
            let at = own[layout.features];
            return (vec![at.value.value()], vec![upwards(at.error)]);
        }
        let unit = 2.0 * claim.rounding.unit();
        let of = |j: usize| {
            let mut value = Compensated::default();
            value.add(own[j].value);
            let mut error = own[j].error;
            if layout.intercept && j < layout.features {
                let of_ones = own[layout.features];
                value.add_product(of_ones.value, -self.shift[j]);
                error += self.shift[j].abs() * of_ones.error;
                let size = own[j].value.value().abs() + (self.shift[j] * of_ones.value.value()).abs();
                error += 16.0 * unit * unit * size;
            }
            let value = self.scale[j] * value.value();
            (value, upwards(self.scale[j] * error + unit * value.abs()))
        };
        (0..self.scale.len()).map(of).unzip()
    }
}

/// H, and d of `gram_inverse.rs`.
pub(super) struct Gram {
    pub(super) h: Mat<f64>,
    pub(super) d: Vec<f64>,
}

/// A bound on the move.
pub(super) struct Solved {
    pub(super) factor: GramInverse,
    /// √(rᵀH⁻¹r), rounded up.
    pub(super) lambda: f64,
    pub(super) independent: Vec<usize>,
    /// The dependent columns with bounds on their products after the move.
    dependent: Vec<(usize, f64)>,
}

impl Gram {
    /// Σkᵢx̂ᵢx̂ᵢᵀ.
    pub(super) fn new(frame: &CentredRows, k: &[f64]) -> Self {
        let roots: Vec<f64> = k.iter().map(|k| k.sqrt()).collect();
        let weighted = Mat::from_fn(frame.x.nrows(), frame.x.ncols(), |i, j| {
            roots[i] * frame.x[(i, j)]
        });
        let h = product(weighted.transpose(), weighted.as_ref());
        let d = (0..h.ncols()).map(|j| (1.02 * h[(j, j)]).sqrt()).collect();
        Gram { h, d }
    }

    /// Bounds the move for r within `errors` of `residual`. `relative` is the relative error of the terms of H.
    pub(super) fn solve(
        &self,
        claim: &Claim<'_>,
        residual: &[f64],
        errors: &[f64],
        rows: usize,
        relative: f64,
    ) -> Option<Solved> {
        let rounding = claim.rounding;
        if let Some(factor) = GramInverse::new(&self.h, &self.d, rows, relative, rounding) {
            let lambda = factor.norm(residual, errors);
            return Some(Solved {
                factor,
                lambda,
                independent: (0..residual.len()).collect(),
                dependent: Vec::new(),
            });
        }
        let Dependence {
            independent,
            dependent,
        } = Dependence::new(&self.h, &self.d, rows, rounding)?;
        let of = |values: &[f64]| -> Vec<f64> { independent.iter().map(|&j| values[j]).collect() };
        let h = Mat::from_fn(independent.len(), independent.len(), |a, b| {
            self.h[(independent[a], independent[b])]
        });
        let factor = GramInverse::new(&h, &of(&self.d), rows, relative, rounding)?;
        let (r, e) = (of(residual), of(errors));
        let lambda = factor.norm(&r, &e);
        let bounds = dependent.iter().map(|own| {
            let j = own.column;
            let (mut off, mut error) = (Compensated::default(), errors[j]);
            off.add(residual[j]);
            for ((c, r), e) in own.coefficients.iter().zip(&r).zip(&e) {
                off.add_product(*c, -r);
                error += c.abs() * (e + 16.0 * rounding.unit() * rounding.unit() * r.abs());
            }
            (j, upwards(off.value().abs() + error + own.distance * lambda))
        });
        Some(Solved {
            dependent: bounds.collect(),
            factor,
            lambda,
            independent,
        })
    }
}

impl Solved {
    pub(super) fn reach(&self) -> Option<f64> {
        (!self.dependent.is_empty()).then_some(REACH)
    }

    /// What the products of dependent columns can gain within the reach.
    pub(super) fn charge(&self, claim: &Claim<'_>, frame: &CentredRows) -> f64 {
        let (order, width) = (frame.scale.len(), claim.problem.layout().width());
        let own = self.dependent.iter().map(|&(at, product)| {
            let (output, j) = (at / order, at % order);
            let parameter = if order < width { width - 1 } else { j };
            let size = claim.parameters[output * width + parameter].abs().max(1.0);
            product / frame.scale[j] * (REACH + 1.0) * size
        });
        upwards(own.sum())
    }
}

/// ν, rounded, and what it leaves of the move.
pub(super) struct Rest {
    pub(super) direction: Vec<f64>,
    /// √(rᵀH⁻¹r) for r − Hν, rounded up.
    pub(super) lambda: f64,
}

impl Solved {
    pub(super) fn rest(
        &self,
        gram: &Gram,
        residual: &[f64],
        errors: &[f64],
        rows: usize,
        rounding: Rounding,
    ) -> Rest {
        let order = self.independent.len();
        let r = &self.factor.r;
        let of = |a: usize| residual[self.independent[a]];
        let half: Vec<f64> = (0..order)
            .map(|a| (0..=a).map(|b| r[(a, b)] * of(b)).sum())
            .collect();
        let own: Vec<f64> = (0..order)
            .map(|a| (a..order).map(|b| r[(b, a)] * half[b]).sum())
            .collect();
        let mut direction = vec![0.0; residual.len()];
        self.independent
            .iter()
            .zip(&own)
            .for_each(|(&at, &value)| direction[at] = value);
        let gamma = rounding.gamma(rows + order + 64);
        let (left, left_errors): (Vec<f64>, Vec<f64>) = (0..order)
            .map(|a| {
                let (at, mut sum, mut size) = (self.independent[a], of(a), of(a).abs());
                for (&other, &value) in self.independent.iter().zip(&own) {
                    sum -= gram.h[(at, other)] * value;
                    size += gram.d[at] * gram.d[other] * value.abs();
                }
                (sum, upwards(errors[at] + gamma * size))
            })
            .unzip();
        Rest {
            direction,
            lambda: self.factor.norm(&left, &left_errors),
        }
    }
}

//! A Newton step of the point w + v whose slopes are the multipliers of the changed rows (`moved_rows.rs`).

use faer::Mat;

use crate::duality::claim_sums::Claim;
use crate::duality::gram_inverse::solve;
use crate::duality::moved_rows::{Duals, Moved, MovedRows, Rows, pairs};
use crate::duality::row_dual::{Multiplier, Residual};
use wstar_data::Design;
use wstar_data::linear::Layout;
use wstar_numeric::double_double::Compensated;
use wstar_problem::loss::LossName;
use wstar_problem::objective::products::add_gram;

/// Rows whose Gram matrix is added at a time. Heuristic: they should stay in the cache; not measured yet.
const RUN: usize = 256;
/// Cap: with more columns there is no step, because it factorises a matrix of this order.
const MOST_COLUMNS: usize = 1200;

/// The relative distance from its bound at which a product under a pure ℓ1 penalty is placed. Heuristic: safety against rounding
/// against the change of α; not measured yet.
const INSIDE: f64 = 1e-10;

/// The columns that a step fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fitted {
    /// Those that are not at 0, or whose product breaks its bound.
    All,
    /// Those whose product breaks its bound, for a pure ℓ1 penalty.
    Broken,
    /// The intercepts.
    Intercepts,
}

impl MovedRows {
    /// A step of v towards a dual point that fits the columns, or only those of the intercepts.
    pub(super) fn step(
        &self,
        claim: &Claim<'_>,
        moved: &Moved,
        v: &[f64],
        fitted: Fitted,
    ) -> Option<Vec<f64>> {
        let problem = claim.problem;
        let layout = problem.layout();
        let width = layout.width();
        // The columns that are fitted, and their residuals.
        let mut columns: Vec<usize> = Vec::new();
        let mut residuals: Vec<f64> = Vec::new();
        let smooth = problem.loss().is_smooth();
        for (at, &w) in claim.parameters.iter().enumerate() {
            let own = problem.penalty_of(at);
            let u = moved.products[at].value;
            let is_fitted = match fitted {
                Fitted::All => own.l1 == 0.0 || w != 0.0 || v[at] != 0.0 || u.value().abs() > own.l1,
                Fitted::Broken => own.l1 == 0.0 || v[at] != 0.0 || u.value().abs() > own.l1,
                Fitted::Intercepts => layout.is_intercept(at),
            };
            if !is_fitted {
                continue;
            }
            let side = if w == 0.0 { u.value() } else { w };
            let inside = if own.l2 == 0.0 { 1.0 - INSIDE } else { 1.0 };
            let mut residual = Compensated::default();
            residual.add(u);
            residual.add(-(own.l1 * inside).copysign(side) * f64::from(u8::from(own.l1 > 0.0)));
            residual.add_product(-own.l2, w);
            if smooth {
                residual.add_product(-own.l2, v[at]);
            }
            columns.push(at);
            residuals.push(residual.value());
        }
        if columns.is_empty() || columns.len() > MOST_COLUMNS {
            return None;
        }
        // The features of these columns, which the Gram matrices are restricted to.
        let mut features: Vec<usize> = columns
            .iter()
            .map(|at| at % width)
            .filter(|&j| j < layout.features)
            .collect();
        features.sort_unstable();
        features.dedup();
        let narrowed = match fitted {
            Fitted::Intercepts => None,
            _ => self.design.narrowed(&features),
        };
        if narrowed.is_none() && fitted != Fitted::Intercepts {
            features = (0..layout.features).collect();
        }
        let own_width = features.len() + usize::from(layout.intercept);
        if own_width > MOST_COLUMNS {
            return None;
        }
        let own_layout = Layout {
            outputs: 1,
            features: features.len(),
            intercept: layout.intercept,
        };
        let gram = self.gram(
            claim,
            moved,
            narrowed.as_ref().unwrap_or(&self.design),
            own_layout,
        );
        let position = |at: usize| match at % width {
            j if j == layout.features => (at / width, features.len()),
            j => (at / width, features.partition_point(|&own| own < j)),
        };
        let restricted = Mat::from_fn(columns.len(), columns.len(), |a, b| {
            let ((k, i), (l, j)) = (position(columns[a]), position(columns[b]));
            let (k, l) = (k.max(l), k.min(l));
            let pair = &gram[k * (k + 1) / 2 + l];
            let own = pair[i.min(j) * own_width + i.max(j)];
            if a == b {
                own + problem.penalty_of(columns[a]).l2
            } else {
                own
            }
        });
        let step = solve(&restricted, &residuals)?;
        let mut next = v.to_vec();
        columns.iter().zip(step).for_each(|(&at, step)| next[at] += step);
        Some(next)
    }

    /// The lower triangles of Σ kᵢ x̃ᵢx̃ᵢᵀ for each pair of outputs k ≥ l, over a design with the rows and some of the columns.
    fn gram(&self, claim: &Claim<'_>, moved: &Moved, design: &Design, own: Layout) -> Vec<Vec<f64>> {
        let layout = claim.problem.layout();
        let width = own.width();
        let curvatures = match &moved.duals {
            Duals::Single(duals) => match &self.rows {
                Rows::Single(rows) => {
                    let loss = claim.problem.loss();
                    let curvature =
                        |((dual, (residual, _)), &c): ((&Multiplier, &(Residual, Multiplier)), &f64)| {
                            match loss {
                                LossName::SquaredHinge | LossName::ModifiedHuber => {
                                    let inside = residual.h > 0.0
                                        && (loss == LossName::SquaredHinge || residual.h < 2.0);
                                    if inside { 2.0 * c } else { 0.0 }
                                }
                                _ => dual.slack(loss, c),
                            }
                        };
                    vec![duals.iter().zip(rows).zip(&self.weights).map(curvature).collect()]
                }
                Rows::Classes(_) => Vec::new(),
            },
            Duals::Classes(duals) => pairs(layout.outputs)
                .map(|(k, l)| {
                    let rows = duals.iter().zip(&self.weights);
                    rows.map(|(dual, c)| c * dual.curvature(k, l))
                        .collect::<Vec<f64>>()
                })
                .collect(),
        };
        let lanes = self.lanes(|rows| {
            let mut grams = vec![vec![0.0; width * width]; curvatures.len()];
            for start in rows.clone().step_by(RUN) {
                let run = start..(start + RUN).min(rows.end);
                for (gram, curvatures) in grams.iter_mut().zip(&curvatures) {
                    if own.features == 0 {
                        gram.iter_mut()
                            .for_each(|sum| *sum += curvatures[run.clone()].iter().sum::<f64>());
                        continue;
                    }
                    add_gram(design, run.clone(), own, &curvatures[run.clone()], gram);
                }
            }
            grams
        });
        let mut total: Vec<Vec<f64>> = vec![vec![0.0; width * width]; curvatures.len()];
        for lane in lanes {
            for (total, own) in total.iter_mut().zip(lane) {
                total.iter_mut().zip(own).for_each(|(to, from)| *to += from);
            }
        }
        total
    }
}

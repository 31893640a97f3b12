//! The state of the descent: the multipliers α, the weights w = X̃ᵀα/l2, and the primal and dual objectives at
//! them.

use rayon::prelude::*;

use crate::dual_coordinate_descent::coordinate_step::Coordinate;
use crate::fixed_order::pass;
use crate::intercept::{balance, best_intercept, best_intercept_smooth};
use crate::kink::Kink;
use wstar_data::linear::Layout;
use wstar_numeric::dense::squared_norm;
use wstar_problem::loss::{Loss, LossName};
use wstar_problem::objective::products::{add_column_products, scores, total};
use wstar_problem::objective::{Objective, Rows};
use wstar_problem::on_loss;
use wstar_problem::problem::Intercept;

/// Epochs between two recomputations of `w` from the multipliers. Heuristic: a recomputation costs one pass
/// over the rows; the rounding error accumulated before it is expected to be negligible relative to any gap;
/// not measured yet.
const REFRESH_AFTER: u64 = 16;
/// ρ as a multiple of the mean of ‖x‖²/l2. Heuristic: a larger ρ enforces Σα = 0 faster but couples all rows
/// through the intercept and slows the epochs down; not measured yet.
const AUGMENTATION: f64 = 0.1;

/// The best point and the best dual point so far.
#[derive(Debug, Clone)]
pub(super) struct Best {
    pub(super) objective: f64,
    pub(super) point: Vec<f64>,
    pub(super) dual: f64,
    pub(super) multipliers: Vec<f64>,
}

impl Default for Best {
    fn default() -> Self {
        Best {
            objective: f64::INFINITY,
            point: Vec::new(),
            dual: f64::NEG_INFINITY,
            multipliers: Vec::new(),
        }
    }
}

/// The multipliers of all rows and the weights that they give.
pub(super) struct DualState<'a> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) loss: LossName,
    layout: Layout,
    pub(super) intercept: Intercept,
    pub(super) l2: f64,
    pub(super) coordinates: Vec<Coordinate>,
    pub(super) multipliers: Vec<f64>,
    /// Xᵀα/l2.
    pub(super) w: Vec<f64>,
    /// Epochs since `w` was last recomputed from the multipliers.
    pub(super) epochs: u64,
    /// Σα.
    pub(super) sum: f64,
    /// The intercept is `offset + rho·sum`.
    pub(super) offset: f64,
    pub(super) rho: f64,
}

impl<'a> DualState<'a> {
    pub(super) fn new(objective: &'a Objective<'a>, rows: &'a Rows<'a>) -> Self {
        let (l2, loss) = (objective.problem.penalty().l2, objective.problem.loss());
        let mut norms = vec![0.0; rows.len()];
        pass(rows.design, &mut norms, 1, |range, norms, _: &mut ()| {
            let own = range.zip(norms);
            own.for_each(|(i, norm)| *norm = rows.design.row(i).squared_norm() / l2);
        });
        let rho = match objective.problem.intercept() {
            Intercept::Absent => 0.0,
            Intercept::Penalized => 1.0 / l2,
            Intercept::Free => {
                let mean = norms.iter().sum::<f64>() / norms.len().max(1) as f64;
                // When C is small, Σα is small too, and a larger ρ is needed to move the intercept by 1. The factor 10 is
                // a heuristic and not measured yet.
                let total = rows.total_weight();
                let reaching = if total > 0.0 { 10.0 / total } else { 0.0 };
                (AUGMENTATION * mean).max(reaching)
            }
        };
        // Heuristic for the rows of a task: scheduling overhead against balance; not measured yet.
        let coordinates: Vec<Coordinate> = norms
            .par_iter()
            .enumerate()
            .with_min_len(1 << 12)
            .map(|(i, norm)| Coordinate::new(loss, rows.targets[i], rows.weights.get(i), norm + rho))
            .collect();
        DualState {
            rows,
            loss,
            layout: objective.problem.layout(),
            intercept: objective.problem.intercept(),
            l2,
            multipliers: vec![0.0; coordinates.len()],
            coordinates,
            w: vec![0.0; objective.problem.layout().features],
            epochs: 0,
            sum: 0.0,
            offset: 0.0,
            rho,
        }
    }

    pub(super) fn intercept(&self) -> f64 {
        self.offset + self.rho * self.sum
    }

    pub(super) fn score(&self, i: usize) -> f64 {
        self.rows.design.row(i).dot(&self.w) + self.intercept()
    }

    /// ½ l2 ‖w‖², including a penalised intercept.
    pub(super) fn norm(&self) -> f64 {
        let b = match self.intercept {
            Intercept::Penalized => self.intercept(),
            _ => 0.0,
        };
        0.5 * self.l2 * (squared_norm(&self.w) + b * b)
    }

    /// Returns to the best multipliers so far.
    pub(super) fn restore(&mut self, best: &Best) {
        self.multipliers.clone_from(&best.multipliers);
        self.refresh();
    }

    /// Recomputes `w` from the multipliers if that is due, and updates `best` with the current primal and
    /// dual points. Returns the scores without the intercept, and the dual value.
    pub(super) fn evaluate(&mut self, objective: &Objective<'_>, best: &mut Best) -> (Vec<f64>, f64) {
        if self.intercept == Intercept::Free {
            let coordinates = &self.coordinates;
            balance(&mut self.multipliers, |i| {
                (coordinates[i].low, coordinates[i].high)
            });
        }
        if self.intercept == Intercept::Free || self.epochs >= REFRESH_AFTER {
            self.refresh();
        }
        let (design, layout) = (self.rows.design, self.layout);
        let mut point = self.w.clone();
        point.resize(layout.len(), 0.0);
        let mut z = vec![0.0; self.rows.len()];
        pass(design, &mut z, 1, |range, z, _: &mut ()| {
            scores(design, range, layout, &point, z);
        });
        if layout.intercept {
            point[layout.features] = match self.intercept {
                Intercept::Free => self.best_intercept(&z),
                _ => self.intercept(),
            };
        }
        let b = point.get(layout.features).copied().unwrap_or(0.0);
        let sums = pass(design, &mut z, 1, |range, z, sums: &mut (f64, f64)| {
            on_loss!(self.loss, loss => {
                for (i, z) in range.zip(z) {
                    let (coordinate, a) = (&self.coordinates[i], self.multipliers[i]);
                    let c = coordinate.weight;
                    if c > 0.0 {
                        sums.0 += c * loss.value(coordinate.y, *z + b);
                        sums.1 += c * loss.conjugate(coordinate.y, -a / c);
                    }
                }
            }, softmax => {});
        });
        let (loss_sum, conjugates) = sums
            .iter()
            .fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let objective = loss_sum + objective.problem.penalty_value(&point);
        let dual = -self.norm() - conjugates;
        if objective < best.objective {
            (best.objective, best.point) = (objective, point);
        }
        if dual > best.dual {
            best.dual = dual;
            best.multipliers.clone_from(&self.multipliers);
        }
        (z, dual)
    }

    /// Recomputes w and Σα from the multipliers, which discards the rounding error that the updates have
    /// accumulated.
    fn refresh(&mut self) {
        let (design, layout) = (self.rows.design, self.layout);
        let lanes = pass(
            design,
            &mut self.multipliers,
            layout.len(),
            |range, a, sum: &mut Vec<f64>| {
                sum.resize(layout.len(), 0.0);
                add_column_products(design, range, layout, a, sum);
            },
        );
        let mut column_product = total(&lanes);
        column_product.resize(layout.len(), 0.0);
        self.epochs = 0;
        self.sum = column_product.get(layout.features).copied().unwrap_or(0.0);
        column_product.truncate(layout.features);
        column_product.iter_mut().for_each(|w| *w /= self.l2);
        self.w = column_product;
    }

    fn best_intercept(&self, z: &[f64]) -> f64 {
        let rows = || self.coordinates.iter().zip(z);
        if !self.loss.is_smooth() {
            let kink = |y: f64| Kink::new(self.loss, y).unwrap_or(Kink::absolute(y));
            return best_intercept(rows().map(|(c, &z)| (c.weight, kink(c.y), z)));
        }
        on_loss!(self.loss, loss => best_intercept_smooth(
            loss,
            |visit| rows().for_each(|(c, &z)| visit(c.weight, c.y, z)),
            self.intercept(),
        ), softmax => 0.0)
    }
}

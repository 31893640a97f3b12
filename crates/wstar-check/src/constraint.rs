//! Moves onto the equality constraints of a dual point: Σα = 0 for a free intercept, X̃ᵀα = 0 if nothing is penalised.
//!
//! **Lemma.** Let E be the constrained columns, kᵢ ≥ 0, H = X̃_Eᵀ·diag(k)·X̃_E nonsingular, r = X̃_Eᵀα and ν = H⁻¹r. Then α' = α − k∘(X̃_E·ν) has
//! X̃_Eᵀα' = 0, and |αᵢ' − αᵢ| ≤ kᵢρᵢ. With the factor R and ε of `linear.rs`, ρᵢ = ‖Rx̂ᵢ‖·‖Rr̂‖/(1 − ε), where r̂ = SCr.
//! *Proof.* The first is the definition of ν. x̃ᵢ·ν = x̃ᵢᵀH⁻¹r = (Rx̂ᵢ)ᵀ(I + E)⁻¹(Rr̂) with ‖(I + E)⁻¹‖ ≤ 1/(1 − ε); then Cauchy and
//! Schwarz. ∎ For the free intercept alone H = K = Σk and ρ = |r|/K, and every other column product moves by −r·(Xᵀk)ⱼ/K.
//!
//! α' is a vector of real numbers that is never computed: only the bounds kᵢρᵢ are used.

use crate::arithmetic::{Interval, gamma};
use crate::design::{Design, Row};
use crate::linear::{
    Frame, MOST_CONSTRAINTS, frobenius, gram, identity_defect, inverse_factor, norm_of_product, norm_of_row,
    product, transposed_product,
};
use crate::products::ColumnSums;

/// k and Σk of the rows, and Xᵀk and |X|ᵀk.
#[derive(Debug, Clone)]
pub struct SlackSums {
    total: f64,
    columns: Vec<f64>,
    sizes: Vec<f64>,
    rows: usize,
}

impl SlackSums {
    /// Zeros.
    pub fn new(features: usize) -> SlackSums {
        SlackSums {
            total: 0.0,
            columns: vec![0.0; features],
            sizes: vec![0.0; features],
            rows: 0,
        }
    }

    /// Adds a row with its k.
    pub fn add(&mut self, row: Row<'_>, k: f64) {
        if k == 0.0 {
            return;
        }
        self.rows += 1;
        self.total += k;
        if let Some(columns) = row.columns {
            for (&j, &x) in columns.iter().zip(row.values) {
                self.columns[j as usize] += k * x;
                self.sizes[j as usize] += (k * x).abs();
            }
        } else {
            for ((sum, size), &x) in self.columns.iter_mut().zip(&mut self.sizes).zip(row.values) {
                *sum += k * x;
                *size += (k * x).abs();
            }
        }
    }

    /// An interval that contains Σk.
    pub fn total(&self) -> Interval {
        Interval::point(self.total).widened((gamma(self.rows + 2) * self.total).next_up())
    }

    /// A double near (Xᵀk)ⱼ/Σk, and an upper bound on its error.
    fn mean(&self, j: usize) -> (f64, f64) {
        let m = self.columns[j] / self.total;
        let error = (gamma(self.rows + 2) * self.sizes[j] * 1.01).next_up();
        let exact = Interval::point(self.columns[j]).widened(error) / self.total();
        (m, (exact - Interval::point(m)).abs().hi)
    }
}

/// A proved move, and the direction of parameters that the multipliers may be corrected by to make it smaller.
pub struct Move {
    /// ρ of each row, for rows with k > 0.
    pub reach: Reach,
    /// ν, rounded.
    pub direction: Vec<f64>,
}

/// ρ of the rows.
pub enum Reach {
    /// The same for all rows.
    Constant(f64),
    /// ‖Rx̂‖ times a number.
    Norms {
        /// The frame of x̂.
        frame: Frame,
        /// R.
        factor: Vec<f64>,
        /// ‖R‖_F.
        frobenius: f64,
        /// ‖Rr̂‖/(1 − ε).
        lambda: f64,
    },
}

impl Reach {
    /// ρ of a row.
    pub fn of(&self, row: Row<'_>, x: &mut Vec<f64>) -> f64 {
        match self {
            Reach::Constant(rho) => *rho,
            Reach::Norms {
                frame,
                factor,
                frobenius,
                lambda,
            } => {
                x.resize(frame.width(), 0.0);
                frame.map(row, x);
                (norm_of_row(factor, x, *frobenius) * lambda).next_up()
            }
        }
    }
}

/// The move that makes Σα = 0, if the rows can move at all.
pub fn onto_intercept(sums: &ColumnSums, features: usize, slack: &SlackSums) -> Option<Move> {
    let r = sums.interval(features);
    let mut direction = vec![0.0; features + 1];
    if r == Interval::ZERO {
        return Some(Move {
            reach: Reach::Constant(0.0),
            direction,
        });
    }
    direction[features] = r.middle() / slack.total;
    let rho = (r.abs() / slack.total()).hi;
    rho.is_finite().then_some(Move {
        reach: Reach::Constant(rho),
        direction,
    })
}

/// The product of column `j` with the multipliers after the move onto Σα = 0.
pub fn moved_column(sums: &ColumnSums, j: usize, features: usize, slack: &SlackSums) -> Interval {
    if sums.interval(features) == Interval::ZERO {
        return sums.interval(j);
    }
    let (m, error) = slack.mean(j);
    let moved = sums.interval(features).abs() * Interval::point(error);
    sums.centred(j, features, m).widened(moved.hi)
}

/// The move that makes X̃ᵀα = 0.
pub fn onto_all(design: &Design, sums: &ColumnSums, width: usize, slack: &[f64]) -> Option<Move> {
    let free = width > design.features;
    if width > MOST_CONSTRAINTS {
        return None;
    }
    if (0..width).all(|j| sums.interval(j) == Interval::ZERO) {
        return Some(Move {
            reach: Reach::Constant(0.0),
            direction: vec![0.0; width],
        });
    }
    let frame = Frame::new(design, width, free, |i| slack[i]);
    let moving = || (0..design.rows()).filter(|&i| slack[i] > 0.0);
    let h = gram(width, moving(), |i, x| {
        frame.map(design.row(i), x);
        slack[i]
    });
    let r = inverse_factor(&h, width)?;
    let epsilon = identity_defect(&h, &r, width, moving().count(), 0.0);
    let residual = framed(sums, &frame);
    let nearness = Interval::point(1.0) - Interval::new(0.0, epsilon);
    let lambda = (Interval::point(norm_of_product(&r, &residual)) / nearness).hi;
    let t: Vec<f64> = product(&r, &residual)
        .iter()
        .map(|entry| entry.middle())
        .collect();
    let direction = frame.direction(&transposed_product(&r, &t));
    let reach = Reach::Norms {
        frobenius: frobenius(&r),
        frame,
        factor: r,
        lambda,
    };
    lambda.is_finite().then_some(Move { reach, direction })
}

/// SC times the column products.
pub fn framed(sums: &ColumnSums, frame: &Frame) -> Vec<Interval> {
    let features = frame.shift.len();
    let column = |j: usize| match j < features && frame.shift[j] != 0.0 {
        true => frame.scale[j] * sums.centred(j, features, frame.shift[j]),
        false => frame.scale[j] * sums.interval(j),
    };
    (0..frame.width()).map(column).collect()
}

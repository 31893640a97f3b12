//! Moves onto the equality constraints of a dual point: Σα = 0 for a free intercept, X̃ᵀα = 0 if nothing is penalised.
//!
//! **Lemma.** Let E be the constrained columns and Wᵢ a positive semidefinite matrix for each row: a number kᵢ ≥ 0 for one score a row, and
//! c(diag p' − p'p'ᵀ) without the last class for softmax. Let H = ΣWᵢ⊗x̃_Ex̃_Eᵀ be nonsingular, r = X̃_Eᵀα, and ν = H⁻¹r, 0 for the last class.
//! Then α'ᵢ = αᵢ − Wᵢ(x̃ᵢ·ν) has X̃_Eᵀα' = 0. With R and ε of `linear.rs` and r̂ = SCr let λ = ‖Rr̂‖/(1 − ε). Then νᵀHν = rᵀH⁻¹r ≤ λ², and
//! |x̃ᵢ·ν| ≤ ‖R‖_F·‖x̂ᵢ‖·λ. So the range g of the scores x̃ᵢ·ν is bounded, and a column product moves by at most g·Σᵢ kᵢ|xᵢⱼ|, of softmax
//! g·Σᵢ cᵢ|xᵢⱼ|.
//! *Proof.* X̃_Eᵀα changes by −Hν = −r. rᵀH⁻¹r = (Rr̂)ᵀ(I + E)⁻¹(Rr̂) and x̃ᵢ·ν = (Rx̂ᵢ)ᵀ(I + E)⁻¹(Rr̂) with ‖(I + E)⁻¹‖ ≤ 1/(1 − ε); then
//! Cauchy and Schwarz. Of softmax α_k changes by cp'_k times a difference of scores. ∎
//!
//! α' is a vector of real numbers that is never computed: only the bounds are used.

use crate::arithmetic::Interval;
use crate::design::Row;
use crate::linear::{
    Frame, Information, MOST_CONSTRAINTS, identity_defect, inverse_factor, product, transposed_product,
};
use crate::mutant::Mutant;
use crate::problem::{Intercept, Subproblem};
use crate::products::ColumnSums;

/// The constraints, with H.
pub(crate) struct Constraints {
    frame: Frame,
    information: Information,
    /// x̂ of a row.
    x: Vec<f64>,
    /// Σk|x| of the columns, of softmax Σc|x|.
    sizes: Vec<f64>,
    features: usize,
}

/// A proved move, and the direction of parameters that the multipliers may be corrected by to make it smaller.
pub(crate) struct Move {
    /// λ.
    pub(crate) lambda: Interval,
    /// g.
    pub(crate) range: Interval,
    /// ν, rounded.
    pub(crate) direction: Vec<f64>,
}

impl Constraints {
    /// The constraints of a problem, with Wᵢ of this order; nothing if there are too many.
    pub(crate) fn new(sub: &Subproblem<'_>, blocks: usize) -> Option<Constraints> {
        let (problem, width) = (&sub.problem, sub.problem.width());
        let penalized = problem.l1 > 0.0 || problem.l2 > 0.0;
        let columns = match (penalized, problem.intercept) {
            (false, _) => width,
            (true, Intercept::Free) => 1,
            _ => 0,
        };
        let frame = match (columns * blocks > MOST_CONSTRAINTS, penalized) {
            (true, _) => return None,
            (_, false) => Frame::new(sub.design, width, width > problem.features, |i| sub.weights[i]),
            (_, true) => Frame {
                shift: Vec::new(),
                scale: vec![1.0; columns],
            },
        };
        Some(Constraints {
            frame,
            information: Information::new(blocks, columns),
            x: vec![0.0; columns],
            sizes: vec![0.0; width],
            features: problem.features,
        })
    }

    /// Adds a row with its W and its k, or c for softmax.
    pub(crate) fn add(&mut self, row: Row<'_>, w: &[f64], k: f64) {
        if self.x.is_empty() || k == 0.0 {
            return;
        }
        self.frame.map(row, &mut self.x);
        self.information.add(w, &self.x);
        row.entries().for_each(|(j, x)| self.sizes[j] += (k * x).abs());
        if let Some(ones) = self.sizes.get_mut(self.features) {
            *ones += k;
        }
    }

    /// Bounds the move of multipliers with these column products; nothing if H is not proved to be nonsingular. Every entry of
    /// W may have a relative error.
    pub(crate) fn moves(&mut self, sums: &[ColumnSums], relative_error: f64) -> Option<Move> {
        self.information.flush();
        let (h, order) = (&self.information.matrix, self.information.order);
        let (width, columns) = (self.sizes.len(), self.frame.width());
        let mut direction = vec![0.0; sums.len() * width];
        let constrained = &sums[..self.information.blocks];
        let residual = constrained.iter().map(|sums| self.frame.products(sums));
        let residual = residual.collect::<Vec<_>>().concat();
        if residual.iter().all(|r| *r == Interval::ZERO) {
            let (lambda, range) = (Interval::ZERO, Interval::ZERO);
            return Some(Move {
                lambda,
                range,
                direction,
            });
        }
        let r = inverse_factor(h, order)?;
        let epsilon = identity_defect(h, &r, order, self.information.rows, relative_error);
        let (product, norm) = product(&r, &residual);
        let lambda = Interval::point((norm / (Interval::point(1.0) - Interval::new(0.0, epsilon))).hi);
        let range = Interval::point((Interval::point(self.information.largest_range(&r)) * lambda).hi);
        for (k, n) in transposed_product(&r, &product).chunks_exact(columns).enumerate() {
            let of_block = &mut direction[(k + 1) * width - columns..][..columns];
            let moved = self.frame.direction(n);
            (0..columns).for_each(|j| of_block[j] = moved[j].middle());
        }
        range.hi.is_finite().then_some(Move {
            lambda,
            range,
            direction,
        })
    }

    /// The column products after a move.
    pub(crate) fn moved(&self, sums: &[ColumnSums], range: Interval) -> Vec<Interval> {
        let range = range.unless(Mutant::NoMovesOfColumns);
        let move_of = |j: usize| (range * Interval::point(self.sizes[j] * 1.01)).hi;
        let columns =
            |sums| (0..self.sizes.len()).map(move |j| ColumnSums::interval(sums, j).widened(move_of(j)));
        sums.iter().flat_map(columns).collect()
    }
}

//! Moves onto the equality constraints of a dual point: Σα = 0 for a free intercept, X̃ᵀα = 0 if nothing is penalised.
//!
//! **Lemma.** Let E be the constrained columns, kᵢ ≥ 0, H = X̃_Eᵀ·diag(k)·X̃_E nonsingular, r = X̃_Eᵀα and ν = H⁻¹r. Then α' = α − k∘(X̃_E·ν) has
//! X̃_Eᵀα' = 0, and |αᵢ' − αᵢ| ≤ kᵢρᵢ with ρᵢ = ‖Rx̂ᵢ‖·‖Rr̂‖/(1 − ε) (`gram_inverse.rs`). For softmax k is the matrix
//! c(diag p' − p'p'ᵀ), and with |x̃ᵢ·(ν_k − Σ_l p'_lν_l)| ≤ g ≤ ½ the defects grow by at most ½(1 + g)·rᵀH⁻¹r + g·Σcᵢ Σₖ p'_k·|log(p'_k/p_k)|.
//!
//! α' is a vector of real numbers that is never computed: only the bounds kᵢρᵢ are used. Columns are first centred and scaled by
//! powers of two, which is a linear map of x̃ if there is an intercept.

use faer::Mat;

use crate::duality::claim_sums::{Claim, ClaimSums};
use crate::duality::column_defects::ColumnProduct;
use crate::duality::constraint_system::{CentredRows, Feasible, Gram, MOST_NUMBERS};
use crate::duality::error_bounds::upwards;
use crate::duality::moved_rows::{Duals, Moved, MovedRows};
use crate::duality::row_dual::Multiplier;
use crate::duality::softmax_equality;
use wstar_numeric::double_double::{Compensated, DoubleDouble};
use wstar_problem::problem::{Intercept, Problem};

/// Cap: with more constraints no move is made, because a matrix of this order is factorised.
const MOST_CONSTRAINTS: usize = 3000;
/// The columns whose products must be 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constrained {
    None,
    Intercept,
    All,
}

impl Constrained {
    pub(super) fn of(problem: &Problem) -> Self {
        if problem.penalty().is_none() {
            Constrained::All
        } else if problem.intercept() == Intercept::Free && problem.layout().intercept {
            Constrained::Intercept
        } else {
            Constrained::None
        }
    }
}

/// Bounds the move; `None` if it is not proved to exist.
pub(super) fn onto(
    constrained: Constrained,
    claim: &Claim<'_>,
    sums: &ClaimSums,
    rows: &MovedRows,
    moved: &Moved,
) -> Option<Feasible> {
    let layout = claim.problem.layout();
    let width = layout.width();
    let is_constrained = |at: usize| match constrained {
        Constrained::None => false,
        Constrained::Intercept => layout.is_intercept(at),
        Constrained::All => true,
    };
    let is_zero = |at: usize| moved.products[at].value.value() == 0.0 && moved.products[at].error == 0.0;
    if (0..layout.len()).filter(|&at| is_constrained(at)).all(is_zero) {
        return Some(Feasible {
            defects: moved.defects,
            products: moved.products.clone(),
            reach: None,
        });
    }
    let order = match constrained {
        Constrained::None => return None,
        Constrained::Intercept => 1,
        Constrained::All => width,
    };
    if order * layout.outputs.saturating_sub(1).max(1) > MOST_CONSTRAINTS || rows.len() == 0 {
        return None;
    }
    match &moved.duals {
        Duals::Single(duals) if constrained == Constrained::Intercept => {
            let k = rows.slacks(claim, duals);
            onto_intercept(claim, sums, rows, moved, &k)
        }
        Duals::Single(duals) => {
            let k = rows.slacks(claim, duals);
            let frame = CentredRows::new(claim, rows, &k, order);
            if rows.len() * order > MOST_NUMBERS {
                return None;
            }
            let gram = Gram::new(&frame, &k);
            let (residual, errors) = frame.residual(&moved.products, claim, 0);
            let solved = gram.solve(
                claim,
                &residual,
                &errors,
                rows.len(),
                16.0 * claim.rounding.unit(),
            )?;
            let columns = frame.x.as_ref();
            let x = Mat::from_fn(columns.nrows(), solved.independent.len(), |i, a| {
                columns[(i, solved.independent[a])]
            });
            let norms = solved.factor.row_norms(x.as_ref(), 0);
            let defects = defects_after(claim, rows, duals, &k, |i| norms[i] * solved.lambda);
            defects.is_finite().then_some(Feasible {
                defects: defects + solved.charge(claim, &frame),
                products: moved.products.clone(),
                reach: solved.reach(),
            })
        }
        Duals::Classes(_) => softmax_equality::onto(claim, sums, rows, moved, order),
    }
}

/// A bound on the defects of the rows after their multipliers have moved by up to kᵢρᵢ.
fn defects_after(
    claim: &Claim<'_>,
    rows: &MovedRows,
    duals: &[Multiplier],
    k: &[f64],
    rho: impl Fn(usize) -> f64,
) -> f64 {
    let loss = claim.problem.loss();
    let own = duals.iter().zip(rows.residuals()).zip(&rows.weights).enumerate();
    let total: f64 = own
        .map(|(i, ((dual, &(residual, _)), &c))| {
            let radius = if k[i] > 0.0 { upwards(k[i] * rho(i)) } else { 0.0 };
            dual.defect(loss, c, radius, residual, claim.rounding)
        })
        .sum();
    upwards(total)
}

/// The move onto Σα = 0: every row with slack moves by kᵢr/K, K = Σk, and the other products by −r(Xᵀk)ⱼ/K.
fn onto_intercept(
    claim: &Claim<'_>,
    sums: &ClaimSums,
    rows: &MovedRows,
    moved: &Moved,
    k: &[f64],
) -> Option<Feasible> {
    let layout = claim.problem.layout();
    let features = layout.features;
    let total: f64 = k.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    let gamma = claim.rounding.gamma(2 * rows.len() + 8);
    let r = moved.products[features];
    let rho = upwards((r.value.value().abs() + r.error) / (total * (1.0 - gamma)));
    let defects = defects_after(
        claim,
        rows,
        match &moved.duals {
            Duals::Single(duals) => duals,
            Duals::Classes(_) => return None,
        },
        k,
        |_| rho,
    );
    if !defects.is_finite() {
        return None;
    }
    let mut means = vec![0.0; features];
    rows.design.add_rows(0..rows.len(), k, &mut means);
    let mut products = moved.products.clone();
    for (j, mean) in means.iter().map(|sum| sum / total).enumerate() {
        let mut value = Compensated::default();
        value.add(products[j].value);
        value.add_product(r.value, -mean);
        // The mean errs by at most 3γ·max|xⱼ|.
        let of_mean = 3.0 * gamma * sums.largest[j];
        let size = r.value.value().abs();
        products[j] = ColumnProduct {
            value: value.total(),
            error: upwards(products[j].error + r.error * (mean.abs() + of_mean) + size * of_mean),
        };
    }
    products[features] = ColumnProduct {
        value: DoubleDouble::ZERO,
        error: 0.0,
    };
    Some(Feasible {
        defects,
        products,
        reach: None,
    })
}

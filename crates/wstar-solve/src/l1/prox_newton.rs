//! Prox-Newton, using sums over the rows only (J. D. Lee, Y. Sun and M. A. Saunders, Proximal Newton-type
//! methods for minimizing composite functions, SIAM J. Optimization 24, 2014).
//!
//! Problem: min R(θ) + L(θ) for an ℓ1 penalty or elastic net R and a smooth convex loss L.
//!
//! Method: the loss is replaced by its quadratic model at the point, the model plus the penalty R is
//! minimised, and a line search ensures descent. If steps repeatedly fall short of the predicted
//! decrease, the next models are damped. In the limit of strong damping the steps are proximal gradient
//! steps in the metric of the diagonal, so the method always converges.

use crate::l1::face_cholesky::FaceCholesky;
use crate::l1::hessian_operator::{Gram, HessianProducts};
use crate::l1::kinked_line_search::least_along;
use crate::l1::quadratic::Effort;
use crate::l1::quadratic_model::{Minimum, QuadraticModel};
use crate::{Control, Solution};
use wstar_data::error::Result;
use wstar_data::run::Status;
use wstar_numeric::dense::{axpy, dot};
use wstar_numeric::linalg::growing_matrix::Square;
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Evaluated, Objective};
use wstar_problem::objective::{Query, SumOverRows};
use wstar_problem::penalty::Penalty;
use wstar_problem::problem::Intercept;

/// How the model is formed and minimised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ModelSolver {
    /// The full Hessian, by sweeps of coordinate descent.
    Sweeps,
    /// The full Hessian, orthant by orthant.
    Faces,
    /// Products with the Hessian, orthant by orthant, with at most this many products for each.
    Products(usize),
}

/// Trial steps of a line search in one pass over streamed rows. Heuristic: cost of a pass against trial steps
/// that are not needed; not measured yet.
const STEPS_IN_A_PASS: usize = 16;
/// Steps without a better gap or objective after which only rounding is left. Heuristic: rounding against
/// slow progress; not measured yet.
const PATIENCE: u32 = 8;
/// Steps over which sweeps must decrease the objective by the fraction [`SLOW_DECREASE`] or improve the gap, because
/// nearly collinear columns make them very slow. Heuristic: slow progress against the next solver; not
/// measured yet.
const SLOW_STEPS: u32 = 30;
/// The relative decrease of the objective over [`SLOW_STEPS`] below which sweeps count as slow. Heuristic:
/// as [`SLOW_STEPS`]; not measured yet.
const SLOW_DECREASE: f64 = 0.1;
/// Successive models that the rounds with a full Hessian failed to solve, after which the next solver runs,
/// if it can factor the Hessian once a step. Sweeps run after that solver, so they have no such limit.
/// Heuristic: another attempt against a solver that factors; not measured yet.
const MOST_UNSOLVED: u32 = 1;
/// The parameters up to which [`MOST_UNSOLVED`] applies. Cap: beyond it the next solver's factorisations are
/// too large, and the rounds continue.
const MOST_FACTOR_PARAMETERS: usize = 2000;
/// The model's gap, as a fraction of the problem's gap. Heuristic: accuracy of a model against the number of
/// models; not measured yet.
const MODEL_GAP: f64 = 1e-3;
/// The same fraction where a product with the Hessian costs a pass. Heuristic: as [`MODEL_GAP`]; not measured
/// yet.
const PRODUCT_MODEL_GAP: f64 = 0.1;
/// The relative decrease of the objective by a step below which the models hardly change. Heuristic: cost of
/// a model against its accuracy; not measured yet.
const SETTLED: f64 = 1e-4;
/// The most columns of the Hessian that are formed by one pass each. Cap: with more, conjugate gradients
/// continue.
const MOST_COLUMNS: usize = 500;
/// The most Newton steps towards the intercept of a cold start. Cap: the last point is kept.
const MOST_CENTRING: usize = 20;
/// Successive steps that may be too long before the models are damped, where the curvature of the loss has
/// jumps: beyond a jump the next model is a better one. Heuristic: undamped attempts against damping; not
/// measured yet.
pub(crate) const MOST_FAILED: u32 = 3;
/// The fraction of the largest curvatures that is always added to the Hessian. Heuristic: definiteness
/// against rounding; not measured yet.
const LEAST_DAMPING: f64 = 1e-13;

/// Minimises the objective. Every step starts with one pass for the gradient and perhaps the Hessian.
pub(crate) fn prox_newton(
    objective: &mut Objective<'_>,
    start: &[f64],
    control: &mut Control<'_>,
    inner: ModelSolver,
) -> Result<Solution> {
    let length = start.len();
    let penalties: Vec<Penalty> = (0..length).map(|j| objective.problem.penalty_of(j)).collect();
    let mut at = start.to_vec();
    optimise_free_intercept(objective, &mut at)?;
    let mut here = evaluate(objective, &at, inner, None)?;
    // The largest curvatures so far scale the damping where the Hessian has become flat.
    let mut largest = vec![0.0f64; length];
    let mut damping = LEAST_DAMPING;
    let mut best_gap = f64::INFINITY;
    let mut waited = 0;
    // The objective and the best gap `since` steps ago.
    let (mut since, mut earlier_best) = (0, (f64::INFINITY, f64::INFINITY));
    // The relative decrease of the objective by the last step.
    let mut decrease = 1.0;
    let mut unsolved_models = 0;
    // Successive steps that were too long.
    let mut failed = 0;
    // Whether conjugate gradients have failed on an accurate model.
    let mut stuck = false;
    let status = loop {
        let diagonal = if matches!(inner, ModelSolver::Products(_)) {
            objective.sums.ask(Query::Diagonal { at: &at })?.gradient
        } else {
            (0..length).map(|j| here.hessian[j * length + j]).collect()
        };
        let gap = gap(objective, &at, &here, &diagonal);
        if let Some(status) = control.iterate(objective, &at, here.objective, gap) {
            break status;
        }
        // Heuristic: a decrease by less than a tenth counts as none; not measured yet.
        if gap < 0.9 * best_gap {
            (best_gap, waited) = (gap, 0);
        }
        since += 1;
        if since > SLOW_STEPS {
            let decreased = earlier_best.0 - here.objective > SLOW_DECREASE * here.objective.abs();
            // Heuristic: a decrease of the gap by less than a factor of 10 is slow; not measured yet.
            let is_slow = !decreased && best_gap > 0.1 * earlier_best.1;
            if is_slow && inner == ModelSolver::Sweeps {
                break Status::IterationLimit;
            }
            stuck |= is_slow;
            (since, earlier_best) = (0, (here.objective, best_gap));
        }
        for (largest, &h) in largest.iter_mut().zip(&diagonal) {
            *largest = largest.max(h);
        }
        let ridge: Vec<f64> = largest.iter().map(|h| damping * h).collect();
        // Heuristic: a margin below the tolerance, so that the final gap does not narrowly miss it; this factor
        // and the lower limit of a model's gap are not measured yet.
        let target_gap = 0.3 * control.tolerance.gap(here.objective);
        let tight = if objective.problem.loss() == LossName::Squared {
            target_gap
        } else {
            (MODEL_GAP * gap).clamp(0.03 * target_gap, target_gap)
        };
        let slopes = here.gradient.clone();
        let mut factor = FaceCholesky::default();
        let next = match inner {
            ModelSolver::Sweeps => {
                let gram = Gram::new(Square::new(&here.hessian, length), 1.0, slopes, &mut factor);
                let model = QuadraticModel::new(gram, &penalties, &ridge, &at, here.loss, &here.gradient);
                model.by_sweeps(tight)?
            }
            ModelSolver::Faces => {
                let gram = Gram::new(Square::new(&here.hessian, length), 1.0, slopes, &mut factor);
                let model = QuadraticModel::new(gram, &penalties, &ridge, &at, here.loss, &here.gradient);
                model.by_swept_orthants(tight)?
            }
            ModelSolver::Products(most) => {
                let free = stuck.then(|| active_weights(&penalties, &at, &here.gradient));
                if let Some(free) = free.filter(|free| free.len() <= MOST_COLUMNS) {
                    let at = column_model(objective, &at, &here, &free, &penalties, &ridge, tight)?;
                    Minimum {
                        at,
                        reached: true,
                        exhausted: false,
                    }
                } else {
                    let effort = effort(
                        most,
                        decrease,
                        control.tolerance.relative_gap(gap, here.objective),
                    );
                    let products = HessianProducts::new(&mut *objective.sums, &at, &diagonal, slopes, effort);
                    let model =
                        QuadraticModel::new(products, &penalties, &ridge, &at, here.loss, &here.gradient);
                    let minimum = model.by_orthants(target_gap.max(PRODUCT_MODEL_GAP * gap))?;
                    stuck |= !minimum.reached && decrease <= SETTLED;
                    // Conjugate gradients are stopped early on purpose and continue in the next step.
                    Minimum {
                        exhausted: false,
                        ..minimum
                    }
                }
            }
        };
        unsolved_models = if next.exhausted { unsolved_models + 1 } else { 0 };
        if unsolved_models > MOST_UNSOLVED
            && inner == ModelSolver::Faces
            && length <= MOST_FACTOR_PARAMETERS
            && objective.rows.is_some()
        {
            break Status::IterationLimit;
        }
        let next = next.at;
        let along: Vec<f64> = next.iter().zip(&at).map(|(next, at)| next - at).collect();
        let predicted = dot(&here.gradient, &along) + objective.problem.penalty_value(&next)
            - objective.problem.penalty_value(&at);
        // Heuristic: the rounding error of an objective, some hundred machine epsilons; not measured yet.
        let noise = 1e-13 * here.objective.abs();
        let there = evaluate(objective, &next, inner, Some(&here))?;
        // Heuristic: the fraction 0.01 of the predicted decrease that a step must reach (Armijo) is not
        // measured yet.
        if there.objective <= here.objective + 0.01 * predicted.min(0.0) + noise {
            damping = (0.1 * damping).max(LEAST_DAMPING);
            failed = 0;
            waited += u32::from(here.objective - there.objective <= noise);
            decrease = control
                .tolerance
                .relative_gap(here.objective - there.objective, here.objective);
            (at, here) = (next, there);
        } else {
            // The scores of rows in memory are cached and each trial costs the same; a stream is read again
            // for each call.
            let steps_per_call = if objective.rows.is_some() {
                1
            } else {
                STEPS_IN_A_PASS
            };
            let (step, value) = least_along(&penalties, &at, &along, steps_per_call, |steps| {
                let (at, along) = (&at, &along);
                Ok(objective.sums.ask(Query::Line { at, along, steps })?.line)
            })?;
            failed += 1;
            let by_products = matches!(inner, ModelSolver::Products(_));
            if failed > MOST_FAILED || by_products || objective.problem.loss().is_twice_smooth() {
                // Heuristic: the factors of 10 and the first damping of 1e-4 are not measured yet.
                damping = (10.0 * damping).max(1e-4);
            }
            if value < here.objective {
                axpy(step, &along, &mut at);
                here = evaluate(objective, &at, inner, Some(&here))?;
            } else {
                waited += 1;
            }
        }
        if waited > PATIENCE {
            if stuck || !matches!(inner, ModelSolver::Products(_)) {
                break Status::IterationLimit;
            }
            (stuck, waited) = (true, 0);
        }
    };
    Ok(Solution {
        parameters: at,
        dual: None,
        gram: None,
        status,
        iterations: control.iterations(),
    })
}

/// Optimises the free intercept of a cold start, so that no weight leaves 0 to compensate for it.
pub(super) fn optimise_free_intercept(objective: &mut Objective<'_>, at: &mut [f64]) -> Result<()> {
    let layout = objective.problem.layout();
    let free = objective.problem.intercept() == Intercept::Free && layout.outputs == 1 && layout.intercept;
    if !free || at[..layout.features].iter().any(|&w| w != 0.0) {
        return Ok(());
    }
    optimise_intercept(&mut *objective.sums, at)
}

/// Moves the intercept of a single output to the minimum of the loss, by Newton's method within a bracket.
pub(super) fn optimise_intercept(oracle: &mut dyn SumOverRows, at: &mut [f64]) -> Result<()> {
    let features = oracle.layout().features;
    let mut along = vec![0.0; at.len()];
    along[features] = 1.0;
    let (mut low, mut high, mut step) = (f64::NEG_INFINITY, f64::INFINITY, 0.0);
    for _ in 0..MOST_CENTRING {
        let steps = [step];
        let line = oracle.ask(Query::Line {
            at,
            along: &along,
            steps: &steps,
        })?;
        let Some(point) = line.line.first() else { break };
        if point.slope > 0.0 {
            high = step;
        } else {
            low = step;
        }
        // Where the loss is flat, Newton steps are too long and may leave the bracket. Heuristic: the limit of 10,
        // as in `row_state`.
        let bounded_step = (point.slope / point.curvature).clamp(-10.0, 10.0);
        let mut next = step - bounded_step;
        if next < low || next > high {
            next = 0.5 * (low + high);
        }
        // Derived: a step of a few machine epsilons is rounding.
        if point.slope == 0.0 || !next.is_finite() || (next - step).abs() <= 1e-15 * next.abs() {
            break;
        }
        step = next;
    }
    at[features] += step;
    Ok(())
}

/// The weights that are not 0 or whose gradient exceeds l1.
fn active_weights(penalties: &[Penalty], at: &[f64], gradient: &[f64]) -> Vec<usize> {
    let free = |&j: &usize| at[j] != 0.0 || penalties[j].l1 == 0.0 || gradient[j].abs() > penalties[j].l1;
    (0..at.len()).filter(free).collect()
}

/// Minimises the model over a few weights, with their block of the Hessian formed column by column. This is
/// expensive, but it terminates where dependent or stiff columns prevent the convergence of conjugate
/// gradients.
fn column_model(
    objective: &mut Objective<'_>,
    at: &[f64],
    here: &Evaluated,
    set: &[usize],
    penalties: &[Penalty],
    ridge: &[f64],
    target: f64,
) -> Result<Vec<f64>> {
    let mut hessian = Vec::with_capacity(set.len() * set.len());
    let mut unit = vec![0.0; at.len()];
    for &j in set {
        unit[j] = 1.0;
        let query = Query::Product { at, along: &unit };
        let column = objective.sums.ask(query)?.gradient;
        hessian.extend(set.iter().map(|&k| column[k]));
        unit[j] = 0.0;
    }
    let pick = |from: &[f64]| -> Vec<f64> { set.iter().map(|&j| from[j]).collect() };
    let (start, slopes, ridge) = (pick(at), pick(&here.gradient), pick(ridge));
    let penalties: Vec<Penalty> = set.iter().map(|&j| penalties[j]).collect();
    let mut factor = FaceCholesky::default();
    let gram = Gram::new(Square::new(&hessian, set.len()), 1.0, slopes.clone(), &mut factor);
    let model = QuadraticModel::new(gram, &penalties, &ridge, &start, here.loss, &slopes);
    let minimum = model.by_sweeps(target)?.at;
    let mut next = at.to_vec();
    set.iter().zip(&minimum).for_each(|(&j, &w)| next[j] = w);
    Ok(next)
}

/// The work spent on a model where a product costs a pass: little while the models still change from step to
/// step, and as much as necessary at the end, because the gradient that a loosely solved model leaves
/// determines the next gap.
fn effort(most_products: usize, decrease: f64, relative_gap: f64) -> Effort {
    let (most_rounds, products, most_stops) = match decrease {
        // Rounds, products and stops. Heuristic: these limits, and those of `face_tol`, are not measured yet.
        drop if drop > 1e-2 => (2, 10, 3),
        drop if drop > SETTLED => (3, 30, 10),
        _ => (6, most_products, 20),
    };
    Effort {
        face_tol: relative_gap.clamp(1e-3, 0.1),
        most_products: products.min(most_products),
        most_stops,
        most_faces: 2,
        most_rounds,
        short_sweeps: 0,
    }
}

/// Objective, gradient and, if needed, the Hessian at a new point; the Hessian of least squares is the same
/// everywhere.
fn evaluate(
    objective: &mut Objective<'_>,
    at: &[f64],
    inner: ModelSolver,
    known: Option<&Evaluated>,
) -> Result<Evaluated> {
    if matches!(inner, ModelSolver::Products(_)) {
        return objective.gradient(at);
    }
    match known {
        Some(known) if objective.problem.loss() == LossName::Squared => {
            let mut evaluated = objective.gradient(at)?;
            evaluated.hessian.clone_from(&known.hessian);
            Ok(evaluated)
        }
        _ => objective.hessian(at),
    }
}

/// An estimate of P − P\* like [`Objective::gap`], for a free intercept that is not yet optimal.
///
/// The dual point is then infeasible, and the product of intercept and slope could make the gap too small or
/// negative. Instead, the intercept contributes the decrease that a Newton step along it predicts. The slopes
/// of the weights may change by that step, by at most |Hⱼᵦ| ≤ √(HⱼⱼHᵦᵦ) times its length.
fn gap(objective: &Objective<'_>, at: &[f64], here: &Evaluated, diagonal: &[f64]) -> f64 {
    let (mut gained, mut added) = (0.0, 0.0);
    let penalties = |j: usize| objective.problem.penalty_of(j);
    for (j, &g) in here.gradient.iter().enumerate() {
        if penalties(j).is_none() && g != 0.0 {
            let h = if diagonal[j] > 0.0 {
                diagonal[j]
            } else {
                objective.sums.total_weight()
            };
            gained += g * g / h;
            added += g.abs() / h.sqrt();
        }
    }
    // R(w) + w·g + R\*(−g), at the worse end of the range of each slope.
    let (mut fenchel, mut product, mut shrink) = (0.0, 0.0, 1.0f64);
    for (j, (&w, &g)) in at.iter().zip(&here.gradient).enumerate() {
        let (penalty, may_move) = (penalties(j), added * diagonal[j].sqrt());
        if penalty.is_none() {
            continue;
        }
        product += w * g;
        if penalty.l2 > 0.0 {
            let at_slope = |g: f64| penalty.of(w) + w * g + penalty.conjugate(g);
            fenchel += at_slope(g - may_move).max(at_slope(g + may_move));
        } else {
            fenchel += penalty.of(w) + w * g + w.abs() * may_move;
            if g.abs() + may_move > penalty.l1 {
                shrink = shrink.min(penalty.l1 / (g.abs() + may_move));
            }
        }
    }
    // The loss of dual value due to shrinking the dual point.
    fenchel + (1.0 - shrink) * (here.loss - product) + gained
}

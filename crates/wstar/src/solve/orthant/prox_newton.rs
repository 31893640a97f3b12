//! Prox-Newton through the oracle alone (Lee, Sun and Saunders 2014): the loss is replaced by its quadratic
//! model at the point, the model is minimised with the penalty as it is, and a line search makes sure of
//! the descent. Steps that promise too much again and again damp the next models, in the limit to proximal
//! gradient steps in the metric of the diagonal, so that the method always converges.

use crate::error::Result;
use crate::kernel::dense::{axpy, dot};
use crate::loss::LossName;
use crate::oracle::{Oracle, Query};
use crate::penalty::Penalty;
use crate::problem::{Evaluated, Intercept, Problem};
use crate::solve::orthant::bent_line::least_along;
use crate::solve::orthant::curved::Effort;
use crate::solve::orthant::factor::Factor;
use crate::solve::orthant::growing::Square;
use crate::solve::orthant::hessian::{Gram, Products};
use crate::solve::orthant::model::{Minimum, Model};
use crate::solve::{Control, Solution};
use crate::watch::Status;

/// How the model is made and minimised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Inner {
    /// The whole Hessian, by sweeps of coordinate descent.
    Sweeps,
    /// The whole Hessian, orthant by orthant.
    Faces,
    /// Products with the Hessian, orthant by orthant, with so many products at most for each.
    Products(usize),
}

/// Steps along a line that one pass over a stream tries.
const STEPS_IN_A_PASS: usize = 16;
/// Steps without a better gap or objective, after which rounding has the last word.
const PATIENCE: u32 = 8;
/// Steps over which sweeps must take at least [`CRAWL`] of the objective away or better the gap: with nearly collinear
/// columns they can go on for days, and other solvers do better.
const CRAWL_STEPS: u32 = 30;
const CRAWL: f64 = 0.1;
/// Models in a row that a whole Hessian's rounds could not solve, after which a solver that factors it once a step
/// does better; only where there are few enough weights for that. Sweeps are what comes after that solver, so they
/// go on for as long as they get anywhere.
const MOST_UNSOLVED: u32 = 1;
const FEW: usize = 2000;
/// How much of the problem's gap a model's may keep.
const TIGHTNESS: f64 = 1e-3;
/// The same where a product costs a pass.
const LOOSENESS: f64 = 0.1;
/// The models have settled when a step takes less than this share of the objective away.
const SETTLED: f64 = 1e-4;
/// Columns of the Hessian at most that are worth a pass each.
const MOST_COLUMNS: usize = 500;
/// Steps at most towards the intercept of a cold start.
const MOST_CENTRING: usize = 20;
/// Steps in a row that may be too long before the models are damped, where the loss's curvature has jumps: beyond a
/// jump the next model is a better one.
pub(crate) const MOST_FAILED: u32 = 3;
/// The share of the largest curvatures that is always added to the Hessian.
const LEAST_DAMPING: f64 = 1e-13;

/// Minimises; every step starts with one pass, for slopes and perhaps the Hessian.
pub(crate) fn prox_newton(
    problem: &mut Problem<'_>,
    start: &[f64],
    control: &mut Control<'_>,
    inner: Inner,
) -> Result<Solution> {
    let length = start.len();
    let penalties: Vec<Penalty> = (0..length).map(|j| problem.penalty_of(j)).collect();
    let mut at = start.to_vec();
    centre(problem, &mut at)?;
    let mut here = evaluate(problem, &at, inner, None)?;
    // The largest curvatures seen: what damping is measured by where the Hessian has gone flat.
    let mut largest = vec![0.0f64; length];
    let mut damping = LEAST_DAMPING;
    let mut best_gap = f64::INFINITY;
    let mut waited = 0;
    // The objective and the best gap so many steps ago.
    let (mut since, mut earlier) = (0, (f64::INFINITY, f64::INFINITY));
    // How much of the objective the last step took away.
    let mut dropped = 1.0;
    let mut unsolved = 0;
    // Steps in a row that were too long.
    let mut failed = 0;
    // Whether conjugate gradients have failed on a model that mattered.
    let mut stuck = false;
    let status = loop {
        let diagonal = if matches!(inner, Inner::Products(_)) {
            problem.oracle.ask(Query::Diagonal { at: &at })?.gradient
        } else {
            (0..length).map(|j| here.hessian[j * length + j]).collect()
        };
        let gap = gap(problem, &at, &here, &diagonal);
        if let Some(status) = control.iterate(problem, &at, here.objective, gap) {
            break status;
        }
        if gap < 0.9 * best_gap {
            (best_gap, waited) = (gap, 0);
        }
        since += 1;
        if since > CRAWL_STEPS {
            let fell = earlier.0 - here.objective > CRAWL * here.objective.abs();
            let crawls = !fell && best_gap > 0.1 * earlier.1;
            if crawls && inner == Inner::Sweeps {
                break Status::IterationLimit;
            }
            stuck |= crawls;
            (since, earlier) = (0, (here.objective, best_gap));
        }
        for (largest, &h) in largest.iter_mut().zip(&diagonal) {
            *largest = largest.max(h);
        }
        let ridge: Vec<f64> = largest.iter().map(|h| damping * h).collect();
        let aim = 0.3 * control.tol * here.objective.abs().max(1.0);
        let tight = if problem.loss == LossName::Squared {
            aim
        } else {
            (TIGHTNESS * gap).clamp(0.03 * aim, aim)
        };
        let slopes = here.gradient.clone();
        let mut factor = Factor::default();
        let next = match inner {
            Inner::Sweeps => {
                let gram = Gram::new(Square::new(&here.hessian, length), 1.0, slopes, &mut factor);
                let model = Model::new(gram, &penalties, &ridge, &at, here.loss, &here.gradient);
                model.by_sweeps(tight)?
            }
            Inner::Faces => {
                let gram = Gram::new(Square::new(&here.hessian, length), 1.0, slopes, &mut factor);
                let model = Model::new(gram, &penalties, &ridge, &at, here.loss, &here.gradient);
                model.by_swept_orthants(tight)?
            }
            Inner::Products(most) => {
                let free = stuck.then(|| free_set(&penalties, &at, &here.gradient));
                if let Some(free) = free.filter(|free| free.len() <= MOST_COLUMNS) {
                    let at = column_model(problem, &at, &here, &free, &penalties, &ridge, tight)?;
                    Minimum {
                        at,
                        reached: true,
                        spent: false,
                    }
                } else {
                    let effort = effort(most, dropped, Problem::relative(gap, here.objective));
                    let products = Products::new(&mut *problem.oracle, &at, &diagonal, slopes, effort);
                    let model = Model::new(products, &penalties, &ridge, &at, here.loss, &here.gradient);
                    let minimum = model.by_orthants(aim.max(LOOSENESS * gap))?;
                    stuck |= !minimum.reached && dropped <= SETTLED;
                    // Conjugate gradients are cut short on purpose, and go on from there in the next step.
                    Minimum {
                        spent: false,
                        ..minimum
                    }
                }
            }
        };
        unsolved = if next.spent { unsolved + 1 } else { 0 };
        if unsolved > MOST_UNSOLVED && inner == Inner::Faces && length <= FEW && problem.rows.is_some() {
            break Status::IterationLimit;
        }
        let next = next.at;
        let along: Vec<f64> = next.iter().zip(&at).map(|(next, at)| next - at).collect();
        let promised =
            dot(&here.gradient, &along) + problem.penalty_value(&next) - problem.penalty_value(&at);
        let noise = 1e-13 * here.objective.abs();
        let there = evaluate(problem, &next, inner, Some(&here))?;
        if there.objective <= here.objective + 0.01 * promised.min(0.0) + noise {
            damping = (0.1 * damping).max(LEAST_DAMPING);
            failed = 0;
            waited += u32::from(here.objective - there.objective <= noise);
            dropped = Problem::relative(here.objective - there.objective, here.objective);
            (at, here) = (next, there);
        } else {
            // Scores of rows in memory are known, and a step costs what it costs; a stream is read again each time.
            let together = if problem.rows.is_some() {
                1
            } else {
                STEPS_IN_A_PASS
            };
            let (step, objective) = least_along(&penalties, &at, &along, together, |steps| {
                let (at, along) = (&at, &along);
                Ok(problem.oracle.ask(Query::Line { at, along, steps })?.line)
            })?;
            failed += 1;
            let by_products = matches!(inner, Inner::Products(_));
            if failed > MOST_FAILED || by_products || problem.loss.is_twice_smooth() {
                damping = (10.0 * damping).max(1e-4);
            }
            if objective < here.objective {
                axpy(step, &along, &mut at);
                here = evaluate(problem, &at, inner, Some(&here))?;
            } else {
                waited += 1;
            }
        }
        if waited > PATIENCE {
            if stuck || !matches!(inner, Inner::Products(_)) {
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

/// Puts the free intercept of a cold start in its place, so that no weight need leave 0 to do its work.
pub(super) fn centre(problem: &mut Problem<'_>, at: &mut [f64]) -> Result<()> {
    let layout = problem.layout();
    let free = problem.intercept == Intercept::Free && layout.outputs == 1 && layout.intercept;
    if !free || at[..layout.features].iter().any(|&w| w != 0.0) {
        return Ok(());
    }
    place_intercept(&mut *problem.oracle, at)
}

/// Puts the one intercept where the loss is least: Newton's method within a bracket, on one line.
pub(super) fn place_intercept(oracle: &mut dyn Oracle, at: &mut [f64]) -> Result<()> {
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
        // A flat loss makes Newton leap, perhaps beyond what is known.
        let leap = (point.slope / point.curvature).clamp(-10.0, 10.0);
        let mut next = step - leap;
        if next < low || next > high {
            next = 0.5 * (low + high);
        }
        if point.slope == 0.0 || !next.is_finite() || (next - step).abs() <= 1e-15 * next.abs() {
            break;
        }
        step = next;
    }
    at[features] += step;
    Ok(())
}

/// The weights that are not 0 or are pulled from it.
fn free_set(penalties: &[Penalty], at: &[f64], gradient: &[f64]) -> Vec<usize> {
    let free = |&j: &usize| at[j] != 0.0 || penalties[j].l1 == 0.0 || gradient[j].abs() > penalties[j].l1;
    (0..at.len()).filter(free).collect()
}

/// The minimum of the model over a few weights, with their part of the Hessian made column by column: dear,
/// but it ends where dependent or stiff columns leave conjugate gradients without one.
fn column_model(
    problem: &mut Problem<'_>,
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
        let column = problem.oracle.ask(query)?.gradient;
        hessian.extend(set.iter().map(|&k| column[k]));
        unit[j] = 0.0;
    }
    let pick = |from: &[f64]| -> Vec<f64> { set.iter().map(|&j| from[j]).collect() };
    let (start, slopes, ridge) = (pick(at), pick(&here.gradient), pick(ridge));
    let penalties: Vec<Penalty> = set.iter().map(|&j| penalties[j]).collect();
    let mut factor = Factor::default();
    let gram = Gram::new(Square::new(&hessian, set.len()), 1.0, slopes.clone(), &mut factor);
    let model = Model::new(gram, &penalties, &ridge, &start, here.loss, &slopes);
    let minimum = model.by_sweeps(target)?.at;
    let mut next = at.to_vec();
    set.iter().zip(&minimum).for_each(|(&j, &w)| next[j] = w);
    Ok(next)
}

/// How much work a model is worth where a product costs a pass: little while the models still change much
/// from step to step, and all it takes at the end, for slopes left over by a loose solution are the next gap.
fn effort(most_products: usize, dropped: f64, relative_gap: f64) -> Effort {
    let (most_rounds, products, most_stops) = match dropped {
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

/// Objective, slopes and, if it is used, the Hessian at a new point; that of least squares is the same everywhere.
fn evaluate(
    problem: &mut Problem<'_>,
    at: &[f64],
    inner: Inner,
    known: Option<&Evaluated>,
) -> Result<Evaluated> {
    if matches!(inner, Inner::Products(_)) {
        return problem.gradient(at);
    }
    match known {
        Some(known) if problem.loss == LossName::Squared => {
            let mut evaluated = problem.gradient(at)?;
            evaluated.hessian.clone_from(&known.hessian);
            Ok(evaluated)
        }
        _ => problem.hessian(at),
    }
}

/// An estimate of P − P\* as [`Problem::gap`] makes it, but for a free intercept that is not yet in its place:
/// the dual point is then infeasible, and the product of intercept and slope could make the gap too small or
/// negative. Here the intercept counts with what a Newton step along it gains, and the slopes with what
/// that step may add to them, |Hⱼᵦ| being at most √(HⱼⱼHᵦᵦ).
fn gap(problem: &Problem<'_>, at: &[f64], here: &Evaluated, diagonal: &[f64]) -> f64 {
    let (mut gained, mut added) = (0.0, 0.0);
    let penalties = |j: usize| problem.penalty_of(j);
    for (j, &g) in here.gradient.iter().enumerate() {
        if penalties(j).is_none() && g != 0.0 {
            let h = if diagonal[j] > 0.0 {
                diagonal[j]
            } else {
                problem.oracle.total_weight()
            };
            gained += g * g / h;
            added += g.abs() / h.sqrt();
        }
    }
    // R(w) + w·g + R\*(−g), at the worse end of where each slope may be.
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
    // What shrinking the dual point costs it.
    fenchel + (1.0 - shrink) * (here.loss - product) + gained
}

//! Orthant-wise Newton on the few columns that matter, for sparse rows with many columns.
//!
//! Problem: min over w of l1·‖w‖₁ + l2·½‖w‖² + Σ cᵢ ℓ(yᵢ, zᵢ), ℓ smooth and convex.
//!
//! Method: the nonzero weights, and those whose gradient exceeds l1, determine the orthant. Within it the
//! objective is smooth, and a Newton step is computed by conjugate gradients (Andrew and Gao 2007; Byrd,
//! Chin, Nocedal and Oztoprak 2016; cited in `orthant_newton`). Weights that would cross 0 stop there.
//! The gradient of the next step determines which of them enter again, as in an active-set method for
//! bound constraints (M. Hintermüller, K. Ito and K. Kunisch, The primal-dual active set strategy as a
//! semismooth Newton method, SIAM J. Optimization 13, 2002). Where columns are not far from independent,
//! the orthant settles within a dozen steps of a few products each, and none of the steps needs to be
//! exact.
//!
//! All products use a copy of these columns only, with the entries of several rows interleaved. Its
//! weights stay in the L1 cache, and one read of a row serves both halves of a product with the Hessian,
//! in single precision. A pass over all rows then finds the columns that are missing. Convergence is not
//! guaranteed: a descent that stops making progress ends without a status, and another solver continues
//! from its point.

use crate::Control;
use crate::l1::conjugate_gradients::conjugate_gradients;
use crate::l1::kinked_line_search::least_along;
use crate::l1::prox_newton::{optimise_free_intercept, optimise_intercept};
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_data::run::Status;
use wstar_numeric::dense::{axpy, dot};
use wstar_problem::objective::{CachedScores, ColumnSubset, InMemory, Query, Rows, SumOverRows, Sums};
use wstar_problem::objective::{Evaluated, Objective};
use wstar_problem::penalty::Penalty;
use wstar_problem::problem::Intercept;

/// The most steps between two passes over all columns, while new columns enter. Heuristic: a pass against
/// steps on an incomplete set; not measured yet.
const FEW_STEPS: usize = 3;
/// The most steps once the columns have settled. Heuristic: as [`FEW_STEPS`]; not measured yet.
const MOST_STEPS: usize = 12;
/// The columns have settled when less than one in this many is new. Heuristic: as [`FEW_STEPS`]; not measured
/// yet.
const SETTLED: usize = 20;
/// The gradient relative to l1 from which a column is included as nearly violating. Heuristic: a larger set
/// against another pass; not measured yet.
const NEARLY_VIOLATING: f64 = 0.95;
/// The relative residual of a step's linear system while weights enter and leave. Heuristic: products against
/// steps; not measured yet.
const LOOSE: f64 = 0.1;
/// The relative residual once a whole step kept all signs. Heuristic: as [`LOOSE`]; not measured yet.
const TIGHT: f64 = 0.02;
/// The most products for a loosely solved step. Heuristic: products against steps; not measured yet.
const LOOSE_PRODUCTS: usize = 10;
/// The most products for an accurately solved step. Heuristic: as [`LOOSE_PRODUCTS`]; not measured yet.
const TIGHT_PRODUCTS: usize = 40;
/// The most products of all steps. Cap: beyond it the descent ends and another solver takes over.
const MOST_PRODUCTS: usize = 300;
/// The least rows for each column, unless many weights are already nonzero. Heuristic: more columns would be
/// linearly dependent; not measured yet.
const LEAST_ROWS: usize = 4;
/// New columns that may always enter, whatever the number of rows. Heuristic: as [`LEAST_ROWS`]; not measured
/// yet.
const FEW_COLUMNS: usize = 100;
/// The most passes over all columns. Cap: beyond it another solver takes over.
const MOST_FULL_PASSES: usize = 20;
/// Passes without a better gap or objective after which the descent ends. Heuristic: slow progress against
/// another solver; not measured yet.
const PATIENCE: u32 = 2;
/// The relative decrease of the objective that counts as progress. Heuristic: as [`PATIENCE`]; not measured
/// yet.
const LITTLE_PROGRESS: f64 = 1e-4;
/// The gap of the reduced problem, as a fraction of the full gap. Heuristic: steps against passes over all
/// columns; not measured yet.
const REDUCED_GAP: f64 = 0.01;
/// The relative gap above which values may be rounded to fewer digits. Heuristic: faster products against the
/// error of the optimum; not measured yet.
const ROUNDED_FROM: f64 = 1e-3;
/// The relative gap above which the end point of a failed descent is discarded, because it is no good start
/// for another solver. For example, if every row is beyond its margin, there is no curvature that would lead
/// back. Heuristic: a bad start against lost progress; not measured yet.
const FAR_FROM_OPTIMUM: f64 = 0.1;
/// The ridge, as a fraction of each column's curvature. Heuristic: definiteness against rounding; not
/// measured yet.
const RIDGE: f64 = 1e-12;

/// Descends from a start. Returns the last point, and the status if the run has ended. If it has not, and the
/// last point is still far from the optimum, the start is returned instead.
pub(crate) fn reduced_newton(
    objective: &mut Objective<'_>,
    rows: &Rows<'_>,
    start: &[f64],
    control: &mut Control<'_>,
) -> Result<(Vec<f64>, Option<Status>)> {
    let mut at = start.to_vec();
    optimise_free_intercept(objective, &mut at)?;
    let (mut best_gap, mut best_objective, mut waited) = (f64::INFINITY, f64::INFINITY, 0);
    let layout = objective.problem.layout();
    let mut whole = InMemory::new(rows.borrowed(), objective.problem.loss(), layout);
    let (mut products, mut far) = (0, true);
    // If single precision makes no progress, double precision is tried.
    let mut use_interleaved = true;
    for _ in 0..MOST_FULL_PASSES {
        // Where the loss is nearly flat, the gap does not bound what a suboptimal intercept could still gain.
        if objective.problem.intercept() == Intercept::Free && layout.intercept {
            optimise_intercept(&mut whole, &mut at)?;
        }
        let sums = whole.ask(Query::Gradient { at: &at })?;
        let here = objective.evaluated(&at, sums);
        control.passed(1);
        let gap = objective.gap(&at, &here);
        if let Some(status) = control.iterate(objective, &at, here.objective, gap) {
            return Ok((at, Some(status)));
        }
        // Heuristic: a gap that decreases by less than a factor of 2 is no progress; not measured yet.
        let better =
            gap < 0.5 * best_gap || here.objective < best_objective - LITTLE_PROGRESS * best_objective.abs();
        waited = if better { 0 } else { waited + 1 };
        best_gap = best_gap.min(gap);
        best_objective = best_objective.min(here.objective);
        far = gap > FAR_FROM_OPTIMUM * here.objective.abs();
        if waited > PATIENCE || products > MOST_PRODUCTS {
            if !use_interleaved {
                break;
            }
            (use_interleaved, waited, products) = (false, 0, 0);
        }
        let (set, settled) = choose(objective, &at, &here.gradient, rows.len() / LEAST_ROWS);
        let features: Vec<usize> = set.iter().copied().filter(|&j| !layout.is_intercept(j)).collect();
        let reduced_layout = Layout {
            features: features.len(),
            ..layout
        };
        let design;
        // While columns enter and leave, the optimum for slightly rounded values suffices. Near the end the
        // rounding error would exceed the gain of a step.
        let exact = settled || gap <= ROUNDED_FROM * here.objective.abs();
        let sides = use_interleaved.then(|| rows.design.interleaved(&features, exact));
        let mut oracle = match sides.flatten() {
            Some(blocks) => ReducedSums::Interleaved(ColumnSubset::new(
                rows.borrowed(),
                blocks,
                objective.problem.loss(),
                reduced_layout,
            )),
            None => {
                let Some(narrowed) = rows.design.narrowed(&features) else {
                    break;
                };
                design = narrowed;
                let reduced = Rows {
                    design: &design,
                    ..rows.borrowed()
                };
                ReducedSums::Rows(InMemory::new(reduced, objective.problem.loss(), reduced_layout))
            }
        };
        control.passed(1);
        let own: Vec<f64> = set.iter().map(|&j| at[j]).collect();
        if let Some(kept) = whole.release(&at) {
            oracle.receive(kept.of(&own));
        }
        let mut reduced = ReducedProblem {
            oracle,
            penalties: set.iter().map(|&j| objective.problem.penalty_of(j)).collect(),
            at: own,
            products: 0,
        };
        let set_gradient = set.iter().map(|&j| here.gradient[j]).collect();
        let start = Evaluated {
            gradient: set_gradient,
            ..here
        };
        // Heuristic: as in `prox_newton`.
        let target_gap = 0.3 * control.tolerance.gap(start.objective);
        let (steps, target) = if settled {
            (MOST_STEPS, target_gap)
        } else {
            (FEW_STEPS, target_gap.max(REDUCED_GAP * gap))
        };
        let makes_progress = reduced.descend(start, steps, target, control)?;
        products += reduced.products;
        set.iter().zip(&reduced.at).for_each(|(&j, &w)| at[j] = w);
        // Scores of rounded values are not those of the rows, and a gap computed from them would be wrong.
        if exact && let Some(kept) = reduced.oracle.release(&reduced.at) {
            whole.receive(kept.of(&at));
        }
        if !makes_progress && !std::mem::take(&mut use_interleaved) {
            break;
        }
    }
    Ok((if far { start.to_vec() } else { at }, None))
}

/// Chooses the columns: the nonzero parameters and those whose gradient exceeds l1, in order, with any
/// intercept. Also returns whether they have settled, that is, whether few are new; if so, parameters whose
/// gradient is nearly l1 are included too, so that they are not missed at the end. If there are more than
/// `most`, those with the largest gradients are chosen.
fn choose(objective: &Objective<'_>, at: &[f64], gradient: &[f64], most: usize) -> (Vec<usize>, bool) {
    let layout = objective.problem.layout();
    let (mut set, mut violating, mut nearly_violating) = (Vec::new(), Vec::new(), Vec::new());
    for (j, &w) in at.iter().enumerate() {
        let (l1, size) = (objective.problem.penalty_of(j).l1, gradient[j].abs());
        if w != 0.0 || l1 == 0.0 || layout.is_intercept(j) {
            set.push(j);
        } else if size > l1 {
            violating.push(j);
        } else if size > NEARLY_VIOLATING * l1 {
            nearly_violating.push(j);
        }
    }
    let settled = violating.len() * SETTLED <= set.len() + violating.len();
    if settled {
        violating.extend(nearly_violating);
    }
    // Heuristic: the set may always grow by a quarter; not measured yet.
    let capacity = most.saturating_sub(set.len()).max(set.len() / 4 + FEW_COLUMNS);
    if violating.len() > capacity {
        let size = |j: usize| gradient[j].abs();
        violating.select_nth_unstable_by(capacity, |&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
        violating.truncate(capacity);
    }
    set.extend(&violating);
    set.sort_unstable();
    (set, settled)
}

/// Sums over a copy of a few columns.
enum ReducedSums<'a> {
    /// With interleaved rows.
    Interleaved(ColumnSubset<'a>),
    /// Row by row, where the rows cannot be interleaved.
    Rows(InMemory<'a>),
}

impl ReducedSums<'_> {
    fn ask(&mut self, query: Query<'_>) -> Result<Sums> {
        match self {
            ReducedSums::Interleaved(oracle) => oracle.ask(query),
            ReducedSums::Rows(oracle) => oracle.ask(query),
        }
    }

    /// Moves to a point whose scores are known.
    fn receive(&mut self, kept: CachedScores) {
        match self {
            ReducedSums::Interleaved(oracle) => oracle.receive(kept),
            ReducedSums::Rows(oracle) => oracle.receive(kept),
        }
    }

    /// The scores of a point, if they are known.
    fn release(&mut self, at: &[f64]) -> Option<CachedScores> {
        match self {
            ReducedSums::Interleaved(oracle) => oracle.release(at),
            ReducedSums::Rows(oracle) => oracle.release(at),
        }
    }
}

/// The problem restricted to a few columns.
struct ReducedProblem<'a> {
    oracle: ReducedSums<'a>,
    /// The penalty of every parameter.
    penalties: Vec<Penalty>,
    at: Vec<f64>,
    /// The products with the Hessian so far.
    products: usize,
}

/// The result of a step: the new point, and whether the whole step was taken without a weight stopping at 0.
struct StepOutcome {
    there: Evaluated,
    straight: bool,
}

impl ReducedProblem<'_> {
    /// Makes steps until the gap is at most `target`; whether it makes sense to continue.
    fn descend(
        &mut self,
        start: Evaluated,
        steps: usize,
        target: f64,
        control: &Control<'_>,
    ) -> Result<bool> {
        let (mut tol, mut here) = (LOOSE, start);
        let diagonal = self.oracle.ask(Query::Diagonal { at: &self.at })?.gradient;
        for _ in 0..steps {
            if self.gap(&here) <= target || control.out_of_budget().is_some() {
                break;
            }
            // Heuristic: the factor 0.3, as in `prox_newton`.
            let Some(step) = self.step(&here, &diagonal, tol, 0.3 * control.tolerance.relative)? else {
                return Ok(false);
            };
            tol = if step.straight { TIGHT } else { LOOSE };
            here = step.there;
        }
        Ok(true)
    }

    /// The duality gap of the reduced problem at these slopes.
    fn gap(&self, here: &Evaluated) -> f64 {
        let (mut shrink, mut conjugate) = (1.0f64, 0.0);
        for (&g, penalty) in here.gradient.iter().zip(&self.penalties) {
            if penalty.l2 > 0.0 {
                conjugate += penalty.conjugate(g);
            } else if penalty.l1 > 0.0 && g.abs() > penalty.l1 {
                shrink = shrink.min(penalty.l1 / g.abs());
            }
        }
        here.objective - shrink * (here.loss - dot(&self.at, &here.gradient)) + conjugate
    }

    /// Objective, loss and gradient at a point.
    fn evaluate(&mut self, at: &[f64]) -> Result<Evaluated> {
        let sums = self.oracle.ask(Query::Gradient { at })?;
        Ok(Evaluated {
            objective: sums.value + penalty_of(&self.penalties, at),
            loss: sums.value,
            gradient: sums.gradient,
            hessian: Vec::new(),
        })
    }

    /// Makes one step; `None` if it does not decrease the objective.
    fn step(
        &mut self,
        here: &Evaluated,
        diagonal: &[f64],
        tol: f64,
        abs_tol: f64,
    ) -> Result<Option<StepOutcome>> {
        let (mut face, mut signs, mut neg_gradient) = (Vec::new(), Vec::new(), Vec::new());
        let (mut own, mut curvatures) = (Vec::new(), Vec::new());
        let mut largest = 0.0f64;
        for (j, (&w, penalty)) in self.at.iter().zip(&self.penalties).enumerate() {
            let slope = here.gradient[j] + penalty.l2 * w;
            let sign = if penalty.l1 == 0.0 {
                0.0
            } else if w != 0.0 {
                w.signum()
            } else if slope.abs() > penalty.l1 {
                -slope.signum()
            } else {
                continue;
            };
            largest = largest.max(penalty.l1);
            let ridge = penalty.l2 + RIDGE * diagonal[j];
            face.push(j);
            signs.push(sign);
            neg_gradient.push(-slope - penalty.l1 * sign);
            own.push(ridge);
            curvatures.push(diagonal[j] + ridge);
        }
        let along = self.newton(&face, &own, &curvatures, &neg_gradient, tol, abs_tol * largest)?;
        let mut next = self.at.clone();
        let mut projected = false;
        for ((&j, sign), by) in face.iter().zip(&signs).zip(&along) {
            next[j] += by;
            if sign * next[j] < 0.0 {
                next[j] = 0.0;
                projected = true;
            }
        }
        let along: Vec<f64> = next.iter().zip(&self.at).map(|(next, w)| next - w).collect();
        let predicted = dot(&here.gradient, &along) + penalty_of(&self.penalties, &next)
            - penalty_of(&self.penalties, &self.at);
        if predicted >= 0.0 {
            return Ok(None);
        }
        // Derived: 50 machine epsilons, the rounding of a sum over the rows.
        let noise = 1e-14 * here.objective.abs();
        let there = self.evaluate(&next)?;
        // Heuristic: the fraction of the predicted decrease, as in `prox_newton`.
        if there.objective <= here.objective + 0.01 * predicted + noise {
            self.at = next;
            let straight = !projected;
            return Ok(Some(StepOutcome { there, straight }));
        }
        let (at, oracle) = (&self.at, &mut self.oracle);
        let (step, least) = least_along(&self.penalties, at, &along, 1, |steps| {
            let along = &along;
            Ok(oracle.ask(Query::Line { at, along, steps })?.line)
        })?;
        if least >= here.objective {
            return Ok(None);
        }
        axpy(step, &along, &mut self.at);
        let at = self.at.clone();
        let there = self.evaluate(&at)?;
        let straight = false;
        Ok(Some(StepOutcome { there, straight }))
    }

    /// An approximation of (H + own)⁻¹·neg_gradient over a face.
    fn newton(
        &mut self,
        face: &[usize],
        own: &[f64],
        curvatures: &[f64],
        neg_gradient: &[f64],
        tol: f64,
        abs_tol: f64,
    ) -> Result<Vec<f64>> {
        let (at, oracle, products) = (&self.at, &mut self.oracle, &mut self.products);
        let mut along = vec![0.0; at.len()];
        let product = |p: &[f64]| {
            *products += 1;
            face.iter().zip(p).for_each(|(&j, &p)| along[j] = p);
            let whole = oracle.ask(Query::Product { at, along: &along })?.gradient;
            let pairs = face.iter().zip(own).zip(p);
            Ok(pairs.map(|((&j, own), p)| whole[j] + own * p).collect())
        };
        let most = if tol == LOOSE {
            LOOSE_PRODUCTS
        } else {
            TIGHT_PRODUCTS
        };
        conjugate_gradients(product, curvatures, neg_gradient, tol, abs_tol, most)
    }
}

/// R(w).
fn penalty_of(penalties: &[Penalty], at: &[f64]) -> f64 {
    at.iter().zip(penalties).map(|(&w, penalty)| penalty.of(w)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_data::run::{Budget, Unwatched};
    use wstar_data::{Csr, Design};
    use wstar_problem::loss::LossName;
    use wstar_problem::objective::Weights;
    use wstar_problem::problem::Problem;

    /// Rows with one entry in each of `each` equal ranges of the columns, and noisy labels.
    fn sparse(rows: usize, features: usize, each: usize) -> (Design, Vec<f64>) {
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let (mut starts, mut indices, mut values, mut targets) =
            (vec![0], Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let mut score = 0.0;
            for part in 0..each {
                let width = features / each;
                let (j, value) = (part * width + (width as f64 * random()) as usize, random());
                score += value * f64::from(u8::from(j % 10 == 0)) * if j % 20 == 0 { 3.0 } else { -3.0 };
                indices.push(j as u32);
                values.push(value);
            }
            starts.push(indices.len());
            targets.push(if random() < 1.0 / (1.0 + (-score).exp()) {
                1.0
            } else {
                -1.0
            });
        }
        (
            Design::Sparse64(Csr::new(starts, indices, values, features).unwrap()),
            targets,
        )
    }

    #[test]
    fn nearly_independent_columns_converge() {
        let (design, targets) = sparse(3000, 400, 10);
        let losses = [LossName::Logistic, LossName::SquaredHinge];
        let intercepts = [Intercept::Absent, Intercept::Free, Intercept::Penalized];
        for (loss, intercept) in losses
            .into_iter()
            .flat_map(|loss| intercepts.map(|rule| (loss, rule)))
        {
            let layout = Layout {
                outputs: 1,
                features: 400,
                intercept: intercept != Intercept::Absent,
            };
            let rows = Rows {
                design: &design,
                targets: targets.as_slice().into(),
                weights: Weights::Same(1.0),
            };
            let mut objective = Objective {
                problem: Problem::new(loss, Penalty { l1: 3.0, l2: 0.0 }, intercept, layout).unwrap(),
                rows: None,
                sums: Box::new(InMemory::new(rows.borrowed(), loss, layout)),
            };
            let mut watch = Unwatched;
            let mut control = Control::new(1e-7.into(), Budget::default(), &mut watch);
            let start = vec![0.0; layout.len()];
            let (at, status) = reduced_newton(&mut objective, &rows, &start, &mut control).unwrap();
            assert_eq!(status, Some(Status::Converged), "{loss:?} {intercept:?}");
            let here = objective.gradient(&at).unwrap();
            let gap = objective.gap(&at, &here) / here.objective;
            assert!(gap <= 1.01e-7, "{loss:?} {intercept:?} {gap}");
            let chosen = at.iter().filter(|w| **w != 0.0).count();
            assert!((10..300).contains(&chosen), "{loss:?} {intercept:?} {chosen}");
        }
    }
}

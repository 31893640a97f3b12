//! Orthant-wise Newton on the few columns that matter: min over w of l1·‖w‖₁ + l2·½‖w‖² + Σ cᵢ ℓ(yᵢ, zᵢ), ℓ smooth,
//! for sparse rows of many columns.
//!
//! The weights that are not 0 and those that are pulled away from it tell the orthant: within it the objective is smooth,
//! and a Newton step by conjugate gradients says where they want to be (Andrew and Gao 2007; Byrd, Chin, Nocedal and
//! Oztoprak 2016). Those that would cross 0 stop there; the next step's slopes tell whom they let in, as in an active-set
//! method for bound constraints (Hintermüller, Ito and Kunisch 2002). Where columns are not far from independent the orthant
//! settles within a dozen steps of a few products each, and none of them needs to be exact.
//!
//! All products are with a copy of these columns alone, rows side by side: its weights stay in the nearest cache, and a row is
//! read once for both halves of a product with the Hessian, in single precision. A pass over all rows then tells who is missing. Nothing here is sure to
//! converge, so a descent that falters ends without a status, for another solver to go on from its point.

use crate::error::Result;
use crate::kernel::dense::{axpy, dot};
use crate::oracle::{FewColumns, Kept, Layout, Local, Oracle, Query, Rows, Sums};
use crate::penalty::Penalty;
use crate::problem::{Evaluated, Intercept, Problem};
use crate::solve::Control;
use crate::solve::orthant::bent_line::least_along;
use crate::solve::orthant::conjugate::conjugate_gradients;
use crate::solve::orthant::prox_newton::{centre, place_intercept};
use crate::watch::Status;

/// Steps between two looks at all columns, while new ones come.
const FEW_STEPS: usize = 3;
/// The same once the columns have settled, when less than one in so many is new.
const MOST_STEPS: usize = 12;
const SETTLED: usize = 20;
/// The share of the penalty from which on a column that is not pulled is near to being so.
const NEARLY: f64 = 0.95;
/// How exactly a step's linear system is solved: loosely while weights come and go.
const LOOSE: f64 = 0.1;
const TIGHT: f64 = 0.02;
/// Products at most for such a step, and for all steps: who needs more is better served by another solver.
const LOOSE_PRODUCTS: usize = 10;
const TIGHT_PRODUCTS: usize = 40;
const MOST_PRODUCTS: usize = 300;
/// Rows for each column at least, unless many weights are not 0 already: more columns would depend on each other.
const LEAST_ROWS: usize = 4;
/// New columns that may always come.
const FEW_COLUMNS: usize = 100;
/// Looks at all columns at most, and those that may pass without a better gap or objective.
const MOST_LOOKS: usize = 20;
const PATIENCE: u32 = 2;
/// The share of the objective that counts as better.
const LITTLE: f64 = 1e-4;
/// How much of the whole gap the columns' own may keep.
const SHARE: f64 = 0.01;
/// The relative gap down to which values may be rounded.
const ROUNDED_FROM: f64 = 1e-3;
/// The relative gap from which on a descent that faltered is no good start for another: where every row is beyond its margin,
/// say, there is no curvature that would lead back.
const FAR: f64 = 0.1;
/// The share of the curvature that is added to it.
const RIDGE: f64 = 1e-12;

/// Descends from a start; gives the point where it ended, and the status if that is the end. If it is not, and the point is
/// still far from the optimum, that is the start again.
pub(crate) fn narrow_newton(
    problem: &mut Problem<'_>,
    rows: &Rows<'_>,
    start: &[f64],
    control: &mut Control<'_>,
) -> Result<(Vec<f64>, Option<Status>)> {
    let mut at = start.to_vec();
    centre(problem, &mut at)?;
    let (mut best_gap, mut best_objective, mut waited) = (f64::INFINITY, f64::INFINITY, 0);
    let layout = problem.layout();
    let mut whole = Local::new(rows.borrowed(), problem.loss, layout);
    let (mut products, mut far) = (0, true);
    // What falters in single precision may go on without it.
    let mut side_by_side = true;
    for _ in 0..MOST_LOOKS {
        // A gap says little of what an intercept out of place could still gain where the loss is nearly flat.
        if problem.intercept == Intercept::Free && layout.intercept {
            place_intercept(&mut whole, &mut at)?;
        }
        let sums = whole.ask(Query::Gradient { at: &at })?;
        let here = problem.evaluated(&at, sums);
        control.passed(1);
        let gap = problem.gap(&at, &here);
        if let Some(status) = control.iterate(problem, &at, here.objective, gap) {
            return Ok((at, Some(status)));
        }
        let better = gap < 0.5 * best_gap || here.objective < best_objective - LITTLE * best_objective.abs();
        waited = if better { 0 } else { waited + 1 };
        best_gap = best_gap.min(gap);
        best_objective = best_objective.min(here.objective);
        far = gap > FAR * here.objective.abs();
        if waited > PATIENCE || products > MOST_PRODUCTS {
            if !side_by_side {
                break;
            }
            (side_by_side, waited, products) = (false, 0, 0);
        }
        let (set, settled) = choose(problem, &at, &here.gradient, rows.len() / LEAST_ROWS);
        let features: Vec<usize> = set.iter().copied().filter(|&j| !layout.is_intercept(j)).collect();
        let narrow_layout = Layout {
            features: features.len(),
            ..layout
        };
        let design;
        // While columns come and go, the optimum of nearly the same values will do; near the end what was rounded off would be
        // more than a step gains.
        let exact = settled || gap <= ROUNDED_FROM * here.objective.abs();
        let sides = side_by_side.then(|| rows.design.interleaved(&features, exact));
        let mut oracle = match sides.flatten() {
            Some(blocks) => Copied::Sides(FewColumns::new(
                rows.borrowed(),
                blocks,
                problem.loss,
                narrow_layout,
            )),
            None => {
                let Some(narrowed) = rows.design.narrowed(&features) else {
                    break;
                };
                design = narrowed;
                let narrow = Rows {
                    design: &design,
                    ..rows.borrowed()
                };
                Copied::Rows(Local::new(narrow, problem.loss, narrow_layout))
            }
        };
        control.passed(1);
        let own: Vec<f64> = set.iter().map(|&j| at[j]).collect();
        if let Some(kept) = whole.release(&at) {
            oracle.receive(kept.of(&own));
        }
        let mut narrow = Narrow {
            oracle,
            penalties: set.iter().map(|&j| problem.penalty_of(j)).collect(),
            at: own,
            products: 0,
        };
        let own_slopes = set.iter().map(|&j| here.gradient[j]).collect();
        let start = Evaluated {
            gradient: own_slopes,
            ..here
        };
        let aim = 0.3 * control.tol * start.objective.abs().max(1.0);
        let (steps, target) = if settled {
            (MOST_STEPS, aim)
        } else {
            (FEW_STEPS, aim.max(SHARE * gap))
        };
        let goes_on = narrow.descend(start, steps, target, control)?;
        products += narrow.products;
        set.iter().zip(&narrow.at).for_each(|(&j, &w)| at[j] = w);
        // Scores of rounded values are not those of the rows: a gap that they tell would be nobody's.
        if exact && let Some(kept) = narrow.oracle.release(&narrow.at) {
            whole.receive(kept.of(&at));
        }
        if !goes_on && !std::mem::take(&mut side_by_side) {
            break;
        }
    }
    Ok((if far { start.to_vec() } else { at }, None))
}

/// The parameters that are not 0 or are pulled away from it, in order, with any intercept; and whether they have settled, that
/// is, few are new. Then those that are nearly pulled come too, lest they be missed in the end. Those that are pulled most come
/// first where all together would be more than `most`.
fn choose(problem: &Problem<'_>, at: &[f64], gradient: &[f64], most: usize) -> (Vec<usize>, bool) {
    let layout = problem.layout();
    let (mut set, mut pulled, mut nearly) = (Vec::new(), Vec::new(), Vec::new());
    for (j, &w) in at.iter().enumerate() {
        let (l1, pull) = (problem.penalty_of(j).l1, gradient[j].abs());
        if w != 0.0 || l1 == 0.0 || layout.is_intercept(j) {
            set.push(j);
        } else if pull > l1 {
            pulled.push(j);
        } else if pull > NEARLY * l1 {
            nearly.push(j);
        }
    }
    let settled = pulled.len() * SETTLED <= set.len() + pulled.len();
    if settled {
        pulled.extend(nearly);
    }
    let room = most.saturating_sub(set.len()).max(set.len() / 4 + FEW_COLUMNS);
    if pulled.len() > room {
        let pull = |j: usize| gradient[j].abs();
        pulled.select_nth_unstable_by(room, |&a, &b| pull(b).total_cmp(&pull(a)).then(a.cmp(&b)));
        pulled.truncate(room);
    }
    set.extend(&pulled);
    set.sort_unstable();
    (set, settled)
}

/// A copy of a few columns.
enum Copied<'a> {
    /// Rows side by side.
    Sides(FewColumns<'a>),
    /// Row by row, where those cannot be.
    Rows(Local<'a>),
}

impl Copied<'_> {
    fn ask(&mut self, query: Query<'_>) -> Result<Sums> {
        match self {
            Copied::Sides(oracle) => oracle.ask(query),
            Copied::Rows(oracle) => oracle.ask(query),
        }
    }

    /// Goes to a point whose scores are known.
    fn receive(&mut self, kept: Kept) {
        match self {
            Copied::Sides(oracle) => oracle.receive(kept),
            Copied::Rows(oracle) => oracle.receive(kept),
        }
    }

    /// The scores of a point, if they are known.
    fn release(&mut self, at: &[f64]) -> Option<Kept> {
        match self {
            Copied::Sides(oracle) => oracle.release(at),
            Copied::Rows(oracle) => oracle.release(at),
        }
    }
}

/// The problem of a few columns.
struct Narrow<'a> {
    oracle: Copied<'a>,
    /// Of every parameter.
    penalties: Vec<Penalty>,
    at: Vec<f64>,
    /// Products with the Hessian so far.
    products: usize,
}

/// Where a step has led, and whether it went the whole way without a weight that stopped at 0.
struct Stepped {
    there: Evaluated,
    straight: bool,
}

impl Narrow<'_> {
    /// Steps from where it is known, until the gap is at most `target`. Whether it makes sense to go on.
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
            let Some(step) = self.step(&here, &diagonal, tol, 0.3 * control.tol)? else {
                return Ok(false);
            };
            tol = if step.straight { TIGHT } else { LOOSE };
            here = step.there;
        }
        Ok(true)
    }

    /// The gap between these columns' problem and its dual at the slopes.
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

    fn evaluate(&mut self, at: &[f64]) -> Result<Evaluated> {
        let sums = self.oracle.ask(Query::Gradient { at })?;
        Ok(Evaluated {
            objective: sums.value + penalty_of(&self.penalties, at),
            loss: sums.value,
            gradient: sums.gradient,
            hessian: Vec::new(),
        })
    }

    /// One step, if there is one that descends.
    fn step(&mut self, here: &Evaluated, diagonal: &[f64], tol: f64, enough: f64) -> Result<Option<Stepped>> {
        let (mut face, mut signs, mut falls) = (Vec::new(), Vec::new(), Vec::new());
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
            falls.push(-slope - penalty.l1 * sign);
            own.push(ridge);
            curvatures.push(diagonal[j] + ridge);
        }
        let along = self.newton(&face, &own, &curvatures, &falls, tol, enough * largest)?;
        let mut next = self.at.clone();
        let mut bent = false;
        for ((&j, sign), by) in face.iter().zip(&signs).zip(&along) {
            next[j] += by;
            if sign * next[j] < 0.0 {
                next[j] = 0.0;
                bent = true;
            }
        }
        let along: Vec<f64> = next.iter().zip(&self.at).map(|(next, w)| next - w).collect();
        let promised = dot(&here.gradient, &along) + penalty_of(&self.penalties, &next)
            - penalty_of(&self.penalties, &self.at);
        if promised >= 0.0 {
            return Ok(None);
        }
        let noise = 1e-14 * here.objective.abs();
        let there = self.evaluate(&next)?;
        if there.objective <= here.objective + 0.01 * promised + noise {
            self.at = next;
            let straight = !bent;
            return Ok(Some(Stepped { there, straight }));
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
        Ok(Some(Stepped { there, straight }))
    }

    /// Nearly (H + own)⁻¹·falls over a face.
    fn newton(
        &mut self,
        face: &[usize],
        own: &[f64],
        curvatures: &[f64],
        falls: &[f64],
        tol: f64,
        enough: f64,
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
        conjugate_gradients(product, curvatures, falls, tol, enough, most)
    }
}

fn penalty_of(penalties: &[Penalty], at: &[f64]) -> f64 {
    at.iter().zip(penalties).map(|(&w, penalty)| penalty.of(w)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Design};
    use crate::loss::LossName;
    use crate::oracle::Weights;
    use crate::watch::{Budget, Unwatched};

    /// Rows with a few entries each, one of each of as many equal parts of the columns, and noisy labels.
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
    fn columns_far_from_dependent_need_no_other_solver() {
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
            let mut problem = Problem {
                loss,
                penalty: Penalty { l1: 3.0, l2: 0.0 },
                intercept,
                oracle: Box::new(Local::new(rows.borrowed(), loss, layout)),
                rows: None,
            };
            let mut watch = Unwatched;
            let mut control = Control::new(1e-7, Budget::default(), &mut watch);
            let start = vec![0.0; layout.len()];
            let (at, status) = narrow_newton(&mut problem, &rows, &start, &mut control).unwrap();
            assert_eq!(status, Some(Status::Converged), "{loss:?} {intercept:?}");
            let here = problem.gradient(&at).unwrap();
            let gap = Problem::relative(problem.gap(&at, &here), here.objective);
            assert!(gap <= 1.01e-7, "{loss:?} {intercept:?} {gap}");
            let chosen = at.iter().filter(|w| **w != 0.0).count();
            assert!((10..300).contains(&chosen), "{loss:?} {intercept:?} {chosen}");
        }
    }
}

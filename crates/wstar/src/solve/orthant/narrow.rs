//! Orthant-wise Newton on the few columns that matter: min over w of l1·‖w‖₁ + l2·½‖w‖² + Σ cᵢ ℓ(yᵢ, zᵢ), ℓ smooth,
//! for sparse rows of many columns.
//!
//! The weights that are not 0 and those that are pulled away from it tell the orthant: within it the objective is smooth,
//! and a Newton step by conjugate gradients says where they want to be (Andrew and Gao 2007; Byrd, Chin, Nocedal and
//! Oztoprak 2016). Those that would cross 0 stop there; the next step's slopes tell whom they let in, as in an active-set
//! method for bound constraints (Hintermüller, Ito and Kunisch 2002). Where columns are not far from independent the orthant
//! settles within a dozen steps of a few products each, and none of them needs to be exact.
//!
//! All products are with a copy of these columns alone, row by row: its weights stay in the nearest cache, and a row is read
//! once for both halves of a product with the Hessian. A pass over all rows then tells who is missing. Nothing here is sure to
//! converge, so a descent that falters ends without a status, for another solver to go on from its point.

use crate::error::Result;
use crate::kernel::dense::{axpy, dot};
use crate::oracle::{Layout, Local, Query, Rows};
use crate::penalty::Penalty;
use crate::problem::{Evaluated, Problem};
use crate::solve::Control;
use crate::solve::orthant::bent_line::least_along;
use crate::solve::orthant::conjugate::conjugate_gradients;
use crate::solve::orthant::prox_newton::centre;
use crate::watch::Status;

/// Steps between two looks at all columns, while new ones come.
const FEW_STEPS: usize = 3;
/// The same once the columns have settled, when less than one in so many is new.
const MOST_STEPS: usize = 12;
const SETTLED: usize = 100;
/// How exactly a step's linear system is solved: loosely while weights come and go.
const LOOSE: f64 = 0.1;
const TIGHT: f64 = 0.02;
/// Products at most for one step, and for all: who needs more is better served by another solver.
const STEP_PRODUCTS: usize = 40;
const MOST_PRODUCTS: usize = 150;
/// Looks at all columns at most, and those that may pass without a better gap or objective.
const MOST_LOOKS: usize = 20;
const PATIENCE: u32 = 2;
/// How much of the whole gap the columns' own may keep.
const SHARE: f64 = 0.01;
/// The share of the curvature that is added to it.
const RIDGE: f64 = 1e-12;

/// Descends from a start; gives the point where it ended, and the status if that is the end.
pub(crate) fn narrow_newton(
    problem: &mut Problem<'_>,
    rows: &Rows<'_>,
    start: &[f64],
    control: &mut Control<'_>,
) -> Result<(Vec<f64>, Option<Status>)> {
    let mut at = start.to_vec();
    centre(problem, &mut at)?;
    let (mut best_gap, mut best_objective, mut waited) = (f64::INFINITY, f64::INFINITY, 0);
    let mut products = 0;
    for _ in 0..MOST_LOOKS {
        let here = problem.gradient(&at)?;
        let gap = problem.gap(&at, &here);
        if let Some(status) = control.iterate(problem, &at, here.objective, gap) {
            return Ok((at, Some(status)));
        }
        let better = gap < 0.5 * best_gap || here.objective < best_objective - 1e-9 * best_objective.abs();
        waited = if better { 0 } else { waited + 1 };
        best_gap = best_gap.min(gap);
        best_objective = best_objective.min(here.objective);
        if waited > PATIENCE || products > MOST_PRODUCTS {
            break;
        }
        let (set, new) = choose(problem, &at, &here.gradient);
        let layout = problem.layout();
        let features: Vec<usize> = set.iter().copied().filter(|&j| !layout.is_intercept(j)).collect();
        let Some(design) = rows.design.narrowed(&features) else {
            break;
        };
        control.passed(1);
        let narrow = Rows {
            design: &design,
            ..rows.borrowed()
        };
        let layout = Layout {
            features: features.len(),
            ..layout
        };
        let mut narrow = Narrow {
            penalties: set.iter().map(|&j| problem.penalty_of(j)).collect(),
            at: set.iter().map(|&j| at[j]).collect(),
            problem: Problem {
                loss: problem.loss,
                penalty: problem.penalty,
                intercept: problem.intercept,
                oracle: Box::new(Local::new(narrow, problem.loss, layout)),
                rows: None,
            },
            products: 0,
        };
        let aim = 0.3 * control.tol * here.objective.abs().max(1.0);
        let steps = if new * SETTLED > set.len() {
            FEW_STEPS
        } else {
            MOST_STEPS
        };
        let goes_on = narrow.descend(steps, aim.max(SHARE * gap), 0.3 * control.tol, control)?;
        products += narrow.products;
        set.iter().zip(&narrow.at).for_each(|(&j, &w)| at[j] = w);
        if !goes_on {
            break;
        }
    }
    Ok((at, None))
}

/// The parameters that are not 0, have no ℓ1 penalty or are pulled away from 0, in order; and how many of them are new.
fn choose(problem: &Problem<'_>, at: &[f64], gradient: &[f64]) -> (Vec<usize>, usize) {
    let mut new = 0;
    let mut set = Vec::new();
    for (j, &w) in at.iter().enumerate() {
        let l1 = problem.penalty_of(j).l1;
        let pulled = w == 0.0 && l1 > 0.0 && gradient[j].abs() > l1;
        new += usize::from(pulled);
        if pulled || w != 0.0 || l1 == 0.0 {
            set.push(j);
        }
    }
    (set, new)
}

/// The problem of a few columns.
struct Narrow<'a> {
    problem: Problem<'a>,
    /// Of every parameter.
    penalties: Vec<Penalty>,
    at: Vec<f64>,
    /// Products with the Hessian so far.
    products: usize,
}

/// How a step ended.
enum Stepped {
    /// Weights have stopped at 0.
    Bent,
    /// The whole way.
    Straight,
    /// Nowhere.
    Not,
}

impl Narrow<'_> {
    /// Steps until the gap is at most `target`; slopes may be left off by the share `enough` of l1. Whether it makes sense
    /// to go on.
    fn descend(&mut self, steps: usize, target: f64, enough: f64, control: &Control<'_>) -> Result<bool> {
        let mut tol = LOOSE;
        let diagonal = self
            .problem
            .oracle
            .ask(Query::Diagonal { at: &self.at })?
            .gradient;
        for _ in 0..steps {
            let here = self.problem.gradient(&self.at)?;
            let gap = self.problem.gap(&self.at, &here);
            if gap <= target || control.out_of_budget().is_some() {
                break;
            }
            tol = match self.step(&here, &diagonal, tol, enough)? {
                Stepped::Not => return Ok(false),
                Stepped::Bent => LOOSE,
                Stepped::Straight => TIGHT,
            };
        }
        Ok(true)
    }

    fn step(&mut self, here: &Evaluated, diagonal: &[f64], tol: f64, enough: f64) -> Result<Stepped> {
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
        let penalty = |at: &[f64]| -> f64 { at.iter().zip(&self.penalties).map(|(&w, p)| p.of(w)).sum() };
        let promised = dot(&here.gradient, &along) + penalty(&next) - penalty(&self.at);
        if promised >= 0.0 {
            return Ok(Stepped::Not);
        }
        let noise = 1e-14 * here.objective.abs();
        let (at, oracle) = (&self.at, &mut self.problem.oracle);
        let mut line = |steps: &[f64]| {
            let along = &along;
            Ok(oracle.ask(Query::Line { at, along, steps })?.line)
        };
        let there = line(&[1.0])?.first().map_or(f64::INFINITY, |point| point.value) + penalty(&next);
        if there <= here.objective + 0.01 * promised + noise {
            self.at = next;
            return Ok(if bent { Stepped::Bent } else { Stepped::Straight });
        }
        let (step, least) = least_along(&self.penalties, at, &along, 1, line)?;
        if least >= here.objective {
            return Ok(Stepped::Not);
        }
        axpy(step, &along, &mut self.at);
        Ok(Stepped::Bent)
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
        let (at, oracle, products) = (&self.at, &mut self.problem.oracle, &mut self.products);
        let mut along = vec![0.0; at.len()];
        let product = |p: &[f64]| {
            *products += 1;
            face.iter().zip(p).for_each(|(&j, &p)| along[j] = p);
            let whole = oracle.ask(Query::Product { at, along: &along })?.gradient;
            let pairs = face.iter().zip(own).zip(p);
            Ok(pairs.map(|((&j, own), p)| whole[j] + own * p).collect())
        };
        conjugate_gradients(product, curvatures, falls, tol, enough, STEP_PRODUCTS)
    }
}

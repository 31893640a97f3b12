//! Least absolute deviations and quantile regression without a penalty, solved to an optimal vertex.
//!
//! Problem: minimise Σᵢ cᵢ ρ(yᵢ − x̃ᵢ·θ), where ρ is linear on both sides of 0. This is a linear programme.
//!
//! Method, in three stages (R. Koenker, Quantile Regression, Cambridge 2005, chapter 6): with many rows, only
//! those near the optimum of a sample are kept (`row_reduction`), or the fewer rows near the plane that Newton's
//! method reaches from there (`newton_from_sample.rs`). A primal–dual [interior point](super::InteriorPoint)
//! method, built on Frisch's logarithmic barrier and Newton's method, comes near the optimum in a number of
//! iterations that hardly depends on the size (`interior_end.rs`). The rows whose slopes are strictly between
//! the bounds give an initial basis (`crossover.rs`), from which the simplex method follows edges to an optimal
//! vertex (`simplex.rs`, `basis.rs`). Its multipliers, recomputed in double-double arithmetic, prove optimality.

mod basis;
mod crossover;
mod interior_end;
mod newton_from_sample;
mod simplex;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use wstar_problem::on_loss;

use crate::row_reduction::nested_watch::NestedWatch;
use crate::row_reduction::{Band, FixedRows, Frame};
use basis::Basis;
use crossover::Guess;
use interior_end::InteriorEnd;
use simplex::{SimplexEnd, Vertex};

use crate::kink::Kink;
use crate::{Control, InteriorPoint, Solution, Solver, SolverName, best_intercept};
use wstar_data::error::{Remedy, Result};
use wstar_data::run::{Budget, Status};
use wstar_data::setting::Setting;
use wstar_numeric::double_double::{Compensated, DoubleDouble};
use wstar_problem::loss::Loss;
use wstar_problem::objective::Objective;
use wstar_problem::objective::{Rows, Validation, Weights};
use wstar_problem::penalty::Penalty;
use wstar_problem::problem::{Intercept, Problem};

/// Relative gap of a sample's optimum. Heuristic: it only has to predict the rows' sides; not measured yet.
const SAMPLE_TOL: f64 = 1e-5;
/// Relative gap of the band's optimum. Heuristic: it must identify the interpolated rows; not measured yet.
const BAND_TOL: f64 = 1e-9;
/// Relative gap of a sample from which Newton's method continues, multiplied by the rows of the sample and
/// divided by its parameters. Heuristic: below it the error of the sampling dominates; not measured yet.
const SAMPLE_GAP_FACTOR: f64 = 0.5;
/// Maximum number of rounds in which violating rows join the band. Cap: beyond it the band contains all rows.
const MAX_ROUNDS: usize = 30;
/// Fraction of the largest |y| up to which residuals are 0. Heuristic: above their rounding; not measured yet.
const KINK_TOLERANCE: f64 = 1e-12;

/// Row reduction, interior point and simplex for least absolute deviations and quantiles without a penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrischNewton {
    /// Seed of the random sample.
    pub seed: u64,
    /// Maximum number of parameters d, whose d × d matrix is inverted. Cap: more are refused with an error.
    pub max_parameters: usize,
    /// Smallest ratio of all rows to kept rows at which rows are left out; 0 disables the reduction.
    pub preprocess_from: usize,
}

impl Default for FrischNewton {
    fn default() -> Self {
        FrischNewton {
            seed: 0,
            max_parameters: 2048,
            preprocess_from: 3, // Heuristic: extra passes against rows left out; not measured yet.
        }
    }
}

impl Solver for FrischNewton {
    fn name(&self) -> SolverName {
        SolverName::FrischNewton
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        let (name, problem) = (self.name(), &objective.problem);
        if !problem.loss().is_absolute() {
            let other = match problem.loss().is_smooth() {
                true => SolverName::any([SolverName::Newton, SolverName::Lbfgs]),
                false => SolverName::any([SolverName::InteriorPoint]),
            };
            let why = format!(
                "is for absolute deviations and quantiles, not for {} loss",
                problem.loss().name()
            );
            return Err(name.refuses(why).remedy(other));
        }
        if !problem.penalty().is_none() {
            let other = SolverName::any([SolverName::InteriorPoint]);
            return Err(name.refuses("takes no penalty").remedy(other));
        }
        if objective.rows.is_none() {
            let remedy = Remedy::LeaveOut(Setting::Stream);
            return Err(name.refuses("needs all rows in memory").remedy(remedy));
        }
        let parameters = problem.layout().len();
        if parameters > self.max_parameters {
            let why = format!(
                "inverts a matrix of {parameters} × {parameters}; {} is the most",
                self.max_parameters
            );
            let other = SolverName::any([SolverName::InteriorPoint]);
            return Err(name.refuses(why).remedy(other));
        }
        Ok(())
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        control.enter(self.name());
        let objective = &*objective;
        let rows = self.name().rows_of(objective)?;
        let slopes = on_loss!(objective.problem.loss(), loss => loss.slopes(0.0), softmax => (-1.0, 1.0));
        let frame = Frame::new(rows, objective.problem.layout(), slopes);
        let mut run = LeastAbsoluteFit {
            frame: &frame,
            objective,
            control,
            at: vec![0.0; objective.problem.layout().len()],
            dual: Vec::new(),
        };
        let status = run.solve(self, start)?;
        Ok(Solution {
            parameters: run.at,
            dual: (!run.dual.is_empty()).then_some(run.dual),
            gram: None,
            status,
            iterations: control.iterations(),
        })
    }
}

struct LeastAbsoluteFit<'r, 'a, 'c> {
    frame: &'r Frame<'a>,
    objective: &'r Objective<'a>,
    control: &'r mut Control<'c>,
    /// The current parameters, on unscaled columns.
    at: Vec<f64>,
    /// The multipliers α of all rows at `at`; empty if they are not known.
    dual: Vec<f64>,
}

/// The start of the search: parameters on scaled columns, and the rows of the band.
struct Begin {
    from: Vec<f64>,
    list: Vec<usize>,
    /// The sides of all rows; 0 for rows of the band.
    sides: Vec<i8>,
    /// The sums over the rows outside the band.
    fixed: Option<FixedRows>,
    guess: Option<Guess>,
}

impl LeastAbsoluteFit<'_, '_, '_> {
    fn solve(&mut self, solver: &FrischNewton, start: &[f64]) -> Result<Status> {
        let frame = self.frame;
        let eps = KINK_TOLERANCE
            * (frame.active.iter()).fold(0.0f64, |most, &i| most.max(frame.rows.targets[i].abs()));
        let Begin {
            mut from,
            mut list,
            mut sides,
            mut fixed,
            mut guess,
        } = match self.begin(solver, start, eps)? {
            Ok(begin) => begin,
            Err(status) => return Ok(status),
        };
        for round in 0.. {
            if round == MAX_ROUNDS {
                (list, fixed, guess) = (frame.active.clone(), None, None);
                sides.fill(0);
            }
            let band = frame.gather(&list, fixed.as_ref())?;
            let Guess {
                basis,
                sides: own,
                slopes,
            } = match guess.take() {
                Some(guess) => guess,
                None => {
                    let inner = match self.interior(&band, &from, BAND_TOL, None)? {
                        Ok(inner) => inner,
                        Err(status) => return Ok(status),
                    };
                    from.clone_from(&inner.at);
                    self.at = frame.unscaled(&inner.at);
                    if fixed.is_none() {
                        self.dual = vec![0.0; frame.rows.len()];
                        (list.iter().zip(&inner.dual)).for_each(|(&i, &alpha)| self.dual[i] = alpha);
                    }
                    match Guess::new(frame, &band, list.len(), &inner) {
                        Some(guess) => guess,
                        None => return Ok(Status::IterationLimit),
                    }
                }
            };
            let (basis, beyond) = crossover::complete(frame, basis, &band, &list, fixed.is_some());
            if let Some(beyond) = beyond {
                // A column is 0 in all rows of the band, but not in a row outside it.
                sides[beyond] = 0;
                list.push(beyond);
                let mut checked = frame.aggregate_fixed(&frame.unscaled(&from), &sides, eps);
                for row in std::mem::take(&mut checked.violating_rows) {
                    sides[row] = 0;
                    list.push(row);
                }
                fixed = Some(checked);
                continue;
            }
            let gradient: Vec<f64> = match &fixed {
                Some(fixed) => fixed.gradient.iter().map(|gradient| gradient.value()).collect(),
                None => vec![0.0; frame.width()],
            };
            let count = list.len();
            let mut vertex = Vertex::new(
                (&band.design, frame.inner),
                (&band.targets[..count], &band.weights[..count]),
                frame.slopes,
                &gradient,
                basis,
                own,
            );
            let control = &*self.control;
            let without_slopes = slopes.is_none();
            let most = match without_slopes {
                true => 200 + 20 * frame.width(),
                false => 1000 + 50 * frame.width(), // Caps: beyond them a better start is computed.
            };
            let pushed = slopes.is_none_or(|slopes| vertex.push(&slopes));
            let end = match pushed {
                true => vertex.descend(most, &mut || control.out_of_budget().is_some()),
                false => SimplexEnd::Stuck,
            };
            let (basis, mut own) = (vertex.basis, vertex.sides);
            match end {
                SimplexEnd::Optimal => {}
                SimplexEnd::Unbounded if fixed.is_some() => {
                    (list, fixed) = (frame.active.clone(), None);
                    sides.fill(0);
                    continue;
                }
                SimplexEnd::Stuck if without_slopes && self.control.out_of_budget().is_none() => {
                    // The interior point method gives a better start; it needs the aggregated rows.
                    if fixed.is_some() {
                        let at = frame.unscaled(&from);
                        let mut checked = frame.aggregate_fixed(&at, &sides, eps);
                        for row in std::mem::take(&mut checked.violating_rows) {
                            sides[row] = 0;
                            list.push(row);
                        }
                        fixed = Some(checked);
                    }
                    continue;
                }
                SimplexEnd::Unbounded | SimplexEnd::Stuck => {
                    let status = self.control.out_of_budget();
                    return Ok(status.unwrap_or(Status::IterationLimit));
                }
            }
            let scores: Vec<f64> = basis.rows.iter().map(|&row| band.targets[row]).collect();
            let weights = basis.weights(&band.design, &scores);
            let at: Vec<f64> = weights.iter().map(|w| w.value()).collect();
            self.at = frame.unscaled(&at);
            let checked = fixed.is_some().then(|| frame.sum_fixed(&self.at, &sides, eps));
            self.control.passed(1);
            match checked {
                Some(mut checked) if !checked.violating_rows.is_empty() => {
                    let violating_rows = std::mem::take(&mut checked.violating_rows);
                    let many = 4 * violating_rows.len() > list.len(); // Heuristic: not measured yet.
                    for &i in &violating_rows {
                        own.push(-sides[i]);
                        sides[i] = 0;
                    }
                    list.extend(violating_rows);
                    fixed = Some(match many {
                        // The interior point method runs again.
                        true => frame.aggregate_fixed(&self.at, &sides, eps),
                        false => checked,
                    });
                    from = at;
                    // A few additional rows cost only a few additional exchanges.
                    guess = (!many).then_some(Guess {
                        basis,
                        sides: own,
                        slopes: None,
                    });
                }
                checked => {
                    let gap_and_loss = self.finish(&basis, &own, &band, &list, &sides, checked.as_ref());
                    return Ok(self.end(gap_and_loss));
                }
            }
        }
        Ok(Status::IterationLimit)
    }

    /// Starts from all rows or from the band of a sample's optimum. Returns a status if the fit should end.
    fn begin(
        &mut self,
        solver: &FrischNewton,
        start: &[f64],
        eps: f64,
    ) -> Result<std::result::Result<Begin, Status>> {
        let frame = self.frame;
        let mut begin = Begin {
            from: self.first(start),
            list: Vec::new(),
            sides: vec![0; frame.rows.len()],
            fixed: None,
            guess: None,
        };
        let worth = |size: usize| {
            let times = solver.preprocess_from;
            times > 0 && frame.active.len() / times >= size
        };
        let mut random = ChaCha8Rng::seed_from_u64(solver.seed);
        let size = frame.sample_size();
        if worth(size) {
            let sampled = frame.gather(&frame.sample(size, &mut random), None)?;
            let enough = SAMPLE_GAP_FACTOR * frame.width() as f64 / size as f64;
            begin.from = frame.least_squares_start(&sampled, begin.from);
            match self.interior(&sampled, &begin.from, BAND_TOL, Some(enough))? {
                Ok(inner) => begin.from = inner.at,
                Err(status) => return Ok(Err(status)),
            }
            let refined = frame.refine(&begin.from, &sampled)?;
            self.control.passed(newton_from_sample::PASSES);
            if let Some(refined) = refined {
                (begin.from, begin.list, begin.sides) = (refined.at, refined.list, refined.sides);
                begin.fixed = Some(match &refined.guess {
                    Some(_) => refined.fixed,
                    None => frame.aggregate_fixed(&frame.unscaled(&begin.from), &begin.sides, eps),
                });
                begin.guess = refined.guess;
                return Ok(Ok(begin));
            }
        }
        begin.list.clone_from(&frame.active);
        let size = frame.band_size();
        if worth(size) {
            let sampled = frame.gather(&frame.sample(size, &mut random), None)?;
            match self.interior(&sampled, &begin.from, SAMPLE_TOL, None)? {
                Ok(inner) => begin.from = inner.at,
                Err(status) => return Ok(Err(status)),
            }
            let at = frame.unscaled(&begin.from);
            let band = frame.nearest(&at, size, &sampled);
            self.control.passed(1);
            if 2 * band.len() < begin.list.len() {
                for &i in &frame.active {
                    begin.sides[i] = if frame.residual(i, &at) > 0.0 { 1 } else { -1 };
                }
                band.iter().for_each(|&i| begin.sides[i] = 0);
                begin.fixed = Some(frame.aggregate_fixed(&at, &begin.sides, eps));
                begin.list = band;
            }
        }
        Ok(Ok(begin))
    }

    /// The initial parameters on scaled columns: the given start, or 0 with the best intercept.
    fn first(&self, start: &[f64]) -> Vec<f64> {
        let frame = self.frame;
        if start.iter().all(|w| w.is_finite()) && start.iter().any(|&w| w != 0.0) {
            return frame.scaled(start);
        }
        let mut at = vec![0.0; frame.width()];
        if self.objective.problem.intercept() != Intercept::Absent
            && let Some(intercept) = at.get_mut(frame.layout.features)
        {
            // An approximate intercept, from a subset of the rows. Heuristic: at most 200; not measured yet.
            let step = frame.active.len().div_ceil(200).max(1);
            *intercept = best_intercept(frame.active.iter().step_by(step).filter_map(|&i| {
                let kink = Kink::new(self.objective.problem.loss(), frame.rows.targets[i])?;
                Some((frame.rows.weights.get(i), kink, 0.0))
            }));
        }
        at
    }

    /// The interior point method on selected rows. With `enough` it stops at that gap relative to the
    /// objective and returns no multipliers; a status if the fit should end.
    fn interior(
        &mut self,
        band: &Band,
        from: &[f64],
        tol: f64,
        enough: Option<f64>,
    ) -> Result<std::result::Result<InteriorEnd, Status>> {
        let frame = self.frame;
        let rows = Rows {
            design: &band.design,
            targets: (&band.targets).into(),
            weights: Weights::Each((&band.weights).into()),
        };
        let loss = self.objective.problem.loss();
        let problem = Problem::new(loss, Penalty::NONE, Intercept::Absent, frame.inner)?;
        let mut inner = Objective::in_memory(problem, rows.borrowed(), Validation::Done);
        let tolerance = self.control.tolerance.of(tol);
        let mut watch = NestedWatch {
            frame,
            objective: self.objective,
            control: self.control,
            enough: enough.unwrap_or(0.0),
            ended: None,
        };
        let mut control = Control::new(tolerance, Budget::default(), &mut watch);
        let solver = InteriorPoint::default();
        let (at, dual) = match enough {
            Some(_) => (solver.approximate_optimum(&inner, from, &mut control)?, None),
            None => {
                let solution = solver.solve(&mut inner, from, &mut control)?;
                (solution.parameters, solution.dual)
            }
        };
        let share = band.targets.len() as f64 / frame.active.len().max(1) as f64;
        let passes = (control.passes() as f64 * share).round() as u64;
        let ended = watch.ended;
        self.control.passed(passes);
        if let Some(status) = ended {
            self.at = frame.unscaled(&at);
            return Ok(Err(status));
        }
        Ok(Ok(InteriorEnd {
            at,
            dual: dual.unwrap_or_else(|| vec![0.0; band.targets.len()]),
        }))
    }

    /// Computes the multipliers of all rows. Returns the gap and the objective.
    fn finish(
        &mut self,
        basis: &Basis,
        own: &[i8],
        band: &Band,
        list: &[usize],
        sides: &[i8],
        fixed: Option<&FixedRows>,
    ) -> (f64, f64) {
        let frame = self.frame;
        let (low, high) = frame.slopes;
        let mut dual: Vec<f64> = (0..sides.len())
            .map(|i| {
                if sides[i] == 0 {
                    0.0
                } else {
                    -frame.weighted_slope(i, sides[i])
                }
            })
            .collect();
        let mut gradient = vec![Compensated::default(); frame.width()];
        if let Some(fixed) = fixed {
            (gradient.iter_mut().zip(&fixed.gradient)).for_each(|(sum, &own)| sum.add(own));
        }
        for (row, &i) in list.iter().enumerate().filter(|(row, _)| own[*row] != 0) {
            let slope = frame.weighted_slope(i, own[row]);
            dual[i] = -slope;
            let slope = DoubleDouble::from(slope);
            let row = band.design.row(row);
            row.for_each(|j, x| gradient[j].add_product(slope, x));
        }
        let gradient: Vec<DoubleDouble> = gradient.into_iter().map(Compensated::total).collect();
        let multipliers = basis.exact_multipliers(&band.design, &gradient);
        for (&row, multiplier) in basis.rows.iter().zip(multipliers) {
            let weight = band.weights[row];
            dual[list[row]] = -multiplier.clamp(weight * low, weight * high);
        }
        let (mut gap, mut loss) = (0.0, fixed.map_or(0.0, |fixed| fixed.loss));
        for &i in list {
            let residual = frame.residual(i, &self.at);
            let own = frame.loss(i, residual);
            loss += own;
            gap += own - dual[i] * residual;
        }
        self.dual = dual;
        (gap, loss)
    }

    fn end(&mut self, (gap, loss): (f64, f64)) -> Status {
        let status = self.control.iterate(self.objective, &self.at, loss, gap);
        status.unwrap_or(Status::IterationLimit)
    }
}

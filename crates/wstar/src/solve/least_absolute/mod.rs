//! Least absolute deviations and quantiles without a penalty: an optimal vertex, with the multipliers that prove it.
//!
//! Minimise Σᵢ cᵢ ρ(yᵢ − x̃ᵢ·θ), ρ linear on both sides of 0, a linear programme. Three methods in a row
//! (R. Koenker, Quantile Regression, Cambridge 2005, chapter 6):
//!
//! - where rows are many, only those near the optimum of a sample are kept (`preprocess.rs`), or near the plane to which
//!   Newton's method leads from there, which are fewer (`refine.rs`);
//! - a primal–dual [interior point](super::InteriorPoint), which Frisch's logarithmic barrier and Newton's method
//!   make, comes near the optimum in a number of iterations that hardly depends on the size;
//! - the rows that it leaves with slopes between both ends are the first guess of a vertex, from where the simplex
//!   method, an edge at a time, gets to an optimal one (`vertex.rs`, `basis.rs`).
//!
//! The multipliers are then computed anew over all rows with twice the digits.

mod basis;
mod guess;
pub(super) mod preprocess;
mod refine;
mod relay;
mod vertex;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use basis::Basis;
use guess::Guess;
use preprocess::{Band, Fixed, Frame};
use relay::Relay;
use vertex::{End, Vertex};

use crate::error::{Error, Result};
use crate::kernel::double_double::{Compensated, DoubleDouble};
use crate::loss::{Loss, on_loss};
use crate::oracle::{Local, Rows, Weights};
use crate::penalty::Penalty;
use crate::problem::{Intercept, Problem};
use crate::solve::kink::Kink;
use crate::solve::{Control, InteriorPoint, Solution, Solver, SolverName, best_intercept};
use crate::watch::{Budget, Status};

/// A sample's optimum is only to be near, the band's near enough to tell which rows are met.
const SAMPLE_TOL: f64 = 1e-5;
const BAND_TOL: f64 = 1e-9;
/// The relative gap that is enough for a sample from which Newton's method goes on, for each parameter and row of it:
/// the sample errs by more.
const ROUGH: f64 = 0.5;
/// Rounds in which strays join the band; then all rows do.
const MOST_ROUNDS: usize = 30;
/// What is met, as a share of the largest target.
const MET: f64 = 1e-12;

/// Interior point, preprocessing and simplex for least absolute deviations and quantiles without a penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrischNewton {
    /// What the sample comes from.
    pub seed: u64,
    /// The most parameters: a matrix of their square is inverted.
    pub max_parameters: usize,
    /// Leave rows out if there are at least this many times as many as are kept; 0 never does.
    pub preprocess_from: usize,
}

impl Default for FrischNewton {
    fn default() -> Self {
        FrischNewton {
            seed: 0,
            max_parameters: 2048,
            preprocess_from: 3,
        }
    }
}

impl Solver for FrischNewton {
    fn name(&self) -> SolverName {
        SolverName::FrischNewton
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        if !problem.loss.is_absolute() {
            return Err(Error::settings(format!(
                "the Frisch–Newton solver is for absolute deviations and quantiles, not for {} loss",
                problem.loss.name()
            ))
            .hint("interior-point solves hinge loss, newton and lbfgs smooth ones"));
        }
        if !problem.penalty.is_none() {
            return Err(Error::settings("the Frisch–Newton solver takes no penalty")
                .hint("interior-point takes all penalties"));
        }
        if problem.rows.is_none() {
            return Err(
                Error::settings("the Frisch–Newton solver needs all rows in memory")
                    .hint("sgd reads a file in chunks"),
            );
        }
        let parameters = problem.layout().len();
        if parameters > self.max_parameters {
            return Err(Error::settings(format!(
                "the Frisch–Newton solver inverts a matrix of {parameters} × {parameters}; {} is the most",
                self.max_parameters
            ))
            .hint("interior-point takes twice as many"));
        }
        Ok(())
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        control.enter(self.name());
        let problem = &*problem;
        let Some(rows) = &problem.rows else {
            return Err(Error::settings(
                "the Frisch–Newton solver needs all rows in memory",
            ));
        };
        let slopes = on_loss!(problem.loss, loss => loss.slopes(0.0), softmax => (-1.0, 1.0));
        let frame = Frame::new(rows, problem.layout(), slopes);
        let mut run = Run {
            frame: &frame,
            problem,
            control,
            at: vec![0.0; problem.layout().len()],
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

/// One fit.
struct Run<'r, 'a, 'c> {
    frame: &'r Frame<'a>,
    problem: &'r Problem<'a>,
    control: &'r mut Control<'c>,
    /// Where it is, on the columns as they are, and the multipliers α of all rows there, if they are known.
    at: Vec<f64>,
    dual: Vec<f64>,
}

/// What a search begins with.
struct Begin {
    /// Where, on the scaled columns.
    from: Vec<f64>,
    /// The rows to be solved.
    list: Vec<usize>,
    /// Of all rows; 0 for those.
    sides: Vec<i8>,
    /// What is known of the others.
    fixed: Option<Fixed>,
    guess: Option<Guess>,
}

/// Where the interior point method ended on some rows.
struct Inner {
    /// On the scaled columns.
    at: Vec<f64>,
    dual: Vec<f64>,
}

impl Run<'_, '_, '_> {
    fn solve(&mut self, solver: &FrischNewton, start: &[f64]) -> Result<Status> {
        let frame = self.frame;
        let met = MET * (frame.active.iter()).fold(0.0f64, |most, &i| most.max(frame.rows.targets[i].abs()));
        let Begin {
            mut from,
            mut list,
            mut sides,
            mut fixed,
            mut guess,
        } = match self.begin(solver, start, met)? {
            Ok(begin) => begin,
            Err(status) => return Ok(status),
        };
        for round in 0.. {
            if round == MOST_ROUNDS {
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
            let (basis, beyond) = guess::complete(frame, basis, &band, &list, fixed.is_some());
            if let Some(beyond) = beyond {
                // The band lacks a column that rows outside of it have.
                sides[beyond] = 0;
                list.push(beyond);
                let mut survey = frame.survey(&frame.unscaled(&from), &sides, met);
                for stray in std::mem::take(&mut survey.strays) {
                    sides[stray] = 0;
                    list.push(stray);
                }
                fixed = Some(survey);
                continue;
            }
            let pull: Vec<f64> = match &fixed {
                Some(fixed) => fixed.pull.iter().map(|pull| pull.value()).collect(),
                None => vec![0.0; frame.width()],
            };
            let count = list.len();
            let mut vertex = Vertex::new(
                (&band.design, frame.inner),
                (&band.targets[..count], &band.weights[..count]),
                frame.slopes,
                &pull,
                basis,
                own,
            );
            let control = &*self.control;
            let without_slopes = slopes.is_none();
            let most = match without_slopes {
                true => 200 + 20 * frame.width(),
                false => 1000 + 50 * frame.width(),
            };
            let pushed = slopes.is_none_or(|slopes| vertex.push(&slopes));
            let end = match pushed {
                true => vertex.descend(most, &mut || control.out_of_budget().is_some()),
                false => End::Stuck,
            };
            let (basis, mut own) = (vertex.basis, vertex.sides);
            match end {
                End::Optimal => {}
                End::Unbounded if fixed.is_some() => {
                    (list, fixed) = (frame.active.clone(), None);
                    sides.fill(0);
                    continue;
                }
                End::Stuck if without_slopes && self.control.out_of_budget().is_none() => {
                    // An interior point is a better start, and needs to know more of the rows outside.
                    if fixed.is_some() {
                        let at = frame.unscaled(&from);
                        let mut survey = frame.survey(&at, &sides, met);
                        for stray in std::mem::take(&mut survey.strays) {
                            sides[stray] = 0;
                            list.push(stray);
                        }
                        fixed = Some(survey);
                    }
                    continue;
                }
                End::Unbounded | End::Stuck => {
                    let status = self.control.out_of_budget();
                    return Ok(status.unwrap_or(Status::IterationLimit));
                }
            }
            let scores: Vec<f64> = basis.rows.iter().map(|&row| band.targets[row]).collect();
            let weights = basis.weights(&band.design, &scores);
            let at: Vec<f64> = weights.iter().map(|w| w.value()).collect();
            self.at = frame.unscaled(&at);
            let survey = fixed.is_some().then(|| frame.settle(&self.at, &sides, met));
            self.control.passed(1);
            match survey {
                Some(mut survey) if !survey.strays.is_empty() => {
                    let strays = std::mem::take(&mut survey.strays);
                    let many = 4 * strays.len() > list.len();
                    for &i in &strays {
                        own.push(-sides[i]);
                        sides[i] = 0;
                    }
                    list.extend(strays);
                    fixed = Some(match many {
                        // An interior point needs to know more of the rows outside.
                        true => frame.survey(&self.at, &sides, met),
                        false => survey,
                    });
                    from = at;
                    // A few more rows are a few exchanges more.
                    guess = (!many).then_some(Guess {
                        basis,
                        sides: own,
                        slopes: None,
                    });
                }
                survey => {
                    let gap_and_loss = self.finish(&basis, &own, &band, &list, &sides, survey.as_ref());
                    return Ok(self.end(gap_and_loss));
                }
            }
        }
        Ok(Status::IterationLimit)
    }

    /// What the search begins with: all rows, or the band of a sample; a status if the fit is to end.
    fn begin(
        &mut self,
        solver: &FrischNewton,
        start: &[f64],
        met: f64,
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
            let enough = ROUGH * frame.width() as f64 / size as f64;
            begin.from = frame.nearer(&sampled, begin.from);
            match self.interior(&sampled, &begin.from, BAND_TOL, Some(enough))? {
                Ok(inner) => begin.from = inner.at,
                Err(status) => return Ok(Err(status)),
            }
            let refined = frame.refine(&begin.from, &sampled)?;
            self.control.passed(refine::PASSES);
            if let Some(refined) = refined {
                (begin.from, begin.list, begin.sides) = (refined.at, refined.list, refined.sides);
                begin.fixed = Some(match &refined.guess {
                    Some(_) => refined.fixed,
                    None => frame.survey(&frame.unscaled(&begin.from), &begin.sides, met),
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
                begin.fixed = Some(frame.survey(&at, &begin.sides, met));
                begin.list = band;
            }
        }
        Ok(Ok(begin))
    }

    /// Where to start, on the scaled columns: as told, or at the best intercept.
    fn first(&self, start: &[f64]) -> Vec<f64> {
        let frame = self.frame;
        if start.iter().all(|w| w.is_finite()) && start.iter().any(|&w| w != 0.0) {
            return frame.scaled(start);
        }
        let mut at = vec![0.0; frame.width()];
        if self.problem.intercept != Intercept::Absent
            && let Some(intercept) = at.get_mut(frame.layout.features)
        {
            // Of a few rows: near is enough.
            let step = frame.active.len().div_ceil(200).max(1);
            *intercept = best_intercept(frame.active.iter().step_by(step).filter_map(|&i| {
                let kink = Kink::new(self.problem.loss, frame.rows.targets[i])?;
                Some((frame.rows.weights.get(i), kink, 0.0))
            }));
        }
        at
    }

    /// The interior point method on some rows, which ends, without multipliers, where a gap estimated as this share of
    /// the objective is enough; a status if the fit is to end.
    fn interior(
        &mut self,
        band: &Band,
        from: &[f64],
        tol: f64,
        enough: Option<f64>,
    ) -> Result<std::result::Result<Inner, Status>> {
        let frame = self.frame;
        let rows = Rows {
            design: &band.design,
            targets: (&band.targets).into(),
            weights: Weights::Each((&band.weights).into()),
        };
        let mut inner = Problem {
            loss: self.problem.loss,
            penalty: Penalty::NONE,
            intercept: Intercept::Absent,
            oracle: Box::new(Local::new(rows.borrowed(), self.problem.loss, frame.inner)),
            rows: Some(rows.borrowed()),
        };
        let mut relay = Relay {
            frame,
            problem: self.problem,
            control: self.control,
            enough: enough.unwrap_or(0.0),
            ended: None,
        };
        let mut control = Control::new(tol, Budget::default(), &mut relay);
        let solver = InteriorPoint::default();
        let (at, dual) = match enough {
            Some(_) => (solver.approach(&inner, from, &mut control)?, None),
            None => {
                let solution = solver.solve(&mut inner, from, &mut control)?;
                (solution.parameters, solution.dual)
            }
        };
        let share = band.targets.len() as f64 / frame.active.len().max(1) as f64;
        let passes = (control.passes() as f64 * share).round() as u64;
        let ended = relay.ended;
        self.control.passed(passes);
        if let Some(status) = ended {
            self.at = frame.unscaled(&at);
            return Ok(Err(status));
        }
        Ok(Ok(Inner {
            at,
            dual: dual.unwrap_or_else(|| vec![0.0; band.targets.len()]),
        }))
    }

    /// The multipliers of all rows; gives the gap and the objective.
    fn finish(
        &mut self,
        basis: &Basis,
        own: &[i8],
        band: &Band,
        list: &[usize],
        sides: &[i8],
        fixed: Option<&Fixed>,
    ) -> (f64, f64) {
        let frame = self.frame;
        let (low, high) = frame.slopes;
        let mut dual: Vec<f64> = (0..sides.len())
            .map(|i| {
                if sides[i] == 0 {
                    0.0
                } else {
                    -frame.pull(i, sides[i])
                }
            })
            .collect();
        let mut pull = vec![Compensated::default(); frame.width()];
        if let Some(fixed) = fixed {
            (pull.iter_mut().zip(&fixed.pull)).for_each(|(sum, &own)| sum.add(own));
        }
        for (row, &i) in list.iter().enumerate().filter(|(row, _)| own[*row] != 0) {
            let slope = frame.pull(i, own[row]);
            dual[i] = -slope;
            let slope = DoubleDouble::from(slope);
            let row = band.design.row(row);
            row.for_each(|j, x| pull[j].add_product(slope, x));
        }
        let pull: Vec<DoubleDouble> = pull.into_iter().map(Compensated::total).collect();
        let multipliers = basis.exact_multipliers(&band.design, &pull);
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
        let told = self.control.iterate(self.problem, &self.at, loss, gap);
        told.unwrap_or(Status::IterationLimit)
    }
}

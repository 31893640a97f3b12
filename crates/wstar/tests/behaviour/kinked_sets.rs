//! Problems for the solvers of nonsmooth losses, and their solutions by a general solver.
#![allow(dead_code, clippy::unwrap_used)]

use std::borrow::Cow;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::data::linear::Layout;
use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::run::{Budget, Iteration, Unwatched, Watch};
use wstar::data::{Dense, Design, Raw};
use wstar::problem::baseline::Baseline;
use wstar::problem::loss::{Absolute, Hinge, Logistic, Loss, LossName, ModifiedHuber, Squared, SquaredHinge};
use wstar::problem::objective::{Objective, Rows, Validation, Weights};
use wstar::problem::penalty::Penalty;
use wstar::problem::problem::{Intercept, Problem};
use wstar::problem::tolerance::Tolerance;
use wstar::solve::{Control, Solution, Solver};

use crate::common::real_data;

/// Settings of Clarabel for solutions that are accurate enough to compare with.
pub(crate) fn tight() -> DefaultSettings<f64> {
    DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-11,
        tol_gap_rel: 1e-11,
        tol_feas: 1e-11,
        ..Default::default()
    }
}

/// A problem: rows, targets, weights, and what is minimised.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) design: Design,
    pub(crate) targets: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) loss: LossName,
    pub(crate) penalty: Penalty,
    pub(crate) intercept: Intercept,
}

pub(crate) const PENALTIES: [Penalty; 4] = [
    Penalty::L2,
    Penalty::L1,
    Penalty { l1: 0.3, l2: 0.7 },
    Penalty::NONE,
];
pub(crate) const INTERCEPTS: [Intercept; 3] = [Intercept::Free, Intercept::Penalized, Intercept::Absent];

pub(crate) fn loss_of(name: LossName, y: f64, z: f64) -> f64 {
    match name {
        LossName::Hinge => Hinge.value(y, z),
        LossName::SquaredHinge => SquaredHinge.value(y, z),
        LossName::ModifiedHuber => ModifiedHuber.value(y, z),
        LossName::Logistic => Logistic.value(y, z),
        LossName::Absolute => Absolute::BOTH.value(y, z),
        LossName::Quantile(q) => Absolute::quantile(q).value(y, z),
        LossName::Squared => Squared.value(y, z),
        _ => panic!("no scalar convex loss"),
    }
}

pub(crate) fn conjugate_of(name: LossName, y: f64, s: f64) -> f64 {
    match name {
        LossName::Hinge => Hinge.conjugate(y, s),
        LossName::SquaredHinge => SquaredHinge.conjugate(y, s),
        LossName::ModifiedHuber => ModifiedHuber.conjugate(y, s),
        LossName::Logistic => Logistic.conjugate(y, s),
        LossName::Absolute => Absolute::BOTH.conjugate(y, s),
        LossName::Quantile(q) => {
            // Rounding may put a multiplier, divided by its weight, slightly outside its range.
            let loss = Absolute::quantile(q);
            let nearest = s.clamp(loss.slopes(y).0, loss.slopes(y).1);
            loss.conjugate(y, if (s - nearest).abs() < 1e-15 { nearest } else { s })
        }
        LossName::Squared => Squared.conjugate(y, s),
        _ => panic!("no scalar convex loss"),
    }
}

impl Case {
    /// Normally distributed columns, and labels (or targets) of a linear model with noise.
    pub(crate) fn random(seed: u64, rows: usize, features: usize, loss: LossName) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let truth: Vec<f64> = (0..features).map(|_| normal(&mut random)).collect();
        let mut values = Vec::new();
        let mut targets = Vec::new();
        for _ in 0..rows {
            let x: Vec<f64> = (0..features).map(|_| normal(&mut random)).collect();
            let z: f64 = x.iter().zip(&truth).map(|(x, w)| x * w).sum::<f64>() + 0.4;
            let noisy = z + 0.7 * normal(&mut random);
            let real = loss == LossName::Squared || loss.is_absolute();
            targets.push(if real { noisy } else { noisy.signum() });
            values.extend(x);
        }
        Case {
            design: Design::Dense64(Dense::new(values, rows, features).unwrap()),
            targets,
            weights: vec![1.0; rows],
            loss,
            penalty: Penalty::L2,
            intercept: Intercept::Free,
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout {
            outputs: 1,
            features: self.design.features(),
            intercept: self.intercept != Intercept::Absent,
        }
    }

    pub(crate) fn objective(&self) -> Objective<'_> {
        let rows = Rows {
            design: &self.design,
            targets: Cow::Borrowed(&self.targets),
            weights: Weights::Each(Cow::Borrowed(&self.weights)),
        };
        let problem = Problem::new(self.loss, self.penalty, self.intercept, self.layout()).unwrap();
        Objective::in_memory(problem, rows, Validation::Done)
    }

    pub(crate) fn solve(&self, solver: &dyn Solver, tol: f64) -> Solution {
        self.watched(solver, tol, &mut Unwatched)
    }

    /// The tolerance on the scale of this problem.
    fn tolerance(&self, relative: f64) -> Tolerance {
        let objective = self.objective();
        let mut rows = objective.rows.clone().unwrap();
        let baseline = Baseline::of(&mut rows, &objective.problem).unwrap();
        baseline.tolerance(relative, &objective.problem)
    }

    pub(crate) fn watched(&self, solver: &dyn Solver, tol: f64, watch: &mut dyn Watch) -> Solution {
        let mut objective = self.objective();
        let start = vec![0.0; self.layout().len()];
        let tolerance = self.tolerance(tol);
        let mut control = Control::new(tolerance, Budget::default(), watch);
        solver.solve(&mut objective, &start, &mut control).unwrap()
    }

    /// The primal objective P, computed row by row.
    pub(crate) fn value(&self, at: &[f64]) -> f64 {
        let (w, b) = self.layout().output(at, 0);
        let rows = self.design.iter().zip(&self.targets).zip(&self.weights);
        let loss: f64 = rows
            .map(|((x, &y), c)| c * loss_of(self.loss, y, x.dot(w) + b))
            .sum();
        loss + self.objective().problem.penalty_value(at)
    }

    /// The column products X̃ᵀα.
    pub(crate) fn product(&self, dual: &[f64]) -> Vec<f64> {
        let layout = self.layout();
        let mut product = vec![0.0; layout.len()];
        for (x, &a) in self.design.iter().zip(dual) {
            x.add_to(a, &mut product[..layout.features]);
            if layout.intercept {
                product[layout.features] += a;
            }
        }
        product
    }

    /// The dual objective D, computed row by row. Fails unless the dual point is in its box, and feasible up to a
    /// relative `slack`.
    pub(crate) fn dual(&self, dual: &[f64], at: &[f64], slack: f64) -> f64 {
        let mut value = 0.0;
        let mut size = 0.0;
        for ((&a, &y), &c) in dual.iter().zip(&self.targets).zip(&self.weights) {
            size += c;
            if c == 0.0 {
                assert_eq!(a, 0.0, "a row that does not count has a multiplier");
                continue;
            }
            let conjugate = conjugate_of(self.loss, y, -a / c);
            assert!(conjugate.is_finite(), "{a} is outside the box of weight {c}");
            value -= c * conjugate;
        }
        let objective = self.objective();
        // The rounding error of a sum over a column depends on the size of the column.
        let mut columns = vec![size.max(1.0); self.layout().len()];
        for (row, c) in self.design.iter().zip(&self.weights) {
            row.for_each(|j, x| columns[j] += c * x.abs());
        }
        for (j, &product) in self.product(dual).iter().enumerate() {
            let penalty = objective.problem.penalty_of(j);
            if penalty.l2 == 0.0 {
                let beyond = (product.abs() - penalty.l1).max(0.0);
                assert!(
                    beyond <= slack * columns[j],
                    "{j}: {product} beyond {}",
                    penalty.l1
                );
                value -= beyond * at[j].abs();
            } else {
                value -= penalty.conjugate(product);
            }
        }
        value
    }

    /// The relative gap of a solution, computed from its parameters and its dual point alone.
    pub(crate) fn gap(&self, solution: &Solution) -> f64 {
        let objective = self.value(&solution.parameters);
        let dual = self.dual(solution.dual.as_ref().unwrap(), &solution.parameters, 1e-12);
        (objective - dual) / objective.abs().max(1.0)
    }

    /// The same on the scale that solvers use.
    pub(crate) fn relative_gap(&self, solution: &Solution) -> f64 {
        let objective = self.value(&solution.parameters);
        let gap = self.gap(solution) * objective.abs().max(1.0);
        self.tolerance(1.0).relative_gap(gap, objective)
    }

    /// The same problem in the other storages.
    pub(crate) fn storages(&self) -> Vec<Case> {
        let features = self.design.features();
        let values: Vec<f32> = self
            .design
            .iter()
            .flat_map(|row| row.to_dense(features))
            .map(|v| v as f32)
            .collect();
        let (mut starts, mut indices, mut entries) = (vec![0], Vec::new(), Vec::new());
        for row in values.chunks(features) {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                entries.push(v);
            }
            starts.push(entries.len());
        }
        let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let rows = self.design.rows();
        [
            Design::Dense64(Dense::new(wide(&values), rows, features).unwrap()),
            Design::Dense32(Dense::new(values, rows, features).unwrap()),
            Design::Sparse64(
                wstar::data::Csr::new(starts.clone(), indices.clone(), wide(&entries), features).unwrap(),
            ),
            Design::Sparse32(wstar::data::Csr::new(starts, indices, entries, features).unwrap()),
        ]
        .into_iter()
        .map(|design| Case {
            design,
            ..self.clone()
        })
        .collect()
    }

    /// The problem with its columns multiplied by these factors.
    pub(crate) fn scaled(&self, factors: &[f64]) -> Case {
        let features = self.design.features();
        let values: Vec<f64> = self
            .design
            .iter()
            .flat_map(|row| {
                let mut x = row.to_dense(features);
                x.iter_mut().zip(factors).for_each(|(x, f)| *x *= f);
                x
            })
            .collect();
        Case {
            design: Design::Dense64(Dense::new(values, self.design.rows(), features).unwrap()),
            ..self.clone()
        }
    }

    /// The objective at a general solver's optimum, which is never below the minimum.
    pub(crate) fn reference(&self) -> f64 {
        // The solver's tolerances are absolute, so the best scale of the numbers depends on the case.
        let size = self.weights.iter().fold(1.0f64, |most, &c| most.max(c));
        let found = [1.0, size].map(|size| self.value(&self.general(size)));
        found[0].min(found[1])
    }

    fn general(&self, size: f64) -> Vec<f64> {
        let layout = self.layout();
        let (d, n) = (layout.len(), self.design.rows());
        let columns = d + n + d;
        let objective = self.objective();
        let mut q = vec![0.0; columns];
        let mut squares = vec![0.0; columns];
        let (mut a, mut right): (Vec<Vec<f64>>, Vec<f64>) = (Vec::new(), Vec::new());
        for j in 0..d {
            let penalty = objective.problem.penalty_of(j);
            squares[j] = penalty.l2;
            q[d + n + j] = penalty.l1;
            for sign in [-1.0, 1.0] {
                let mut row = vec![0.0; columns];
                row[j] = sign;
                row[d + n + j] = -1.0;
                a.push(row);
                right.push(0.0);
            }
        }
        for (i, x) in self.design.iter().enumerate() {
            let (y, c) = (self.targets[i], self.weights[i]);
            let mut lifted = x.to_dense(layout.features);
            lifted.resize(d, 1.0);
            // ξ ≥ lo(z − at) and ξ ≥ hi(z − at).
            let (at, slopes) = match self.loss {
                LossName::Absolute => (y, [-1.0, 1.0]),
                LossName::Quantile(q) => (y, [-q.value(), 1.0 - q.value()]),
                _ => (y, [-y, 0.0]),
            };
            for slope in slopes {
                let mut row: Vec<f64> = lifted.iter().map(|v| slope * v).collect();
                row.resize(columns, 0.0);
                row[d + i] = -1.0;
                a.push(row);
                right.push(slope * at);
            }
            match self.loss {
                LossName::SquaredHinge => squares[d + i] = 2.0 * c,
                _ => q[d + i] = c,
            }
        }
        q.iter_mut().chain(&mut squares).for_each(|cost| *cost /= size);
        let p: Vec<Vec<f64>> = (0..columns)
            .map(|i| {
                (0..columns)
                    .map(|j| if i == j { squares[i] } else { 0.0 })
                    .collect()
            })
            .collect();
        let (p, a) = (CscMatrix::from(&p), CscMatrix::from(&a));
        let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(right.len())];
        let mut solver = DefaultSolver::new(&p, &q, &a, &right, &cones, tight()).unwrap();
        solver.solve();
        let failed = !matches!(
            solver.solution.status,
            SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress
        );
        assert!(!failed, "{:?}", solver.solution.status);
        solver.solution.x[..d].to_vec()
    }
}

pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A published set without an intercept at C = 1; the class `positive` is against the rest.
pub(crate) fn published(name: &str, positive: f64, loss: LossName) -> Option<Case> {
    let Raw::Matrix(matrix) = read(&Source::Path(real_data(name)?), &ReadOptions::default()).unwrap() else {
        panic!("a matrix was expected");
    };
    let labels = matrix.labels.unwrap();
    Some(Case {
        weights: vec![1.0; labels.len()],
        targets: labels
            .iter()
            .map(|&label| if label == positive { 1.0 } else { -1.0 })
            .collect(),
        design: matrix.design,
        loss,
        penalty: Penalty::L2,
        intercept: Intercept::Absent,
    })
}

/// Records the iterations.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) gaps: Vec<f64>,
    pub(crate) objectives: Vec<f64>,
}

impl Watch for Seen {
    fn iterate(&mut self, iteration: &Iteration<'_>) -> std::ops::ControlFlow<()> {
        self.gaps.push(iteration.relative_gap);
        self.objectives.push(iteration.objective);
        std::ops::ControlFlow::Continue(())
    }
}

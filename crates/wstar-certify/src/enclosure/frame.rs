//! Centred columns x̂ = x̃ − m, and the largest magnitudes of columns, targets and weights.
//!
//! With a free intercept the map (x, 1) → (x − m, 1) is linear and nonsingular for any m, so columns far from 0 lose no digits. m
//! is the mean of some rows; every m is valid. Sparse rows are not centred, because they would become dense.

use rayon::prelude::*;

use super::rounding::SLACK;
use wstar_data::Design;
use wstar_numeric::double_double::Compensated;
use wstar_problem::Intercept;
use wstar_problem::objective::Rows;
use wstar_problem::problem::Problem;

/// Rows whose mean is the centre. Heuristic: enough for columns far from 0; not measured yet.
const SAMPLE: usize = 1024;
/// Rows of a range that one task reads. Heuristic: scheduling against load balance; not measured yet.
const RANGE: usize = 1 << 12;
/// Numbers of at most this magnitude are admitted, so that no product overflows. Cap: beyond it nothing is proved.
pub(super) const LARGEST: f64 = 1e70;
/// Weights of at least this magnitude, or 0, are admitted, so that no product underflows. Cap: as above.
const SMALLEST_WEIGHT: f64 = 1e-70;

/// The centre of the columns, and bounds on the rows.
pub(super) struct Frame {
    /// m, with 0 for the intercept.
    pub(super) centre: Vec<f64>,
    /// Whether m is not 0.
    pub(super) is_centred: bool,
    /// max |x̃ⱼ| of each column, with 1 for the intercept.
    pub(super) largest: Vec<f64>,
    /// max |x̂ⱼ| of each column.
    pub(super) spread: Vec<f64>,
    /// max |y|.
    pub(super) target: f64,
    /// Σc.
    pub(super) weight: f64,
}

/// The maxima over a range of rows.
#[derive(Clone)]
struct Maxima {
    largest: Vec<f64>,
    spread: Vec<f64>,
    target: f64,
    weight: Compensated,
    is_admissible: bool,
}

impl Frame {
    /// The frame of the rows of a problem with one output; nothing if a number is outside the range of the proofs.
    pub(super) fn new(rows: &Rows<'_>, problem: &Problem) -> Option<Frame> {
        let (design, layout) = (rows.design, problem.layout());
        // A penalty on the intercept would not be diagonal in centred coordinates.
        let free = problem.intercept() == Intercept::Free
            || (problem.intercept() == Intercept::Penalized && problem.penalty().l2 == 0.0);
        let is_centred = free && !design.is_sparse() && layout.features > 0;
        let mut centre = vec![0.0; layout.width()];
        if is_centred {
            let step = rows.len().div_ceil(SAMPLE).max(1);
            let count = rows.len().div_ceil(step) as f64;
            for i in (0..rows.len()).step_by(step) {
                design.row(i).for_each(|j, x| centre[j] += x / count);
            }
        }
        let ranges: Vec<Maxima> = (0..rows.len().div_ceil(RANGE))
            .into_par_iter()
            .map(|at| Maxima::new(rows, &centre, at * RANGE..((at + 1) * RANGE).min(rows.len())))
            .collect();
        let mut all = ranges.first()?.clone();
        for range in &ranges[1..] {
            let larger = |to: &mut Vec<f64>, from: &[f64]| {
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = to.max(from));
            };
            larger(&mut all.largest, &range.largest);
            larger(&mut all.spread, &range.spread);
            all.target = all.target.max(range.target);
            all.weight.add(range.weight.total());
            all.is_admissible &= range.is_admissible;
        }
        if layout.intercept {
            (all.largest[layout.features], all.spread[layout.features]) = (1.0, 1.0);
        }
        all.is_admissible.then_some(Frame {
            centre,
            is_centred,
            largest: all.largest,
            // The differences from m are rounded.
            spread: all.spread.iter().map(|x| x * SLACK).collect(),
            target: all.target,
            weight: all.weight.value(),
        })
    }

    /// Σⱼ max |x̃ⱼ|·|θⱼ|, an upper bound on the terms of every score.
    pub(super) fn largest_score(&self, theta: impl Iterator<Item = f64>) -> f64 {
        let terms = self.largest.iter().zip(theta).map(|(x, w)| x * w.abs());
        terms.sum::<f64>() * SLACK
    }
}

impl Maxima {
    fn new(rows: &Rows<'_>, centre: &[f64], range: std::ops::Range<usize>) -> Self {
        let width = centre.len();
        let mut maxima = Maxima {
            largest: vec![0.0; width],
            spread: vec![0.0; width],
            target: 0.0,
            weight: Compensated::default(),
            is_admissible: true,
        };
        let design = rows.design;
        for i in range {
            let c = rows.weights.get(i);
            maxima.weight.add(c);
            maxima.is_admissible &= c == 0.0 || (SMALLEST_WEIGHT..=LARGEST).contains(&c);
            // NaN is no maximum, so it is excluded here.
            let y = rows.targets[i];
            maxima.is_admissible &= y.abs() <= LARGEST;
            maxima.target = maxima.target.max(y.abs());
            maxima.add(design, i, centre);
        }
        maxima
    }

    fn add(&mut self, design: &Design, i: usize, centre: &[f64]) {
        let mut is_finite = true;
        let (largest, spread) = (&mut self.largest, &mut self.spread);
        design.row(i).for_each(|j, x| {
            is_finite &= x.abs() <= LARGEST;
            largest[j] = largest[j].max(x.abs());
            spread[j] = spread[j].max((x - centre[j]).abs());
        });
        self.is_admissible &= is_finite;
    }
}

//! The state of the method where the loss is made of pieces, and one step of it.

use super::entry::{Entry, Reach};
use super::normal::Normal;
use super::piece::Piece;
use super::scalar::Scalar;
use crate::data::Row;
use crate::oracle::{Layout, Rows};
use crate::problem::{Intercept, Problem};
use crate::solve::best_intercept;
use crate::solve::kink::Kink;
use crate::solve::lanes::{add, pass};
use crate::solve::least_squares::power_of_two;

/// A start that fits better than this, relatively to none, is too near to the boundary.
const WARMEST: f64 = 1e-3;
/// So many dense rows tell the scale of their columns.
const ENOUGH_ROWS: usize = 4096;

/// What one pass over the entries sums up.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals<S> {
    /// The lower triangle of X̃ᵀ diag(c·g) X̃.
    gram: Vec<S>,
    /// X̃ᵀ(c·s).
    pub(super) pull: Vec<S>,
    /// X̃ᵀ(c·g·(z − at − bend·s)).
    predictor: Vec<S>,
    /// X̃ᵀ(c·g·(1/p − 1/q)).
    centring: Vec<S>,
    /// Σ c ℓ(z) over the rows.
    pub(super) loss: f64,
    /// Σ c·ℓ\*(s) over the rows.
    pub(super) conjugate: S,
    /// Σ c(pu + qv).
    pub(super) complementarity: f64,
}

/// The state of the method. Parameters are those of columns of size 1: θ/scale.
pub(super) struct Run<'a, S> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) layout: Layout,
    /// What each column is multiplied by: powers of two.
    pub(super) scale: Vec<f64>,
    /// l2 on the scaled columns.
    ridge: Vec<f64>,
    at: Vec<S>,
    along: Vec<S>,
    pub(super) entries: Vec<Entry<S>>,
    /// The kinks of ℓ1: of weight 0 where a parameter has none.
    pub(super) kinks: Vec<Entry<S>>,
    /// Σ of all weights, once for each end of the slope.
    weight: f64,
}

impl<'a, S: Scalar> Run<'a, S> {
    /// Rows may stand for so many each: the barrier then counts them all, and the path to the optimum is theirs.
    pub(super) fn new(
        problem: &'a Problem<'a>,
        rows: &'a Rows<'a>,
        counts: Option<&[u32]>,
        start: &[f64],
    ) -> Self {
        let layout = problem.layout();
        let scale = column_scales(rows, layout);
        let penalties: Vec<_> = (0..layout.len()).map(|j| problem.penalty_of(j)).collect();
        let count = |i: usize| counts.map_or(1.0, |counts| f64::from(counts[i]));
        let weight = barrier_weight(rows, count);
        // Of weight 0 where the row has none.
        let entry_of = |i: usize| {
            let (own, piece) = (rows.weights.get(i), Piece::new(problem.loss, rows.targets[i]));
            let weight = weight * count(i);
            match piece {
                Some(piece) if own > 0.0 => (weight, piece.times(own / weight)),
                _ => (0.0, Piece::ABSOLUTE),
            }
        };
        let mut states: Vec<f64> = vec![0.0; rows.len()];
        let mut theta = start.to_vec();
        // What others could not finish is near the boundary of everything, the worst of places to start from.
        if S::EXTENDED || theta.iter().any(|w| !w.is_finite()) {
            theta.fill(0.0);
        }
        if theta.iter().any(|&w| w != 0.0) {
            pass(rows.design, &mut states, 1, |range, states, _: &mut ()| {
                f64::scores(rows.design, range, layout, &theta, states);
            });
        } else if problem.intercept == Intercept::Free && problem.loss.is_absolute() {
            let targets = (0..rows.len()).filter_map(|i| {
                let kink = Kink::new(problem.loss, rows.targets[i])?;
                Some((rows.weights.get(i), kink, 0.0))
            });
            theta[layout.features] = best_intercept(targets);
            states.fill(theta[layout.features]);
        }
        // τ starts where the multipliers are about as large as the residuals.
        let (mut size, mut total, mut ends) = (0.0, 0.0, 0.0);
        for (i, &z) in states.iter().enumerate() {
            let (weight, piece) = entry_of(i);
            size += weight * piece.size(z).max(WARMEST * piece.size(0.0));
            total += weight;
            ends += weight * piece.ends();
        }
        let tau = if size > 0.0 { size / total } else { 1.0 };
        let entries = states
            .iter()
            .enumerate()
            .map(|(i, &z)| {
                let (weight, piece) = entry_of(i);
                Entry::new(weight, piece, z, tau)
            })
            .collect();
        let at: Vec<f64> = theta.iter().zip(&scale).map(|(w, s)| w / s).collect();
        let kinks: Vec<Entry<S>> = penalties
            .iter()
            .zip(&scale)
            .zip(&at)
            .map(|((penalty, s), &w)| match penalty.l1 * s {
                0.0 => Entry::new(0.0, Piece::ABSOLUTE, w, tau),
                l1 => Entry::new(weight, Piece::ABSOLUTE.times(l1 / weight), w, tau),
            })
            .collect();
        ends += kinks
            .iter()
            .map(|kink| kink.weight * kink.piece.ends())
            .sum::<f64>();
        Run {
            rows,
            layout,
            ridge: penalties.iter().zip(&scale).map(|(p, s)| p.l2 * s * s).collect(),
            along: vec![S::default(); at.len()],
            scale,
            at: at.into_iter().map(S::from).collect(),
            entries,
            kinks,
            weight: ends,
        }
    }

    /// The parameters on the columns as they are.
    pub(super) fn parameters(&self) -> Vec<f64> {
        self.unscaled(&self.at).iter().map(|w| w.value()).collect()
    }

    pub(super) fn unscaled(&self, at: &[S]) -> Vec<S> {
        at.iter().zip(&self.scale).map(|(&w, &s)| w * s).collect()
    }

    /// Follows the direction and sums up what the next one needs.
    pub(super) fn advance(&mut self, step: f64) -> Totals<S> {
        for (at, &along) in self.at.iter_mut().zip(&self.along) {
            *at += along * step;
        }
        let (design, layout, width) = (self.rows.design, self.layout, self.layout.len());
        let lanes = pass(
            design,
            &mut self.entries,
            width * width,
            |range, entries, sums: &mut Totals<S>| {
                sums.gram.resize(width * width, S::default());
                for sum in [&mut sums.pull, &mut sums.predictor, &mut sums.centring] {
                    sum.resize(width, S::default());
                }
                let mut each = [(); 4].map(|()| vec![S::default(); entries.len()]);
                for (i, entry) in entries.iter_mut().enumerate() {
                    let c = entry.weight;
                    if c == 0.0 {
                        continue;
                    }
                    entry.advance(step);
                    let g = entry.curvature() * c;
                    each[0][i] = g;
                    each[1][i] = entry.slope() * c;
                    each[2][i] = g * entry.residual();
                    each[3][i] = g * entry.centring();
                    sums.loss += c * entry.loss();
                    sums.conjugate += entry.conjugate() * c;
                    sums.complementarity += c * entry.complementarity();
                }
                S::add_gram(design, range.clone(), layout, &each[0], &mut sums.gram);
                S::add_pulls(design, range.clone(), layout, &each[1], &mut sums.pull);
                S::add_pulls(design, range.clone(), layout, &each[2], &mut sums.predictor);
                S::add_pulls(design, range, layout, &each[3], &mut sums.centring);
            },
        );
        let mut total = Totals::default();
        for sums in &lanes {
            add(&mut total.gram, &sums.gram);
            add(&mut total.pull, &sums.pull);
            add(&mut total.predictor, &sums.predictor);
            add(&mut total.centring, &sums.centring);
            total.loss += sums.loss;
            total.conjugate += sums.conjugate;
            total.complementarity += sums.complementarity;
        }
        for kink in self.kinks.iter_mut().filter(|kink| kink.weight > 0.0) {
            kink.advance(step);
            total.complementarity += kink.weight * kink.complementarity();
        }
        total
    }

    /// The factored system of this iteration.
    pub(super) fn normal(&self, sums: &Totals<S>) -> Option<Normal<S>> {
        let width = self.layout.len();
        let mut matrix = sums.gram.clone();
        matrix.resize(width * width, S::default());
        for j in 0..width {
            for i in j..width {
                matrix[j * width + i] = matrix[j * width + i] * (self.scale[i] * self.scale[j]);
            }
            let kink = &self.kinks[j];
            let own = if kink.weight > 0.0 {
                kink.curvature() * kink.weight
            } else {
                S::default()
            };
            matrix[j * width + j] += own + S::from(self.ridge[j]);
        }
        Normal::new(matrix, width)
    }

    /// Finds the next direction, and how far to follow it: predictor, then corrector.
    pub(super) fn step(&mut self, sums: &Totals<S>, normal: &Normal<S>, first: f64) -> Option<f64> {
        let width = self.layout.len();
        let zero = vec![S::default(); width];
        let sum = |sums: &[S], j: usize| sums.get(j).map_or(S::default(), |&sum| sum * self.scale[j]);
        let mut predictor = zero.clone();
        let mut centring = zero.clone();
        for j in 0..width {
            let ridge = S::from(self.ridge[j]);
            predictor[j] = -ridge * self.at[j] - sum(&sums.pull, j) - sum(&sums.predictor, j);
            centring[j] = -sum(&sums.centring, j);
            let kink = &self.kinks[j];
            if kink.weight > 0.0 {
                let g = kink.curvature() * kink.weight;
                predictor[j] += -(kink.slope() * kink.weight + g * kink.residual());
                centring[j] += -(g * kink.centring());
            }
        }
        let (second, reach) = self.predict(&normal.solve(&predictor));
        // A loss without ends has nothing to be complementary.
        let ends = self.weight.max(f64::MIN_POSITIVE);
        let mean = sums.complementarity / ends;
        let after = reach.at(reach.step.min(1.0)) / ends;
        let tau = if mean > 0.0 {
            mean * (after / mean).clamp(0.0, 1.0).powi(3)
        } else {
            0.0
        };
        let right: Vec<S> = (0..width)
            .map(|j| predictor[j] + centring[j] * tau - second[j])
            .collect();
        let along = normal.solve(&right);
        let reach = self.correct(&along, tau);
        self.along = along;
        let fraction = (1.0 - sums.complementarity / first).clamp(0.99, 1.0 - 1e-10);
        let step = (fraction * reach.step).min(1.0);
        (step.is_finite() && step > 1e-12 && reach.along[1].is_finite()).then_some(step)
    }

    /// Gives all entries the predictor's direction; X̃ᵀ of the second-order terms.
    fn predict(&mut self, along: &[S]) -> (Vec<S>, Reach) {
        let (design, layout) = (self.rows.design, self.layout);
        let at = self.unscaled(along);
        type Sums<S> = (Vec<S>, Reach);
        let lanes = pass(
            design,
            &mut self.entries,
            at.len(),
            |range, entries, (sum, reach): &mut Sums<S>| {
                sum.resize(layout.len(), S::default());
                let mut each = vec![S::default(); entries.len()];
                S::scores(design, range.clone(), layout, &at, &mut each);
                for (entry, each) in entries.iter_mut().zip(&mut each) {
                    let c = entry.weight;
                    if c == 0.0 {
                        *each = S::default();
                        continue;
                    }
                    entry.predict(*each);
                    entry.reach(reach);
                    *each = entry.curvature() * c * entry.second_order();
                }
                S::add_pulls(design, range, layout, &each, sum);
            },
        );
        let mut total = Reach::default();
        let mut second = Vec::new();
        for (sum, reach) in &lanes {
            add(&mut second, sum);
            total.merge(reach);
        }
        second.resize(at.len(), S::default());
        for (j, kink) in self.kinks.iter_mut().enumerate() {
            second[j] = second[j] * self.scale[j];
            if kink.weight > 0.0 {
                kink.predict(along[j]);
                kink.reach(&mut total);
                second[j] += kink.curvature() * kink.weight * kink.second_order();
            }
        }
        (second, total)
    }

    /// Gives all entries the corrector's direction.
    fn correct(&mut self, along: &[S], tau: f64) -> Reach {
        let (design, layout) = (self.rows.design, self.layout);
        let at = self.unscaled(along);
        let lanes = pass(
            design,
            &mut self.entries,
            1,
            |range, entries, reach: &mut Reach| {
                let mut each = vec![S::default(); entries.len()];
                S::scores(design, range, layout, &at, &mut each);
                for (entry, &dz) in entries.iter_mut().zip(&each) {
                    if entry.weight > 0.0 {
                        entry.correct(dz, tau);
                        entry.reach(reach);
                    }
                }
            },
        );
        let mut total = Reach::default();
        lanes.iter().for_each(|reach| total.merge(reach));
        for (kink, &dz) in self.kinks.iter_mut().zip(along) {
            if kink.weight > 0.0 {
                kink.correct(dz, tau);
                kink.reach(&mut total);
            }
        }
        total
    }
}

/// The power of two near the mean weight of a row that has one, each for as many as it stands for.
pub(super) fn barrier_weight(rows: &Rows<'_>, count: impl Fn(usize) -> f64) -> f64 {
    let positive = (0..rows.len()).filter(|&i| rows.weights.get(i) > 0.0);
    let mean = rows.total_weight() / positive.map(count).sum::<f64>().max(1.0);
    if mean > 0.0 { 1.0 / power_of_two(mean) } else { 1.0 }
}

/// Powers of two near 1/√(mean square of a column's non-zeros); those of dense rows by some of them, for near is enough.
pub(in crate::solve) fn column_scales(rows: &Rows<'_>, layout: Layout) -> Vec<f64> {
    let step = match rows.design.is_sparse() {
        true => 1,
        false => (rows.len() / ENOUGH_ROWS).max(1),
    };
    let (mut squares, mut counts) = column_squares(rows, layout, step);
    if step > 1 && squares[..layout.features].contains(&0.0) {
        // A column that is rarely other than 0.
        (squares, counts) = column_squares(rows, layout, 1);
    }
    let scale = |square: f64, count: f64| {
        if square > 0.0 && square.is_finite() {
            (-0.5 * (square / count).log2()).round().exp2()
        } else {
            1.0
        }
    };
    squares.iter().zip(&counts).map(|(&s, &c)| scale(s, c)).collect()
}

/// The sum of squares of every column in one row of `step`, and how many of them are not 0.
fn column_squares(rows: &Rows<'_>, layout: Layout, step: usize) -> (Vec<f64>, Vec<f64>) {
    let width = layout.len();
    let mut nothing = vec![(); rows.len()];
    type Sums = (Vec<f64>, Vec<f64>);
    let lanes = pass(
        rows.design,
        &mut nothing,
        width,
        |range, _, (squares, counts): &mut Sums| {
            squares.resize(width, 0.0);
            counts.resize(width, 0.0);
            let taken = range.start.next_multiple_of(step)..range.end;
            for i in taken.step_by(step).filter(|&i| rows.weights.get(i) > 0.0) {
                match rows.design.row(i) {
                    Row::Dense32(x) => add_squares(x, squares, counts),
                    Row::Dense64(x) => add_squares(x, squares, counts),
                    row => row.for_each(|j, v| add_squares(&[v], &mut squares[j..], &mut counts[j..])),
                }
            }
        },
    );
    let (mut squares, mut counts) = (vec![0.0; width], vec![0.0; width]);
    for (square, count) in &lanes {
        add(&mut squares, square);
        add(&mut counts, count);
    }
    (squares, counts)
}

fn add_squares<T: Copy + Into<f64>>(x: &[T], squares: &mut [f64], counts: &mut [f64]) {
    for ((&x, square), count) in x.iter().zip(squares).zip(counts) {
        let x: f64 = x.into();
        *square += x * x;
        *count += f64::from(u8::from(x != 0.0));
    }
}

//! The decision: peel, search, reduce; and what proves each verdict, checked exactly before it is given.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;

use super::face::{self, Reduced};
use super::frame::{Frame, Scaling};
use super::peel::{Peeled, Threshold, peel};
use super::ranges::Ranges;
use super::rational::{self, Decided, separates};
use super::session::Session;
use super::wide::{Ascent, Measured};
use super::working_set::{Found, Search};
use crate::certify::proof::{Combination, Hulls, Normal};
use crate::exact::{self, Circuit, Exactly, Plane, Signed};
use crate::kernel::dense::squared_norm;
use crate::model::Hyperplane;

/// Coordinates beyond which the last resort would take longer than anyone waits.
const MOST_RATIONAL: usize = 400;

/// Sizes of columns that are not too different: the largest over the smallest.
const ALIKE: f64 = 1024.0;
/// Numbers that a search may hold at once.
const MOST_NUMBERS: usize = 1 << 24;
/// Rounds of the ascent without a hyperplane after which a circuit is looked for.
const ROUNDS: usize = 25;
/// How near the largest margin the ascent is to come, relatively.
const NEAR: f64 = 1e-6;

/// Whether the rows in hand and the factor of an active set can be held.
pub(super) fn fits_in_memory(dimension: usize, rows: usize) -> bool {
    dimension.saturating_mul(rows.min(dimension + 3000)) <= MOST_NUMBERS
}

/// A verdict with what proves it.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// A hyperplane, and points of the hulls.
    Separable(Hyperplane, Hulls),
    /// A hyperplane that doubles cannot hold, its nearest doubles, and points of the hulls.
    SeparableExactly(Normal, Hyperplane, Hulls),
    /// A hyperplane that separates weakly, its nearest doubles, and a combination that vanishes.
    Quasi(Normal, Hyperplane, Combination),
    /// A combination that vanishes on points that span all, and vectors orthogonal to all.
    Inseparable(Combination, Vec<Vec<BigInt>>),
    /// It was stopped, or it is beyond what was tried.
    Undecided,
}

/// One decision.
pub(super) struct Decision<'a, 's, 'w> {
    pub(super) signed: Signed<'a>,
    /// The last multipliers of a search: points of the hulls that are as near as any known.
    pub(super) multipliers: Vec<(usize, f64)>,
    /// Whether a separable set is to get the hyperplane of the largest margin.
    pub(super) largest: bool,
    pub(super) session: &'s mut Session<'w>,
}

impl Decision<'_, '_, '_> {
    /// Decides.
    pub(super) fn decide(&mut self) -> Answer {
        let all: Vec<usize> = self.signed.participants().collect();
        if self.signed.intercept {
            return self.among(all);
        }
        // A row of zeros is on every hyperplane through the origin, and a combination that vanishes by itself.
        let (rows, zeros): (Vec<usize>, Vec<usize>) = all.into_iter().partition(|&i| self.has_entries(i));
        let Some(&zero) = zeros.first() else {
            return self.among(rows);
        };
        let alone = Combination::exact(&Circuit {
            points: vec![zero as u64],
            weights: vec![BigRational::one()],
        });
        if rows.is_empty() {
            return self.spanning(alone).unwrap_or(Answer::Undecided);
        }
        self.largest = false;
        match self.among(rows) {
            Answer::Separable(plane, _) => Answer::Quasi(Normal::from(&plane), plane, alone),
            Answer::SeparableExactly(normal, plane, _) => Answer::Quasi(normal, plane, alone),
            other => other,
        }
    }

    fn has_entries(&self, i: usize) -> bool {
        let mut any = false;
        self.signed.design.row(i).for_each(|_, x| any |= x != 0.0);
        any
    }

    /// Decides about these rows, all others being on every hyperplane.
    fn among(&mut self, all: Vec<usize>) -> Answer {
        let peeled = peel(&self.signed, all.clone(), &mut || self.session.stop());
        let fits = |ranges: &Ranges, rows: usize| {
            fits_in_memory(ranges.telling(self.signed.intercept).len() + 1, rows)
        };
        if !fits(&peeled.ranges, peeled.rows.len()) {
            return self.wide(&all, &peeled);
        }
        if peeled.gone == 0 {
            return self.unpeeled(&peeled);
        }
        let resort = |decision: &mut Self, few: &[usize]| decision.resort(&all, &peeled, few);
        let mut support = Vec::new();
        if !peeled.rows.is_empty() {
            let frame = frame(self.signed, &peeled.ranges);
            let mut search = Search::new(frame, &peeled.rows);
            match search.decide(self.session) {
                Found::Circuit(circuit) => {
                    if let Some(answer) = self.weak_column(&peeled, self.combination(&circuit)) {
                        return answer;
                    }
                    return resort(self, search.in_hand());
                }
                Found::Separates => support = rows_of(&search.multipliers()),
                Found::Stopped => return Answer::Undecided,
                Found::Blurred | Found::Nothing => return resort(self, search.in_hand()),
            }
        }
        // What is left can be separated, and with it all.
        let ranges = Ranges::of(&self.signed, &all);
        if !fits_in_memory(ranges.telling(self.signed.intercept).len() + 1, all.len()) {
            return self.wide(&all, &peeled);
        }
        let mut search = Search::new(frame(self.signed, &ranges), &all);
        search.take(&support);
        match search.decide(self.session) {
            Found::Separates => {
                if let Some(answer) = self.strictly(&search, &all, &ranges) {
                    return answer;
                }
                resort(self, search.in_hand())
            }
            Found::Stopped => Answer::Undecided,
            _ => resort(self, search.in_hand()),
        }
    }

    /// No column separates by itself.
    fn unpeeled(&mut self, peeled: &Peeled) -> Answer {
        let mut search = Search::new(frame(self.signed, &peeled.ranges), &peeled.rows);
        let hand = |search: &Search<'_>| search.in_hand().to_vec();
        match search.decide(self.session) {
            Found::Separates => {
                if let Some(answer) = self.strictly(&search, &peeled.rows, &peeled.ranges) {
                    return answer;
                }
                self.resort(&peeled.rows, peeled, &hand(&search))
            }
            Found::Circuit(first) => {
                let few = hand(&search);
                match face::reduce(&mut search, &first, self.session) {
                    Reduced::Overlap(hint) => self.combination(&hint).and_then(|c| self.spanning(c)),
                    Reduced::Weakly(face) => self.weakly(&face, &first, &search.hyperplane()),
                    Reduced::Blurred => None,
                    Reduced::Stopped => return Answer::Undecided,
                }
                .unwrap_or_else(|| self.resort(&peeled.rows, peeled, &few))
            }
            Found::Blurred => self.resort(&peeled.rows, peeled, &hand(&search)),
            Found::Nothing | Found::Stopped => Answer::Undecided,
        }
    }

    /// The same where the columns are too many: a hyperplane by ascent, or a circuit among the rows whose multipliers
    /// grow most. Overlap is not decided here, for the span of so many columns is not to be had.
    fn wide(&mut self, all: &[usize], peeled: &Peeled) -> Answer {
        let mut ascent = Ascent::new(self.signed, all);
        let mut best: Option<Measured> = None;
        for round in 0.. {
            let measured = ascent.round(self.largest, self.session);
            let better = best.as_ref().is_none_or(|best| measured.gap() < 0.9 * best.gap());
            if measured.lower > 0.0 && separates(&self.signed, all, &measured.plane) {
                if better {
                    self.multipliers = ascent.multipliers();
                }
                let near = !self.largest || measured.gap() <= NEAR || !better && round > ROUNDS;
                best = Some(measured);
                if near {
                    break;
                }
            } else if round > ROUNDS && best.is_none() {
                break;
            }
            if self.session.stopped.is_some() {
                break;
            }
        }
        if let Some(best) = best {
            return Answer::Separable(best.plane, self.hulls());
        }
        if self.session.stopped.is_some() {
            return Answer::Undecided;
        }
        let mut grown = ascent.multipliers();
        grown.retain(|&(i, _)| peeled.rows.binary_search(&i).is_ok());
        grown.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut count = 64;
        loop {
            let mut rows: Vec<usize> = grown.iter().take(count).map(|&(i, _)| i).collect();
            rows.sort_unstable();
            let ranges = Ranges::of(&self.signed, &rows);
            let dimension = ranges.telling(self.signed.intercept).len() + 1;
            if ranges.rows().contains(&0) && self.signed.intercept || !fits_in_memory(dimension, rows.len()) {
                return Answer::Undecided;
            }
            let mut search = Search::new(Frame::new(self.signed, &ranges, Scaling::Each), &rows);
            if let Found::Circuit(circuit) = search.decide(self.session)
                && let Some(combination) = self.combination(&circuit)
            {
                let weak = self.weak_column(peeled, Some(combination.clone()));
                return weak
                    .or_else(|| self.spanning(combination))
                    .unwrap_or(Answer::Undecided);
            }
            if count >= grown.len() || self.session.stopped.is_some() {
                return Answer::Undecided;
            }
            count *= 4;
        }
    }

    /// Exact weights near these, if there are any; these, if there is no time for them.
    fn combination(&self, hint: &[(usize, f64)]) -> Option<Combination> {
        let (rows, weights): (Vec<usize>, Vec<f64>) = hint.iter().copied().unzip();
        match exact::circuit(&self.signed, &rows, &weights, &self.session.exact_budget()) {
            Exactly::Found(circuit) => Some(Combination::exact(&circuit)),
            Exactly::Absent => None,
            Exactly::BudgetSpent => {
                let decimal: Vec<(u64, f64)> = hint.iter().map(|&(i, l)| (i as u64, l)).collect();
                Some(Combination::decimal(&decimal))
            }
        }
    }

    /// A column that separates weakly, and a combination that nothing separates strictly.
    fn weak_column(&self, peeled: &Peeled, combination: Option<Combination>) -> Option<Answer> {
        let plane = threshold_plane(peeled.first?, self.signed.design.features());
        let normal = Normal::from(&plane);
        Some(Answer::Quasi(normal, plane, combination?))
    }

    /// The hyperplane of a search that separates, if it does so exactly; with the largest margin if that is asked.
    fn strictly(&mut self, search: &Search<'_>, rows: &[usize], ranges: &Ranges) -> Option<Answer> {
        let plane = search.hyperplane();
        let first = separates(&self.signed, rows, &plane);
        self.multipliers = search.multipliers();
        if !search.frame.is_uniform() && (self.largest || !first) {
            let mut second = Search::new(Frame::new(self.signed, ranges, Scaling::Alike), rows);
            second.take(&rows_of(&self.multipliers));
            if second.decide(self.session) == Found::Separates {
                let other = second.hyperplane();
                self.multipliers = second.multipliers();
                if separates(&self.signed, rows, &other) {
                    return Some(Answer::Separable(other, self.hulls()));
                }
            }
        }
        if first {
            return Some(Answer::Separable(plane, self.hulls()));
        }
        let exact = search.frame.exact_hyperplane(search.point());
        let integers = exact::cleared(&exact);
        rational::separates_exactly(&self.signed, rows, &integers).then(|| self.exactly(&exact))
    }

    fn exactly(&self, plane: &[BigRational]) -> Answer {
        let intercept = self.signed.intercept;
        let normal = Normal::from_rationals(plane, intercept);
        Answer::SeparableExactly(normal, nearest(plane, intercept), self.hulls())
    }

    /// The points of the hulls that the multipliers make; any points, where they make none.
    fn hulls(&self) -> Hulls {
        let (signed, multipliers) = (&self.signed, &self.multipliers);
        let side = |y: i8| -> Vec<(u64, f64)> {
            let of_class = |i: usize| !signed.intercept || signed.signs[i] == y;
            let made: Vec<(u64, f64)> = multipliers
                .iter()
                .filter(|&&(i, a)| a > 0.0 && of_class(i))
                .map(|&(i, a)| (i as u64, a))
                .collect();
            if made.is_empty() {
                signed
                    .participants()
                    .find(|&i| of_class(i))
                    .map(|i| (i as u64, 1.0))
                    .into_iter()
                    .collect()
            } else {
                made
            }
        };
        Hulls {
            positive: side(1),
            negative: if signed.intercept { side(-1) } else { Vec::new() },
        }
    }

    /// The combination proves overlap if its points span what all span.
    fn spanning(&self, combination: Combination) -> Option<Answer> {
        let points: Vec<usize> = combination.points.iter().map(|&i| i as usize).collect();
        let (rank, width) = (exact::rank_at_least(&self.signed, &points), self.signed.width());
        let mut orthogonal = Vec::new();
        if rank < width {
            orthogonal = exact::null_vectors(&self.signed, &self.session.exact_budget()).found()?;
        }
        (rank + orthogonal.len() == width).then_some(Answer::Inseparable(combination, orthogonal))
    }

    /// A vector near `plane` that vanishes on the face and is nowhere negative, with the first circuit.
    fn weakly(&self, face: &[usize], first: &[(usize, f64)], plane: &Hyperplane) -> Option<Answer> {
        let combination = self.combination(first)?;
        let mut guess = plane.lifted();
        if !self.signed.intercept {
            guess.pop();
        }
        // Weights that are only rounding would stay as they are, and need not vanish then.
        let size = squared_norm(&guess).sqrt();
        guess.iter_mut().for_each(|g| *g /= size);
        let v = exact::vanishing(&self.signed, face, &guess, &self.session.exact_budget()).found()?;
        self.weak_answer(v, combination)
    }

    /// The answer of a vector that is nowhere negative and somewhere positive; nothing if it is not.
    fn weak_answer(&self, v: Vec<BigRational>, combination: Combination) -> Option<Answer> {
        use rayon::prelude::*;
        let plane = Plane::lifted(&exact::cleared(&v), self.signed.intercept);
        let rows: Vec<usize> = self.signed.participants().collect();
        let side = |i: usize| {
            let order = plane.sign(self.signed.design.row(i));
            if self.signed.signs[i] < 0 {
                order.reverse()
            } else {
                order
            }
        };
        let (negative, positive) = rows
            .par_iter()
            .map(|&i| side(i))
            .map(|order| (order.is_lt(), order.is_gt()))
            .reduce(|| (false, false), |a, b| (a.0 || b.0, a.1 || b.1));
        (!negative && positive).then(|| {
            let normal = Normal::from_rationals(&v, self.signed.intercept);
            Answer::Quasi(normal, nearest(&v, self.signed.intercept), combination)
        })
    }

    /// Decides without rounding.
    fn resort(&mut self, all: &[usize], peeled: &Peeled, few: &[usize]) -> Answer {
        if self.signed.width() > MOST_RATIONAL || self.session.stop() {
            return Answer::Undecided;
        }
        let whole = peeled.gone == 0;
        if !peeled.rows.is_empty() {
            let few: Vec<usize> = few
                .iter()
                .copied()
                .filter(|i| peeled.rows.binary_search(i).is_ok())
                .collect();
            match rational::decide(&self.signed, &peeled.rows, &few, whole, self.session) {
                Decided::Separable(v) if whole => return self.rounded(all, &v),
                Decided::Separable(_) => {}
                Decided::Circuit(circuit) => {
                    return self
                        .weak_column(peeled, Some(Combination::exact(&circuit)))
                        .unwrap_or(Answer::Undecided);
                }
                Decided::Weakly(circuit, v) => {
                    let v = whole_numbers(&v);
                    return self
                        .weak_answer(v, Combination::exact(&circuit))
                        .unwrap_or(Answer::Undecided);
                }
                Decided::Overlap(circuit) => {
                    return self
                        .spanning(Combination::exact(&circuit))
                        .unwrap_or(Answer::Undecided);
                }
                Decided::Stopped => return Answer::Undecided,
            }
        }
        match rational::decide(&self.signed, all, few, false, self.session) {
            Decided::Separable(v) => self.rounded(all, &v),
            _ => Answer::Undecided,
        }
    }

    fn rounded(&self, rows: &[usize], v: &[BigInt]) -> Answer {
        match rational::rounded(&self.signed, rows, v) {
            Some(plane) => Answer::Separable(plane, self.hulls()),
            None => self.exactly(&whole_numbers(v)),
        }
    }
}

/// Coordinates in which all columns are alike, if their sizes are not too different for that: then the search also
/// finds the largest margin. Else each column has its own.
fn frame<'a>(signed: Signed<'a>, ranges: &Ranges) -> Frame<'a> {
    let frame = Frame::new(signed, ranges, Scaling::Each);
    if frame.spread() <= ALIKE {
        Frame::new(signed, ranges, Scaling::Alike)
    } else {
        frame
    }
}

fn whole_numbers(v: &[BigInt]) -> Vec<BigRational> {
    v.iter().map(|x| BigRational::from_integer(x.clone())).collect()
}

fn rows_of(multipliers: &[(usize, f64)]) -> Vec<usize> {
    multipliers.iter().map(|&(i, _)| i).collect()
}

fn threshold_plane(threshold: Threshold, features: usize) -> Hyperplane {
    let mut plane = Hyperplane::zero(features);
    plane.weights[threshold.column] = threshold.sign;
    plane.intercept = -threshold.sign * threshold.at;
    plane
}

/// The nearest doubles, the largest of them near 1.
fn nearest(v: &[BigRational], intercept: bool) -> Hyperplane {
    use num_traits::ToPrimitive;
    let integers = exact::cleared(v);
    let shift = integers
        .iter()
        .map(BigInt::bits)
        .max()
        .unwrap_or_default()
        .saturating_sub(900);
    let mut values: Vec<f64> = integers
        .iter()
        .map(|x| (x >> shift).to_f64().unwrap_or_default())
        .collect();
    let largest = values.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    values.iter_mut().for_each(|v| *v /= largest);
    let last = if intercept {
        values.pop().unwrap_or_default()
    } else {
        0.0
    };
    Hyperplane::new(values, last)
}

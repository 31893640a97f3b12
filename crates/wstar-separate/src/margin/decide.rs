//! Deciding separability: remove separating columns, search for a hyperplane, reduce to a face.
//!
//! Every verdict comes with its proof. The proof is exact unless the time for exact weights is spent. Where
//! floating point cannot decide, the integer methods of [`decide_exactly`] do.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;

use crate::exact::{self, Circuit, ExactOutcome, Plane, Signed};
use crate::margin::column_ranges::Ranges;
use crate::margin::coordinates::{Frame, Scaling};
use crate::margin::decide_exactly;
use crate::margin::decide_exactly::{Decided, separates};
use crate::margin::dual_ascent::{Ascent, Measured};
use crate::margin::facial_reduction;
use crate::margin::facial_reduction::Reduced;
use crate::margin::row_working_set::{RowSearch, SearchResult};
use crate::margin::search_budget::Session;
use crate::margin::separating_columns::{RemainingRows, Threshold, remove_separated_rows};
use crate::proof::{Combination, Hulls, Normal};
use wstar_data::linear::Hyperplane;
use wstar_numeric::dense::squared_norm;

/// Cap: the exact fallback is not attempted with more coordinates than this; the verdict is then undecided.
const MAX_EXACT_WIDTH: usize = 400;

/// Largest ratio of two column scales at which all columns share one scale. Heuristic: trades conditioning
/// for solving the maximum-margin problem directly; not measured yet.
const MAX_SCALE_RATIO: f64 = 1024.0;
/// Cap: beyond this many matrix entries the dense active-set search is replaced by dual ascent.
const MAX_ENTRIES: usize = 1 << 24;
/// Rounds of dual ascent without a separating hyperplane before a circuit is searched. Heuristic: trades
/// time on separable data for time on inseparable data; not measured yet.
const MAX_FRUITLESS_ROUNDS: usize = 25;
/// Relative gap of the margin at which dual ascent stops. Heuristic: trades accuracy of the margin for
/// time; not measured yet.
const ASCENT_GAP: f64 = 1e-6;

/// Whether the working set and the factor of its active set fit into `MAX_ENTRIES`. Heuristic: a working set is
/// expected to have at most 3000 rows more than coordinates; not measured yet.
pub(super) fn fits_in_memory(dimension: usize, rows: usize) -> bool {
    dimension.saturating_mul(rows.min(dimension + 3000)) <= MAX_ENTRIES
}

/// A verdict with its proof.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// A separating hyperplane, and points of the two hulls that bound the margin.
    Separable(Hyperplane, Hulls),
    /// A separating hyperplane that doubles cannot represent, its rounding to doubles, and points of the
    /// hulls.
    SeparableExactly(Normal, Hyperplane, Hulls),
    /// A weakly separating hyperplane, its rounding to doubles, and a vanishing combination.
    Quasi(Normal, Hyperplane, Combination),
    /// A vanishing combination on points that span all rows, and vectors orthogonal to all rows.
    Inseparable(Combination, Vec<Vec<BigInt>>),
    /// The search was stopped, or the methods tried do not decide the problem.
    Undecided,
}

/// The state of one decision.
pub(super) struct Decision<'a, 's, 'w> {
    pub(super) signed: Signed<'a>,
    /// The multipliers of the last successful search. They define the closest known points of the two
    /// hulls.
    pub(super) multipliers: Vec<(usize, f64)>,
    /// Whether a separable set needs the maximum-margin hyperplane.
    pub(super) largest: bool,
    pub(super) session: &'s mut Session<'w>,
}

impl Decision<'_, '_, '_> {
    /// Decides for all rows that take part.
    pub(super) fn decide(&mut self) -> Answer {
        let all: Vec<usize> = self.signed.participants().collect();
        if self.signed.intercept {
            return self.decide_rows(all);
        }
        // A row of zeros lies on every hyperplane through the origin; by itself it is a vanishing
        // combination.
        let (rows, zeros): (Vec<usize>, Vec<usize>) = all.into_iter().partition(|&i| self.has_entries(i));
        let Some(&zero) = zeros.first() else {
            return self.decide_rows(rows);
        };
        let alone = Combination::exact(&Circuit {
            points: vec![zero as u64],
            weights: vec![BigRational::one()],
        });
        if rows.is_empty() {
            return self.spanning(alone).unwrap_or(Answer::Undecided);
        }
        self.largest = false;
        match self.decide_rows(rows) {
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

    /// Decides for the rows in `all`; all other rows lie on every hyperplane.
    fn decide_rows(&mut self, all: Vec<usize>) -> Answer {
        let remaining = remove_separated_rows(&self.signed, all.clone(), &mut || self.session.stop());
        let fits = |ranges: &Ranges, rows: usize| {
            fits_in_memory(ranges.distinguishing(self.signed.intercept).len() + 1, rows)
        };
        if !fits(&remaining.ranges, remaining.rows.len()) {
            return self.decide_by_ascent(&all, &remaining);
        }
        if remaining.removed == 0 {
            return self.decide_remaining(&remaining);
        }
        let exact_fallback =
            |decision: &mut Self, initial: &[usize]| decision.exact_fallback(&all, &remaining, initial);
        let mut support = Vec::new();
        if !remaining.rows.is_empty() {
            let frame = frame(self.signed, &remaining.ranges);
            let mut search = RowSearch::new(frame, &remaining.rows);
            match search.decide(self.session) {
                SearchResult::Circuit(circuit) => {
                    if let Some(answer) = self.weak_column(&remaining, self.combination(&circuit)) {
                        return answer;
                    }
                    return exact_fallback(self, search.working_rows());
                }
                SearchResult::Separates => support = rows_of(&search.multipliers()),
                SearchResult::Stopped => return Answer::Undecided,
                SearchResult::Inaccurate | SearchResult::NoOpenRows => {
                    return exact_fallback(self, search.working_rows());
                }
            }
        }
        // The remaining rows are separable, and therefore all rows are.
        let ranges = Ranges::of(&self.signed, &all);
        if !fits_in_memory(ranges.distinguishing(self.signed.intercept).len() + 1, all.len()) {
            return self.decide_by_ascent(&all, &remaining);
        }
        let mut search = RowSearch::new(frame(self.signed, &ranges), &all);
        search.add_rows(&support);
        match search.decide(self.session) {
            SearchResult::Separates => {
                if let Some(answer) = self.strictly(&search, &all, &ranges) {
                    return answer;
                }
                exact_fallback(self, search.working_rows())
            }
            SearchResult::Stopped => Answer::Undecided,
            _ => exact_fallback(self, search.working_rows()),
        }
    }

    /// Decides where no column separates weakly by itself.
    fn decide_remaining(&mut self, remaining: &RemainingRows) -> Answer {
        let mut search = RowSearch::new(frame(self.signed, &remaining.ranges), &remaining.rows);
        let working = |search: &RowSearch<'_>| search.working_rows().to_vec();
        match search.decide(self.session) {
            SearchResult::Separates => {
                if let Some(answer) = self.strictly(&search, &remaining.rows, &remaining.ranges) {
                    return answer;
                }
                self.exact_fallback(&remaining.rows, remaining, &working(&search))
            }
            SearchResult::Circuit(first) => {
                let initial = working(&search);
                match facial_reduction::reduce(&mut search, &first, self.session) {
                    Reduced::Overlap(hint) => self.combination(&hint).and_then(|c| self.spanning(c)),
                    Reduced::Weakly(face) => self.weakly(&face, &first, &search.hyperplane()),
                    Reduced::Inaccurate => None,
                    Reduced::Stopped => return Answer::Undecided,
                }
                .unwrap_or_else(|| self.exact_fallback(&remaining.rows, remaining, &initial))
            }
            SearchResult::Inaccurate => self.exact_fallback(&remaining.rows, remaining, &working(&search)),
            SearchResult::NoOpenRows | SearchResult::Stopped => Answer::Undecided,
        }
    }

    /// Decides where there are too many columns for a dense factor. Dual ascent finds a hyperplane, or a
    /// circuit is searched among the rows with the largest multipliers. Overlap of all rows is not decided,
    /// because the span of so many columns is too expensive to compute.
    fn decide_by_ascent(&mut self, all: &[usize], remaining: &RemainingRows) -> Answer {
        let mut ascent = Ascent::new(self.signed, all);
        let mut best: Option<Measured> = None;
        for round in 0.. {
            let measured = ascent.round(self.largest, self.session);
            // Heuristic: a decrease by less than a tenth counts as none; not measured yet.
            let better = best.as_ref().is_none_or(|best| measured.gap() < 0.9 * best.gap());
            if measured.lower > 0.0 && separates(&self.signed, all, &measured.plane) {
                if better {
                    self.multipliers = ascent.multipliers();
                }
                let near =
                    !self.largest || measured.gap() <= ASCENT_GAP || !better && round > MAX_FRUITLESS_ROUNDS;
                best = Some(measured);
                if near {
                    break;
                }
            } else if round > MAX_FRUITLESS_ROUNDS && best.is_none() {
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
        grown.retain(|&(i, _)| remaining.rows.binary_search(&i).is_ok());
        grown.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        // Heuristic: 64 rows at first, then four times as many: the time of one search against the number of
        // searches; not measured yet.
        let mut count = 64;
        loop {
            let mut rows: Vec<usize> = grown.iter().take(count).map(|&(i, _)| i).collect();
            rows.sort_unstable();
            let ranges = Ranges::of(&self.signed, &rows);
            let dimension = ranges.distinguishing(self.signed.intercept).len() + 1;
            if ranges.rows().contains(&0) && self.signed.intercept || !fits_in_memory(dimension, rows.len()) {
                return Answer::Undecided;
            }
            let mut search = RowSearch::new(Frame::new(self.signed, &ranges, Scaling::Each), &rows);
            if let SearchResult::Circuit(circuit) = search.decide(self.session)
                && let Some(combination) = self.combination(&circuit)
            {
                let weak = self.weak_column(remaining, Some(combination.clone()));
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

    /// The exact combination near `hint`; the weights of `hint` as decimals if the time is spent; `None` if
    /// there is no exact one.
    fn combination(&self, hint: &[(usize, f64)]) -> Option<Combination> {
        let (rows, weights): (Vec<usize>, Vec<f64>) = hint.iter().copied().unzip();
        match exact::circuit::circuit(&self.signed, &rows, &weights, &self.session.exact_budget()) {
            ExactOutcome::Found(circuit) => Some(Combination::exact(&circuit)),
            ExactOutcome::Absent => None,
            ExactOutcome::BudgetSpent => {
                let decimal: Vec<(u64, f64)> = hint.iter().map(|&(i, l)| (i as u64, l)).collect();
                Some(Combination::decimal(&decimal))
            }
        }
    }

    /// The quasi-separable verdict of the first separating column and a vanishing combination.
    fn weak_column(&self, remaining: &RemainingRows, combination: Option<Combination>) -> Option<Answer> {
        let plane = threshold_plane(remaining.first?, self.signed.design.features());
        let normal = Normal::from(&plane);
        Some(Answer::Quasi(normal, plane, combination?))
    }

    /// The hyperplane of a successful search, if exact signs confirm it. If `largest` is set, it is the
    /// maximum-margin hyperplane.
    fn strictly(&mut self, search: &RowSearch<'_>, rows: &[usize], ranges: &Ranges) -> Option<Answer> {
        let plane = search.hyperplane();
        let first = separates(&self.signed, rows, &plane);
        self.multipliers = search.multipliers();
        if !search.frame.is_uniform() && (self.largest || !first) {
            let mut second = RowSearch::new(Frame::new(self.signed, ranges, Scaling::Alike), rows);
            second.add_rows(&rows_of(&self.multipliers));
            if second.decide(self.session) == SearchResult::Separates {
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
        decide_exactly::separates_exactly(&self.signed, rows, &integers).then(|| self.exactly(&exact))
    }

    fn exactly(&self, plane: &[BigRational]) -> Answer {
        let intercept = self.signed.intercept;
        let normal = Normal::from_rationals(plane, intercept);
        Answer::SeparableExactly(normal, nearest(plane, intercept), self.hulls())
    }

    /// The hull points given by the multipliers. A class without multipliers contributes its first row.
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

    /// The inseparable verdict, if the points of the combination span the same space as all rows.
    fn spanning(&self, combination: Combination) -> Option<Answer> {
        let points: Vec<usize> = combination.points.iter().map(|&i| i as usize).collect();
        let (rank, width) = (exact::rank_at_least(&self.signed, &points), self.signed.width());
        let mut orthogonal = Vec::new();
        if rank < width {
            orthogonal = exact::null_vectors(&self.signed, &self.session.exact_budget()).found()?;
        }
        (rank + orthogonal.len() == width).then_some(Answer::Inseparable(combination, orthogonal))
    }

    /// The quasi-separable verdict from a vector near `plane` that vanishes exactly on the face, and the
    /// first circuit.
    fn weakly(&self, face: &[usize], first: &[(usize, f64)], plane: &Hyperplane) -> Option<Answer> {
        let combination = self.combination(first)?;
        let mut guess = plane.lifted();
        if !self.signed.intercept {
            guess.pop();
        }
        // `exact::vanishing` keeps the coordinates of the guess that it does not solve for, so only the
        // scale of the guess may change here.
        let size = squared_norm(&guess).sqrt();
        guess.iter_mut().for_each(|g| *g /= size);
        let v = exact::vanishing(&self.signed, face, &guess, &self.session.exact_budget()).found()?;
        self.weak_answer(v, combination)
    }

    /// The quasi-separable verdict of `v`, if `aᵢ·v ≥ 0` for all rows and `aᵢ·v > 0` for some.
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

    /// Decides in exact arithmetic, starting from the rows of `initial`.
    fn exact_fallback(&mut self, all: &[usize], remaining: &RemainingRows, initial: &[usize]) -> Answer {
        if self.signed.width() > MAX_EXACT_WIDTH || self.session.stop() {
            return Answer::Undecided;
        }
        let whole = remaining.removed == 0;
        if !remaining.rows.is_empty() {
            let initial: Vec<usize> = initial
                .iter()
                .copied()
                .filter(|i| remaining.rows.binary_search(i).is_ok())
                .collect();
            match decide_exactly::decide(&self.signed, &remaining.rows, &initial, whole, self.session) {
                Decided::Separable(v) if whole => return self.rounded(all, &v),
                Decided::Separable(_) => {}
                Decided::Circuit(circuit) => {
                    return self
                        .weak_column(remaining, Some(Combination::exact(&circuit)))
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
        match decide_exactly::decide(&self.signed, all, initial, false, self.session) {
            Decided::Separable(v) => self.rounded(all, &v),
            _ => Answer::Undecided,
        }
    }

    fn rounded(&self, rows: &[usize], v: &[BigInt]) -> Answer {
        match decide_exactly::rounded(&self.signed, rows, v) {
            Some(plane) => Answer::Separable(plane, self.hulls()),
            None => self.exactly(&whole_numbers(v)),
        }
    }
}

/// Coordinates with one common scale if the column scales differ by at most `MAX_SCALE_RATIO`; the search
/// then also finds the maximum margin. Otherwise every column gets its own scale.
fn frame<'a>(signed: Signed<'a>, ranges: &Ranges) -> Frame<'a> {
    let frame = Frame::new(signed, ranges, Scaling::Each);
    if frame.spread() <= MAX_SCALE_RATIO {
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

/// `v` rounded to doubles and scaled so that the largest entry is near 1.
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

//! The gap of softmax.
//!
//! **Multipliers.** In each row the shares of the dual point are p'_k = s_k/c, where the s_k ≥ 0 are multiples of the unit in the last
//! place of c, and their sum is c. So all partial sums are exact in doubles, and α_k = [k = y]·c − s_k are doubles that sum to 0.
//! They are multiples of 2⁻⁵¹⁸, as c is at least 10⁻¹⁴⁰, so their products with entries are exact in two doubles.
//!
//! **Lemma (moves).** Let s_ik = ν_k·x̃ᵢ − Σ_l p'_l ν_l·x̃ᵢ with ν of `constraint.rs`, and |s| ≤ g ≤ ½. Then p'' = p'(1 + s) is feasible, and
//! ΣcKL(p''‖p) ≤ ΣcKL(p'‖p) + ½(1 + g)·rᵀH⁻¹r + g·Σᵢcᵢ Σₖ p'_k·abs(log(p'_k/p_k)).
//! *Proof.* α changes by −cp's, so X̃_Eᵀα changes by −Hν = −r; Σₖp's = 0. KL(p''‖p) = KL(p''‖p') + KL(p'‖p) + Σp's·log(p'/p). The first term is
//! Σp'φ(s) ≤ ½(1 + g)Σp's², and Σᵢcᵢ Σₖp's² = νᵀHν. ∎
//!
//! |log(1 + ω)| ≤ |ω|(1 + 2|ω|) for |ω| ≤ ½. Otherwise p'·|log(p'/p)| ≤ p'·log(1/p) + p/e.

use crate::arithmetic::{Interval, IntervalSum, ONE, gamma};
use crate::bound::{Choice, Gap, conclude};
use crate::constraint::Constraints;
use crate::defect::entropy_term;
use crate::elementary::{exp_of_negative, log1p};
use crate::linear::dot;
use crate::mutant::{self, Mutant};
use crate::problem::Subproblem;
use crate::products::{ColumnSums, Score};

/// The scores of a row as intervals, and what follows from them.
pub(crate) struct RowScores {
    /// A class with a large score.
    top: usize,
    /// z_k − z_top.
    differences: Vec<Interval>,
    /// p.
    pub(crate) shares: Vec<Interval>,
    /// Σ_{k≠top} e^(z_k − z_top).
    rest: Interval,
}

impl RowScores {
    pub(crate) fn new(sub: &Subproblem<'_>, i: usize, point: &[f64]) -> RowScores {
        let (problem, row) = (&sub.problem, sub.design.row(i));
        let score = |w| Score::new(row, problem.features, w).residual(0.0, -1.0);
        let scores: Vec<Interval> = problem.blocks(point).map(score).collect();
        let larger = |&a: &usize, &b: &usize| scores[a].middle().total_cmp(&scores[b].middle());
        let top = (0..scores.len()).max_by(larger).unwrap_or(0);
        let differences: Vec<Interval> = scores.iter().map(|&z| z - scores[top]).collect();
        // The score of the top class need not be the largest real number: e^w ≤ 1 + 2w for 0 ≤ w ≤ 1.
        let power = |(k, &d): (usize, &Interval)| match (k == top, d.hi) {
            (true, _) => ONE,
            (_, ..=0.0) => exp_of_negative(d),
            (_, ..=1.0) => Interval::new(exp_of_negative(d).lo, (1.0 + 2.0 * d.hi).next_up()),
            _ => Interval::WHOLE,
        };
        let powers: Vec<Interval> = differences.iter().enumerate().map(power).collect();
        let others = (0..powers.len()).filter(|&k| k != top);
        let rest: Interval = others.map(|k| powers[k]).sum();
        let shares = powers.iter().map(|&power| power / (ONE + rest)).collect();
        RowScores {
            top,
            differences,
            shares,
            rest,
        }
    }

    /// log Σe^z − z_y.
    fn value(&self, y: usize) -> Interval {
        log1p(self.rest) - self.differences[y]
    }

    /// An upper bound of log(1/p_k): Σe^z ≤ 3K·e^(z_top).
    fn log_inverse(&self, k: usize) -> f64 {
        self.differences[k].abs().hi + (3.0 * self.shares.len() as f64).log2().ceil()
    }

    /// The numbers s_k near c·p_k, corrected by directions. That of the top class is negative if they do not sum to c.
    fn multiples(&self, sub: &Subproblem<'_>, i: usize, directions: &[&[f64]]) -> Vec<f64> {
        let (c, problem) = (sub.weights[i], &sub.problem);
        let mut shares: Vec<f64> = self.shares.iter().map(|p| p.middle()).collect();
        for v in directions {
            let along = |v| sub.design.row(i).along(problem.features, v);
            let t: Vec<f64> = problem.blocks(v).map(along).collect();
            let mean = dot(&t, &shares);
            if t.iter().all(|t| (t - mean).abs() < 0.5) {
                shares.iter_mut().zip(&t).for_each(|(p, t)| *p += *p * (t - mean));
            }
        }
        let unit = c.next_up() - c;
        let multiple = |p: f64| (c * p / unit).round().max(0.0) * unit;
        shares.iter_mut().for_each(|p| *p = multiple(*p));
        shares[self.top] = 0.0;
        shares[self.top] = c - shares.iter().sum::<f64>();
        shares
    }
}

/// c(diag p − ppᵀ) for the first classes; c·p_k(1 − p_k) is computed as c·p_k·Σ_{l≠k} p_l, a sum of positive terms. The relative error
/// is at most γ_{K+8} besides that of the p.
pub(crate) fn curvature(c: f64, p: &[f64], classes: usize) -> Vec<f64> {
    let others = |k: usize| (0..p.len()).filter(|&l| l != k).map(|l| p[l]).sum::<f64>();
    let entry = |k: usize, l: usize| c * p[k] * if k == l { others(k) } else { -p[l] };
    let row = |k| (0..classes).map(move |l| entry(k, l));
    (0..classes).flat_map(row).collect()
}

/// The bound, and the correction that could improve it.
pub(crate) fn attempt(
    sub: &Subproblem<'_>,
    point: &[f64],
    choice: Choice<'_>,
) -> Option<(Gap, Option<Vec<f64>>)> {
    let (classes, width, features) = (sub.problem.outputs, sub.problem.width(), sub.problem.features);
    let mut constraints = Constraints::new(sub, classes - 1)?;
    let directions: Vec<&[f64]> = choice.newton.into_iter().chain(choice.correction).collect();
    let mut sums = vec![ColumnSums::new(width); classes];
    let (mut rows, mut logs) = (Interval::ZERO, Interval::ZERO);
    let mut total = IntervalSum::default();
    let mut recorded = Vec::new();
    for i in sub.rows() {
        let (row, c, y) = (sub.design.row(i), sub.weights[i], sub.targets[i] as usize);
        let (scores, weight) = (RowScores::new(sub, i, point), Interval::point(c));
        let multiples = scores.multiples(sub, i, &directions);
        total.add(weight * scores.value(y));
        for (k, (&s, sums)) in multiples.iter().zip(&mut sums).enumerate() {
            let (p, p_dual) = (scores.shares[k], Interval::point(s) / weight);
            let far = scores.log_inverse(k);
            let infeasible = if s >= 0.0 { Interval::ZERO } else { Interval::WHOLE };
            rows = rows + weight * entropy_term(p_dual, p, far) + infeasible;
            logs = logs + weight * log_term(p_dual, p, far);
            let alpha = if k == y { c - s } else { -s };
            sums.add(row, features, alpha);
            if cfg!(test) {
                recorded.push(if k == scores.top { f64::NAN } else { alpha });
            }
        }
        let shares: Vec<f64> = multiples.iter().map(|s| s / c).collect();
        constraints.add(row, &curvature(c, &shares, classes - 1), c);
    }
    let moved = constraints.moves(&sums, gamma(classes + 8));
    let range = moved.as_ref().map_or(Interval::WHOLE, |moved| moved.range);
    let small = range.hi <= 0.5 || mutant::is(Mutant::NoRange);
    rows = match moved.as_ref().filter(|_| small) {
        Some(_) if mutant::is(Mutant::NoMoves) => rows,
        Some(moved) => rows + 0.5 * (ONE + range) * moved.lambda.square() + range * logs,
        None => Interval::WHOLE,
    };
    let columns = constraints.moved(&sums, range);
    let gap = conclude(sub, point, total.interval(), rows, &columns);
    #[cfg(test)]
    crate::recorder::record(sub, (recorded, Vec::new()), &gap);
    Some((gap, moved.map(|moved| moved.direction)))
}

/// An upper bound of p'·|log(p'/p)|.
fn log_term(p_dual: Interval, p: Interval, log_inverse: f64) -> Interval {
    let size = (p_dual / p - ONE).abs().hi;
    let size_interval = Interval::new(0.0, size);
    match size <= 0.5 {
        true => p_dual * size_interval * (ONE + 2.0 * size_interval),
        false => p_dual * Interval::point(log_inverse) + 0.37 * p,
    }
}

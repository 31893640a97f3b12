//! The gap of softmax.
//!
//! **Multipliers.** In each row let t be a class with a large score. For k ≠ t the multiplier α_k is a double; α_t = −Σ_{k≠t} α_k is a real
//! number, which two doubles approximate with a counted error. The shares of the dual point are p'_k = [k = y] − α_k/c.
//!
//! **Lemma (moves).** Let E be the constrained columns (the intercept, or all), H = Σ c(diag p' − p'p'ᵀ)⊗x̃_Ex̃_Eᵀ without the last class,
//! r the products X̃_Eᵀα, ν = H⁻¹r (0 for the last class), s_ik = ν_k·x̃ᵢ − Σ_l p'_l ν_l·x̃ᵢ, and |s| ≤ g ≤ ½. Then p'' = p'(1 + s) is feasible, and
//! ΣcKL(p''‖p) ≤ ΣcKL(p'‖p) + ½(1 + g)·rᵀH⁻¹r + g·Σᵢcᵢ Σₖ p'_k·abs(log(p'_k/p_k)).
//! *Proof.* α changes by −cp's, so X̃_Eᵀα changes by −Hν = −r; Σₖp's = 0. KL(p''‖p) = KL(p''‖p') + KL(p'‖p) + Σp's·log(p'/p). The first term is
//! Σp'φ(s) ≤ ½(1 + g)Σp's², and Σᵢcᵢ Σₖp's² = νᵀHν. ∎ A column product moves by at most g·Σc|x|.
//!
//! |log(1 + ω)| ≤ |ω|(1 + 2|ω|) for |ω| ≤ ½. Otherwise p'·|log(p'/p)| ≤ p'·log(1/p) + p/e.

use crate::arithmetic::{Interval, IntervalSum, Sum, U, gamma};
use crate::bound::{Attempt, Choice, Gap, SMALLEST_MULTIPLIER, conclude, ends, penalty};
use crate::defect::entropy_term;
use crate::elementary::{exp_of_negative, log1p};
use crate::information::Information;
use crate::linear::{
    Frame, MOST_CONSTRAINTS, identity_defect, inverse_factor, norm_of_product, product, transposed_product,
};
use crate::mutant::{self, Mutant};
use crate::problem::{Intercept, Subproblem};
use crate::products::{ColumnSums, Score};

const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };

/// The scores of a row as intervals, and what follows from them.
pub(crate) struct RowScores {
    /// A class with a large score.
    pub(crate) top: usize,
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
        let width = problem.width();
        let score =
            |k: usize| Score::new(row, problem.features, &point[k * width..][..width]).residual(0.0, -1.0);
        let scores: Vec<Interval> = (0..problem.outputs).map(score).collect();
        let middles = scores.iter().map(|z| z.middle()).enumerate();
        let top = middles
            .fold(
                (0, f64::NEG_INFINITY),
                |best, next| if next.1 > best.1 { next } else { best },
            )
            .0;
        let differences: Vec<Interval> = scores.iter().map(|&z| z - scores[top]).collect();
        // The score of the top class need not be the largest real number: e^w ≤ 1 + 2w for 0 ≤ w ≤ 1.
        let power = |k: usize| match (k == top, differences[k]) {
            (true, _) => ONE,
            (_, d) if d.hi <= 0.0 => exp_of_negative(d),
            (_, d) if d.hi <= 1.0 => Interval::new(exp_of_negative(d).lo, (1.0 + 2.0 * d.hi).next_up()),
            _ => Interval::WHOLE,
        };
        let powers: Vec<Interval> = (0..problem.outputs).map(power).collect();
        let rest = (0..powers.len())
            .filter(|&k| k != top)
            .map(|k| powers[k])
            .sum::<Interval>();
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
        let log = if self.rest == Interval::WHOLE {
            self.rest
        } else {
            log1p(self.rest)
        };
        if y == self.top {
            log
        } else {
            log - self.differences[y]
        }
    }

    /// An upper bound of log(1/p_k): Σe^z ≤ 3K·e^(z_top).
    fn log_inverse(&self, k: usize) -> f64 {
        self.differences[k].abs().hi + (3.0 * self.shares.len() as f64).log2().ceil()
    }
}

/// The multipliers of a row: doubles but for one class.
struct RowDual {
    alpha: Vec<f64>,
    of_top: Sum,
    /// p', rounded.
    shares: Vec<f64>,
}

impl RowDual {
    /// Chooses the multipliers by the shares p̂, corrected by directions.
    fn new(sub: &Subproblem<'_>, i: usize, scores: &RowScores, directions: &[&[f64]]) -> RowDual {
        let (c, y, classes) = (sub.weights[i], sub.targets[i] as usize, sub.problem.outputs);
        let width = sub.problem.width();
        let mut shares: Vec<f64> = scores.shares.iter().map(|p| p.middle()).collect();
        for v in directions {
            let along = |k: usize| {
                let products = sub.design.row(i).entries().map(|(j, x)| v[k * width + j] * x);
                products.sum::<f64>()
                    + if width > sub.problem.features {
                        v[(k + 1) * width - 1]
                    } else {
                        0.0
                    }
            };
            let t: Vec<f64> = (0..classes).map(along).collect();
            let mean: f64 = t.iter().zip(&shares).map(|(t, p)| t * p).sum();
            if t.iter().all(|t| (t - mean).abs() < 0.5) {
                shares.iter_mut().zip(&t).for_each(|(p, t)| *p += *p * (t - mean));
            }
        }
        let mut alpha = vec![0.0; classes];
        let mut of_top = Sum::default();
        for k in (0..classes).filter(|&k| k != scores.top) {
            let size = c * shares[k];
            let size = if size > SMALLEST_MULTIPLIER { size } else { 0.0 };
            alpha[k] = if k == y { c - size } else { -size };
            shares[k] = if k == y { (c - alpha[k]) / c } else { size / c };
            of_top.add(alpha[k], -1.0);
        }
        shares[scores.top] = 1.0
            - (0..classes)
                .filter(|&k| k != scores.top)
                .map(|k| shares[k])
                .sum::<f64>();
        RowDual {
            alpha,
            of_top,
            shares,
        }
    }

    /// An interval that contains p'_k.
    fn share(&self, k: usize, top: usize, y: usize, c: f64) -> Interval {
        let alpha = match k == top {
            true => self.of_top.interval(self.alpha.len()),
            false => Interval::point(self.alpha[k]),
        };
        let c = Interval::point(c);
        (if k == y { c - alpha } else { -alpha }) / c
    }
}

/// One attempt.
pub(crate) fn attempt(sub: &Subproblem<'_>, point: &[f64], choice: Choice<'_>) -> Attempt {
    let (problem, design) = (&sub.problem, sub.design);
    let (classes, width, features) = (problem.outputs, problem.width(), problem.features);
    let penalized = problem.l1 > 0.0 || problem.l2 > 0.0;
    let free = penalized && problem.intercept == Intercept::Free;
    let frame = match penalized {
        true => None,
        false => Some(Frame::new(design, width, width > features, |i| sub.weights[i])),
    };
    // The constrained columns: all, the intercept, or none.
    let constrained = if penalized { usize::from(free) } else { width };
    if constrained * (classes - 1) > MOST_CONSTRAINTS {
        return Attempt {
            gap: Gap::UNPROVED,
            correction: None,
        };
    }
    let mut information = Information::new(classes - 1, constrained);
    let directions: Vec<&[f64]> = choice.newton.into_iter().chain(choice.correction).collect();
    let mut sums = vec![ColumnSums::new(width); classes];
    let (mut sizes, mut error) = (vec![0.0; width], Interval::ZERO);
    let (mut rows, mut logs) = (Interval::ZERO, Interval::ZERO);
    let mut total = IntervalSum::default();
    let mut x = vec![1.0; constrained];
    let mut recorded = Vec::new();
    for i in sub.rows() {
        let (row, c, y) = (design.row(i), sub.weights[i], sub.targets[i] as usize);
        let scores = RowScores::new(sub, i, point);
        let dual = RowDual::new(sub, i, &scores, &directions);
        total.add(c * scores.value(y));
        let weight = Interval::point(c);
        for (k, sums) in sums.iter_mut().enumerate() {
            let (p_dual, p, far) = (
                dual.share(k, scores.top, y, c),
                scores.shares[k],
                scores.log_inverse(k),
            );
            let inside = p_dual.lo >= 0.0 && dual.shares[scores.top] >= 0.2 / classes as f64;
            let term = if inside {
                entropy_term(p_dual, p, far)
            } else {
                Interval::WHOLE
            };
            rows = rows + weight * term;
            logs = logs + weight * log_term(p_dual, p, far);
            if k != scores.top {
                sums.add(row, features, dual.alpha[k]);
            }
        }
        sums[scores.top].add(row, features, dual.of_top.hi);
        sums[scores.top].add(row, features, dual.of_top.lo);
        error = error.max(Interval::new(0.0, dual.of_top.error(classes)) / weight);
        row.entries().for_each(|(j, x)| sizes[j] += (c * x).abs());
        if width > features {
            sizes[features] += c;
        }
        if let Some(frame) = &frame {
            frame.map(row, &mut x);
        }
        if constrained > 0 {
            information.add(c, &dual.shares, &x);
        }
        if cfg!(test) {
            recorded.extend((0..classes).map(|k| if k == scores.top { f64::NAN } else { dual.alpha[k] }));
        }
    }
    let total = total.interval();
    let primal = total + penalty(problem, point);
    let unproved = Gap {
        primal: ends(primal),
        ..Gap::UNPROVED
    };
    let sizes: Vec<Interval> = sizes
        .iter()
        .map(|&size| Interval::new(0.0, size * 1.01))
        .collect();
    let mut columns: Vec<Interval> = Vec::with_capacity(classes * width);
    for sums in &sums {
        columns.extend((0..width).map(|j| sums.interval(j).widened((error * sizes[j]).hi)));
    }
    let mut correction = None;
    if constrained > 0 {
        let Some(moves) = moves(
            &information,
            frame.as_ref(),
            &columns,
            &sums,
            &sizes,
            error,
            width,
        ) else {
            return Attempt {
                gap: unproved,
                correction: None,
            };
        };
        let (lambda, g) = (Interval::point(moves.lambda), Interval::point(moves.range));
        if !mutant::is(Mutant::NoMoves) {
            rows = rows + 0.5 * (ONE + g) * lambda.square() + g * logs;
        }
        if !mutant::is(Mutant::NoMovesOfColumns) {
            for (at, column) in columns.iter_mut().enumerate() {
                *column = column.widened((g * sizes[at % width]).hi);
            }
        }
        correction = Some(moves.direction);
    }
    let gap = conclude(sub, point, total, rows, &columns);
    #[cfg(test)]
    crate::recorder::record(recorded, &[], &gap);
    Attempt { gap, correction }
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

/// The bounds of the lemma, and ν.
struct Moves {
    /// An upper bound of √(rᵀH⁻¹r).
    lambda: f64,
    /// g.
    range: f64,
    direction: Vec<f64>,
}

/// Bounds the move onto the constraints; nothing if H is not proved to be nonsingular or g > ½.
fn moves(
    information: &Information,
    frame: Option<&Frame>,
    columns: &[Interval],
    sums: &[ColumnSums],
    sizes: &[Interval],
    error: Interval,
    width: usize,
) -> Option<Moves> {
    let classes = sums.len();
    let mut residual = Vec::with_capacity(information.order);
    for (k, sums) in sums[..classes - 1].iter().enumerate() {
        match frame {
            None => residual.push(columns[(k + 1) * width - 1]),
            Some(frame) => residual.extend(crate::constraint::framed(sums, frame).iter().enumerate().map(
                |(j, &r)| {
                    // The error of the top class's multipliers, in the frame's coordinates.
                    let shift = frame.shift.get(j).map_or(0.0, |m| m.abs());
                    let at_ones = sizes.last().map_or(Interval::ZERO, |&last| shift * last);
                    r.widened((frame.scale[j] * (error * (sizes[j] + at_ones))).hi)
                },
            )),
        }
    }
    // p' is rounded with a relative error of at most (K² + 8)u: only that of the top class, at least 1/(5K), is a difference.
    let shares_error = 10.0 * gamma(classes * classes + 8);
    let (h, order) = (&information.matrix, information.order);
    let r = inverse_factor(h, order)?;
    let epsilon = identity_defect(h, &r, order, information.rows, 4.0 * shares_error + 16.0 * U);
    let lambda = (Interval::point(norm_of_product(&r, &residual)) / (ONE - Interval::new(0.0, epsilon))).hi;
    let range = (Interval::point(information.largest_range(&r)) * Interval::point(lambda)).hi;
    let small = range <= 0.5 || mutant::is(Mutant::NoRange);
    if !small {
        return None;
    }
    let t: Vec<f64> = product(&r, &residual)
        .iter()
        .map(|entry| entry.middle())
        .collect();
    let n = transposed_product(&r, &t);
    let mut direction = vec![0.0; classes * width];
    for (k, n) in n.chunks_exact(order / (classes - 1)).enumerate() {
        match frame {
            None => direction[(k + 1) * width - 1] = n[0],
            Some(frame) => direction[k * width..][..width].copy_from_slice(&frame.direction(n)),
        }
    }
    Some(Moves {
        lambda,
        range,
        direction,
    })
}

//! Proved digits where the objective has kinks: the active set is proved, and with it the optimum. Every inequality below is
//! strict, so degenerate problems are not proved.
//!
//! **Pure ℓ1 and elastic net, smooth losses.** Let A be the columns with w ≠ 0, with signs s. θ*_A minimises the smooth objective
//! P_A(θ) + l1·Σ s_jw_j of these columns alone; `digits.rs` encloses it. If s_jw*_j > 0 for all penalised j ∈ A, and |uⱼ| < l1 for all others,
//! where u = Xᵀα at θ*, then (θ*_A, 0) satisfies the subgradient conditions. It is the only optimum: the gradient of the
//! smooth part is the same at all optima, so uⱼ is, and |uⱼ| < l1 makes wⱼ = 0; on A the minimiser is unique. α* differs from
//! α(θ) by at most L·|x̃·(θ* − θ)|, where L bounds cℓ'': c, c/4 (logistic), 2c (squared hinge, modified Huber).
//!
//! **Hinge, absolute and quantile loss, without ℓ1.** Let F be rows with h = 0, and let the others have α at the end of its range by the
//! sign of h. With Λ = l2 for the penalised columns and 0 otherwise, the optimality conditions are the linear system Λθ − X̃_Fᵀα_F =
//! Σ_{others} αᵢx̃ᵢ, X̃_Fθ = z_F with the scores z at h = 0, together with α_F inside its range and the signs of h as assumed. If its matrix is
//! nonsingular and all these inequalities are strict, θ* is the only optimum. *Proof.* At every optimum θ the same α* satisfies Fenchel's
//! equality in each row and column, so h = 0 on F and Λθ = X̃ᵀα*: θ and α* satisfy the same system. ∎ Without a penalty F has as many rows
//! as there are parameters: a vertex.
//!
//! **Lemma (linear systems).** Let N be a square matrix, B any matrix of doubles, q ≥ ‖I − BN‖_∞, q < 1. Then N is nonsingular, and the
//! solution of Nx = f satisfies |x − x̂ − Br| ≤ q/(1 − q)·‖Br‖_∞ in each component, with r = f − Nx̂. *Proof.* x − x̂ = (BN)⁻¹Br, and
//! (BN)⁻¹ − I = (I − BN)(BN)⁻¹. ∎ I − BN is computed with an error of at most γ_{m+2}|B||N|, element by element.

use crate::arithmetic::{Interval, ONE, gamma, larger};
use crate::defect::{ends, range, residual_of};
use crate::design::Design;
use crate::digits::{Digits, Settled, settle};
use crate::linear::{add_multiple, power_of_two};
use crate::mutant::{self, Mutant};
use crate::problem::{Intercept, Loss, Problem, Subproblem};
use crate::products::{ColumnSums, Score};
use crate::row_slope::RowSlope;

/// Cap: with more unknowns nothing is proved.
const MOST_UNKNOWNS: usize = 1500;

/// Proves the active set near a point, and encloses the optimum. The standard errors are absent.
pub(crate) fn prove(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    if !sub.is_admissible(point) || point.is_empty() {
        return None;
    }
    match (sub.problem.loss, sub.problem.l1 > 0.0) {
        (Loss::Hinge | Loss::Absolute | Loss::Quantile(_), false) => kinked(sub, point),
        (Loss::Hinge | Loss::Absolute | Loss::Quantile(_) | Loss::Softmax, _) | (_, false) => None,
        _ => sparse(sub, point),
    }
}

/// Whether a strict inequality a < b is proved.
fn less(a: f64, b: f64) -> bool {
    a < b || mutant::is(Mutant::NoStrictness)
}

/// Smooth losses with ℓ1.
fn sparse(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    let (problem, width) = (&sub.problem, sub.problem.width());
    let features = problem.features;
    let intercept = match problem.intercept {
        // A penalised intercept is one of the columns, or absent if it is 0.
        Intercept::Penalized if point[features] == 0.0 => Intercept::Absent,
        other => other,
    };
    let mut chosen: Vec<usize> = (0..features).filter(|&j| point[j] != 0.0).collect();
    let design = restrict(sub.design, &chosen);
    chosen.extend((intercept != Intercept::Absent).then_some(features));
    if chosen.len() > MOST_UNKNOWNS {
        return None;
    }
    let features_of_chosen = design.features;
    let of_chosen = Subproblem {
        problem: Problem {
            l1: 0.0,
            intercept,
            features: features_of_chosen,
            ..problem.clone()
        },
        design: &design,
        ..*sub
    };
    let sign = |j: usize| f64::from(u8::from(problem.penalizes(j))) * point[j].signum();
    let linear: Vec<f64> = chosen.iter().map(|&j| problem.l1 * sign(j)).collect();
    let start: Vec<f64> = chosen.iter().map(|&j| point[j]).collect();
    let settled = match chosen.is_empty() {
        true => Settled::default(),
        false => settle(&of_chosen, &start, &linear)?,
    };
    let (centre, radius) = (vec![(0.0, 0.0); width], vec![0.0; width]);
    let mut digits = Digits {
        centre,
        radius,
        standard_errors: None,
    };
    let mut proved = true;
    for (at, &j) in chosen.iter().enumerate() {
        let ((high, low), radius) = (settled.digits.centre[at], settled.digits.radius[at]);
        let coefficient = Interval::point(high) + Interval::point(low).widened(radius);
        proved &= !problem.penalizes(j) || less(0.0, (sign(j) * coefficient).lo);
        (digits.centre[j], digits.radius[j]) = ((high, low), radius);
    }
    // u of the other columns at θ*.
    let mut sums = ColumnSums::new(width);
    let mut errors = vec![0.0; width];
    for i in sub.rows() {
        let (row, c) = (sub.design.row(i), sub.weights[i]);
        let (high, low, error) = RowSlope::new(&of_chosen, i, &settled.theta).slopes[0];
        sums.add(row, features, high);
        sums.add(row, features, low);
        let steepness = match problem.loss {
            Loss::Squared => c,
            Loss::Logistic => 0.25 * c,
            _ => 2.0 * c,
        };
        let error = (error + steepness * settled.reach) * 1.01;
        row.entries().for_each(|(j, x)| errors[j] += (error * x).abs());
        errors.iter_mut().skip(features).for_each(|sum| *sum += error);
    }
    let inactive = (0..width).filter(|j| !chosen.contains(j));
    let bound = |j: usize| {
        sums.interval(j)
            .widened(errors[j] * 1.01 + f64::MIN_POSITIVE)
            .abs()
            .hi
    };
    proved &= inactive.map(bound).all(|u| less(u, problem.l1));
    proved.then_some(digits)
}

/// The design with some of its columns.
fn restrict(design: &Design, active: &[usize]) -> Design {
    let mut position = vec![None; design.features];
    (0..active.len()).for_each(|at| position[active[at]] = Some(at));
    let mut kept = Design::empty(active.len());
    for i in 0..design.rows() {
        for (j, x) in design.row(i).entries() {
            if let Some(at) = position[j] {
                kept.put(at, x, !design.columns.is_empty());
            }
        }
        kept.end_row();
    }
    kept
}

/// Losses with kinks.
fn kinked(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    let (problem, loss, width) = (&sub.problem, sub.problem.loss, sub.problem.width());
    let features = problem.features;
    let residual = |i: usize| {
        let (t, s, _) = residual_of(loss, sub.targets[i]);
        let score = Score::new(sub.design.row(i), features, point);
        (i, score.residual(t, s).middle())
    };
    let mut rows: Vec<(usize, f64)> = sub.rows().map(residual).collect();
    rows.sort_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    // With a penalty F ends where the residuals grow most.
    let size = |m: usize| rows.get(m).map_or(f64::INFINITY, |row| row.1.abs());
    let growth = |m: usize| size(m) / size(m - 1).max(1e-300);
    let most = rows.len().min(width);
    let count = match problem.l2 > 0.0 {
        true => (1..=most).max_by(|&a, &b| growth(a).total_cmp(&growth(b)))?,
        false => Some(width).filter(|_| width == most)?,
    };
    let ((active, others), m) = (rows.split_at(count), width + count);
    if m > MOST_UNKNOWNS {
        return None;
    }
    // The unknowns are θ, then α_F.
    let (mut n, mut f) = (vec![Interval::ZERO; m * m], vec![Interval::ZERO; m]);
    for (at, &(i, _)) in (width..).zip(active) {
        let (t, s, _) = residual_of(loss, sub.targets[i]);
        f[at] = Interval::point(s * t);
        let ones = (width > features).then_some((features, 1.0));
        for (j, x) in sub.design.row(i).entries().chain(ones) {
            (n[at * m + j], n[j * m + at]) = (Interval::point(x), Interval::point(-x));
        }
    }
    let (mut sums, mut errors) = (ColumnSums::new(width), vec![0.0; width]);
    for &(i, h) in others {
        let (row, sign) = (sub.design.row(i), residual_of(loss, sub.targets[i]).2);
        let (below, above) = ends(loss, sub.weights[i]);
        let alpha = sign * if h > 0.0 { above } else { -below };
        sums.add(row, features, alpha.middle());
        row.entries()
            .for_each(|(j, x)| errors[j] += (alpha.radius() * x).abs());
        errors[features..]
            .iter_mut()
            .for_each(|sum| *sum += alpha.radius());
    }
    for j in 0..width {
        f[j] = sums.interval(j).widened(errors[j] * 1.01 + f64::MIN_POSITIVE);
        n[j * m + j] = Interval::point(if problem.penalizes(j) { problem.l2 } else { 0.0 });
    }
    let solution = solve(&n, &f)?;
    let (theta, alphas) = solution.split_at(width);
    let inside = active.iter().zip(alphas).all(|(&(i, _), &alpha)| {
        let a = residual_of(loss, sub.targets[i]).2 * alpha;
        let (least, greatest) = range(loss, sub.weights[i]);
        less(least, a.lo) && less(a.hi, greatest)
    });
    let sides_hold = others.iter().all(|&(i, h)| {
        let (t, s, _) = residual_of(loss, sub.targets[i]);
        let products: Interval = sub.design.row(i).entries().map(|(j, x)| x * theta[j]).sum();
        let score = products + theta.get(features).copied().unwrap_or_default();
        let found = Interval::point(t) - s * score;
        if h > 0.0 {
            less(0.0, found.lo)
        } else {
            less(found.hi, 0.0)
        }
    });
    let digits = || Digits {
        centre: theta.iter().map(|x| (x.middle(), 0.0)).collect(),
        radius: theta.iter().map(|x| x.radius()).collect(),
        standard_errors: None,
    };
    (inside && sides_hold).then(digits)
}

/// The solution of Nx = f by the lemma, or nothing if N is not proved to be nonsingular. The unknowns are scaled by powers of
/// two, so that their magnitudes are alike.
fn solve(n: &[Interval], f: &[Interval]) -> Option<Vec<Interval>> {
    let m = f.len();
    let largest = |j: usize| (0..m).map(|k| n[k * m + j].abs().hi).fold(0.0, larger);
    let scale: Vec<f64> = (0..m).map(|j| 1.0 / power_of_two(largest(j))).collect();
    let scaled: Vec<Interval> = (0..m * m).map(|at| scale[at % m] * n[at]).collect();
    let middle: Vec<f64> = scaled.iter().map(|entry| entry.middle()).collect();
    let b = approximate_inverse(&middle, m)?;
    // The errors of the products with each row of N.
    let error = |entry: &Interval| gamma(m + 6) * entry.abs().hi + (entry.hi - entry.lo);
    let error = |row: &[Interval]| row.iter().map(error).sum::<f64>();
    let errors: Vec<f64> = scaled.chunks_exact(m).map(error).collect();
    let mut q = 0.0f64;
    for (k, row) in b.chunks_exact(m).enumerate() {
        let (mut products, mut size) = (vec![0.0; m], 0.0);
        for (l, &factor) in row.iter().enumerate() {
            add_multiple(&mut products, factor, &middle[l * m..][..m]);
            size += factor.abs() * errors[l];
        }
        products[k] -= 1.0;
        size += products.iter().map(|p| p.abs()).sum::<f64>();
        q = larger(q, size * 1.01 + 1e-100);
    }
    // A row of B times a vector of intervals.
    let times = |row: &[f64], f: &[Interval]| row.iter().zip(f).map(|(&b, &f)| b * f).sum::<Interval>();
    let x: Vec<f64> = b.chunks_exact(m).map(|row| times(row, f).middle()).collect();
    let rest = |k: usize| f[k] - (0..m).map(|j| x[j] * scaled[k * m + j]).sum::<Interval>();
    let rest: Vec<Interval> = (0..m).map(rest).collect();
    let steps: Vec<Interval> = b.chunks_exact(m).map(|row| times(row, &rest)).collect();
    let largest = steps.iter().map(|step| step.abs().hi).fold(0.0, larger);
    let bound = (Interval::point(q) * Interval::point(largest) / (ONE - Interval::point(q))).hi;
    let solution = (0..m).map(|k| scale[k] * (Interval::point(x[k]) + steps[k].widened(bound)));
    (q < 0.5 && bound.is_finite()).then(|| solution.collect())
}

/// The inverse in doubles by Gaussian elimination with partial pivoting.
fn approximate_inverse(a: &[f64], m: usize) -> Option<Vec<f64>> {
    let row = |k: usize| [&a[k * m..][..m], &vec![0.0; m]].concat();
    let mut rows: Vec<Vec<f64>> = (0..m).map(row).collect();
    (0..m).for_each(|k| rows[k][m + k] = 1.0);
    for k in 0..m {
        let size = |row: &Vec<f64>| row[k].abs() / row[..m].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let pivot = (k..m).max_by(|&i, &j| size(&rows[i]).total_cmp(&size(&rows[j])))?;
        rows.swap(k, pivot);
        let pivot = rows[k].clone();
        for (i, row) in rows.iter_mut().enumerate() {
            let factor = row[k] / pivot[k];
            match i == k {
                true => row.iter_mut().for_each(|entry| *entry /= pivot[k]),
                false => add_multiple(&mut row[k..], -factor, &pivot[k..]),
            }
        }
    }
    let inverse: Vec<f64> = rows.iter().flat_map(|row| row[m..].iter().copied()).collect();
    inverse.iter().all(|entry| entry.is_finite()).then_some(inverse)
}

//! Proved digits where the objective has kinks: the active set is proved, and with it the optimum. Every inequality below is
//! strict, so degenerate problems are not proved.
//!
//! **Pure ℓ1 and elastic net, smooth losses.** Let A be the columns with w ≠ 0, with signs s. θ*_A minimises the smooth objective
//! P_A(θ) + l1·Σ s_jw_j of these columns alone; `digits.rs` encloses it. If s_jw*_j > 0 for all penalised j ∈ A, and |uⱼ| < l1 for all others,
//! where u = Xᵀα at θ*, then (θ*_A, 0) satisfies the subgradient conditions. It is the only optimum: the gradient of the
//! smooth part is the same at all optima, so uⱼ is, and |uⱼ| < l1 makes wⱼ = 0; on A the minimiser is unique. α* differs from
//! α(θ) by at most L·|x̃·(θ* − θ)|, where L bounds cℓ'': c, c/4 (logistic), 2c (squared hinge, modified Huber).
//!
//! **Hinge with ℓ2.** Let F be rows with h = 0, and let the others have α = yc (h > 0) or 0 (h < 0). With g = Σ_{h>0} cyx, the conditions are
//! X_FX_Fᵀα_F + l2·b = l2·y_F − X_Fg, and Σα_F = −Σ_{h>0} cy for a free intercept (without one, b is absent; a penalised one is a column
//! of X). If 0 < yα < c on F and the signs of h are as assumed at w* = (g + X_Fᵀα_F)/l2, all optimality conditions hold. w* is unique as
//! l2 > 0, and b is as a row of F with 0 < yα < c has h = 0 at every optimum.
//!
//! **Absolute and quantile loss without a penalty.** Let F be as many rows as parameters. X̃_Fθ = y_F, X̃_Fᵀα_F = −Σ_{others} αᵢx̃ᵢ with α at the end of
//! its range by the sign of y − z. If α_F is strictly inside its range and no other residual is 0, θ* is the only optimum: a vertex.
//!
//! **Lemma (linear systems).** Let N be a square matrix, B any matrix of doubles, q ≥ ‖I − BN‖_∞, q < 1. Then N is nonsingular, and the
//! solution of Nx = f satisfies |x − x̂ − Br| ≤ q/(1 − q)·‖Br‖_∞ in each component, with r = f − Nx̂. *Proof.* x − x̂ = (BN)⁻¹Br, and
//! (BN)⁻¹ − I = (I − BN)(BN)⁻¹. ∎ I − BN is computed with an error of at most γ_{m+2}|B||N|, element by element.

use crate::arithmetic::{Interval, Sum, gamma, larger};
use crate::defect::{quantile_ends, range, residual_of};
use crate::design::Design;
use crate::digits::{Digits, settle};
use crate::mutant::{self, Mutant};
use crate::problem::{Intercept, Loss, Problem, Subproblem};
use crate::products::{ColumnSums, Score};
use crate::row_slope::RowSlope;

/// Cap: with more unknowns nothing is proved.
const MOST_UNKNOWNS: usize = 1000;
/// Cap on the entries of the rows on the kink.
const MOST_ENTRIES: usize = 50_000_000;

/// Proves the active set near a point, and encloses the optimum. The standard errors are absent.
pub fn prove(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    if !sub.is_admissible(point) || point.is_empty() {
        return None;
    }
    let problem = &sub.problem;
    match problem.loss {
        Loss::Softmax => None,
        Loss::Hinge if problem.l2 > 0.0 && problem.l1 == 0.0 => hinge(sub, point),
        Loss::Hinge => None,
        Loss::Absolute | Loss::Quantile(_) if problem.l1 == 0.0 && problem.l2 == 0.0 => vertex(sub, point),
        Loss::Absolute | Loss::Quantile(_) => None,
        _ if problem.l1 > 0.0 => sparse(sub, point),
        _ => None,
    }
}

/// Whether a strict inequality a < b is proved.
fn less(a: f64, b: f64) -> bool {
    a < b || mutant::is(Mutant::NoStrictness)
}

/// Smooth losses with ℓ1.
fn sparse(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    let (problem, design) = (&sub.problem, sub.design);
    let (features, width) = (problem.features, problem.width());
    let intercept = match problem.intercept {
        // A penalised intercept is one of the columns, or absent if it is 0.
        Intercept::Penalized if point[features] == 0.0 => Intercept::Absent,
        other => other,
    };
    let active: Vec<usize> = (0..features).filter(|&j| point[j] != 0.0).collect();
    if active.len() > MOST_UNKNOWNS {
        return None;
    }
    let chosen: Vec<usize> = active
        .iter()
        .copied()
        .chain((intercept != Intercept::Absent).then_some(features))
        .collect();
    let restricted = restrict(design, &active);
    let restricted_sub = Subproblem {
        problem: Problem {
            l1: 0.0,
            intercept,
            features: active.len(),
            ..problem.clone()
        },
        design: &restricted,
        targets: sub.targets,
        weights: sub.weights,
    };
    let sign = |j: usize| {
        if problem.penalizes(j) {
            point[j].signum()
        } else {
            0.0
        }
    };
    let linear: Vec<f64> = chosen.iter().map(|&j| problem.l1 * sign(j)).collect();
    let start: Vec<f64> = chosen.iter().map(|&j| point[j]).collect();
    let (inner, theta, reach) = match chosen.is_empty() {
        true => (
            Digits {
                centre: Vec::new(),
                radius: Vec::new(),
                standard_errors: None,
            },
            Vec::new(),
            0.0,
        ),
        false => {
            let settled = settle(&restricted_sub, &start, &linear)?;
            (settled.digits, settled.theta, settled.reach)
        }
    };
    let signs_hold = chosen
        .iter()
        .zip(&inner.centre)
        .zip(&inner.radius)
        .all(|((&j, centre), &radius)| {
            let at = Interval::point(centre.0) + Interval::point(centre.1).widened(radius);
            !problem.penalizes(j) || less(0.0, (sign(j) * at).lo)
        });
    // u of the other columns at θ*.
    let mut sums = ColumnSums::new(width);
    let mut errors = vec![0.0; width];
    for i in sub.rows() {
        let (row, c) = (design.row(i), sub.weights[i]);
        let score = Score::new(restricted.row(i), active.len(), &theta);
        let slope = RowSlope::new(problem.loss, c, sub.targets[i], score);
        sums.add(row, features, slope.hi);
        sums.add(row, features, slope.lo);
        let steepness = match problem.loss {
            Loss::Squared => c,
            Loss::Logistic => 0.25 * c,
            _ => 2.0 * c,
        };
        let error = (slope.error + steepness * reach) * 1.01;
        row.entries().for_each(|(j, x)| errors[j] += (error * x).abs());
        if width > features {
            errors[features] += error;
        }
    }
    let mut inactive = vec![true; width];
    chosen.iter().for_each(|&j| inactive[j] = false);
    let rests = (0..width).filter(|&j| inactive[j]).all(|j| {
        let u = sums.interval(j).widened((errors[j] * 1.01).next_up());
        less(u.abs().hi, problem.l1)
    });
    if !(signs_hold && rests) {
        return None;
    }
    let mut digits = Digits {
        centre: vec![(0.0, 0.0); width],
        radius: vec![0.0; width],
        standard_errors: None,
    };
    for ((&j, centre), radius) in chosen.iter().zip(inner.centre).zip(inner.radius) {
        digits.centre[j] = centre;
        digits.radius[j] = radius;
    }
    Some(digits)
}

/// The design with some of its columns.
fn restrict(design: &Design, active: &[usize]) -> Design {
    let mut position = vec![None; design.features];
    active
        .iter()
        .enumerate()
        .for_each(|(at, &j)| position[j] = Some(at));
    let dense = design.columns.is_empty();
    let mut kept = Design {
        features: active.len(),
        starts: vec![0],
        columns: Vec::new(),
        values: Vec::new(),
    };
    for i in 0..design.rows() {
        for (j, x) in design.row(i).entries() {
            if let Some(at) = position[j] {
                kept.values.push(x);
                if !dense {
                    kept.columns.push(at as u32);
                }
            }
        }
        kept.starts.push(kept.values.len());
    }
    kept
}

/// h of the rows with a weight at a point, smallest magnitude first.
fn sorted_residuals(sub: &Subproblem<'_>, point: &[f64]) -> Vec<(usize, f64)> {
    let of = |i: usize| {
        let (t, s, _) = residual_of(sub.problem.loss, sub.targets[i]);
        (
            i,
            Score::new(sub.design.row(i), sub.problem.features, point)
                .residual(t, s)
                .middle(),
        )
    };
    let mut rows: Vec<(usize, f64)> = sub.rows().map(of).collect();
    rows.sort_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    rows
}

/// x̃ of a row.
fn dense_row(sub: &Subproblem<'_>, i: usize) -> Vec<f64> {
    let mut x = vec![0.0; sub.problem.width()];
    sub.design.row(i).entries().for_each(|(j, value)| x[j] = value);
    if let Some(last) = x.get_mut(sub.problem.features) {
        *last = 1.0;
    }
    x
}

/// Hinge loss with ℓ2.
fn hinge(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    let problem = &sub.problem;
    let (features, width) = (problem.features, problem.width());
    let free = problem.intercept == Intercept::Free;
    let rows = sorted_residuals(sub, point);
    // F ends where the residuals grow most.
    let most = rows.len().min(width).min(MOST_UNKNOWNS);
    let growth =
        |m: usize| rows.get(m).map_or(f64::INFINITY, |next| next.1.abs()) / rows[m - 1].1.abs().max(1e-300);
    let count = (1..=most).max_by(|&a, &b| growth(a).total_cmp(&growth(b)))?;
    let (active, others) = rows.split_at(count);
    if count * width > MOST_ENTRIES {
        return None;
    }
    let x: Vec<Vec<f64>> = active.iter().map(|&(i, _)| dense_row(sub, i)).collect();
    let penalized = if free { features } else { width };
    // g, with the sum of its multipliers if there is a free intercept.
    let mut sums = ColumnSums::new(width);
    for &(i, _) in others.iter().filter(|(_, h)| *h > 0.0) {
        sums.add(sub.design.row(i), features, sub.targets[i] * sub.weights[i]);
    }
    let m = count + usize::from(free);
    let mut n = vec![Interval::ZERO; m * m];
    let mut f = vec![Interval::ZERO; m];
    for a in 0..count {
        for b in 0..count {
            n[a * m + b] = dot(&x[a][..penalized], &x[b][..penalized]);
        }
        let against: Interval = (0..penalized).map(|j| x[a][j] * sums.interval(j)).sum();
        f[a] = problem.l2 * Interval::point(sub.targets[active[a].0]) - against;
        if free {
            n[a * m + count] = Interval::point(problem.l2);
            n[count * m + a] = Interval::point(1.0);
        }
    }
    if free {
        f[count] = -sums.interval(features);
    }
    let solution = solve(&n, &f)?;
    let inside = active.iter().zip(&solution).all(|(&(i, _), &alpha)| {
        let a = sub.targets[i] * alpha;
        less(0.0, a.lo) && less(a.hi, sub.weights[i])
    });
    let weight = |j: usize| {
        let moved: Interval = x.iter().zip(&solution).map(|(x, &alpha)| x[j] * alpha).sum();
        (sums.interval(j) + moved) / Interval::point(problem.l2)
    };
    let mut theta: Vec<Interval> = (0..penalized).map(weight).collect();
    if free {
        theta.push(solution[count]);
    }
    let sides_hold = others.iter().all(|&(i, h)| {
        let y = Interval::point(sub.targets[i]);
        let found = Interval::point(1.0) - y * score(sub, i, &theta);
        if h > 0.0 {
            less(0.0, found.lo)
        } else {
            less(found.hi, 0.0)
        }
    });
    (inside && sides_hold).then(|| enclosed(&theta))
}

/// A vertex of absolute or quantile loss.
fn vertex(sub: &Subproblem<'_>, point: &[f64]) -> Option<Digits> {
    let width = sub.problem.width();
    let rows = sorted_residuals(sub, point);
    if rows.len() < width || width > MOST_UNKNOWNS {
        return None;
    }
    let (active, others) = rows.split_at(width);
    let x: Vec<Vec<f64>> = active.iter().map(|&(i, _)| dense_row(sub, i)).collect();
    let rows_first: Vec<Interval> = x.iter().flatten().map(|&x| Interval::point(x)).collect();
    let columns_first: Vec<Interval> = (0..width)
        .flat_map(|j| x.iter().map(move |x| Interval::point(x[j])))
        .collect();
    let targets: Vec<Interval> = active
        .iter()
        .map(|&(i, _)| Interval::point(sub.targets[i]))
        .collect();
    let theta = solve(&rows_first, &targets)?;
    let mut right = vec![Interval::ZERO; width];
    for &(i, h) in others {
        let (below, above) = quantile_ends(sub.problem.loss, sub.weights[i]);
        let end = if h > 0.0 { above } else { -below };
        dense_row(sub, i)
            .iter()
            .zip(&mut right)
            .for_each(|(&x, right)| *right = *right - x * end);
    }
    let alpha = solve(&columns_first, &right)?;
    let inside = active.iter().zip(&alpha).all(|(&(i, _), alpha)| {
        let (least, greatest) = range(sub.problem.loss, sub.weights[i]);
        less(least, alpha.lo) && less(alpha.hi, greatest)
    });
    let sides_hold = others.iter().all(|&(i, h)| {
        let found = Interval::point(sub.targets[i]) - score(sub, i, &theta);
        if h > 0.0 {
            less(0.0, found.lo)
        } else {
            less(found.hi, 0.0)
        }
    });
    (inside && sides_hold).then(|| enclosed(&theta))
}

/// x̃·θ in intervals.
fn score(sub: &Subproblem<'_>, i: usize, theta: &[Interval]) -> Interval {
    let sum: Interval = sub.design.row(i).entries().map(|(j, x)| x * theta[j]).sum();
    theta
        .get(sub.problem.features)
        .map_or(sum, |&intercept| sum + intercept)
}

/// A product of vectors of doubles.
fn dot(a: &[f64], b: &[f64]) -> Interval {
    let mut sum = Sum::default();
    a.iter().zip(b).for_each(|(&a, &b)| sum.add(a, b));
    sum.interval(a.len())
}

/// The middles and half widths of intervals.
fn enclosed(theta: &[Interval]) -> Digits {
    let centre: Vec<f64> = theta.iter().map(|x| x.middle()).collect();
    let radius = theta
        .iter()
        .zip(&centre)
        .map(|(&x, &c)| (x - Interval::point(c)).abs().hi)
        .collect();
    Digits {
        centre: centre.into_iter().map(|c| (c, 0.0)).collect(),
        radius,
        standard_errors: None,
    }
}

/// The solution of Nx = f by the lemma, or nothing if N is not proved to be nonsingular. The unknowns are scaled by powers of
/// two, so that their magnitudes are alike.
fn solve(n: &[Interval], f: &[Interval]) -> Option<Vec<Interval>> {
    let m = f.len();
    let power = |j: usize| {
        let largest = (0..m).map(|k| n[k * m + j].abs().hi).fold(0.0, larger);
        let exponent = (largest.to_bits() >> 52) as i64 - 1023;
        let usable = (-900..900).contains(&exponent);
        f64::from_bits(((1023 - if usable { exponent } else { 0 }) as u64) << 52)
    };
    let scale: Vec<f64> = (0..m).map(power).collect();
    let scaled: Vec<Interval> = n
        .iter()
        .enumerate()
        .map(|(at, &entry)| scale[at % m] * entry)
        .collect();
    let middle: Vec<f64> = scaled.iter().map(|entry| entry.middle()).collect();
    let b = approximate_inverse(&middle, m)?;
    let mut q = 0.0f64;
    for (k, row) in b.chunks_exact(m).enumerate() {
        let (mut products, mut sizes) = (vec![0.0; m], 0.0);
        for (l, &factor) in row.iter().enumerate() {
            for (j, product) in products.iter_mut().enumerate() {
                *product += factor * middle[l * m + j];
                let entry = scaled[l * m + j];
                sizes += factor.abs() * (gamma(m + 6) * entry.abs().hi + (entry.hi - entry.lo));
            }
        }
        products[k] -= 1.0;
        q = larger(
            q,
            (products.iter().map(|p| p.abs()).sum::<f64>() + sizes) * 1.01 + 1e-100,
        );
    }
    let x: Vec<f64> = b
        .chunks_exact(m)
        .map(|row| row.iter().zip(f).map(|(b, f)| b * f.middle()).sum())
        .collect();
    let of_row = |k: usize| f[k] - (0..m).map(|j| x[j] * scaled[k * m + j]).sum::<Interval>();
    let rest: Vec<Interval> = (0..m).map(of_row).collect();
    let steps: Vec<Interval> = b
        .chunks_exact(m)
        .map(|row| row.iter().zip(&rest).map(|(&b, &r)| b * r).sum())
        .collect();
    let largest = steps.iter().map(|step| step.abs().hi).fold(0.0, larger);
    let q = Interval::point(q);
    let bound = (q * Interval::point(largest) / (Interval::point(1.0) - q)).hi;
    let known = q.hi < 0.5 && bound.is_finite();
    let solution = (0..m).map(|k| scale[k] * (Interval::point(x[k]) + steps[k].widened(bound)));
    known.then(|| solution.collect())
}

/// The inverse in doubles by Gaussian elimination with partial pivoting.
fn approximate_inverse(a: &[f64], m: usize) -> Option<Vec<f64>> {
    let width = 2 * m;
    let mut rows: Vec<Vec<f64>> = (0..m).map(|k| a[k * m..][..m].to_vec()).collect();
    for (k, row) in rows.iter_mut().enumerate() {
        row.resize(width, 0.0);
        row[m + k] = 1.0;
    }
    for k in 0..m {
        let size = |row: &Vec<f64>| row[k].abs() / row[..m].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let pivot = (k..m).max_by(|&i, &j| size(&rows[i]).total_cmp(&size(&rows[j])))?;
        rows.swap(k, pivot);
        let pivot = rows[k].clone();
        if pivot[k] == 0.0 || pivot[k].is_nan() {
            return None;
        }
        for (i, row) in rows.iter_mut().enumerate() {
            let factor = row[k] / pivot[k];
            match i == k {
                true => row.iter_mut().for_each(|entry| *entry /= pivot[k]),
                false => row
                    .iter_mut()
                    .zip(&pivot)
                    .skip(k)
                    .for_each(|(entry, p)| *entry -= factor * p),
            }
        }
    }
    let inverse: Vec<f64> = rows.iter().flat_map(|row| row[m..].iter().copied()).collect();
    inverse.iter().all(|entry| entry.is_finite()).then_some(inverse)
}

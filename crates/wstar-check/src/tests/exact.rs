//! The oracle: P and D in floats of 500 bits.

use std::cmp::Ordering;

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;

use crate::defect::residual_of;
use crate::gap::Subproblem;
use crate::problem::{Intercept, Loss};
use crate::recorder::DualPoint;

pub(super) type Big = FBig<HalfEven, 2>;
const BITS: usize = 500;

/// A double, exactly.
pub(super) fn big(x: f64) -> Big {
    Big::try_from(x).expect("finite").with_precision(BITS).value()
}

pub(super) fn zero() -> Big {
    big(0.0)
}

fn positive(x: &Big) -> bool {
    x.cmp(&zero()) == Ordering::Greater
}

pub(super) fn abs(x: &Big) -> Big {
    if positive(x) { x.clone() } else { -x.clone() }
}

fn positive_part(x: &Big) -> Big {
    if positive(x) { x.clone() } else { zero() }
}

/// A rounded double.
pub(super) fn rounded(x: &Big) -> f64 {
    x.to_f64().value()
}

/// x̃ of a row.
pub(super) fn row(sub: &Subproblem<'_>, i: usize) -> Vec<Big> {
    let mut x = vec![zero(); sub.problem.width()];
    sub.design
        .row(i)
        .entries()
        .for_each(|(j, value)| x[j] = big(value));
    if sub.problem.width() > sub.problem.features {
        x[sub.problem.features] = big(1.0);
    }
    x
}

pub(super) fn dot(a: &[Big], b: &[Big]) -> Big {
    a.iter().zip(b).fold(zero(), |sum, (a, b)| sum + a * b)
}

/// h of each row with a weight.
pub(super) fn residuals(sub: &Subproblem<'_>, point: &[Big]) -> Vec<Big> {
    let one = |i: usize| {
        let (t, s, _) = residual_of(sub.problem.loss, sub.targets[i]);
        big(t) - big(s) * dot(&row(sub, i), point)
    };
    sub.rows().map(one).collect()
}

fn quantile(loss: Loss) -> (Big, Big) {
    match loss {
        Loss::Quantile(q) => (big(1.0) - big(q), big(q)),
        _ => (big(1.0), big(1.0)),
    }
}

/// log(1 + e^x).
fn softplus(x: &Big) -> Big {
    let e = (-abs(x)).exp();
    // Where 1 + e would lose digits, eight terms of the series leave less than e⁸ of it.
    let log = if e < big(1e-20) {
        (1..9)
            .rev()
            .fold(zero(), |sum, k| &e * (big(1.0) / big(f64::from(k)) - sum))
    } else {
        (&e + big(1.0)).ln()
    };
    if positive(x) { x + log } else { log }
}

/// ℓ.
fn loss(loss: Loss, h: &Big) -> Big {
    match loss {
        Loss::Squared => h * h * big(0.5),
        Loss::Logistic => softplus(&-h.clone()),
        Loss::Hinge => positive_part(h),
        Loss::ModifiedHuber if *h > big(2.0) => big(4.0) * (h - big(1.0)),
        Loss::SquaredHinge | Loss::ModifiedHuber => positive_part(h) * positive_part(h),
        _ => {
            let (below, above) = quantile(loss);
            above * positive_part(h) + below * positive_part(&-h.clone())
        }
    }
}

/// −ℓ*(−a) for a multiplier of weight 1 (in the notation of `defect.rs`), or nothing outside of its range.
fn minus_conjugate(kind: Loss, y: f64, a: &Big) -> Option<Big> {
    let one = big(1.0);
    let within = |least: Big, greatest: Big| *a >= least && *a <= greatest;
    let entropy = |p: &Big| if positive(p) { -(p * p.ln()) } else { zero() };
    match kind {
        Loss::Squared => Some(a * big(y) - a * a * big(0.5)),
        Loss::Logistic => within(zero(), one.clone()).then(|| entropy(a) + entropy(&(one - a))),
        Loss::Hinge => within(zero(), one).then(|| a.clone()),
        Loss::SquaredHinge => (*a >= zero()).then(|| a - a * a * big(0.25)),
        Loss::ModifiedHuber => within(zero(), big(4.0)).then(|| a - a * a * big(0.25)),
        _ => {
            let (below, above) = quantile(kind);
            within(-below, above).then(|| a * big(y))
        }
    }
}

/// P of a point.
pub(super) fn primal(sub: &Subproblem<'_>, point: &[Big]) -> Big {
    let h = residuals(sub, point);
    let values = sub
        .rows()
        .zip(&h)
        .map(|(i, h)| big(sub.weights[i]) * loss(sub.problem.loss, h));
    let rows = values.fold(zero(), |sum, value| sum + value);
    let (l1, l2) = (big(sub.problem.l1), big(sub.problem.l2));
    let penalty = |w: &Big| &l1 * abs(w) + &l2 * w * w * big(0.5);
    let penalized = point
        .iter()
        .enumerate()
        .filter(|(j, _)| sub.problem.penalizes(*j));
    penalized.fold(rows, |sum, (_, w)| sum + penalty(w))
}

/// The solution of a linear system by Gaussian elimination, or nothing if it is singular.
pub(super) fn solve_symmetric(mut a: Vec<Vec<Big>>, mut b: Vec<Big>) -> Option<Vec<Big>> {
    let p = b.len();
    for k in 0..p {
        let pivot = (k..p).max_by(|&i, &j| abs(&a[i][k]).cmp(&abs(&a[j][k])))?;
        if !positive(&abs(&a[pivot][k])) {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..p {
            let factor = &a[i][k] / &a[k][k];
            for j in k..p {
                let product = &factor * &a[k][j];
                a[i][j] = &a[i][j] - product;
            }
            b[i] = &b[i] - &factor * &b[k];
        }
    }
    let mut x = b.clone();
    for k in (0..p).rev() {
        let known = (k + 1..p).fold(big(0.0), |sum, j| sum + &a[k][j] * &x[j]);
        x[k] = (&x[k] - known) / &a[k][k];
    }
    Some(x)
}

/// P − D at the multipliers of an attempt after their exact move onto the constraints. Nothing if they are not feasible.
pub(super) fn gap(sub: &Subproblem<'_>, point: &[f64], dual: &DualPoint) -> Option<Big> {
    let problem = &sub.problem;
    let point: Vec<Big> = point.iter().map(|&w| big(w)).collect();
    let x: Vec<Vec<Big>> = sub.rows().map(|i| row(sub, i)).collect();
    let signs = sub.rows().map(|i| residual_of(problem.loss, sub.targets[i]).2);
    let mut alpha: Vec<Big> = signs.zip(&dual.a).map(|(sign, &a)| big(sign) * big(a)).collect();
    let k: Vec<Big> = sub.rows().map(|i| big(dual.slacks[i])).collect();
    let penalized = problem.l1 > 0.0 || problem.l2 > 0.0;
    let constrained: Vec<usize> = match (penalized, problem.intercept) {
        (false, _) => (0..problem.width()).collect(),
        (true, Intercept::Free) => vec![problem.features],
        _ => Vec::new(),
    };
    let product = |alpha: &[Big], j: usize| x.iter().zip(alpha).fold(zero(), |sum, (x, a)| sum + &x[j] * a);
    let r: Vec<Big> = constrained.iter().map(|&j| product(&alpha, j)).collect();
    if r.iter().any(|r| positive(&abs(r))) {
        let entry = |a: usize, b: usize| {
            x.iter()
                .zip(&k)
                .fold(zero(), |sum, (x, k)| sum + &x[a] * &x[b] * k)
        };
        let h = constrained
            .iter()
            .map(|&a| constrained.iter().map(|&b| entry(a, b)).collect())
            .collect();
        let nu = solve_symmetric(h, r)?;
        for ((alpha, x), k) in alpha.iter_mut().zip(&x).zip(&k) {
            let along = constrained
                .iter()
                .zip(&nu)
                .fold(zero(), |sum, (&j, nu)| sum + &x[j] * nu);
            *alpha = &*alpha - k * along;
        }
    }
    let penalized_columns: Vec<usize> = (0..problem.width()).filter(|&j| problem.penalizes(j)).collect();
    let u: Vec<Big> = penalized_columns.iter().map(|&j| product(&alpha, j)).collect();
    let (l1, l2) = (big(problem.l1), big(problem.l2));
    let mut dual_value = zero();
    if problem.l2 > 0.0 {
        for u in &u {
            let over = positive_part(&(abs(u) - &l1));
            dual_value = dual_value - &over * &over / (&l2 * big(2.0));
        }
    } else {
        let largest = u.iter().map(abs).max_by(|a, b| a.cmp(b)).unwrap_or(zero());
        if largest > l1 {
            let shrink = &l1 / &largest;
            alpha.iter_mut().for_each(|alpha| *alpha = &*alpha * &shrink);
        }
    }
    for ((i, alpha), _) in sub.rows().zip(&alpha).zip(&x) {
        let c = big(sub.weights[i]);
        let (_, _, sign) = residual_of(problem.loss, sub.targets[i]);
        let a = big(sign) * alpha / &c;
        dual_value = dual_value + &c * minus_conjugate(problem.loss, sub.targets[i], &a)?;
    }
    Some(primal(sub, &point) - dual_value)
}

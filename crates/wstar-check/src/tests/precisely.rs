//! Newton's method on a smoothed objective in floats of 192 bits, from a point in doubles.

use crate::defect::residual_of;
use crate::problem::Loss;
use crate::tests::exact::{Big, abs, dot, rounded, row, solve_symmetric};
use crate::tests::random_case::Case;

const BITS: usize = 192;

fn big(x: f64) -> Big {
    Big::try_from(x).expect("finite").with_precision(BITS).value()
}

fn cut(x: Big) -> Big {
    x.with_precision(BITS).value()
}

/// The slope in h and the curvature of a loss that is smoothed by mu near its kinks.
fn smooth(loss: Loss, h: &Big, mu: &Big) -> (Big, Big) {
    let (zero, one, two) = (big(0.0), big(1.0), big(2.0));
    let kink = || {
        let root = (h * h + big(4.0) * mu * mu).sqrt();
        let bend = &two * mu * mu / (&root * &root * &root);
        (big(0.5) * (&one + h / root), bend)
    };
    let active = *h > zero;
    match loss {
        Loss::Squared => (h.clone(), one),
        Loss::Logistic => {
            let e = (-abs(h)).exp();
            let m = &e / (&one + &e);
            let curvature = &m * (&one - &m);
            (if active { m } else { &one - m }, curvature)
        }
        Loss::Hinge => kink(),
        Loss::SquaredHinge | Loss::ModifiedHuber if !active => (zero.clone(), zero),
        Loss::ModifiedHuber if *h > two => (big(4.0), zero),
        Loss::SquaredHinge | Loss::ModifiedHuber => (&two * h, two),
        Loss::Absolute => {
            let (step, bend) = kink();
            (&two * step - one, &two * bend)
        }
        Loss::Quantile(q) => {
            let (step, bend) = kink();
            (step - (&one - big(q)), bend)
        }
        Loss::Softmax | Loss::SigmoidMse => (zero.clone(), zero),
    }
}

/// Moves a point to the optimum; returns the slopes of the loss in h at the exact optimum, rounded. A kink is smoothed by `y_scale`
/// times μ in the scores, and by `scales` times μ in the parameters.
pub(super) fn solve(case: &Case, point: &mut [f64], y_scale: f64, scales: &[f64]) -> Vec<f64> {
    let (slopes, w) = optimum(case, point, y_scale, scales);
    point
        .iter_mut()
        .zip(&w)
        .for_each(|(point, w)| *point = rounded(w));
    slopes
}

/// The slopes at the optimum, and the optimum.
pub(super) fn optimum(case: &Case, point: &[f64], y_scale: f64, scales: &[f64]) -> (Vec<f64>, Vec<Big>) {
    optimum_at(case, point, y_scale, scales, 1e-13)
}

/// The same, for a last μ.
pub(super) fn optimum_at(
    case: &Case,
    point: &[f64],
    y_scale: f64,
    scales: &[f64],
    last: f64,
) -> (Vec<f64>, Vec<Big>) {
    let sub = case.subproblem();
    let problem = &case.problem;
    let x: Vec<Vec<Big>> = (0..case.targets.len())
        .map(|i| row(&sub, i).into_iter().map(cut).collect())
        .collect();
    let width = point.len();
    let mut w: Vec<Big> = point.iter().map(|&w| big(w)).collect();
    let residual = |i: usize, w: &[Big]| {
        let (t, s, _) = residual_of(problem.loss, case.targets[i]);
        big(t) - big(s) * dot(&x[i], w)
    };
    let (l1, l2) = (big(problem.l1), big(problem.l2));
    let gradient = |w: &[Big], mu: f64| {
        let mut g = vec![big(0.0); width];
        let mut h = vec![vec![big(0.0); width]; width];
        for i in (0..x.len()).filter(|&i| case.weights[i] > 0.0) {
            let (_, _, sign) = residual_of(problem.loss, case.targets[i]);
            let (a, curvature) = smooth(problem.loss, &residual(i, w), &big(mu * y_scale));
            let (pull, bend) = (
                big(case.weights[i]) * big(sign) * a,
                big(case.weights[i]) * curvature,
            );
            for j in 0..width {
                g[j] = &g[j] - &pull * &x[i][j];
                let along = &bend * &x[i][j];
                for k in 0..j + 1 {
                    h[j][k] = &h[j][k] + &along * &x[i][k];
                }
            }
        }
        for j in (0..width).filter(|&j| problem.penalizes(j)) {
            let size = big(mu * scales[j]);
            let four = big(4.0) * &size * &size;
            let root = (&w[j] * &w[j] + &four).sqrt();
            g[j] = &g[j] + &l1 * &w[j] / &root + &l2 * &w[j];
            h[j][j] = &h[j][j] + &l1 * four / (&root * &root * &root) + &l2;
        }
        for j in 0..width {
            for k in j + 1..width {
                h[j][k] = h[k][j].clone();
            }
        }
        (g, h)
    };
    let smooth_problem =
        problem.l1 == 0.0 && !matches!(problem.loss, Loss::Hinge | Loss::Absolute | Loss::Quantile(_));
    let mut mu = if smooth_problem { 1e-14 } else { 1e-3 };
    loop {
        for _ in 0..40 {
            let (g, h) = gradient(&w, mu);
            let Some(step) = solve_symmetric(h, g.clone()) else {
                break;
            };
            let first = abs(&dot(&g, &step));
            let mut t = big(1.0);
            for _ in 0..30 {
                let next: Vec<Big> = w.iter().zip(&step).map(|(w, s)| w - &t * s).collect();
                if dot(&gradient(&next, mu).0, &step) >= &first * big(-0.5) {
                    break;
                }
                t = t * big(0.5);
            }
            let small = |(w, s): (&Big, &Big)| abs(s) <= abs(w) * big(1e-25) || abs(s) < big(1e-150);
            let done = w.iter().zip(&step).all(small);
            w = w.iter().zip(&step).map(|(w, s)| cut(w - &t * s)).collect();
            if done {
                break;
            }
        }
        if mu <= last {
            break;
        }
        mu *= 0.03;
    }
    let slopes = (0..x.len()).map(|i| rounded(&smooth(problem.loss, &residual(i, &w), &big(mu * y_scale)).0));
    let slopes = slopes.collect();
    (slopes, w)
}

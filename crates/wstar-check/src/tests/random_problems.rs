//! Adversarial random problems, and a solver for them: Newton's method on a smoothed objective, with the smoothing taken
//! towards 0, first in doubles and then in floats of 192 bits. It is not trusted; the tests only need points near the optimum.

use crate::design::Design;
use crate::gap::Hints;
use crate::problem::{Intercept, Loss, Problem};
use crate::tests::precisely;
use crate::tests::random_case::{Case, Columns};

/// A small generator (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    pub(super) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / 9007199254740992.0
    }
    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Makes a problem of a kind.
pub(super) fn case(
    random: &mut Random,
    loss: Loss,
    penalty: (f64, f64),
    intercept: Intercept,
    columns: Columns,
    precise: bool,
) -> Case {
    let (n, d) = (8 + random.below(30), 1 + random.below(3));
    let kinked = matches!(loss, Loss::Absolute | Loss::Quantile(_));
    let real = kinked || loss == Loss::Squared;
    let mut x: Vec<Vec<f64>> = (0..n)
        .map(|_| (0..d).map(|_| random.normal()).collect())
        .collect();
    let scales: Vec<f64> = (0..d).map(|_| 10f64.powi(random.below(13) as i32 - 6)).collect();
    let offset = random.pick(&[1e3, 1e5, 1e6]);
    match columns {
        Columns::Scaled => x
            .iter_mut()
            .for_each(|x| x.iter_mut().zip(&scales).for_each(|(x, s)| *x *= s)),
        Columns::Large => x
            .iter_mut()
            .for_each(|x| x[0] = 9007199254740992.0 - (2000.0 * (x[0] + 4.5)).round()),
        Columns::Offset => x.iter_mut().for_each(|x| {
            x.iter_mut()
                .for_each(|x| *x = (*x * 64.0).round() / 64.0 + offset)
        }),
        Columns::Duplicates => {
            (0..n).for_each(|i| x[i] = x[i % (n / 2)].iter().map(|x| (x * 2.0).round()).collect())
        }
        Columns::Sparse => x.iter_mut().for_each(|x| {
            x.iter_mut().for_each(|x| {
                if *x < 0.0 {
                    *x = 0.0
                }
            })
        }),
        _ => (),
    }
    let mean: Vec<f64> = (0..d)
        .map(|j| x.iter().map(|x| x[j]).sum::<f64>() / n as f64)
        .collect();
    let spread: Vec<f64> = (0..d)
        .map(|j| {
            (x.iter().map(|x| (x[j] - mean[j]).powi(2)).sum::<f64>() / n as f64)
                .sqrt()
                .max(1e-300)
        })
        .collect();
    let truth: Vec<f64> = (0..d).map(|_| random.normal()).collect();
    let noise = match columns {
        Columns::NearSeparable => 0.05,
        _ => random.pick(&[0.3, 1.0, 3.0]),
    };
    let y_scale = if real {
        10f64.powi(random.below(13) as i32 - 6)
    } else {
        1.0
    };
    let targets: Vec<f64> = x
        .iter()
        .map(|x| {
            let signal: f64 = (0..d).map(|j| truth[j] * (x[j] - mean[j]) / spread[j]).sum();
            let score = signal + noise * random.normal();
            match (real, score > 0.0) {
                (true, _) => score * y_scale,
                (false, true) => 1.0,
                (false, false) => -1.0,
            }
        })
        .collect();
    let c = 10f64.powi(random.below(7) as i32 - 3);
    let weighted = random.below(3) == 0;
    let weights = (0..n)
        .map(|_| match (weighted, random.below(5)) {
            (false, _) => c,
            (true, 0) => 0.0,
            (true, _) => c * (0.5 + random.uniform()),
        })
        .collect();
    let l_scale = 10f64.powi(random.below(5) as i32 - 2);
    let problem = Problem {
        loss,
        l1: penalty.0 * l_scale,
        l2: penalty.1 * l_scale,
        intercept,
        outputs: 1,
        features: d,
    };
    let sparse = columns == Columns::Sparse;
    let mut design = Design {
        features: d,
        starts: vec![0],
        columns: Vec::new(),
        values: Vec::new(),
    };
    for x in &x {
        for (j, &x) in x.iter().enumerate() {
            if !sparse || x != 0.0 {
                design.values.push(x);
                if sparse {
                    design.columns.push(j as u32);
                }
            }
        }
        design.starts.push(design.values.len());
    }
    let hints = Hints::default();
    let mut case = Case {
        problem,
        design,
        targets,
        weights,
        point: Vec::new(),
        hints,
        columns,
    };
    solve(&mut case, precise);
    if columns == Columns::Extreme {
        rescale(&mut case, random);
    }
    case
}

/// Multiplies columns, targets and weights by extreme powers of two, and everything else to match: P is multiplied by one number.
fn rescale(case: &mut Case, random: &mut Random) {
    let problem = &mut case.problem;
    let power = |random: &mut Random, most: i32| 2f64.powi(random.below(2 * most as usize + 1) as i32 - most);
    let of_columns = if problem.intercept == Intercept::Penalized {
        1.0
    } else {
        power(random, 200)
    };
    let of_weights = power(random, 200);
    let (l1, l2) = (
        problem.l1 * of_weights * of_columns,
        problem.l2 * of_weights * of_columns * of_columns,
    );
    let fits = |x: f64| x == 0.0 || (1e-130..1e130).contains(&x);
    if !(fits(l1) && fits(l2)) {
        return;
    }
    (problem.l1, problem.l2) = (l1, l2);
    case.design.values.iter_mut().for_each(|x| *x *= of_columns);
    case.weights.iter_mut().for_each(|c| *c *= of_weights);
    let features = problem.features;
    case.point[..features].iter_mut().for_each(|w| *w /= of_columns);
    case.point.iter_mut().for_each(|w| {
        if w.abs() < 1e-140 {
            *w = 0.0
        }
    });
}

/// The slope in h and the curvature of a loss that is smoothed by mu near its kinks.
fn smooth(loss: Loss, h: f64, mu: f64) -> (f64, f64) {
    let root = (h * h + 4.0 * mu * mu).sqrt();
    let (step, bend) = (0.5 * (1.0 + h / root), 2.0 * mu * mu / (root * root * root));
    match loss {
        Loss::Squared => (h, 1.0),
        Loss::Logistic => {
            let e = (-h.abs()).exp();
            let m = e / (1.0 + e);
            (if h > 0.0 { m } else { 1.0 - m }, m * (1.0 - m))
        }
        Loss::Hinge => (step, bend),
        Loss::SquaredHinge => (2.0 * h.max(0.0), if h > 0.0 { 2.0 } else { 0.0 }),
        Loss::ModifiedHuber => (
            2.0 * h.clamp(0.0, 2.0),
            if h > 0.0 && h < 2.0 { 2.0 } else { 0.0 },
        ),
        Loss::Absolute => (2.0 * step - 1.0, 2.0 * bend),
        Loss::Quantile(q) => (step - (1.0 - q), bend),
        Loss::Softmax | Loss::SigmoidMse => (0.0, 0.0),
    }
}

/// Sets the point, and the hints of kinked losses.
fn solve(case: &mut Case, precise: bool) {
    let problem = &case.problem;
    let (d, n) = (problem.features, case.targets.len());
    let centred = problem.intercept == Intercept::Free;
    let width = problem.width();
    let dense: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut x = vec![0.0; d];
            case.design.row(i).entries().for_each(|(j, value)| x[j] = value);
            x
        })
        .collect();
    let mean: Vec<f64> = (0..d)
        .map(|j| {
            if centred {
                dense.iter().map(|x| x[j]).sum::<f64>() / n as f64
            } else {
                0.0
            }
        })
        .collect();
    let spread: Vec<f64> = (0..d)
        .map(|j| {
            (dense.iter().map(|x| (x[j] - mean[j]).powi(2)).sum::<f64>() / n as f64)
                .sqrt()
                .max(1e-200)
        })
        .collect();
    let x: Vec<Vec<f64>> = dense
        .iter()
        .map(|x| {
            let mut row: Vec<f64> = (0..d).map(|j| (x[j] - mean[j]) / spread[j]).collect();
            row.resize(width, 1.0);
            row
        })
        .collect();
    let y_scale = match problem.loss {
        Loss::Absolute | Loss::Quantile(_) => case
            .targets
            .iter()
            .fold(0.0f64, |m, y| m.max(y.abs()))
            .max(1e-200),
        _ => 1.0,
    };
    let unit = |j: usize| if j < d { spread[j] } else { 1.0 };
    let l1 = |j: usize| {
        if problem.penalizes(j) {
            problem.l1 / unit(j)
        } else {
            0.0
        }
    };
    let l2 = |j: usize| {
        if problem.penalizes(j) {
            problem.l2 / (unit(j) * unit(j))
        } else {
            0.0
        }
    };
    let sign = |i: usize| match problem.loss {
        Loss::Squared | Loss::Absolute | Loss::Quantile(_) => 1.0,
        Loss::Logistic => -case.targets[i],
        _ => case.targets[i],
    };
    let start = |i: usize| match problem.loss {
        Loss::Logistic => 0.0,
        Loss::Hinge | Loss::SquaredHinge | Loss::ModifiedHuber => 1.0,
        _ => case.targets[i],
    };
    let residual =
        |i: usize, w: &[f64]| start(i) - sign(i) * x[i].iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
    // dP/dh is the slope, but that of the logistic loss decreases in its h.
    let direction = |i: usize| {
        if problem.loss == Loss::Logistic {
            case.targets[i]
        } else {
            sign(i)
        }
    };
    let mut w = vec![0.0; width];
    let gradient = |w: &[f64], mu: f64| {
        let mut g = vec![0.0; width];
        let mut h = vec![vec![0.0; width]; width];
        for i in 0..n {
            let (a, curvature) = smooth(problem.loss, residual(i, w), mu * y_scale);
            for j in 0..width {
                g[j] -= case.weights[i] * direction(i) * a * x[i][j];
                for k in 0..width {
                    h[j][k] += case.weights[i] * curvature * x[i][j] * x[i][k];
                }
            }
        }
        for j in 0..width {
            let size = mu * y_scale;
            let root = (w[j] * w[j] + 4.0 * size * size).sqrt();
            g[j] += l1(j) * w[j] / root + l2(j) * w[j];
            h[j][j] += l1(j) * 4.0 * size * size / (root * root * root) + l2(j);
        }
        (g, h)
    };
    let mut mu = 1.0;
    let last = if precise { 1e-3 } else { 1e-11 };
    loop {
        for _ in 0..60 {
            let (g, h) = gradient(&w, mu);
            let Some(step) = newton_step(h, &g) else { break };
            // The gradient along the step decides how far to go: the objective is convex.
            let mut t = 1.0;
            for _ in 0..60 {
                let next: Vec<f64> = w.iter().zip(&step).map(|(w, s)| w - t * s).collect();
                let slope: f64 = gradient(&next, mu).0.iter().zip(&step).map(|(g, s)| g * s).sum();
                let first: f64 = g.iter().zip(&step).map(|(g, s)| g * s).sum();
                if slope >= -0.5 * first.abs() {
                    break;
                }
                t *= 0.5;
            }
            let size: f64 = w.iter().map(|w| w.abs()).sum();
            let change: f64 = step.iter().map(|s| (t * s).abs()).sum();
            w.iter_mut().zip(&step).for_each(|(w, s)| *w -= t * s);
            if change <= 1e-15 * size {
                break;
            }
        }
        if mu <= last {
            break;
        }
        mu = (mu * 0.3).max(last);
    }
    let mut slopes: Vec<f64> = (0..n)
        .map(|i| smooth(problem.loss, residual(i, &w), mu * y_scale).0)
        .collect();
    let mut point: Vec<f64> = (0..width).map(|j| w[j] / unit(j)).collect();
    if centred {
        let shift: f64 = (0..d).map(|j| mean[j] * point[j]).sum();
        point[d] -= shift;
    }
    if precise {
        let scales: Vec<f64> = (0..width).map(|j| y_scale / unit(j)).collect();
        slopes = precisely::solve(case, &mut point, y_scale, &scales);
    }
    let share = |i: usize| match case.problem.loss {
        Loss::Hinge if case.targets[i] < 0.0 => 1.0 - slopes[i],
        Loss::Absolute => 0.5 * (1.0 + slopes[i]),
        Loss::Quantile(q) => slopes[i] + (1.0 - q),
        _ => slopes[i],
    };
    if matches!(
        case.problem.loss,
        Loss::Hinge | Loss::Absolute | Loss::Quantile(_)
    ) {
        case.hints.shares = (0..n).map(|i| (i as u64, share(i))).collect();
    }
    point.iter_mut().for_each(|w| {
        if w.abs() < 1e-140 {
            *w = 0.0
        }
    });
    case.point = point;
}

/// The solution of a symmetric positive definite system in doubles.
fn newton_step(h: Vec<Vec<f64>>, g: &[f64]) -> Option<Vec<f64>> {
    let p = g.len();
    let (mut a, mut b) = (h, g.to_vec());
    let top = (0..p).map(|j| a[j][j]).fold(0.0, f64::max);
    (0..p).for_each(|j| a[j][j] += 1e-14 * a[j][j] + 1e-30 * top);
    for k in 0..p {
        let pivot = (k..p).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k] == 0.0 {
            return None;
        }
        for i in k + 1..p {
            let factor = a[i][k] / a[k][k];
            let (above, below) = a.split_at_mut(i);
            (k..p).for_each(|j| below[0][j] -= factor * above[k][j]);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..p).rev() {
        let known: f64 = (k + 1..p).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    b.iter().all(|x| x.is_finite()).then_some(b)
}

//! The gap of softmax against the exact gap of the same multipliers.

use std::sync::OnceLock;

use crate::design::Design;
use crate::gap::{Gap, Hints, Subproblem, prove};
use crate::mutant::{Mutant, with};
use crate::problem::{Intercept, Loss, Problem};
use crate::recorder::{DualPoint, recorded};
use crate::tests::exact::{Big, abs, big, dot, rounded, row, solve_symmetric, zero};
use crate::tests::random_case::Columns;
use crate::tests::random_problems::Random;

struct SoftmaxCase {
    problem: Problem,
    design: Design,
    targets: Vec<f64>,
    weights: Vec<f64>,
    point: Vec<f64>,
    columns: Columns,
}

impl SoftmaxCase {
    fn subproblem(&self) -> Subproblem<'_> {
        Subproblem {
            problem: self.problem.clone(),
            design: &self.design,
            targets: &self.targets,
            weights: &self.weights,
        }
    }
}

fn case(
    random: &mut Random,
    penalty: (f64, f64),
    intercept: Intercept,
    columns: Columns,
    iterations: usize,
) -> SoftmaxCase {
    let (n, d, classes) = (12 + random.below(30), 1 + random.below(3), 2 + random.below(3));
    let offset = random.pick(&[1e2, 1e4]);
    let mut x: Vec<Vec<f64>> = (0..n)
        .map(|_| (0..d).map(|_| random.normal()).collect())
        .collect();
    match columns {
        Columns::Scaled => x.iter_mut().for_each(|x| {
            x.iter_mut()
                .enumerate()
                .for_each(|(j, x)| *x *= [1e5, 1e-4, 1.0][j])
        }),
        Columns::Offset => x.iter_mut().flatten().for_each(|x| *x += offset),
        Columns::Duplicates => (0..n).for_each(|i| x[i] = x[i % (n / 2)].clone()),
        _ => (),
    }
    let noise = if columns == Columns::NearSeparable {
        0.1
    } else {
        2.0
    };
    let targets: Vec<f64> = (0..n)
        .map(|i| {
            let scores = (0..classes).map(|k| {
                ((x[i][k % d] - x[0][k % d]) * (k as f64 + 0.5)).sin() * 2.0 + noise * random.normal()
            });
            let best = scores.enumerate().fold(
                (0, -1e300),
                |best, next| if next.1 > best.1 { next } else { best },
            );
            best.0 as f64
        })
        .collect();
    let c = 10f64.powi(random.below(5) as i32 - 2);
    let weights: Vec<f64> = (0..n)
        .map(|_| {
            if random.below(6) == 0 {
                0.0
            } else {
                c * (0.5 + random.uniform())
            }
        })
        .collect();
    let l = 10f64.powi(random.below(4) as i32 - 2);
    let problem = Problem {
        loss: Loss::Softmax,
        l1: penalty.0 * l,
        l2: penalty.1 * l,
        intercept,
        outputs: classes,
        features: d,
    };
    let design = Design {
        features: d,
        starts: (0..=n).map(|i| i * d).collect(),
        columns: Vec::new(),
        values: x.into_iter().flatten().collect(),
    };
    let mut case = SoftmaxCase {
        problem,
        design,
        targets,
        weights,
        point: Vec::new(),
        columns,
    };
    solve(&mut case, iterations);
    case
}

/// Newton's method with |w| smoothed: in doubles for centred and scaled columns, then in 192 bits.
fn solve(case: &mut SoftmaxCase, iterations: usize) {
    let problem = &case.problem;
    let (classes, width, d, n) = (
        problem.outputs,
        problem.width(),
        problem.features,
        case.targets.len(),
    );
    let centred = problem.intercept == Intercept::Free;
    let values = &case.design.values;
    let mean: Vec<f64> = (0..d)
        .map(|j| {
            if centred {
                (0..n).map(|i| values[i * d + j]).sum::<f64>() / n as f64
            } else {
                0.0
            }
        })
        .collect();
    let spread: Vec<f64> = (0..d)
        .map(|j| ((0..n).map(|i| (values[i * d + j] - mean[j]).powi(2)).sum::<f64>() / n as f64).sqrt())
        .collect();
    let unit = |j: usize| if j < d { spread[j] } else { 1.0 };
    // x in floats of `bits` bits, exactly as the rows if `exactly`, otherwise centred and scaled.
    let rows = |exactly: bool, bits: usize| -> Vec<Vec<Big>> {
        let cell = |i: usize, j: usize| match (j < d, exactly) {
            (false, _) => 1.0,
            (true, true) => values[i * d + j],
            (true, false) => (values[i * d + j] - mean[j]) / spread[j],
        };
        (0..n)
            .map(|i| (0..width).map(|j| float(cell(i, j), bits)).collect())
            .collect()
    };
    let p = classes * width;
    let newton = |x: &[Vec<Big>], w: &mut Vec<Big>, mu: f64, exactly: bool, bits: usize, most: usize| {
        let at_unit = |j: usize| if exactly { 1.0 } else { unit(j) };
        let gradient = |w: &[Big], with_matrix: bool| {
            let mut g = vec![float(0.0, bits); p];
            let mut h = vec![vec![float(0.0, bits); p]; if with_matrix { p } else { 0 }];
            for i in 0..n {
                let z: Vec<Big> = (0..classes)
                    .map(|k| dot(&x[i], &w[k * width..][..width]))
                    .collect();
                let top = z
                    .iter()
                    .fold(z[0].clone(), |a, b| if *b > a { b.clone() } else { a });
                let e: Vec<Big> = z.iter().map(|z| (z - &top).exp()).collect();
                let sum = e.iter().fold(float(0.0, bits), |sum, e| sum + e);
                let c = float(case.weights[i], bits);
                let shares: Vec<Big> = e.iter().map(|e| e / &sum).collect();
                for k in 0..classes {
                    let y = float(f64::from(u8::from(case.targets[i] as usize == k)), bits);
                    let residual = &c * (&shares[k] - y);
                    for j in 0..width {
                        g[k * width + j] = &g[k * width + j] + &residual * &x[i][j];
                    }
                    for l in (0..classes).filter(|_| with_matrix) {
                        let delta = float(f64::from(u8::from(k == l)), bits);
                        let weight = &c * &shares[k] * (delta - &shares[l]);
                        for j in 0..width {
                            let along = &weight * &x[i][j];
                            for m in 0..width {
                                h[k * width + j][l * width + m] =
                                    &h[k * width + j][l * width + m] + &along * &x[i][m];
                            }
                        }
                    }
                }
            }
            for at in 0..p {
                let j = at % width;
                let size = float(mu / if exactly { unit(j) } else { 1.0 }, bits);
                let (l1, l2) = (
                    float(problem.l1 / at_unit(j), bits),
                    float(problem.l2 / at_unit(j).powi(2), bits),
                );
                let four = float(4.0, bits) * &size * &size;
                let root = (&w[at] * &w[at] + &four).sqrt();
                if problem.penalizes(j) {
                    g[at] = &g[at] + &l1 * &w[at] / &root + &l2 * &w[at];
                }
                if with_matrix {
                    let curved = if problem.penalizes(j) {
                        l1 * four / (&root * &root * &root) + l2
                    } else {
                        float(0.0, bits)
                    };
                    h[at][at] = &h[at][at] * float(1.0 + 1e-10, bits) + curved + float(1e-200, bits);
                }
            }
            (g, h)
        };
        for _ in 0..most {
            let (g, h) = gradient(w, true);
            let Some(step) = solve_symmetric(h, g.clone()) else {
                return;
            };
            let first = abs(&dot(&g, &step));
            let mut t = float(1.0, bits);
            for _ in 0..20 {
                let next: Vec<Big> = w.iter().zip(&step).map(|(w, s)| w - &t * s).collect();
                if dot(&gradient(&next, false).0, &step) >= &first * float(-0.5, bits) {
                    break;
                }
                t = t * float(0.5, bits);
            }
            let done = w
                .iter()
                .zip(&step)
                .all(|(w, s)| abs(s) <= (abs(w) + float(1e-9, bits)) * float(1e-8, bits));
            *w = w
                .iter()
                .zip(&step)
                .map(|(w, s)| (w - &t * s).with_precision(bits).value())
                .collect();
            if done {
                return;
            }
        }
    };
    let x = rows(false, 64);
    let mut w = vec![float(0.0, 64); p];
    let mut mu = 1.0;
    for _ in 0..if problem.l1 > 0.0 { 6 } else { 1 } {
        newton(&x, &mut w, mu, false, 64, iterations);
        mu *= 0.1;
    }
    for k in 0..classes {
        (0..d).for_each(|j| w[k * width + j] = &w[k * width + j] / float(spread[j], 64));
        if centred {
            let shift = (0..d).fold(float(0.0, 64), |sum, j| {
                sum + &w[k * width + j] * float(mean[j], 64)
            });
            w[k * width + d] = &w[k * width + d] - shift;
        }
    }
    if iterations > 10 {
        let x = rows(true, 192);
        w = w.into_iter().map(|w| w.with_precision(192).value()).collect();
        mu = if problem.l1 > 0.0 { 1e-6 } else { 1e-12 };
        while mu > 1e-13 {
            newton(&x, &mut w, mu, true, 192, 6);
            mu *= 0.1;
        }
    }
    let mut w: Vec<f64> = w.iter().map(rounded).collect();
    w.iter_mut().for_each(|w| {
        if w.abs() < 1e-140 {
            *w = 0.0
        }
    });
    case.point = w;
}

fn float(x: f64, bits: usize) -> Big {
    Big::try_from(x).expect("finite").with_precision(bits).value()
}

/// P, and P − D at the multipliers of an attempt after their exact move onto the constraints.
fn exact(sub: &Subproblem<'_>, point: &[f64], dual: &DualPoint) -> (Big, Option<Big>) {
    let problem = &sub.problem;
    let (classes, width) = (problem.outputs, problem.width());
    let rows: Vec<usize> = sub.rows().collect();
    let x: Vec<Vec<Big>> = rows.iter().map(|&i| row(sub, i)).collect();
    let w: Vec<Vec<Big>> = (0..classes)
        .map(|k| point[k * width..][..width].iter().map(|&w| big(w)).collect())
        .collect();
    let mut shares = Vec::new();
    let mut primal = zero();
    for (at, &i) in rows.iter().enumerate() {
        let (c, y) = (big(sub.weights[i]), sub.targets[i] as usize);
        let mut alpha: Vec<Option<Big>> = dual.a[at * classes..][..classes]
            .iter()
            .map(|&a| (!a.is_nan()).then(|| big(a)))
            .collect();
        let known = alpha.iter().flatten().fold(zero(), |sum, a| sum + a);
        let top = alpha.iter().position(Option::is_none).expect("one class");
        alpha[top] = Some(-known);
        let share = |(k, a): (usize, &Option<Big>)| {
            let a = a.as_ref().expect("set");
            (if k == y { &c - a } else { -a.clone() }) / &c
        };
        shares.push(alpha.iter().enumerate().map(share).collect::<Vec<Big>>());
        let z: Vec<Big> = w.iter().map(|w| dot(&x[at], w)).collect();
        let rest = (0..classes)
            .filter(|&k| k != top)
            .fold(zero(), |sum, k| sum + (&z[k] - &z[top]).exp());
        primal = primal + &c * ((rest + big(1.0)).ln() + &z[top] - &z[y]);
    }
    let (l1, l2) = (big(problem.l1), big(problem.l2));
    for (_, &w) in point
        .iter()
        .enumerate()
        .filter(|(at, _)| problem.penalizes(at % width))
    {
        primal = primal + &l1 * abs(&big(w)) + &l2 * big(w) * big(w) * big(0.5);
    }
    let penalized = problem.l1 > 0.0 || problem.l2 > 0.0;
    let constrained: Vec<usize> = match (penalized, problem.intercept) {
        (false, _) => (0..width).collect(),
        (true, Intercept::Free) => vec![problem.features],
        _ => Vec::new(),
    };
    let product = |shares: &[Vec<Big>], k: usize, j: usize| {
        rows.iter().enumerate().fold(zero(), |sum, (at, &i)| {
            let y = big(f64::from(u8::from(sub.targets[i] as usize == k)));
            sum + big(sub.weights[i]) * (y - &shares[at][k]) * &x[at][j]
        })
    };
    if !constrained.is_empty() {
        let index: Vec<(usize, usize)> = (0..classes - 1)
            .flat_map(|k| constrained.iter().map(move |&j| (k, j)))
            .collect();
        let r: Vec<Big> = index.iter().map(|&(k, j)| product(&shares, k, j)).collect();
        let entry = |(k, a): (usize, usize), (l, b): (usize, usize)| {
            rows.iter().enumerate().fold(zero(), |sum, (at, &i)| {
                let delta = big(f64::from(u8::from(k == l)));
                sum + big(sub.weights[i]) * &shares[at][k] * (delta - &shares[at][l]) * &x[at][a] * &x[at][b]
            })
        };
        let h = index
            .iter()
            .map(|&a| index.iter().map(|&b| entry(a, b)).collect())
            .collect();
        let Some(nu) = solve_symmetric(h, r) else {
            return (primal, None);
        };
        for (at, shares) in shares.iter_mut().enumerate() {
            let mut t = vec![zero(); classes];
            index
                .iter()
                .zip(&nu)
                .for_each(|(&(k, j), nu)| t[k] = &t[k] + nu * &x[at][j]);
            let mean = dot(&t, shares);
            shares
                .iter_mut()
                .zip(&t)
                .for_each(|(p, t)| *p = &*p + &*p * (t - &mean));
        }
    }
    let columns: Vec<Big> = (0..classes)
        .flat_map(|k| (0..width).filter(|&j| problem.penalizes(j)).map(move |j| (k, j)))
        .map(|(k, j)| product(&shares, k, j))
        .collect();
    let mut dual_value = zero();
    let mut shrink = big(1.0);
    for u in &columns {
        let over = abs(u) - &l1;
        if over > zero() {
            if problem.l2 > 0.0 {
                dual_value = dual_value - &over * &over / (&l2 * big(2.0));
            } else if &l1 / abs(u) < shrink {
                shrink = &l1 / abs(u);
            }
        }
    }
    for (&i, shares) in rows.iter().zip(&shares) {
        for (k, p) in shares.iter().enumerate() {
            let y = big(f64::from(u8::from(sub.targets[i] as usize == k)));
            let p = &y - &shrink * (&y - p);
            if p < zero() {
                return (primal, None);
            }
            if p > zero() {
                dual_value = dual_value - big(sub.weights[i]) * &p * p.ln();
            }
        }
    }
    (primal.clone(), Some(primal - dual_value))
}

/// Violations by one case.
fn violations(case: &SoftmaxCase) -> (usize, Gap) {
    let sub = case.subproblem();
    recorded();
    let found = prove(&sub, &case.point, &Hints::default());
    let mut count = 0;
    for dual in recorded().into_iter().filter(|dual| dual.gap.gap.is_finite()) {
        let (primal, gap) = exact(&sub, &case.point, &dual);
        count += usize::from(gap.is_none_or(|gap| gap > big(dual.gap.gap)));
        count += usize::from(!(big(dual.gap.primal.lo) <= primal && primal <= big(dual.gap.primal.hi)));
    }
    (count, found)
}

fn problems(seeds: u64, iterations: usize) -> Vec<SoftmaxCase> {
    let mut all = Vec::new();
    for seed in 0..seeds {
        let mut random = Random(99 + seed);
        for penalty in [(0.0, 1.0), (1.0, 0.0), (0.5, 0.5), (0.0, 0.0)] {
            for columns in [
                Columns::Plain,
                Columns::Scaled,
                Columns::Offset,
                Columns::Duplicates,
                Columns::NearSeparable,
            ] {
                let intercept = random.pick(&[
                    Intercept::Free,
                    Intercept::Free,
                    Intercept::Penalized,
                    Intercept::Absent,
                ]);
                all.push(case(&mut random, penalty, intercept, columns, iterations));
            }
        }
    }
    all
}

/// Problems with points near their optima.
fn optima() -> &'static [SoftmaxCase] {
    static CASES: OnceLock<Vec<SoftmaxCase>> = OnceLock::new();
    CASES.get_or_init(|| problems(1, 40))
}

#[test]
fn gaps_lie_above_the_exact_gaps() {
    for case in problems(1, 5) {
        let (count, found) = violations(&case);
        assert_eq!(count, 0, "{:?} {:?} {found:?}", case.problem, case.columns);
    }
}

#[test]
fn gaps_at_optima_are_proved() {
    let (mut proved, mut tried) = (0, 0);
    for case in optima() {
        let (count, found) = violations(case);
        assert_eq!(count, 0, "{:?} {:?} {found:?}", case.problem, case.columns);
        // Without rows of a class, or if the classes are separable, there is no optimum.
        let empty = (0..case.problem.outputs)
            .any(|k| (0..case.targets.len()).all(|i| case.targets[i] != k as f64 || case.weights[i] == 0.0));
        let unpenalized = case.problem.l1 == 0.0 && case.problem.l2 == 0.0;
        if empty || unpenalized && case.point.iter().any(|w| w.abs() > 1e4) {
            continue;
        }
        tried += 1;
        proved += usize::from(found.relative <= 1e-6);
        if found.relative > 1e-6 {
            println!("{:?} {:?} {found:?} {:?}", case.problem, case.columns, case.point);
        }
    }
    assert!(20 * proved >= 19 * tried, "{proved} of {tried}");
}

#[test]
fn mutants_are_detected() {
    let cases = problems(1, 3);
    for mutant in [Mutant::NoRowDefects, Mutant::NoColumnDefects, Mutant::NoMoves] {
        let found = cases.iter().any(|case| with(mutant, || violations(case).0) > 0);
        assert!(found, "{mutant:?} passes");
    }
}

/// The optimum lies in the proved intervals: a Newton step in 192 bits from the centre stays inside of them.
#[test]
fn optima_lie_in_their_intervals() {
    let (mut proved, mut tried) = (0, 0);
    for case in optima().iter().filter(|case| case.problem.l1 == 0.0) {
        let empty = (0..case.problem.outputs)
            .any(|k| (0..case.targets.len()).all(|i| case.targets[i] != k as f64 || case.weights[i] == 0.0));
        if empty || case.problem.l2 == 0.0 && case.point.iter().any(|w| w.abs() > 1e4) {
            continue;
        }
        let sub = case.subproblem();
        let digits = crate::digits::prove(&sub, &case.point);
        tried += 1;
        let Some(digits) = digits else {
            println!("not proved: {:?} {:?}", case.problem, case.columns);
            continue;
        };
        proved += 1;
        let exact = optimum(&sub, &case.point);
        let worst = digits
            .centre
            .iter()
            .zip(&digits.radius)
            .map(|(c, r)| -(r / c.0.abs()).log10())
            .fold(99.0, f64::min);
        println!("{worst:.1} digits");
        for ((centre, &radius), exact) in digits.centre.iter().zip(&digits.radius).zip(&exact) {
            let distance = abs(&(exact - big(centre.0) - big(centre.1)));
            assert!(
                distance <= big(radius),
                "{:?} {:?} {} {centre:?} {radius:e}",
                case.problem,
                case.columns,
                rounded(&distance)
            );
        }
    }
    println!("{proved} of {tried}");
    assert!(10 * proved >= 9 * tried);
}

/// The optimum with the sums over the classes of a point in columns without a penalty: Newton steps with the last class's
/// coefficients fixed in these columns.
fn optimum(sub: &Subproblem<'_>, point: &[f64]) -> Vec<Big> {
    let problem = &sub.problem;
    let (classes, width) = (problem.outputs, problem.width());
    let fixed = |at: usize| !problem.penalizes(at % width) && at >= (classes - 1) * width;
    let variables: Vec<usize> = (0..classes * width).filter(|&at| !fixed(at)).collect();
    let x: Vec<Vec<Big>> = sub.rows().map(|i| row(sub, i)).collect();
    let mut w: Vec<Big> = point.iter().map(|&w| big(w)).collect();
    for _ in 0..7 {
        let mut g = vec![zero(); variables.len()];
        let mut h = vec![vec![zero(); variables.len()]; variables.len()];
        for (x, i) in x.iter().zip(sub.rows()) {
            let z: Vec<Big> = (0..classes).map(|k| dot(x, &w[k * width..][..width])).collect();
            let e: Vec<Big> = z.iter().map(|value| (value - &z[0]).exp()).collect();
            let sum = e.iter().fold(zero(), |sum, e| sum + e);
            let (c, p): (Big, Vec<Big>) = (big(sub.weights[i]), e.iter().map(|e| e / &sum).collect());
            for (a, &at) in variables.iter().enumerate() {
                let y = big(f64::from(u8::from(sub.targets[i] as usize == at / width)));
                g[a] = &g[a] + &c * (&p[at / width] - y) * &x[at % width];
                for (b, &bt) in variables.iter().enumerate() {
                    let delta = big(f64::from(u8::from(at / width == bt / width)));
                    h[a][b] = &h[a][b]
                        + &c * &p[at / width] * (delta - &p[bt / width]) * &x[at % width] * &x[bt % width];
                }
            }
        }
        for (a, &at) in variables
            .iter()
            .enumerate()
            .filter(|(_, at)| problem.penalizes(*at % width))
        {
            g[a] = &g[a] + big(problem.l2) * &w[at];
            h[a][a] = &h[a][a] + big(problem.l2);
        }
        let step = solve_symmetric(h, g).expect("nonsingular");
        variables
            .iter()
            .zip(&step)
            .for_each(|(&at, step)| w[at] = &w[at] - step);
    }
    for j in (0..width).filter(|&j| !problem.penalizes(j)) {
        let excess = (0..classes).fold(zero(), |sum, k| {
            sum + &w[k * width + j] - big(point[k * width + j])
        }) / big(classes as f64);
        (0..classes).for_each(|k| w[k * width + j] = &w[k * width + j] - &excess);
    }
    w
}

#[test]
fn a_newton_step_as_direction_tightens_the_gap() {
    let mut tighter = 0;
    for case in optima()
        .iter()
        .filter(|case| case.problem.l2 > 0.0 && case.problem.l1 == 0.0 && case.columns == Columns::Plain)
    {
        let mut random = Random(3);
        let point: Vec<f64> = case
            .point
            .iter()
            .map(|w| w * (1.0 + 1e-3 * random.normal()))
            .collect();
        let v: Vec<f64> = case
            .point
            .iter()
            .zip(&point)
            .map(|(to, from)| to - from)
            .collect();
        let sub = case.subproblem();
        let plain = prove(&sub, &point, &Hints::default());
        let hinted = prove(
            &sub,
            &point,
            &Hints {
                direction: Some(v),
                ..Hints::default()
            },
        );
        println!("{:e} with v {:e}", plain.gap, hinted.gap);
        tighter += usize::from(hinted.gap < 0.5 * plain.gap);
    }
    assert!(tighter > 0);
}

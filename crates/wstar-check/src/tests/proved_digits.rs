//! Proved digits against optima in 192 bits, exact solutions of least squares, and published values.

use crate::design::Design;
use crate::digits::{Digits, prove};
use crate::gap::Subproblem;
use crate::mutant::{Mutant, with};
use crate::problem::{Intercept, Loss, Problem};
use crate::tests::exact::{Big, abs, big, dot, rounded, row, solve_symmetric, zero};
use crate::tests::precisely;
use crate::tests::random_case::{Case, Columns};
use crate::tests::random_problems::{Random, case};

fn dense(rows: &[Vec<f64>]) -> Design {
    let features = rows[0].len();
    Design {
        features,
        starts: (0..=rows.len()).map(|i| i * features).collect(),
        columns: Vec::new(),
        values: rows.iter().flatten().copied().collect(),
    }
}

fn problem(loss: Loss, l2: f64, intercept: Intercept, features: usize) -> Problem {
    Problem {
        loss,
        l1: 0.0,
        l2,
        intercept,
        outputs: 1,
        features,
    }
}

/// Coefficients outside of their intervals.
fn outside(digits: &Digits, exact: &[Big]) -> usize {
    let far = |at: &usize| {
        let (hi, lo) = digits.centre[*at];
        abs(&(&exact[*at] - big(hi) - big(lo))) > big(digits.radius[*at])
    };
    (0..exact.len()).filter(far).count()
}

/// The digits of the worst coefficient, relative to it.
fn worst(digits: &Digits) -> f64 {
    let relative = digits
        .centre
        .iter()
        .zip(&digits.radius)
        .map(|(c, r)| -(r / c.0.abs()).log10());
    relative.fold(f64::INFINITY, f64::min)
}

/// The exact least-squares solution, and the standard errors.
fn least_squares(sub: &Subproblem<'_>) -> (Vec<Big>, Vec<Big>) {
    let x: Vec<Vec<Big>> = sub.rows().map(|i| row(sub, i)).collect();
    let y: Vec<Big> = sub.rows().map(|i| big(sub.targets[i])).collect();
    let p = x[0].len();
    let h: Vec<Vec<Big>> = (0..p)
        .map(|a| {
            (0..p)
                .map(|b| x.iter().fold(zero(), |sum, x| sum + &x[a] * &x[b]))
                .collect()
        })
        .collect();
    let right = |a: usize| x.iter().zip(&y).fold(zero(), |sum, (x, y)| sum + &x[a] * y);
    let w = solve_symmetric(h.clone(), (0..p).map(right).collect()).expect("independent");
    let squares = x.iter().zip(&y).fold(zero(), |sum, (x, y)| {
        let r = y - dot(x, &w);
        sum + &r * &r
    });
    let variance = squares / big((x.len() - p) as f64);
    let errors = (0..p).map(|a| {
        let unit = (0..p).map(|b| big(f64::from(u8::from(a == b)))).collect();
        (&solve_symmetric(h.clone(), unit).expect("independent")[a] * &variance).sqrt()
    });
    let errors = errors.collect();
    (w, errors)
}

/// A name, rows and targets.
type Regression = (&'static str, Vec<Vec<f64>>, Vec<f64>);

/// A file of the real data for tests (`WSTAR_DATA`, or `shared/data` next to the project); in CI it must be there.
fn real_data(name: &str) -> Option<String> {
    let folder = std::env::var("WSTAR_DATA")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").into());
    let text = std::fs::read_to_string(format!("{folder}/{name}")).ok();
    let is_required = std::env::var_os("CI").is_some();
    assert!(text.is_some() || !is_required, "{folder}/{name} is absent");
    text
}

#[test]
fn balance_predicts_default() {
    let Some(text) = real_data("islr/Default.csv") else {
        return;
    };
    let lines: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let rows: Vec<Vec<f64>> = lines
        .iter()
        .map(|cells| vec![cells[2].parse().expect("number")])
        .collect();
    let targets: Vec<f64> = lines
        .iter()
        .map(|cells| if cells[0] == "Yes" { 1.0 } else { -1.0 })
        .collect();
    let (design, weights) = (dense(&rows), vec![1.0; rows.len()]);
    let problem = problem(Loss::Logistic, 0.0, Intercept::Free, 1);
    let sub = Subproblem {
        problem,
        design: &design,
        targets: &targets,
        weights: &weights,
    };
    let digits = prove(&sub, &[0.0054989, -10.6513]).expect("proved");
    println!("{digits:?} {}", worst(&digits));
    for (at, published, tolerance) in [(1, -10.65133062095797, 1e-13), (0, 0.005498916934904633, 1e-16)] {
        let (hi, lo) = digits.centre[at];
        assert!(rounded(&abs(&(big(hi) + big(lo) - big(published)))) <= tolerance + digits.radius[at]);
        assert!(digits.radius[at] <= 2.0 * tolerance, "{:e}", digits.radius[at]);
    }
    let errors = digits.standard_errors.expect("unpenalised");
    assert!(
        (errors[1].lo - 0.36116872521) < 1e-9 && errors[1].hi - errors[1].lo < 1e-9,
        "{errors:?}"
    );
}

#[test]
fn least_squares_contain_the_exact_solution() {
    let mut random = Random(11);
    let polynomial = |degree: i32, n: i32| -> Vec<Vec<f64>> {
        (0..n)
            .map(|x| (1..=degree).map(|k| f64::from(x).powi(k)).collect())
            .collect()
    };
    let mut problems: Vec<Regression> = Vec::new();
    let wampler = polynomial(5, 21);
    let powers = |factor: f64| {
        move |x: &Vec<f64>| 1.0 + x.iter().zip(1..).map(|(x, k)| x * factor.powi(k)).sum::<f64>()
    };
    problems.push((
        "wampler1",
        wampler.clone(),
        wampler.iter().map(powers(1.0)).collect(),
    ));
    problems.push((
        "wampler2",
        wampler.clone(),
        wampler.iter().map(powers(0.1)).collect(),
    ));
    let noisy = wampler
        .iter()
        .map(|x| powers(1.0)(x) + 1000.0 * random.normal())
        .collect();
    problems.push(("wampler3", wampler, noisy));
    let line: Vec<Vec<f64>> = (0..36)
        .map(|_| vec![(1000.0 * random.uniform() * 10.0).round() / 10.0])
        .collect();
    problems.push((
        "norris",
        line.clone(),
        line.iter()
            .map(|x| 1.002 * x[0] - 0.26 + 0.9 * random.normal())
            .collect(),
    ));
    let square: Vec<Vec<f64>> = (1..41)
        .map(|k| vec![75000.0 * f64::from(k), (75000.0 * f64::from(k)).powi(2)])
        .collect();
    let quadratic = |x: &Vec<f64>| 6.7e-4 + 7.3e-7 * x[0] - 3.2e-15 * x[1];
    problems.push(("pontius", square.clone(), square.iter().map(quadratic).collect()));
    let far: Vec<Vec<f64>> = (0..50)
        .map(|_| {
            (0..3)
                .map(|_| 1e7 + (random.normal() * 64.0).round() / 64.0)
                .collect()
        })
        .collect();
    problems.push((
        "far",
        far.clone(),
        far.iter().map(|x| x[0] - x[1] + random.normal()).collect(),
    ));
    for name in ["longley", "norris"] {
        let Some(text) = real_data(&format!("nist/{name}.csv")) else {
            continue;
        };
        let number = |cell: &str| cell.trim().parse::<f64>().expect("number");
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(number).collect())
            .collect();
        let targets = rows.iter().map(|row| row[0]).collect();
        problems.push((name, rows.iter().map(|row| row[1..].to_vec()).collect(), targets));
    }
    for (name, rows, targets) in problems {
        let (design, weights) = (dense(&rows), vec![1.0; rows.len()]);
        let problem = problem(Loss::Squared, 0.0, Intercept::Free, rows[0].len());
        let sub = Subproblem {
            problem,
            design: &design,
            targets: &targets,
            weights: &weights,
        };
        let (exact, errors) = least_squares(&sub);
        let point: Vec<f64> = exact
            .iter()
            .map(|w| rounded(w) * (1.0 + 1e-9 * random.normal()))
            .collect();
        let digits = prove(&sub, &point).expect(name);
        println!(
            "{name}: {:.1} digits, se {:?}",
            worst(&digits),
            digits.standard_errors
        );
        assert_eq!(outside(&digits, &exact), 0, "{name}");
        for (found, exact) in digits.standard_errors.iter().flatten().zip(&errors) {
            assert!(
                big(found.lo) <= *exact && *exact <= big(found.hi),
                "{name} {found:?} {}",
                rounded(exact)
            );
        }
        assert!(worst(&digits) > 15.0, "{name}");
    }
}

/// Random smooth problems with their optima.
fn problems(seed: u64) -> Vec<(Case, Vec<Big>)> {
    let mut random = Random(seed);
    let mut all = Vec::new();
    for loss in [
        Loss::Squared,
        Loss::Logistic,
        Loss::SquaredHinge,
        Loss::ModifiedHuber,
    ] {
        for l2 in [0.0, 1.0] {
            for columns in [
                Columns::Plain,
                Columns::Scaled,
                Columns::Offset,
                Columns::Duplicates,
            ] {
                let intercept = random.pick(&[
                    Intercept::Free,
                    Intercept::Free,
                    Intercept::Penalized,
                    Intercept::Absent,
                ]);
                let mut case = case(&mut random, loss, (0.0, l2), intercept, columns, false);
                let scales = vec![1.0; case.point.len()];
                let (_, optimum) = precisely::optimum(&case, &case.point, 1.0, &scales);
                // Off by a little, at random.
                let off = random.pick(&[0.0, 1e-9, 1e-5]);
                case.point = optimum
                    .iter()
                    .map(|w| rounded(w) * (1.0 + off * random.normal()))
                    .collect();
                if case.subproblem().is_admissible(&case.point) {
                    all.push((case, optimum));
                }
            }
        }
    }
    all
}

#[test]
fn random_optima_lie_in_their_intervals() {
    let (mut proved, mut tried) = (0, 0);
    let mut digits_found = Vec::new();
    for (case, optimum) in problems(21).into_iter().chain(problems(22)) {
        let unpenalized = case.problem.l2 == 0.0;
        let separable = unpenalized && case.problem.loss != Loss::Squared;
        let digits = prove(&case.subproblem(), &case.point);
        let name = format!("{:?} {:?} {:?}", case.problem, case.columns, digits);
        if let Some(digits) = &digits {
            assert_eq!(
                outside(digits, &optimum),
                0,
                "{name} {:?}",
                optimum.iter().map(rounded).collect::<Vec<_>>()
            );
            digits_found.push(worst(digits));
        }
        if !(separable || unpenalized && case.columns == Columns::Duplicates) {
            tried += 1;
            proved += usize::from(digits.is_some());
            if digits.is_none() {
                println!("not proved {name}");
            }
        }
    }
    digits_found.sort_by(f64::total_cmp);
    println!("{proved} of {tried}, {digits_found:.1?}");
    assert!(10 * proved >= 9 * tried, "{proved} of {tried}");
}

#[test]
fn mutants_are_detected() {
    let cases = problems(21);
    for (case, optimum) in &cases {
        let digits = with(Mutant::PoorFactor, || prove(&case.subproblem(), &case.point));
        assert!(digits.is_none_or(|digits| outside(&digits, optimum) == 0));
    }
    for mutant in [
        Mutant::ExactInverse,
        Mutant::ExactGradient,
        Mutant::ConstantCurvature,
    ] {
        let wrong = |(case, optimum): &(Case, Vec<Big>)| {
            let digits = with(mutant, || prove(&case.subproblem(), &case.point));
            digits.is_some_and(|digits| outside(&digits, optimum) > 0)
        };
        let found = cases.iter().filter(|case| wrong(case)).count();
        println!("{mutant:?}: {found}");
        assert!(found > 0, "{mutant:?} passes");
    }
}

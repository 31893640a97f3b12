//! Proved active sets against optima in 192 bits.

use crate::active_set::prove;
use crate::digits::Digits;
use crate::mutant::{Mutant, with};
use crate::problem::{Intercept, Loss};
use crate::tests::exact::{Big, abs, big, rounded};
use crate::tests::precisely;
use crate::tests::random_case::{Case, Columns};
use crate::tests::random_problems::{Random, case};

/// Random problems with kinks, and optima of objectives that are smoothed by 10⁻³⁰.
fn problems(seed: u64) -> Vec<(Case, Vec<Big>)> {
    let mut random = Random(seed);
    let mut all = Vec::new();
    let kinds = [
        (Loss::Hinge, (0.0, 1.0)),
        (Loss::Absolute, (0.0, 0.0)),
        (Loss::Quantile(0.3), (0.0, 0.0)),
        (Loss::Squared, (1.0, 0.0)),
        (Loss::Squared, (0.5, 0.5)),
        (Loss::Logistic, (1.0, 0.0)),
        (Loss::SquaredHinge, (1.0, 0.0)),
    ];
    for (loss, penalty) in kinds {
        for columns in [Columns::Plain, Columns::Scaled, Columns::Offset, Columns::Sparse] {
            let intercept = random.pick(&[
                Intercept::Free,
                Intercept::Free,
                Intercept::Penalized,
                Intercept::Absent,
            ]);
            let mut case = case(&mut random, loss, penalty, intercept, columns, true);
            let largest = case.targets.iter().fold(0.0f64, |m, y| m.max(y.abs()));
            let y_scale = if matches!(loss, Loss::Absolute | Loss::Quantile(_)) {
                largest
            } else {
                1.0
            };
            let scales: Vec<f64> = case.point.iter().map(|w| w.abs().max(1e-3)).collect();
            let (_, optimum) = precisely::optimum_at(&case, &case.point, y_scale, &scales, 1e-22);
            for (w, exact) in case.point.iter_mut().zip(&optimum) {
                let small = penalty.0 > 0.0 && rounded(&abs(exact)) < 1e-6 * w.abs().max(1e-6);
                *w = if small { 0.0 } else { rounded(exact) };
            }
            all.push((case, optimum));
        }
    }
    all
}

/// Coefficients further from the optimum of the smoothed problem than its distance from that of the problem allows.
fn outside(digits: &Digits, exact: &[Big]) -> usize {
    let far = |at: &usize| {
        let (hi, lo) = digits.centre[*at];
        let smoothing = 1e-17 * (hi.abs() + 1e-3);
        abs(&(&exact[*at] - big(hi) - big(lo))) > big(digits.radius[*at] + smoothing)
    };
    (0..exact.len()).filter(far).count()
}

#[test]
fn active_sets_are_proved() {
    let (mut proved, mut tried) = (0, 0);
    for (case, optimum) in problems(31) {
        let digits = prove(&case.subproblem(), &case.point);
        let name = format!(
            "{:?} {:?} {:?} {digits:?}",
            case.problem, case.columns, case.point
        );
        tried += 1;
        match &digits {
            Some(digits) => {
                proved += 1;
                assert_eq!(
                    outside(digits, &optimum),
                    0,
                    "{name} {:?}",
                    optimum.iter().map(rounded).collect::<Vec<_>>()
                );
            }
            None => println!("not proved {name}"),
        }
    }
    println!("{proved} of {tried}");
    assert!(10 * proved >= 8 * tried, "{proved} of {tried}");
}

#[test]
fn wrong_active_sets_are_refused() {
    let (mut refused, mut wrong, mut tried) = (0, 0, 0);
    for (mut case, optimum) in problems(32) {
        // A point so far off that other rows are near the kink, or another column is absent.
        let mut random = Random(7);
        let of_l1 = case.problem.l1 > 0.0;
        let features = case.problem.features;
        case.point
            .iter_mut()
            .enumerate()
            .for_each(|(j, w)| match of_l1 && j < features {
                true => *w = if *w == 0.0 { 1e-3 } else { 0.0 },
                false => *w *= 1.0 + 0.3 * random.normal(),
            });
        tried += 1;
        let found = |digits: Option<Digits>| digits.map(|digits| outside(&digits, &optimum));
        match found(prove(&case.subproblem(), &case.point)) {
            None => refused += 1,
            Some(outside) => assert_eq!(outside, 0),
        }
        let mistaken = with(Mutant::NoStrictness, || prove(&case.subproblem(), &case.point));
        wrong += usize::from(found(mistaken).is_some_and(|outside| outside > 0));
    }
    println!("{refused} of {tried} refused, the mutant is wrong {wrong} times");
    assert!(refused > tried / 2 && wrong > 0);
}

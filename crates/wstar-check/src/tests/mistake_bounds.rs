//! Mistake bounds against the formulas in exact arithmetic, and against perceptrons.

use crate::dyadic::Dyadic;
use crate::mistake_bound::{Conditions, Quantities, Schedule, count_mistakes};
use crate::mutant::{Mutant, with};
use crate::points::Points;
use crate::reduction::Part;
use crate::tests::exact::{Big, big, dot, rounded, zero};
use crate::tests::random_problems::Random;
use crate::tests::random_rows::{bigs, contains, random, rows};
use crate::training_rows::TrainingRows;

fn conditions(features: usize) -> Conditions {
    Conditions {
        intercept: false,
        rate: 1.0,
        schedule: Schedule::Constant,
        repeats: Some(1),
        start: vec![0.0; features + 1],
        multiset: false,
    }
}

#[test]
fn a_bound_by_hand() {
    // x = 2 and x = −1 on the positive side, u = 1, γ = 1: R = 2, D = 2, and the bound is (2 + √k·2)².
    let data = rows(&[vec![2.0], vec![-1.0]], &[1.0, 1.0], None, false);
    let (u, mut run) = (vec![1.0, 0.0], conditions(1));
    let bounds = |run: &Conditions, most: f64| Quantities::new(&data, &[1.0, 1.0], run, &u, 1.0).bounds(most);
    assert!(bounds(&run, 16.0 + 1e-12) && !bounds(&run, 16.0 - 1e-12));
    run.repeats = Some(4);
    assert!(bounds(&run, 36.0 + 1e-12) && !bounds(&run, 36.0 - 1e-12));
    // The rate only matters with a start: w₀ = −3 adds ‖w₀‖ − u·w₀ = 6, and M − 4√M − 6 = 0 at M = (2 + √10)².
    (run.repeats, run.start) = (Some(1), vec![-3.0, 0.0]);
    let root = (2.0 + 10f64.sqrt()).powi(2);
    assert!(bounds(&run, root + 1e-12) && !bounds(&run, root - 1e-12));
    run.rate = 2.0;
    let root = (2.0 + 7f64.sqrt()).powi(2);
    assert!(bounds(&run, root + 1e-12) && !bounds(&run, root - 1e-12));
    // Without a limit on repeats a slack above the margin gives no bound.
    run.repeats = None;
    assert!(!bounds(&run, 1e300));
    // A weight of 2.5 stands for three rows of a multiset: D² = 3·4, a = ½, A = 1.
    let data = rows(&[vec![-1.0]], &[1.0], Some(vec![2.5]), false);
    let run = Conditions {
        multiset: true,
        ..conditions(1)
    };
    let found = Quantities::new(&data, &[1.0], &run, &u, 1.0);
    assert!(contains(found.slack, &big(12.0).sqrt()) && contains(found.radius, &big(1.0)));
    let most = 4.0 * (1.0 + 12f64.sqrt()).powi(2);
    assert!(found.bounds(most + 1e-9) && !found.bounds(most - 1e-9));
}

#[test]
fn sums_of_schedules() {
    for first in [1u64, 3, 10] {
        let (mut one, mut two) = (zero(), zero());
        for t in 1..2000u64 {
            let stage = ((t - 1) / first + 1).ilog2();
            let factor = 0.5f64.powi(stage as i32);
            (one, two) = (one + big(factor), two + big(factor * factor));
            let (low, high) = Schedule::Halving(first).sums(t as f64);
            assert!(
                big(low.lo) <= one && big(low.lo) >= &one * big(1.0 - 1e-14),
                "{first} {t}"
            );
            assert!(two <= big(high.hi));
        }
    }
    let (mut one, mut two) = (zero(), zero());
    for t in 1..2000 {
        (one, two) = (
            one + big(1.0) / big(f64::from(t)),
            two + big(1.0) / big(f64::from(t * t)),
        );
        let (low, high) = Schedule::Inverse.sums(f64::from(t));
        assert!(big(low.lo) <= one && two <= big(high.lo));
    }
    for huge in [1e18, 1e300, f64::MAX] {
        let (low, _) = Schedule::Halving(7).sums(huge);
        assert!(low.lo <= 7.0 * (huge / 7.0).log2() + 8.0);
    }
}

/// The largest M of the third inequality, in exact arithmetic.
fn exact_bound(
    x: &[Vec<f64>],
    data: &TrainingRows,
    y: &[f64],
    run: &Conditions,
    u: &[f64],
    margin: f64,
) -> f64 {
    let (mut radius, mut slack) = (zero(), zero());
    let (mut least, mut largest) = (f64::INFINITY, 0.0f64);
    for i in data.counting() {
        let mut lifted = bigs(&x[i]);
        lifted.push(big(f64::from(u8::from(run.intercept))));
        let squares = dot(&lifted, &lifted);
        radius = if squares > radius { squares } else { radius };
        let missing = big(margin) - big(y[i]) * dot(&bigs(u), &lifted);
        if missing > zero() {
            slack = slack + &missing * &missing;
        }
        (least, largest) = (least.min(data.weight(i)), largest.max(data.weight(i)));
    }
    let norm = |w: &[f64]| dot(&bigs(w), &bigs(w)).sqrt();
    let longer = if norm(u) > big(1.0) { norm(u) } else { big(1.0) };
    let slack = slack.sqrt() * big(run.repeats.unwrap() as f64).sqrt();
    let excess = &longer * norm(&run.start) - dot(&bigs(u), &bigs(&run.start));
    let excess = if excess > zero() { excess } else { zero() } / big(run.rate);
    let gain = big(margin) * big(least);
    let loss = big(largest) * (longer * radius.sqrt() + slack);
    let most: Big = match run.schedule {
        Schedule::Constant => {
            let root = (&loss + (&loss * &loss + big(4.0) * &gain * &excess).sqrt()) / (big(2.0) * &gain);
            &root * &root
        }
        Schedule::Inverse => {
            let sum = (loss * big(std::f64::consts::PI) / big(6.0).sqrt() + excess) / gain;
            if sum > big(600.0) {
                return f64::INFINITY;
            }
            sum.exp() - big(1.0)
        }
        Schedule::Halving(first) => {
            let stages = (loss * big(2.0 * first as f64).sqrt() + excess) / gain / big(first as f64);
            let whole = rounded(&stages).floor();
            if whole > 900.0 {
                return f64::INFINITY;
            }
            big(first as f64) * (big(whole.exp2()) * (big(1.0 - whole) + stages) - big(1.0))
        }
    };
    rounded(&most)
}

/// The numbers of bounds that were compared, and of those that are too small, or too large by more than rounding.
fn compare() -> (usize, usize, usize) {
    let (mut compared, mut small, mut large) = (0, 0, 0);
    for seed in 0..300 {
        let mut source = Random(seed);
        let (data, x) = random(&mut source, 2);
        let (n, d) = (x.len(), x[0].len());
        let y: Vec<f64> = data.targets.iter().map(|t| 2.0 * t - 1.0).collect();
        let mut draw = |scale: f64| (0..d + 1).map(|_| scale * source.normal()).collect::<Vec<f64>>();
        let (mut u, mut start) = (draw(1.0), draw(0.1));
        let norm = u.iter().map(|w| w * w).sum::<f64>().sqrt();
        u.iter_mut().for_each(|w| *w /= norm);
        let intercept = source.below(2) == 0;
        if !intercept {
            (u[d], start[d]) = (0.0, 0.0);
        }
        if source.below(2) == 0 {
            start = vec![0.0; d + 1];
        }
        let run = Conditions {
            intercept,
            rate: source.pick(&[1.0, 0.1]),
            schedule: source.pick(&[Schedule::Constant, Schedule::Inverse, Schedule::Halving(5)]),
            repeats: Some(1 + source.below(5) as u64),
            start,
            multiset: false,
        };
        let margin = 10f64.powf(2.0 * source.uniform() - 1.0) * (1.0 + x[n - 1][0].abs());
        let exact = exact_bound(&x, &data, &y, &run, &u, margin);
        if exact > 1e250 {
            continue;
        }
        let found = Quantities::new(&data, &y, &run, &u, margin);
        compared += 1;
        // π²/6 is rounded up, and an exponential enlarges relative errors.
        let rounding = 1e-11 * (1.0 + exact.ln().abs());
        small += usize::from(found.bounds(exact * (1.0 - 1e-14)));
        large += usize::from(!found.bounds(exact * (1.0 + rounding)));
    }
    (compared, small, large)
}

#[test]
fn bounds_are_those_of_exact_arithmetic() {
    let (compared, small, large) = compare();
    println!("{compared} bounds");
    assert!(
        compared > 100 && small == 0 && large == 0,
        "{compared} {small} {large}"
    );
    for mutant in [Mutant::NoLift, Mutant::NoSlack] {
        let (_, small, _) = with(mutant, compare);
        assert!(small > 10, "{mutant:?}: {small}");
    }
}

#[test]
fn perceptrons_keep_within_their_bounds() {
    let (mut tight, mut refused) = (0, 0);
    for seed in 0..200 {
        let mut source = Random(1000 + seed);
        let (data, x) = random(&mut source, 2);
        let (d, y) = (
            x[0].len(),
            data.targets.iter().map(|t| 2.0 * t - 1.0).collect::<Vec<f64>>(),
        );
        let intercept = source.below(2) == 0;
        let schedule = source.pick(&[Schedule::Constant, Schedule::Inverse, Schedule::Halving(3)]);
        let mut w: Vec<f64> = (0..d + 1).map(|_| source.normal()).collect();
        w[d] *= f64::from(u8::from(intercept));
        let passes = 1 + source.below(4) as u64;
        let run = Conditions {
            intercept,
            rate: 0.5,
            schedule,
            repeats: Some(passes),
            start: w.clone(),
            multiset: false,
        };
        let mut updates = 0u64;
        for _ in 0..passes {
            for i in data.counting() {
                let score: f64 = x[i].iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + w[d];
                if y[i] * score <= 0.0 {
                    updates += 1;
                    let factor = match schedule {
                        Schedule::Constant => 1.0,
                        Schedule::Inverse => 1.0 / updates as f64,
                        Schedule::Halving(first) => 0.5f64.powi(((updates - 1) / first + 1).ilog2() as i32),
                    };
                    let step = 0.5 * factor * data.weight(i) * y[i];
                    x[i].iter().zip(&mut w).for_each(|(x, w)| *w += step * x);
                    w[d] += step * run_lift(intercept);
                }
            }
        }
        let mut u: Vec<f64> = (0..d + 1).map(|_| source.normal()).collect();
        u[d] *= run_lift(intercept);
        let norm = u.iter().map(|w| w * w).sum::<f64>().sqrt();
        u.iter_mut().for_each(|w| *w /= norm);
        let found = Quantities::new(&data, &y, &run, &u, 0.3 * norm);
        assert!(!found.bounds(updates as f64 - 0.5), "{seed}");
        assert!(found.admits(&w, updates, true), "{seed}");
        // Weights that no run with so few updates reaches.
        let longer: Vec<f64> = w.iter().map(|w| 1e4 * w).collect();
        refused += usize::from(!found.admits(&longer, updates, true));
        tight += usize::from(!found.admits(&run.start, updates, true));
    }
    println!("{tight} starts and {refused} longer weights are refused");
    assert!(refused > 100, "{refused}");
}

fn run_lift(intercept: bool) -> f64 {
    f64::from(u8::from(intercept))
}

#[test]
fn signs_are_exact() {
    let mut source = Random(4);
    for _ in 0..2000 {
        let mut terms: Vec<(f64, f64)> = (0..1 + source.below(6))
            .map(|_| {
                (
                    source.normal() * 10f64.powi(source.below(40) as i32 - 20),
                    source.normal(),
                )
            })
            .collect();
        // Often the sum cancels exactly, or but for a tiny rest.
        let mirrored: Vec<(f64, f64)> = terms.iter().rev().map(|&(a, b)| (b, -a)).collect();
        if source.below(2) == 0 {
            terms.extend(mirrored);
            terms.extend((source.below(2) == 0).then(|| (1e-60, source.normal())));
        }
        let exact = terms.iter().fold(zero(), |sum, &(a, b)| sum + big(a) * big(b));
        let (v, x): (Vec<Dyadic>, Vec<f64>) = terms.iter().map(|&(a, b)| (Dyadic::double(a), b)).unzip();
        let data = rows(&[x], &[1.0], None, false);
        let product = Points::new(&data, Part::Against(1), false).product(0, &v);
        let found = (product.is_positive(), product.is_negative());
        assert_eq!(found, (exact > zero(), exact < zero()), "{terms:?}");
    }
    // 0.1 + 0.2 − 0.3 is above 0 as a sum of doubles, and −0.1 − 0.2 + 0.30000000000000004 is above 0 as a sum of real numbers.
    let mistakes = |x: &[Vec<f64>], classes: &[f64], plane: &[f64], zero_is_positive: bool| {
        let data = rows(x, classes, None, false);
        count_mistakes(
            plane,
            &Points::new(&data, Part::Against(1), true),
            zero_is_positive,
        )
    };
    let exact = big(0.30000000000000004) - big(0.1) - big(0.2);
    let found = mistakes(
        &[vec![0.1, 0.2]],
        &[1.0],
        &[-1.0, -1.0, 0.30000000000000004],
        false,
    );
    assert!(exact > zero() && found == 0);
    let on = [vec![1.0, 2.0], vec![2.0, 2.0], vec![0.0, 0.0]];
    let plane = [1.0, 1.0, -3.0];
    assert_eq!(mistakes(&on, &[1.0; 3], &plane, false), 2);
    assert_eq!(mistakes(&on, &[1.0; 3], &plane, true), 1);
    assert_eq!(mistakes(&on, &[0.0, 1.0, 0.0], &plane, true), 1);
}

//! Elementary functions and sums against exact arithmetic.

use crate::arithmetic::{Interval, ONE, Sum, U, two_prod, two_sum};
use crate::elementary::{exp_of_negative, log1p};
use crate::mutant::{Mutant, with};
use crate::tests::exact::{abs, big, rounded, zero};
use crate::tests::random_problems::Random;
use crate::tests::random_rows::contains;

#[test]
fn exponentials_lie_in_their_intervals() {
    let mut random = Random(1);
    let mut widest = 0.0f64;
    for k in 0..600 {
        let x = match k % 4 {
            0 => -700.0 * random.uniform(),
            1 => -2.0 * random.uniform(),
            2 => -(random.below(1000) as f64 + 0.5) * std::f64::consts::LN_2,
            _ => -10f64.powf(-15.0 * random.uniform()),
        };
        let x = x.max(-750.0);
        let found = exp_of_negative(Interval::point(x));
        let exact = big(x).exp();
        assert!(
            big(found.lo) <= exact && exact <= big(found.hi),
            "{x} {found:?} {}",
            rounded(&exact)
        );
        // The upper end is cut at 1, which moves the middle.
        if x > -700.0 && found.hi < 1.0 {
            let middle = 0.5 * (found.lo + found.hi);
            widest = widest.max(rounded(&(abs(&(big(middle) - &exact)) / exact)) / U);
        }
    }
    assert!(widest < 4.0, "{widest}");
}

#[test]
fn logarithms_lie_in_their_intervals() {
    let mut random = Random(2);
    for k in 0..300 {
        let x = match k % 3 {
            0 => random.uniform(),
            1 => 10f64.powf(-200.0 * random.uniform()),
            _ => 10f64.powf(100.0 * random.uniform()),
        };
        let found = log1p(Interval::point(x));
        // 1 + x loses digits of a small x, so a series is used below.
        let exact = if x < 1e-40 {
            big(x) - big(x) * big(x) * big(0.5)
        } else {
            (big(1.0) + big(x)).ln()
        };
        assert!(big(found.lo) <= exact && exact <= big(found.hi), "{x} {found:?}");
        assert!(found.hi - found.lo <= 1e-12 * found.hi);
    }
}

#[test]
fn transformations_are_exact() {
    let mut random = Random(3);
    for _ in 0..500 {
        let mut number = || random.normal() * 10f64.powi(random.below(100) as i32 - 50);
        let (a, b) = (number(), number());
        let (s, e) = two_sum(a, b);
        let (p, f) = two_prod(a, b);
        let exact = |value: &crate::tests::exact::Big| *value == zero();
        assert!(exact(&(big(a) + big(b) - big(s) - big(e))));
        assert!(exact(&(big(a) * big(b) - big(p) - big(f))));
    }
}

#[test]
fn sums_lie_within_their_errors() {
    let mut random = Random(4);
    for _ in 0..100 {
        let n = 2 + random.below(60);
        let (mut sum, mut exact) = (Sum::default(), zero());
        for k in 0..n {
            let a = random.normal() * 10f64.powi(random.below(30) as i32);
            let b = if k % 2 == 1 { -sum.hi / a } else { random.normal() };
            sum.add(a, b);
            exact = exact + big(a) * big(b);
        }
        let error = rounded(&abs(&(big(sum.hi) + big(sum.lo) - &exact)));
        assert!(error <= sum.error(n), "{error:e} {:e}", sum.error(n));
        assert!(sum.error(n) < 1e-26 * sum.size);
    }
}

#[test]
fn a_tiny_roundoff_is_detected() {
    let found = |test: fn()| std::panic::catch_unwind(|| with(Mutant::TinyRoundoff, test)).is_err();
    assert!(found(sums_lie_within_their_errors));
}

#[test]
fn products_and_quotients_contain_the_exact_ones() {
    let mut random = Random(5);
    let special = [
        0.0,
        5e-324,
        1e-310,
        1e-200,
        0.1,
        1.0,
        3.0,
        1e200,
        f64::MAX,
        f64::INFINITY,
    ];
    let mut interval = || {
        let mut end = || random.pick(&special) * random.pick(&[1.0, -1.0]);
        let (a, b) = (end(), end());
        (a.is_finite() || b.is_finite()).then(|| Interval::new(a.min(b), a.max(b)))
    };
    let pairs: Vec<_> = (0..20_000)
        .filter_map(|_| Some((interval()?, interval()?)))
        .collect();
    let numbers = |x: Interval| [x.lo, x.middle(), x.hi].into_iter().filter(|x| x.is_finite());
    for (a, b) in pairs {
        let (product, quotient) = (a * b, a / b);
        assert!(
            !(a.lo >= 0.0 && b.lo >= 0.0) || product.lo >= 0.0,
            "{a:?} {b:?} {product:?}"
        );
        for (x, y) in numbers(a).flat_map(|x| numbers(b).map(move |y| (x, y))) {
            assert!(contains(product, &(big(x) * big(y))), "{x} {y} {product:?}");
            let exact = (y != 0.0).then(|| big(x) / big(y));
            assert!(
                exact.is_none_or(|exact| contains(quotient, &exact)),
                "{x} {y} {quotient:?}"
            );
        }
    }
    assert_eq!(Interval::ZERO * Interval::WHOLE, Interval::ZERO);
    assert_eq!(ONE / Interval::ZERO, Interval::WHOLE);
}

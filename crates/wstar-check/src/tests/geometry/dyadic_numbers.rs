//! Dyadic rationals against floats of 40,000 bits, and the linear algebra on them against its definitions.

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;

use crate::dyadic::{Dyadic, dependence, fractions, independent, quotient, rank_at_least};
use crate::mutant::{Mutant, with};
use crate::tests::geometry::{SplitMix, dot};

type Long = FBig<HalfEven, 2>;

fn big(value: f64) -> Long {
    Long::try_from(value).unwrap().with_precision(40_000).value()
}

/// A random double of any size, often with few digits.
fn double(random: &mut SplitMix) -> f64 {
    let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
    let size = match random.below(6) {
        0 => 0.0,
        1 => random.below(10) as f64,
        2 => f64::from_bits(random.below(1 << 52)),
        3 => 2f64.powi(random.below(2000) as i32 - 1000),
        4 => (random.next() >> 11) as f64,
        _ => f64::from_bits(random.below(0x7ff << 52)),
    };
    sign * size
}

/// A number with many digits, by both arithmetics.
fn number(random: &mut SplitMix) -> (Dyadic, Long) {
    let first = double(random);
    let mut pair = (Dyadic::double(first), big(first));
    for _ in 0..random.below(6) {
        let (x, y) = (double(random), double(random));
        let (a, b) = (Dyadic::double(x), Dyadic::double(y));
        pair = (&(&pair.0 * &a) + &b, pair.1 * big(x) + big(y));
    }
    pair
}

/// The float of a dyadic number, digit by digit through its text in units of its exponent.
fn agrees(found: &Dyadic, expected: &Long) -> bool {
    // Both are 0, or their difference to the other's leading double has the same leading double, and so on.
    let (mut found, mut expected) = (found.clone(), expected.clone());
    for _ in 0..200 {
        let leading = expected.to_f64().value();
        if found.is_zero() || leading == 0.0 || !leading.is_finite() {
            break;
        }
        found = &found - &Dyadic::double(leading);
        expected -= big(leading);
    }
    let rest = expected.to_f64().value();
    match rest {
        0.0 => found.is_zero() || quotient(&found, &Dyadic::integer(1)).abs().lo < 1e-300,
        _ => (rest > 0.0, rest < 0.0) == (found.is_positive(), found.is_negative()),
    }
}

#[test]
fn sums_and_products_are_those_of_long_floats() {
    let mut random = SplitMix(1);
    for _ in 0..3000 {
        let ((a, x), (b, y)) = (number(&mut random), number(&mut random));
        assert!(agrees(&a, &x));
        assert!(agrees(&(&a + &b), &(&x + &y)));
        assert!(agrees(&(&a - &b), &(&x - &y)));
        assert!(agrees(&(&a * &b), &(&x * &y)));
        assert_eq!(a.cmp(&b), x.cmp(&y));
        assert_eq!(&(&a + &b) - &b, a);
        assert_eq!(&(&a * &b) + &(&a * &a), &a * &(&a + &b));
        if !b.is_zero() {
            assert_eq!((&a * &b).divided_by(&b), Some(a.clone()));
            let three = Dyadic::integer(3);
            let no_multiple = &(&(&a * &b) * &three) + &b;
            assert_eq!(no_multiple.divided_by(&(&b * &three)), None);
            let interval = quotient(&a, &b);
            for (end, above) in [(interval.lo, false), (interval.hi, true)] {
                if end.is_finite() {
                    // end·b − a has the sign of b times that of the distance.
                    let distance = &(&Dyadic::double(end) * &b) - &a;
                    let outside = if b.is_positive() == above {
                        distance.is_negative()
                    } else {
                        distance.is_positive()
                    };
                    assert!(!outside, "{interval:?}");
                }
            }
            assert!(
                interval.lo.is_infinite()
                    || interval.hi.is_infinite()
                    || interval.hi - interval.lo <= 1e-14 * interval.hi.abs() + 1e-300
            );
        }
    }
}

#[test]
fn decimals_are_read() {
    let ten = Dyadic::integer(10);
    let mut power = Dyadic::integer(1);
    for digits in 1..200 {
        power = &power * &ten;
        let nines = Dyadic::parse(&"9".repeat(digits)).unwrap();
        assert_eq!(&nines + &Dyadic::integer(1), power);
        assert_eq!(
            Dyadic::parse(&format!("-1{}", "0".repeat(digits))),
            Some(-power.clone())
        );
    }
    assert_eq!(
        Dyadic::parse("340282366920938463463374607431768211455"),
        Some(Dyadic::integer(u128::MAX))
    );
    for wrong in ["", "-", "01", "-0", "+1", "1.0", "1e3", " 1", "x"] {
        assert_eq!(Dyadic::parse(wrong), None, "{wrong}");
    }
    let (values, common) = fractions(&["1/6", "-3/20", "7", "5/12"]).unwrap();
    for (value, (p, q)) in values.iter().zip([(1, 6), (-3, 20), (7, 1), (5, 12)]) {
        assert_eq!(
            &Dyadic::double(f64::from(q)) * value,
            &Dyadic::double(f64::from(p)) * &common
        );
    }
    assert!(common.is_positive());
    for wrong in ["1/0", "1/-2", "1/2/3", "/2", "1/"] {
        assert_eq!(fractions(&[wrong]), None, "{wrong}");
    }
}

#[test]
fn integers_in_units() {
    assert_eq!(Dyadic::double(12.0).integer_in(1), Some(6));
    assert_eq!(Dyadic::double(12.0).integer_in(3), None);
    assert_eq!(Dyadic::integer(u128::MAX).integer_in(0), Some(u128::MAX));
    assert_eq!(Dyadic::integer(u128::MAX).integer_in(-1), None);
    assert_eq!(Dyadic::power(300).integer_in(0), None);
    assert_eq!(Dyadic::power(300).integer_in(173), Some(1 << 127));
    assert_eq!(Dyadic::default().integer_in(5), Some(0));
}

/// A product of two random matrices, which has rank `rank` for almost all of them.
fn matrix(random: &mut SplitMix, rows: usize, rank: usize, columns: usize) -> Vec<Vec<f64>> {
    let mut side = |n: usize, m: usize| -> Vec<Vec<f64>> {
        let mut entry = |_| random.below(2001) as f64 - 1000.0;
        (0..n).map(|_| (0..m).map(&mut entry).collect()).collect()
    };
    let (left, right) = (side(rows, rank), side(rank, columns));
    let entry = |i: usize, j: usize| (0..rank).map(|k| left[i][k] * right[k][j]).sum::<f64>() * 0.125;
    (0..rows)
        .map(|i| (0..columns).map(|j| entry(i, j)).collect())
        .collect()
}

fn exact(matrix: &[Vec<f64>]) -> Vec<Vec<Dyadic>> {
    let row = |row: &Vec<f64>| row.iter().copied().map(Dyadic::double).collect();
    matrix.iter().map(row).collect()
}

#[test]
fn ranks_and_dependences() {
    let mut random = SplitMix(2);
    let mut unique = 0;
    for _ in 0..400 {
        let (n, m) = (1 + random.below(6) as usize, 1 + random.below(6) as usize);
        let rank = random.below(1 + n.min(m) as u64) as usize;
        let matrix = matrix(&mut random, n, rank, m);
        let rows = exact(&matrix);
        assert_eq!(rank_at_least(rows.iter().cloned()), rank);
        let basis = independent(matrix.iter().map(|row| &row[..]), 9).unwrap();
        assert_eq!(basis.len(), rank);
        let columns: std::collections::BTreeSet<usize> = basis.iter().map(|(_, column)| *column).collect();
        assert_eq!(columns.len(), rank);
        let lambda = dependence(&rows);
        assert_eq!(lambda.is_some(), rank + 1 == n, "{n}×{m}, rank {rank}");
        if let Some(lambda) = lambda {
            unique += 1;
            assert!(lambda.iter().any(|value| !value.is_zero()));
            let column = |j: usize| rows.iter().map(|row| row[j].clone()).collect::<Vec<_>>();
            assert!((0..m).all(|j| dot(&column(j), &lambda).is_zero()));
        }
    }
    assert!(unique > 50);
    // A multiple of the prime vanishes modulo the prime: the rank is then too small, and never too large.
    let prime = Dyadic::integer((1 << 61) - 1);
    assert_eq!(rank_at_least([vec![prime]].into_iter()), 0);
    let two = [1, 0, 0].map(|x| vec![Dyadic::integer(x)]);
    assert_eq!(dependence(&two), None);
    assert!(with(Mutant::NotUnique, || dependence(&two)).is_some());
}

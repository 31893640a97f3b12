//! Losses: slopes and curvatures compared with finite differences, conjugates checked by Fenchel's inequality.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use wstar::problem::loss::{
    Absolute, Hinge, Logistic, Loss, ModifiedHuber, Quantile, SigmoidMse, Softmax, Squared, SquaredHinge,
    VectorLoss,
};

/// Whether the loss or its slope has a kink between these scores.
fn crosses<L: Loss>(loss: L, y: f64, from: f64, to: f64) -> bool {
    loss.curvature(y, from) != loss.curvature(y, to) && loss.curvature(y, from) * loss.curvature(y, to) == 0.0
        || (loss.slope(y, from) - loss.slope(y, to)).abs() > 0.5
}

fn derivatives<L: Loss>(loss: L, y: f64, z: f64) {
    let h = 1e-5;
    if crosses(loss, y, z - h, z + h) {
        return;
    }
    let slope = (loss.value(y, z + h) - loss.value(y, z - h)) / (2.0 * h);
    let size = 1.0 + loss.value(y, z).abs();
    assert!(
        (slope - loss.slope(y, z)).abs() < 1e-8 * size,
        "slope at {y}, {z}"
    );
    let curvature = (loss.slope(y, z + h) - loss.slope(y, z - h)) / (2.0 * h);
    assert!(
        (curvature - loss.curvature(y, z)).abs() < 1e-8 * size,
        "curvature at {y}, {z}"
    );
    let (value, slope, curvature) = loss.all(y, z);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-15 * (1.0 + b.abs());
    assert!(close(value, loss.value(y, z)) && close(slope, loss.slope(y, z)));
    assert!(close(curvature, loss.curvature(y, z)));
    let (least, greatest) = loss.slopes(y);
    assert!(least <= slope && slope <= greatest);
    assert!(value >= 0.0);
}

fn fenchel<L: Loss>(loss: L, y: f64, z: f64, s: f64) {
    let size = 1.0 + (s * z).abs() + loss.value(y, z);
    assert!(
        loss.value(y, z) + loss.conjugate(y, s) >= s * z - 1e-12 * size,
        "inequality at {y}, {z}, {s}"
    );
    let slope = loss.slope(y, z);
    let at_slope = loss.value(y, z) + loss.conjugate(y, slope) - slope * z;
    assert!(at_slope.abs() < 1e-11 * size, "equality at {y}, {z}: {at_slope}");
    let (least, greatest) = loss.slopes(y);
    let outside = s < least - 1e-9 || s > greatest + 1e-9;
    assert_eq!(
        loss.conjugate(y, s).is_infinite(),
        outside || (s < least || s > greatest)
    );
    assert!(loss.conjugate(y, 0.0) >= 0.0 || loss.conjugate(y, 0.0).abs() < 1e-15);
}

proptest! {
    #[test]
    fn slopes_and_curvatures_are_derivatives(z in -8.0..8.0f64, positive: bool, target in -5.0..5.0f64) {
        let y = if positive { 1.0 } else { -1.0 };
        derivatives(Logistic, y, z);
        derivatives(Hinge, y, z);
        derivatives(SquaredHinge, y, z);
        derivatives(ModifiedHuber, y, z);
        derivatives(SigmoidMse, y, z);
        derivatives(Squared, target, z);
        derivatives(Absolute::BOTH, target, z);
        derivatives(Absolute::quantile(Quantile::new(0.3).unwrap()), target, z);
    }

    #[test]
    fn fenchels_inequality_holds_and_is_tight_at_the_slope(
        z in -20.0..20.0f64, s in -3.0..3.0f64, positive: bool, target in -5.0..5.0f64
    ) {
        let y = if positive { 1.0 } else { -1.0 };
        fenchel(Logistic, y, z, s);
        fenchel(Hinge, y, z, s);
        fenchel(SquaredHinge, y, z, s);
        fenchel(ModifiedHuber, y, z, 2.0 * s);
        fenchel(Squared, target, z, s);
        fenchel(Absolute::BOTH, target, z, s);
        fenchel(Absolute::quantile(Quantile::new(0.3).unwrap()), target, z, s);
    }

    #[test]
    fn softmax_has_its_gradient_and_curvature(
        z in prop::collection::vec(-6.0..6.0f64, 2..6), v in prop::collection::vec(-2.0..2.0f64, 6), pick in 0..6usize
    ) {
        let class = pick % z.len();
        let value = |z: &[f64]| Softmax.value_and_gradient(class, &mut z.to_vec());
        let mut gradient = z.clone();
        let at = Softmax.value_and_gradient(class, &mut gradient);
        let plain = z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[class];
        prop_assert!((at - plain).abs() < 1e-12 * (1.0 + plain));
        let h = 1e-5;
        let moved = |by: f64, along: &[f64]| -> Vec<f64> { z.iter().zip(along).map(|(z, d)| z + by * d).collect() };
        for (k, own) in gradient.iter().enumerate() {
            let unit: Vec<f64> = (0..z.len()).map(|j| f64::from(u8::from(j == k))).collect();
            let slope = (value(&moved(h, &unit)) - value(&moved(-h, &unit))) / (2.0 * h);
            prop_assert!((slope - own).abs() < 1e-8);
        }
        let v = &v[..z.len()];
        let mut image = vec![0.0; z.len()];
        Softmax.curvature_times(class, &gradient, v, &mut image);
        let (mut up, mut down) = (moved(h, v), moved(-h, v));
        Softmax.value_and_gradient(class, &mut up);
        Softmax.value_and_gradient(class, &mut down);
        for k in 0..z.len() {
            prop_assert!(((up[k] - down[k]) / (2.0 * h) - image[k]).abs() < 1e-7);
        }
    }

    #[test]
    fn softmax_satisfies_fenchels_inequality(
        z in prop::collection::vec(-9.0..9.0f64, 3), raw in prop::collection::vec(0.001..1.0f64, 3), class in 0..3usize
    ) {
        // A probability vector minus the indicator of the true class is a slope.
        let total: f64 = raw.iter().sum();
        let s: Vec<f64> = (0..3).map(|k| raw[k] / total - f64::from(u8::from(k == class))).collect();
        let mut gradient = z.clone();
        let value = Softmax.value_and_gradient(class, &mut gradient);
        let along = |s: &[f64]| s.iter().zip(&z).map(|(s, z)| s * z).sum::<f64>();
        prop_assert!(value + Softmax.conjugate(class, &s) >= along(&s) - 1e-12);
        prop_assert!((value + Softmax.conjugate(class, &gradient) - along(&gradient)).abs() < 1e-11);
    }
}

#[test]
fn far_from_the_boundary_nothing_overflows_and_digits_stay() {
    for z in [-1e4, -800.0, 800.0, 1e4] {
        let (value, slope, curvature) = Logistic.all(1.0, z);
        assert!(value.is_finite() && slope.is_finite() && curvature >= 0.0);
        let mut scores = [z, 0.0];
        let softmax = Softmax.value_and_gradient(0, &mut scores);
        assert!(
            (softmax - value).abs() <= 1e-12 * value.max(1e-300),
            "{softmax} {value}"
        );
    }
    // log(1 + e^-40) equals e^-40 to all digits.
    assert!((Logistic.value(1.0, 40.0) / (-40f64).exp() - 1.0).abs() < 1e-15);
    assert!((Softmax.value_and_gradient(1, &mut [0.0, 40.0]) / (-40f64).exp() - 1.0).abs() < 1e-15);
    assert!(
        Softmax.conjugate(0, &[0.5, -0.5]).is_infinite(),
        "a probability below 0 is not a slope"
    );
}

#[test]
fn the_sigmoid_error_is_the_squared_error_of_the_probability() {
    for z in [-3.0, -0.2, 0.0, 1.0, 4.0] {
        let p: f64 = 1.0 / (1.0 + f64::exp(-z));
        assert!((SigmoidMse.value(1.0, z) - (1.0 - p) * (1.0 - p)).abs() < 1e-15);
        assert!((SigmoidMse.value(-1.0, z) - p * p).abs() < 1e-15);
    }
}

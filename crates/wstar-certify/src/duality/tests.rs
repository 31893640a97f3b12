//! Bounds on the gap against differences of objectives in 256 bits, and a mutant that must fail.

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::error_bounds::Rounding;
use super::{DualPoint, certify_rounded};
use wstar_data::linear::Layout;
use wstar_data::{Dense, Design};
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Rows, Weights};
use wstar_problem::penalty::Penalty;
use wstar_problem::problem::{Intercept, Problem};

type Wide = FBig<HalfEven, 2>;

fn big(x: f64) -> Wide {
    Wide::try_from(x).unwrap().with_precision(256).value()
}

/// Logistic regression on one column far from 0, whose scores lose most of their digits in doubles.
struct Far {
    offset: f64,
    t: Vec<f64>,
    y: Vec<f64>,
}

impl Far {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let t: Vec<f64> = (0..60)
            .map(|_| f64::from(random.random_range(-40..40i32)) / 8.0)
            .collect();
        let y = t
            .iter()
            .map(|t| {
                if t + 8.0 * random.random::<f64>() > 4.0 {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect();
        Far {
            offset: 2f64.powi(random.random_range(30..45)),
            t,
            y,
        }
    }

    /// The optimum for the centred column, by Newton's method in doubles.
    fn centred_optimum(&self) -> [f64; 2] {
        let [mut w, mut b] = [0.0, 0.0];
        for _ in 0..60 {
            let (mut g, mut h) = ([w, 0.0], [1.0, 0.0, 0.0]);
            for (t, y) in self.t.iter().zip(&self.y) {
                let m = 1.0 / (1.0 + (y * (w * t + b)).exp());
                g[0] -= y * m * t;
                g[1] -= y * m;
                let k = m * (1.0 - m);
                (h[0], h[1], h[2]) = (h[0] + k * t * t, h[1] + k * t, h[2] + k);
            }
            let det = h[0] * h[2] - h[1] * h[1];
            w -= (h[2] * g[0] - h[1] * g[1]) / det;
            b -= (h[0] * g[1] - h[1] * g[0]) / det;
        }
        [w, b]
    }

    /// P for the intercept of the column far from 0.
    fn objective(&self, w: f64, b: &Wide) -> Wide {
        let mut sum = big(0.5) * big(w) * big(w);
        for (t, y) in self.t.iter().zip(&self.y) {
            let margin = big(*y) * (big(w) * (big(self.offset) + big(*t)) + b);
            sum += (big(1.0) + (-margin).exp()).ln();
        }
        sum
    }

    /// The bound and the difference to the objective at the centred optimum.
    fn bound_and_difference(&self, rounding: Rounding) -> (f64, f64) {
        let [w, centred] = self.centred_optimum();
        let exact = big(centred) - big(w) * big(self.offset);
        let at = [w, exact.clone().to_f64().value()];
        let x: Vec<f64> = self.t.iter().map(|t| self.offset + t).collect();
        let design = Design::Dense64(Dense::new(x, self.t.len(), 1).unwrap());
        let mut rows = Rows {
            design: &design,
            targets: self.y.as_slice().into(),
            weights: Weights::Same(1.0),
        };
        let layout = Layout {
            outputs: 1,
            features: 1,
            intercept: true,
        };
        let problem = Problem::new(LossName::Logistic, Penalty::L2, Intercept::Free, layout).unwrap();
        let found = certify_rounded(&mut rows, &problem, &at, DualPoint::Slopes, 1e-14, rounding).unwrap();
        let difference = self.objective(w, &big(at[1])) - self.objective(w, &exact);
        (found.gap, difference.to_f64().value())
    }
}

#[test]
fn bounds_hold_far_from_zero_and_a_wrong_roundoff_is_found() {
    let mut violated = 0;
    for seed in 0..60 {
        let far = Far::new(seed);
        let (gap, difference) = far.bound_and_difference(Rounding::BINARY64);
        assert!(gap >= difference, "{seed}: {gap} < {difference}");
        assert!(
            gap <= 2.0 * difference.max(1e-12),
            "{seed}: {gap} is wider than twice {difference}"
        );
        let (gap, difference) = far.bound_and_difference(Rounding::MUTANT);
        violated += u64::from(gap < difference);
    }
    assert!(violated > 0, "a roundoff of 1e-40 passes");
}

//! The distance from the optimum by the duality gap, for any convex loss with an ℓ2 penalty.
//!
//! **Lemma.** If P − P* ≤ γ at (w, b), and R contains l2/2·‖w‖² over the weights w, then ‖w − w*‖ ≤ √(2γ/l2) for every optimum (w*, b*).
//! *Proof.* P restricted to the segment from (w*, b*) to (w, b) is convex with a second part l2/2·‖w* + t(w − w*)‖² that is strongly convex, so
//! P(w, b) ≥ P* + l2/2·‖w − w*‖². ∎ w* is unique, b* need not be.
//!
//! **Intercept.** Let ‖w − w*‖ ≤ ρ. The slope of P in b, s(b) = Σcᵢℓ'(wᵢ*·xᵢ + b), is nondecreasing, and |(w − w*)·xᵢ| ≤ ρ‖xᵢ‖. So if the slope is
//! positive with all scores w·xᵢ + β lowered by ρ‖xᵢ‖, every optimal b* is at most β; if it is negative with all scores raised, every
//! optimal b* is at least β. All optimal intercepts lie between these two. The scores are lowered or raised by their rounding errors too. ℓ' is
//! monotone, so a kink needs nothing else. The slopes have a relative error of at most 20u (`row_slopes.rs`), and their sum γ_n of its terms.

use super::rounding::{FEW, SLACK, gamma, unit};
use wstar_problem::Intercept;
use wstar_problem::loss::Loss;
use wstar_problem::objective::Rows;
use wstar_problem::on_loss;
use wstar_problem::problem::Problem;

/// Bisections of the interval. Cap: more do not narrow an interval of doubles.
const MOST_BISECTIONS: usize = 60;
/// Steps, each eight times as far from the given intercept until the sign of the slope changes. Cap: beyond it nothing is proved.
const MOST_STEPS_AWAY: usize = 40;

/// An upper bound on ‖w − w*‖, or nothing without an ℓ2 penalty. `gap` is a rigorous upper bound on P − P*.
pub fn distance(gap: f64, l2: f64) -> Option<f64> {
    (l2 > 0.0 && gap >= 0.0).then(|| {
        let square = (2.0 * gap / l2).next_up();
        square.sqrt().next_up()
    })
}

/// The rows as the slopes in b see them.
struct Slopes<'a> {
    rows: &'a Rows<'a>,
    problem: &'a Problem,
    /// w·x of each row.
    scores: Vec<f64>,
    /// ρ‖x‖ and the rounding error of the score, without that of adding b.
    radii: Vec<f64>,
}

/// An interval that contains the free intercept of every optimum whose weights are within `distance` of the given ones, or nothing. A
/// parameter vector holds the weights, then the intercept.
pub fn intercept(
    rows: &Rows<'_>,
    problem: &Problem,
    parameters: &[f64],
    distance: f64,
) -> Option<(f64, f64)> {
    let layout = problem.layout();
    let is_possible = problem.intercept() == Intercept::Free && problem.is_convex() && layout.outputs == 1;
    if !is_possible || parameters.len() != layout.len() || !(distance >= 0.0 && distance.is_finite()) {
        return None;
    }
    let (w, b) = layout.output(parameters, 0);
    let (mut scores, mut radii) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for i in 0..rows.len() {
        let row = rows.design.row(i);
        let mut size = 0.0;
        row.for_each(|j, x| size += (w[j] * x).abs());
        scores.push(row.dot(w));
        let norm = row.squared_norm().sqrt();
        let rounding = gamma(layout.width() + 4);
        radii.push((distance * norm * (1.0 + rounding) + rounding * size) * FEW);
    }
    let slopes = Slopes {
        rows,
        problem,
        scores,
        radii,
    };
    let upper = slopes.end(b, 1.0)?;
    let lower = slopes.end(b, -1.0)?;
    (lower <= upper).then_some((lower, upper))
}

impl Slopes<'_> {
    /// The end of the interval on one side: the nearest intercept found at which the slope has the sign `side`.
    fn end(&self, b: f64, side: f64) -> Option<f64> {
        // If the side is known at b already, the end is searched on the other side.
        let known = self.is_known(b, side);
        let direction = if known { -side } else { side };
        let mut step = b.abs().max(1.0) * 1e-12;
        let mut near = b;
        let mut far = b + direction * step;
        let mut tries = 0;
        while self.is_known(far, side) == known {
            if tries == MOST_STEPS_AWAY {
                return known.then_some(far);
            }
            tries += 1;
            step *= 8.0;
            near = far;
            far = b + direction * step;
        }
        let (mut sure, mut unsure) = if known { (near, far) } else { (far, near) };
        for _ in 0..MOST_BISECTIONS {
            let middle = 0.5 * (sure + unsure);
            if middle == sure || middle == unsure {
                break;
            }
            match self.is_known(middle, side) {
                true => sure = middle,
                false => unsure = middle,
            }
        }
        Some(sure)
    }

    /// Whether the slope in b at `b` is proved to have the sign `side`.
    fn is_known(&self, b: f64, side: f64) -> bool {
        let (u, targets) = (unit(), &self.rows.targets);
        let moved = |((&score, &radius), &y): ((&f64, &f64), &f64)| {
            let rounding = 8.0 * u * (score.abs() + b.abs() + y.abs() + radius);
            score + b - side * (radius + rounding) * FEW
        };
        let rows = self.scores.iter().zip(&self.radii).zip(targets.iter());
        let mut slopes: Vec<f64> = rows.map(moved).collect();
        let mut values = vec![0.0; slopes.len()];
        on_loss!(self.problem.loss(), loss => loss.each(targets, &mut slopes, &mut values, None), softmax => return false);
        let (mut sum, mut size) = (0.0, 0.0);
        for (i, slope) in slopes.iter().enumerate() {
            let slope = self.rows.weights.get(i) * slope;
            sum += slope;
            size += slope.abs();
        }
        side * sum > (gamma(slopes.len() + 2) + 24.0 * u) * size * SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_data::Design;
    use wstar_data::linear::Layout;
    use wstar_problem::loss::LossName;
    use wstar_problem::objective::Weights;
    use wstar_problem::penalty::Penalty;

    fn problem(loss: LossName) -> Problem {
        let layout = Layout {
            outputs: 1,
            features: 1,
            intercept: true,
        };
        Problem::new(loss, Penalty::L2, Intercept::Free, layout).unwrap()
    }

    #[test]
    fn intercepts_of_known_optima_are_inside() {
        // With w = 0 the optimal b is the mean, any median, or the log odds.
        let design = Design::from_rows(&[[1.0], [-1.0], [1.0], [-1.0]]).unwrap();
        let rows = |targets: [f64; 4]| Rows {
            design: &design,
            targets: targets.to_vec().into(),
            weights: Weights::Same(1.0),
        };
        let real = rows([1.0, 2.0, 4.0, 9.0]);
        let classes = rows([1.0, 1.0, 1.0, -1.0]);
        for start in [-30.0, 0.0, 3.99, 4.0, 100.0] {
            let find =
                |rows, loss, distance| intercept(rows, &problem(loss), &[0.0, start], distance).unwrap();
            let (lower, upper) = find(&real, LossName::Squared, 0.0);
            assert!(
                lower <= 4.0 && 4.0 <= upper && upper - lower < 1e-12,
                "{lower} {upper}"
            );
            // ‖x‖ = 1, so a distance of ½ moves each score by ½, and the mean by as much.
            let (lower, upper) = find(&real, LossName::Squared, 0.5);
            assert!(
                lower <= 3.5 && 4.5 <= upper && upper - lower < 1.0 + 1e-12,
                "{lower} {upper}"
            );
            let (lower, upper) = find(&real, LossName::Absolute, 0.0);
            assert!(
                lower <= 2.0 && 4.0 <= upper && upper - lower < 2.0 + 1e-12,
                "{lower} {upper}"
            );
            let (lower, upper) = find(&classes, LossName::Logistic, 0.0);
            let odds = 3f64.ln();
            assert!(
                lower <= odds && odds <= upper && upper - lower < 1e-12,
                "{lower} {upper}"
            );
            let (lower, upper) = find(&classes, LossName::Hinge, 0.0);
            assert!(
                lower <= 1.0 && 1.0 <= upper && upper - lower < 1e-12,
                "{lower} {upper}"
            );
        }
        // All of one class: no intercept is optimal.
        assert_eq!(
            intercept(&rows([1.0; 4]), &problem(LossName::Logistic), &[0.0, 1.0], 0.0),
            None
        );
    }

    #[test]
    fn a_parabola_reaches_the_bound() {
        // P = ½(w − 3)² + ½w² has w* = 3/2 and P* = 9/4, and l2 = 1 of its curvature 2.
        for w in [1.5, 2.0, -4.0, 1e8] {
            let gap: f64 = 0.5 * (w - 3.0f64).powi(2) + 0.5 * w * w - 2.25;
            let bound = distance(gap, 1.0).unwrap();
            assert!(bound >= (w - 1.5f64).abs() && bound <= 1.5 * (w - 1.5f64).abs() + 1e-12);
        }
        // With no loss at all it is attained.
        assert!((distance(0.5 * 2.0 * 49.0, 2.0).unwrap() - 7.0).abs() < 1e-14);
        assert!(distance(0.5 * 2.0 * 49.0, 2.0).unwrap() > 7.0);
    }

    #[test]
    fn nothing_without_strong_convexity_or_a_gap() {
        assert_eq!(distance(1.0, 0.0), None);
        assert_eq!(distance(f64::NAN, 1.0), None);
        assert_eq!(distance(-1.0, 1.0), None);
        assert!(distance(0.0, 1.0).unwrap() < 1e-150);
    }
}

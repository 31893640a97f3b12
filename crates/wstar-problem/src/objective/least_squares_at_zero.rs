//! ½ Σ c(yᵢ − zᵢ)² at θ = 0: value, gradient and Hessian are second moments of the columns (x, 1, y), which one pass over
//! the rows computes.

use rayon::prelude::*;

use crate::loss::LossName;
use crate::objective::products::{blocks, lanes, total};
use crate::objective::{Rows, Sums, Weights};
use wstar_data::linear::Layout;
use wstar_data::{Design, may_contain_too_large};
use wstar_numeric::second_moments::Moments;

/// The sums at θ = 0, and whether some number in the rows may be NaN, infinite or too large.
pub(super) struct AtZero {
    pub(super) sums: Sums,
    pub(super) maybe_invalid: bool,
}

/// The answer to a [`Query::Hessian`](crate::objective::Query::Hessian) at θ = 0 for least squares on dense f64 rows of equal
/// weight; `None` for other problems.
pub(super) fn at_zero(rows: &Rows<'_>, loss: LossName, layout: Layout) -> Option<AtZero> {
    let (Design::Dense64(dense), &Weights::Same(weight)) = (rows.design, &rows.weights) else {
        return None;
    };
    if loss != LossName::Squared || layout.outputs != 1 {
        return None;
    }
    let side = layout.features + 2;
    let (block, count) = blocks(rows.design, 1);
    let lanes = lanes(rows.design, side * side, count);
    let partial: Vec<Vec<f64>> = (0..lanes)
        .into_par_iter()
        .map(|lane| {
            let end = (count * (lane + 1) / lanes * block).min(rows.len());
            let own = count * lane / lanes * block..end;
            let mut moments = Moments::new(layout.features);
            moments.add(dense.block(own.clone()), &rows.targets[own]);
            moments.matrix()
        })
        .collect();
    let moments = total(&partial);
    let length = layout.len();
    let at = |j: usize, k: usize| weight * moments[j * side + k];
    Some(AtZero {
        sums: Sums {
            value: 0.5 * at(side - 1, side - 1),
            gradient: (0..length).map(|j| -at(j, side - 1)).collect(),
            hessian: (0..length * length)
                .map(|cell| at(cell / length, cell % length))
                .collect(),
            line: Vec::new(),
        },
        maybe_invalid: (0..layout.features).any(|j| may_contain_too_large(moments[j * side + j])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::{InMemory, Query, SumOverRows};
    use wstar_data::Dense;

    /// Values with full mantissas, so that the order of summation affects the last digits.
    fn number(k: usize) -> f64 {
        let mixed = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.3
    }

    #[test]
    fn agrees_with_the_general_hessian() {
        for (n, features, intercept) in [(5000, 19, true), (700, 40, false), (3, 7, true)] {
            let values: Vec<f64> = (0..n * features).map(number).collect();
            let targets: Vec<f64> = (0..n).map(|i| number(!i % 100_000)).collect();
            let design = Design::Dense64(Dense::new(values, n, features).unwrap());
            let layout = Layout {
                outputs: 1,
                features,
                intercept,
            };
            let rows = |weights| Rows {
                design: &design,
                targets: targets.as_slice().into(),
                weights,
            };
            let zeros = vec![0.0; layout.len()];
            // Individual weights are not handled by `at_zero`, so this takes the general path.
            let each = Weights::Each(vec![2.5; n].into());
            let general =
                InMemory::new(rows(each), LossName::Squared, layout).ask(Query::Hessian { at: &zeros });
            let general = general.unwrap();
            let special = at_zero(&rows(Weights::Same(2.5)), LossName::Squared, layout).unwrap();
            assert!(!special.maybe_invalid);
            let close = |a: &[f64], b: &[f64]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * n as f64)
            };
            assert!(close(&[special.sums.value], &[general.value]));
            assert!(close(&special.sums.gradient, &general.gradient));
            assert!(close(&special.sums.hessian, &general.hessian));
        }
    }

    #[test]
    fn moments_of_no_rows_are_zero() {
        let design = Design::Dense64(Dense::new(Vec::new(), 0, 2).unwrap());
        let layout = Layout {
            outputs: 1,
            features: 2,
            intercept: true,
        };
        let rows = Rows {
            design: &design,
            targets: [].as_slice().into(),
            weights: Weights::Same(1.0),
        };
        let AtZero { sums, maybe_invalid } = at_zero(&rows, LossName::Squared, layout).unwrap();
        assert!(!maybe_invalid);
        assert_eq!(
            (sums.value, sums.gradient, sums.hessian),
            (0.0, vec![0.0; 3], vec![0.0; 9])
        );
    }
}

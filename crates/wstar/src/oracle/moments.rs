//! Least squares where every weight is 0: value, gradient and Hessian are then nothing but moments of the columns (x, 1, y),
//! and one sum over the rows has them all.

use rayon::prelude::*;

use crate::data::{Design, may_hide_too_large};
use crate::kernel::moments::Moments;
use crate::loss::LossName;
use crate::oracle::local::{blocks, lanes};
use crate::oracle::{Layout, Rows, Sums, Weights};

/// Sums at 0, and whether some number of the rows could be too large, or none.
pub(super) struct AtZero {
    pub(super) sums: Sums,
    pub(super) suspect: bool,
}

/// The same as a Hessian's question has for an answer, if it is about least squares on dense rows of one weight.
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
    let parts: Vec<Vec<f64>> = (0..lanes)
        .into_par_iter()
        .map(|lane| {
            let end = (count * (lane + 1) / lanes * block).min(rows.len());
            let own = count * lane / lanes * block..end;
            let mut moments = Moments::new(layout.features);
            moments.add(dense.block(own.clone()), &rows.targets[own]);
            moments.matrix()
        })
        .collect();
    let moments = super::products::total(&parts);
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
        suspect: (0..layout.features).any(|j| may_hide_too_large(moments[j * side + j])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dense;
    use crate::oracle::{Local, Oracle, Query};

    /// Rows that are no small integers, so that orders of summation show in the last digits.
    fn number(k: usize) -> f64 {
        let mixed = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.3
    }

    #[test]
    fn agrees_with_the_sums_over_rows_one_by_one() {
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
            // Weights that are told one by one take the other way.
            let each = Weights::Each(vec![2.5; n].into());
            let plain = Local::new(rows(each), LossName::Squared, layout).ask(Query::Hessian { at: &zeros });
            let plain = plain.unwrap();
            let own = at_zero(&rows(Weights::Same(2.5)), LossName::Squared, layout).unwrap();
            assert!(!own.suspect);
            let close = |a: &[f64], b: &[f64]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * n as f64)
            };
            assert!(close(&[own.sums.value], &[plain.value]));
            assert!(close(&own.sums.gradient, &plain.gradient));
            assert!(close(&own.sums.hessian, &plain.hessian));
        }
    }

    #[test]
    fn no_rows_have_no_moments() {
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
        let AtZero { sums, suspect } = at_zero(&rows, LossName::Squared, layout).unwrap();
        assert!(!suspect);
        assert_eq!(
            (sums.value, sums.gradient, sums.hessian),
            (0.0, vec![0.0; 3], vec![0.0; 9])
        );
    }
}

//! Classes that overlap beyond doubt, seen from a fit for next to nothing.
//!
//! Rows aᵢ = yᵢ(xᵢ, 1) overlap if Σβᵢaᵢ = 0 for numbers βᵢ that are all above 0, and the rows span everything: then a
//! direction u with aᵢ·u ≥ 0 for all of them has aᵢ·u = 0, and is 0 (Stiemke's alternative). That of a few rows is enough, for
//! others only take directions away. At a point θ the slopes αᵢ = 1/(1 + exp(aᵢ·θ)) are above 0, and a step v of Newton's
//! method for those rows, Hv = Σαᵢaᵢ with H = Σαᵢ(1 − αᵢ)aᵢaᵢᵀ, tells what makes up for the sum that they have:
//! βᵢ = αᵢ(1 − (1 − αᵢ)aᵢ·v). All are above 0 where no score rises by 1. What rounding leaves of Σβᵢaᵢ is made up for in the
//! same way, by changes as small as itself as long as H is far from singular; so this asks for more than it needs.

use crate::exact::Signed;
use crate::kernel::dense::{axpy, dot};

/// Rows that are looked at for each coordinate: of fewer, classes that overlap are often separable.
const ROWS_EACH: usize = 20;
/// Steps from the optimum of all rows, with a penalty, towards that of those few, without one.
const STEPS: usize = 4;
/// How much of a slope may be taken away.
const MOST: f64 = 0.5;
/// The least pivot of H, its diagonal scaled to 1.
const LEAST_PIVOT: f64 = 1e-6;

/// Whether the classes overlap for sure, near these parameters; `false` means that it does not show.
pub(super) fn shows(signed: &Signed<'_>, parameters: &[f64]) -> bool {
    let width = signed.width();
    let count = signed.participants().count();
    let apart = (count / (ROWS_EACH * width).max(1)).max(1);
    let mut rows = Vec::new();
    for i in signed.participants().step_by(apart) {
        let (start, sign) = (rows.len(), f64::from(signed.signs[i]));
        rows.resize(start + width, 0.0);
        let row = &mut rows[start..];
        signed.design.row(i).for_each(|j, x| row[j] = sign * x);
        if signed.intercept {
            row[width - 1] = sign;
        }
    }
    if parameters.len() != width || rows.len() / width.max(1) <= width {
        return false;
    }
    let mut at = parameters.to_vec();
    for _ in 0..STEPS {
        let Some((step, taken)) = step(&rows, &at) else {
            return false;
        };
        if taken <= MOST {
            return true;
        }
        axpy(1.0, &step, &mut at);
    }
    false
}

/// A step of Newton's method and the most that it takes of a slope; none where H is nearly singular.
fn step(rows: &[f64], at: &[f64]) -> Option<(Vec<f64>, f64)> {
    let width = at.len();
    let slopes: Vec<f64> = rows
        .chunks_exact(width)
        .map(|row| 1.0 / (1.0 + dot(row, at).exp()))
        .collect();
    let (mut sum, mut hessian) = (vec![0.0; width], vec![0.0; width * width]);
    for (row, &slope) in rows.chunks_exact(width).zip(&slopes) {
        // Also where the score is not a number.
        if slope.is_nan() || slope <= f64::MIN_POSITIVE {
            return None;
        }
        axpy(slope, row, &mut sum);
        let curvature = slope * (1.0 - slope);
        for (j, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            axpy(curvature * x, &row[..=j], &mut hessian[j * width..=j * width + j]);
        }
    }
    let step = solved(&mut hessian, sum)?;
    let taken = rows.chunks_exact(width).zip(&slopes);
    let taken = taken.map(|(row, slope)| (1.0 - slope) * dot(row, &step));
    Some((step.clone(), taken.fold(0.0, f64::max)))
}

/// H⁻¹b by Cholesky's factor, of which `matrix` has the lower half; none if a pivot is too small.
fn solved(matrix: &mut [f64], mut b: Vec<f64>) -> Option<Vec<f64>> {
    let width = b.len();
    let scales: Vec<f64> = (0..width).map(|j| matrix[j * width + j].sqrt()).collect();
    if !scales.iter().all(|scale| scale.is_normal()) {
        return None;
    }
    for j in 0..width {
        let (above, rest) = matrix.split_at_mut(j * width);
        let row = &mut rest[..=j];
        for k in 0..j {
            let other = &above[k * width..=k * width + k];
            let product = row[k] / (scales[j] * scales[k]) - dot(&other[..k], &row[..k]);
            row[k] = product / other[k];
        }
        let pivot = 1.0 - dot(&row[..j], &row[..j]);
        // Also where it is not a number.
        if pivot.is_nan() || pivot < LEAST_PIVOT {
            return None;
        }
        row[j] = pivot.sqrt();
        b[j] = (b[j] / scales[j] - dot(&row[..j], &b[..j])) / row[j];
    }
    for j in (0..width).rev() {
        b[j] /= matrix[j * width + j];
        let (before, from) = b.split_at_mut(j);
        axpy(-from[0], &matrix[j * width..j * width + j], before);
    }
    b.iter_mut().zip(&scales).for_each(|(b, scale)| *b /= scale);
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::{shows, solved};
    use crate::data::Design;
    use crate::exact::Signed;
    use proptest::prelude::*;

    #[test]
    fn a_system_is_solved() {
        // H = LLᵀ with L = (2 0 0; 1 3 0; −1 2 1), H·(1, −2, 3)ᵀ = (−6, −3, 6)ᵀ.
        let mut matrix = vec![4.0, 0.0, 0.0, 2.0, 10.0, 0.0, -2.0, 5.0, 6.0];
        let found = solved(&mut matrix, vec![-6.0, -3.0, 6.0]).unwrap();
        for (found, wanted) in found.iter().zip([1.0, -2.0, 3.0]) {
            assert!((found - wanted).abs() < 1e-12, "{found} is not {wanted}");
        }
        assert!(solved(&mut [1.0, 0.0, 1.0, 1.0], vec![1.0, 1.0]).is_none());
    }

    proptest! {
        /// A threshold on the line: classes overlap strictly where each has a point beyond one of the other's.
        #[test]
        fn only_what_overlaps_shows(
            points in prop::collection::vec((-20i8..20, any::<bool>()), 4..80),
            slope in -1.0..1.0f64,
            intercept in -1.0..1.0f64,
        ) {
            let values: Vec<f64> = points.iter().map(|point| f64::from(point.0)).collect();
            let signs: Vec<i8> = points.iter().map(|point| if point.1 { 1 } else { -1 }).collect();
            let ends = |sign: i8| {
                let own = values.iter().zip(&signs).filter(move |(_, s)| **s == sign).map(|(x, _)| *x);
                own.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)))
            };
            let (lower, upper) = (ends(-1), ends(1));
            let overlap = lower.0 < upper.1 && upper.0 < lower.1;
            let design = Design::from_dense(values, points.len(), 1).unwrap();
            let signed = Signed { design: &design, signs: &signs, intercept: true };
            prop_assert!(overlap || !shows(&signed, &[slope, intercept]));
        }
    }

    #[test]
    fn overlap_of_mixed_classes_shows() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i % 7) + f64::from(i % 2)).collect();
        let signs: Vec<i8> = (0..60).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect();
        let design = Design::from_dense(values, 60, 1).unwrap();
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept: true,
        };
        assert!(shows(&signed, &[0.0, 0.0]));
    }
}

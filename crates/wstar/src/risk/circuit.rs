//! Circuits: smallest sets of points that no hyperplane classifies without an error.
//!
//! Let `aᵢ = ±(xᵢ, 1)`. A set is classified without an error, positives above 0 and negatives at most 0, if and
//! only if no `λ ≥ 0` has `Σλᵢaᵢ = 0` with a positive point among those with `λᵢ > 0` (Motzkin 1936; with an
//! intercept there always is one). A circuit has such a `λ > 0`, unique up to a factor, on at most `d + 2`
//! points. Every hyperplane makes an error on every circuit; hence circuits bound the least error from below.

use num_bigint::{BigInt, Sign};
use num_traits::{One, ToPrimitive, Zero};

use super::bounds;
use super::points::{Points, shorten};
use crate::data::Design;
use crate::exact::{Alternative, Signed, gordan};

/// Which of the two there is, without rounding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exact {
    /// A hyperplane of the data is right on all points: weights and intercept, rounded only now.
    Separated(Vec<f64>),
    /// No hyperplane is: these points are a circuit.
    Circuit(Vec<usize>),
}

/// Decides in whole numbers whether some hyperplane is right on all `members`: slow, and never wrong, for the few cases that
/// rounding hides. `None` if it got late.
pub(crate) fn decide(points: &Points, members: &[usize], late: &dyn Fn() -> bool) -> Option<Exact> {
    // The lifted rows as they are: the 1 of an intercept is a column like any other.
    let values = members.iter().flat_map(|&i| points.row(i)).copied().collect();
    let signs: Vec<i8> = members
        .iter()
        .map(|&i| if points.positive[i] { 1 } else { -1 })
        .collect();
    let signed = Signed {
        design: &Design::from_dense(values, members.len(), points.dimension).ok()?,
        signs: &signs,
        intercept: false,
    };
    let rows: Vec<usize> = (0..members.len()).collect();
    // Without an intercept a negative point may lie on the hyperplane.
    let weak = |k: usize| !points.intercept && signs[k] < 0;
    match gordan(&signed, &rows, &weak, &[], &mut || late()) {
        Alternative::Stopped => None,
        Alternative::Combination(weights) => {
            let support: Vec<usize> = weights.iter().map(|&(k, _)| members[k]).collect();
            circuit_within(points, &support).map(Exact::Circuit)
        }
        Alternative::Separator(normal) => {
            let shift = normal.iter().map(BigInt::bits).max()?.saturating_sub(1000);
            let number = |v: &BigInt| (v >> shift).to_f64().unwrap_or_default();
            let mut plane: Vec<f64> = normal.iter().map(number).collect();
            shorten(&mut plane);
            Some(Exact::Separated(plane))
        }
    }
}

/// The circuit within some points whose rows have one dependence, if that has the signs of one: the points
/// where it is not 0, in their order. Decided by bounds on
/// all roundings where these suffice, else in whole numbers.
pub(crate) fn circuit_within(points: &Points, candidates: &[usize]) -> Option<Vec<usize>> {
    if bounds::is_certainly_circuit(points, candidates) {
        return Some(candidates.to_vec());
    }
    let weights = dependence(&points.integers(candidates), points.dimension)?;
    // Of aᵢ = ±rowᵢ, the multipliers change sign with the class.
    let signs: Vec<i8> = weights
        .iter()
        .zip(candidates)
        .map(|(weight, &i)| match (weight.sign(), points.positive[i]) {
            (Sign::NoSign, _) => 0,
            (Sign::Plus, true) | (Sign::Minus, false) => 1,
            _ => -1,
        })
        .collect();
    let one_sided = !(signs.contains(&1) && signs.contains(&-1));
    let members: Vec<usize> = (0..signs.len())
        .filter(|&k| signs[k] != 0)
        .map(|k| candidates[k])
        .collect();
    (one_sided && members.iter().any(|&i| points.positive[i])).then_some(members)
}

/// Whether these points are a circuit, each of them needed.
pub(crate) fn is_circuit(points: &Points, members: &[usize]) -> bool {
    circuit_within(points, members).is_some_and(|found| found.len() == members.len())
}

/// The only dependence of some rows, if there is exactly one: fraction-free Gauss–Jordan elimination (Bareiss 1968).
fn dependence(rows: &[Vec<BigInt>], dimension: usize) -> Option<Vec<BigInt>> {
    let count = rows.len();
    if count > dimension + 1 {
        return None;
    }
    // One equation for each coordinate, one unknown for each row.
    let mut equations: Vec<Vec<BigInt>> = (0..dimension)
        .map(|j| rows.iter().map(|row| row[j].clone()).collect())
        .collect();
    let mut last = BigInt::one();
    let mut free = None;
    let mut solved: Vec<usize> = Vec::new();
    for column in 0..count {
        let rank = solved.len();
        let Some(pivot) = (rank..dimension).find(|&r| !equations[r][column].is_zero()) else {
            if free.replace(column).is_some() {
                return None;
            }
            continue;
        };
        equations.swap(rank, pivot);
        let pivot_row = equations[rank].clone();
        let value = pivot_row[column].clone();
        for (r, equation) in equations.iter_mut().enumerate() {
            if r == rank {
                continue;
            }
            let factor = equation[column].clone();
            for (k, (entry, of_pivot)) in equation.iter_mut().zip(&pivot_row).enumerate() {
                // To the left only the diagonal of what is solved is left, and the free column.
                if k < column && free != Some(k) && solved.get(r) != Some(&k) {
                    continue;
                }
                *entry = (&*entry * &value - of_pivot * &factor) / &last;
            }
        }
        last = value;
        solved.push(column);
    }
    let free = free?;
    let mut weights = vec![BigInt::zero(); count];
    for (r, &column) in solved.iter().enumerate() {
        weights[column] = -&equations[r][free];
    }
    weights[free] = last;
    Some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risk::points::Entrant;

    fn points(rows: &[(&[f64], bool)], intercept: bool) -> Points {
        let features = rows[0].0.len();
        let entrants = (0..).zip(rows).map(|(row, &(features, positive))| Entrant {
            row,
            features,
            positive,
            cost: 1.0,
        });
        Points::gather(features, intercept, entrants)
    }

    #[test]
    fn the_corners_of_exclusive_or_are_a_circuit() {
        let xor: [(&[f64], bool); 4] = [
            (&[0.0, 0.0], false),
            (&[1.0, 1.0], false),
            (&[0.0, 1.0], true),
            (&[1.0, 0.0], true),
        ];
        let points = points(&xor, true);
        assert!(is_circuit(&points, &[0, 1, 2, 3]));
        assert!(!is_circuit(&points, &[0, 1, 2]));
    }

    #[test]
    fn a_point_that_is_not_needed_is_left_out() {
        // The third negative lies elsewhere; the positive is halfway between the others.
        let set: [(&[f64], bool); 4] = [
            (&[0.0, 0.0], false),
            (&[0.1, 0.1], true),
            (&[5.0, 7.0], false),
            (&[0.2, 0.2], false),
        ];
        let points = points(&set, true);
        assert_eq!(circuit_within(&points, &[0, 1, 2, 3]), Some(vec![0, 1, 3]));
        assert!(!is_circuit(&points, &[0, 1, 2, 3]));
    }

    #[test]
    fn halfway_must_be_exact() {
        // 0.3 is not exactly halfway between 0.1 and 0.5 in both coordinates at once.
        let set: [(&[f64], bool); 3] = [(&[0.1, 1.0], false), (&[0.3, 3.0], true), (&[0.5, 5.0], false)];
        assert!(!is_circuit(&points(&set, true), &[0, 1, 2]));
    }

    #[test]
    fn through_the_origin_negatives_alone_are_no_circuit() {
        let set: [(&[f64], bool); 3] = [(&[1.0], false), (&[-1.0], false), (&[0.0], true)];
        let points = points(&set, false);
        assert!(!is_circuit(&points, &[0, 1]), "both have score 0 with w = 0");
        assert!(is_circuit(&points, &[2]), "its score is always 0");
    }
}

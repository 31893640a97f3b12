//! Circuits: minimal sets of points that no hyperplane classifies without an error (irreducible
//! infeasible subsystems; J. Gleeson and J. Ryan, Identifying minimally infeasible subsystems of
//! inequalities, ORSA J. Computing 2, 1990).
//!
//! Let `aᵢ = ±(xᵢ, 1)`. A set is classified without an error (positives above 0, negatives at most 0) if
//! and only if no `λ ≥ 0` with `Σλᵢaᵢ = 0` has a positive point among those with `λᵢ > 0` (T. S. Motzkin,
//! Beiträge zur Theorie der linearen Ungleichungen, Basel 1936; with an intercept there always is one). A
//! circuit has such a `λ > 0`, unique up to a factor, on at most `d + 2` points. Every hyperplane is
//! wrong on some point of every circuit, so circuits bound the least error from below.

use num_bigint::{BigInt, Sign};
use num_traits::{One, ToPrimitive, Zero};

use crate::exact::{Alternative, Signed, gordan};
use crate::least_error::distinct_points::{DistinctPoints, shorten};
use crate::least_error::verified_circuit;
use wstar_data::Design;

/// The alternative that holds, decided exactly.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exact {
    /// Some hyperplane of the data is right on all points: its weights and intercept, rounded to doubles.
    Separated(Vec<f64>),
    /// No hyperplane is right on all points: these points are a circuit.
    Circuit(Vec<usize>),
}

/// Decides in integers whether some hyperplane is right on all `members`. Slow, for the few cases that
/// rounding leaves open. `None` if the time limit has passed.
pub(crate) fn decide(
    points: &DistinctPoints,
    members: &[usize],
    expired: &dyn Fn() -> bool,
) -> Option<Exact> {
    // The lifted rows are passed as they are: the 1 of the intercept is an ordinary column.
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
    match gordan(&signed, &rows, &weak, &[], &mut || expired()) {
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

/// The circuit within points whose rows have exactly one dependence, if its signs are those of a circuit:
/// the points with a nonzero coefficient, in their order. Error bounds decide where they suffice, otherwise
/// integers.
pub(crate) fn circuit_within(points: &DistinctPoints, candidates: &[usize]) -> Option<Vec<usize>> {
    if verified_circuit::is_certainly_circuit(points, candidates) {
        return Some(candidates.to_vec());
    }
    let weights = dependence(&points.integers(candidates), points.dimension)?;
    // aᵢ = ±rowᵢ, so a multiplier changes sign with the class.
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

/// Whether these points are a circuit in which every point is needed.
pub(crate) fn is_circuit(points: &DistinctPoints, members: &[usize]) -> bool {
    circuit_within(points, members).is_some_and(|found| found.len() == members.len())
}

/// The dependence of some rows, if there is exactly one, by fraction-free Gauss–Jordan elimination (E. H.
/// Bareiss, Math. Comp. 22, 1968).
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
                // To the left of the pivot only the diagonal of the solved columns and the free column are
                // nonzero.
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
    use crate::least_error::distinct_points::InputRow;

    fn points(rows: &[(&[f64], bool)], intercept: bool) -> DistinctPoints {
        let features = rows[0].0.len();
        let input_rows = (0..).zip(rows).map(|(row, &(features, positive))| InputRow {
            row,
            features,
            positive,
            cost: 1.0,
        });
        DistinctPoints::gather(features, intercept, input_rows)
    }

    #[test]
    fn xor_is_a_circuit() {
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
    fn unneeded_points_are_omitted() {
        // The third negative is far away; the positive point is halfway between the other two.
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
    fn midpoint_must_be_exact() {
        // In doubles, 0.3 is not exactly halfway between 0.1 and 0.5 in both coordinates at once.
        let set: [(&[f64], bool); 3] = [(&[0.1, 1.0], false), (&[0.3, 3.0], true), (&[0.5, 5.0], false)];
        assert!(!is_circuit(&points(&set, true), &[0, 1, 2]));
    }

    #[test]
    fn negatives_alone_are_no_circuit_through_origin() {
        let set: [(&[f64], bool); 3] = [(&[1.0], false), (&[-1.0], false), (&[0.0], true)];
        let points = points(&set, false);
        assert!(!is_circuit(&points, &[0, 1]), "both have score 0 with w = 0");
        assert!(is_circuit(&points, &[2]), "its score is always 0");
    }
}

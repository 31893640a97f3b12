//! The same question as `active_set`, in whole numbers: slow, and never wrong. For the few cases that rounding hides.
//!
//! Phase one of the simplex method for `Σλᵢaᵢ = 0, Σ_{positive} λᵢ = 1, λ ≥ 0` with Bland's rule (1977), so that it
//! ends, and integer pivoting (Edmonds 1967), so that nothing is rounded: all entries share the denominator of
//! the last pivot. It ends with a circuit, or with the multipliers that separate.

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::circuit::circuit_within;
use super::points::{Points, shorten};

/// The answer, without rounding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exact {
    /// A hyperplane of the data is right on all points: weights and intercept, rounded only now.
    Separated(Vec<f64>),
    /// No hyperplane is: these points are a circuit.
    Circuit(Vec<usize>),
}

/// Decides whether some hyperplane is right on all `members`. The points of `crash` go into the basis first.
pub(crate) fn decide(points: &Points, members: &[usize], crash: &[usize]) -> Option<Exact> {
    let mut tableau = Tableau::new(points, members);
    for i in crash {
        if let Some(column) = members.iter().position(|member| member == i) {
            tableau.crash(column);
        }
    }
    tableau.run();
    if tableau.value().is_zero() {
        let support: Vec<usize> = tableau
            .support()
            .into_iter()
            .map(|column| members[column])
            .collect();
        return circuit_within(points, &support).map(Exact::Circuit);
    }
    Some(Exact::Separated(tableau.separator(points, members)))
}

struct Tableau {
    /// A row for each equation: the points, the artificial variables, the right-hand side.
    rows: Vec<Vec<BigInt>>,
    /// The reduced costs, and minus the value, in the same columns.
    cost: Vec<BigInt>,
    /// What is basic in each row.
    basis: Vec<usize>,
    /// What all entries are divided by.
    denominator: BigInt,
    points: usize,
}

impl Tableau {
    fn new(points: &Points, members: &[usize]) -> Self {
        let (n, dimension) = (members.len(), points.dimension);
        let integers = points.integers(members);
        let mut rows = vec![vec![BigInt::zero(); n + dimension + 2]; dimension + 1];
        for (column, (&i, integer)) in members.iter().zip(integers).enumerate() {
            let positive = points.positive[i];
            for (row, value) in rows.iter_mut().zip(integer) {
                row[column] = if positive { value } else { -value };
            }
            rows[dimension][column] = if positive { BigInt::one() } else { BigInt::zero() };
        }
        for (k, row) in rows.iter_mut().enumerate() {
            row[n + k] = BigInt::one();
        }
        rows[dimension][n + dimension + 1] = BigInt::one();
        let mut cost = vec![BigInt::zero(); n + dimension + 2];
        for (column, entry) in cost.iter_mut().enumerate() {
            if column < n || column > n + dimension {
                *entry = -rows.iter().map(|row| &row[column]).sum::<BigInt>();
            }
        }
        Tableau {
            rows,
            cost,
            basis: (n..=n + dimension).collect(),
            denominator: BigInt::one(),
            points: n,
        }
    }

    fn value(&self) -> &BigInt {
        &self.cost[self.cost.len() - 1]
    }

    /// Makes a point basic in some row with right-hand side 0, which no pivot there can change.
    fn crash(&mut self, column: usize) {
        let last = self.cost.len() - 1;
        let place = (0..self.rows.len()).find(|&r| {
            self.basis[r] >= self.points && self.rows[r][last].is_zero() && !self.rows[r][column].is_zero()
        });
        if let Some(row) = place {
            self.pivot(row, column);
        }
    }

    fn run(&mut self) {
        let last = self.cost.len() - 1;
        while let Some(column) = (0..self.points).find(|&j| self.cost[j].is_negative()) {
            let mut best: Option<usize> = None;
            for r in (0..self.rows.len()).filter(|&r| self.rows[r][column].is_positive()) {
                best = match best {
                    None => Some(r),
                    Some(b) => {
                        let ours = &self.rows[r][last] * &self.rows[b][column];
                        let theirs = &self.rows[b][last] * &self.rows[r][column];
                        let better = ours < theirs || (ours == theirs && self.basis[r] < self.basis[b]);
                        Some(if better { r } else { b })
                    }
                };
            }
            // The sum of artificial variables is never below 0, so some row always bounds the step.
            let Some(row) = best else { return };
            self.pivot(row, column);
        }
    }

    fn pivot(&mut self, row: usize, column: usize) {
        // Entries keep a positive denominator, so that signs can be read off.
        if self.rows[row][column].sign() == Sign::Minus {
            self.rows[row].iter_mut().for_each(|entry| *entry = -&*entry);
        }
        let pivot_row = self.rows[row].clone();
        let value = pivot_row[column].clone();
        let denominator = &self.denominator;
        let others = self.rows.iter_mut().enumerate().filter(|(r, _)| *r != row);
        for line in others.map(|(_, line)| line).chain([&mut self.cost]) {
            let factor = line[column].clone();
            for (entry, of_pivot) in line.iter_mut().zip(&pivot_row) {
                if factor.is_zero() && entry.is_zero() {
                    continue;
                }
                *entry = (&*entry * &value - of_pivot * &factor) / denominator;
            }
        }
        self.denominator = value;
        self.basis[row] = column;
    }

    fn support(&self) -> Vec<usize> {
        let last = self.cost.len() - 1;
        (0..self.rows.len())
            .filter(|&r| self.basis[r] < self.points && !self.rows[r][last].is_zero())
            .map(|r| self.basis[r])
            .collect()
    }

    /// The hyperplane from the dual values: right on every positive point by as much as the value, and on every
    /// negative one by at least 0; with an intercept it is moved halfway to the nearest positive point.
    fn separator(&self, points: &Points, members: &[usize]) -> Vec<f64> {
        // The reduced cost of an artificial variable is 1 less its dual value.
        let dimension = points.dimension;
        let mut dual: Vec<BigInt> = (0..=dimension)
            .map(|k| &self.denominator - &self.cost[self.points + k])
            .collect();
        // Small whole numbers are not rounded, so that points on the hyperplane stay on it.
        let common = dual.iter().fold(BigInt::zero(), |common, v| common.gcd(v));
        if !common.is_zero() {
            dual.iter_mut().for_each(|v| *v /= &common);
        }
        // Columns were multiplied by powers of two; the weights have to be too.
        let integers = points.integers(members);
        let shrink: Vec<f64> = (0..dimension)
            .map(|j| {
                let known = members.iter().zip(&integers).find(|(_, row)| !row[j].is_zero());
                known.map_or(1.0, |(&i, row)| ratio(&row[j], points.row(i)[j]))
            })
            .collect();
        let largest = dual.iter().map(|v| v.bits()).max().unwrap_or_default();
        let shift = largest.saturating_sub(1000);
        let mut plane: Vec<f64> = dual[..dimension]
            .iter()
            .zip(&shrink)
            .map(|(v, scale)| -(v >> shift).to_f64().unwrap_or_default() * scale)
            .collect();
        if points.intercept {
            let margin = (&dual[dimension] >> shift).to_f64().unwrap_or_default();
            plane[dimension - 1] -= margin / 2.0 * shrink[dimension - 1];
        }
        shorten(&mut plane);
        plane
    }
}

/// `integer / value`, a power of two.
fn ratio(integer: &BigInt, value: f64) -> f64 {
    let shift = integer.bits().saturating_sub(1000);
    (integer >> shift).to_f64().unwrap_or(1.0) / value * (shift as f64).exp2()
}

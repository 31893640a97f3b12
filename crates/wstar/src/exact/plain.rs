//! Elimination in rationals: slow, and right.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed as _, Zero};

use super::{Budget, Circuit, Exactly, Signed, cleared};

fn exact(value: f64) -> BigRational {
    BigRational::from_float(value).unwrap_or_else(BigRational::zero)
}

fn dense(signed: &Signed<'_>, i: usize) -> Vec<BigRational> {
    let mut row = vec![BigRational::zero(); signed.width()];
    signed.for_each(i, |j, v| row[j] = exact(v));
    row
}

/// Independent rows, each with a 1 in a column where all others have a 0.
#[derive(Default)]
struct Echelon {
    rows: Vec<Vec<BigRational>>,
    columns: Vec<usize>,
    /// Each row as a combination of the ones that were added.
    origins: Vec<Vec<BigRational>>,
    added: usize,
}

impl Echelon {
    /// Adds a row; a combination of the rows so far that vanishes, if it depends on those before.
    fn add(&mut self, mut row: Vec<BigRational>) -> Option<Vec<BigRational>> {
        let mut origin = vec![BigRational::zero(); self.added + 1];
        origin[self.added] = BigRational::one();
        self.added += 1;
        for ((pivot, &column), from) in self.rows.iter().zip(&self.columns).zip(&self.origins) {
            let factor = row[column].clone();
            if factor.is_zero() {
                continue;
            }
            subtract(&mut row, &factor, pivot);
            subtract(&mut origin, &factor, from);
        }
        let Some(column) = row.iter().position(|v| !v.is_zero()) else {
            return Some(origin);
        };
        let pivot = row[column].clone();
        row.iter_mut().for_each(|v| *v /= &pivot);
        origin.iter_mut().for_each(|v| *v /= &pivot);
        for (other, from) in self.rows.iter_mut().zip(&mut self.origins) {
            let factor = other[column].clone();
            if factor.is_zero() {
                continue;
            }
            subtract(other, &factor, &row);
            from.resize(origin.len(), BigRational::zero());
            subtract(from, &factor, &origin);
        }
        self.rows.push(row);
        self.columns.push(column);
        self.origins.push(origin);
        None
    }
}

fn subtract(from: &mut [BigRational], factor: &BigRational, what: &[BigRational]) {
    for (value, other) in from.iter_mut().zip(what) {
        if !other.is_zero() {
            *value -= factor * other;
        }
    }
}

/// Exact λ > 0 on a subset of `rows` with `Σλᵢaᵢ = 0`, near the floating-point `hint`.
pub fn circuit(signed: &Signed<'_>, rows: &[usize], hint: &[f64], budget: &Budget) -> Exactly<Circuit> {
    let largest = hint.iter().copied().fold(0.0, f64::max);
    let mut order: Vec<(usize, f64)> = rows.iter().copied().zip(hint.iter().copied()).collect();
    order.retain(|&(_, h)| h > 1e-13 * largest);
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut echelon = Echelon::default();
    let mut relations = Vec::new();
    for &(i, h) in &order {
        if budget.is_spent() {
            return Exactly::BudgetSpent;
        }
        if let Some(relation) = echelon.add(dense(signed, i)) {
            relations.push((relation, h));
        }
    }
    let mut weights = vec![BigRational::zero(); order.len()];
    for (relation, h) in &relations {
        let h = exact(*h);
        weights.iter_mut().zip(relation).for_each(|(w, r)| *w += &h * r);
    }
    if relations.is_empty() || weights.iter().any(BigRational::is_negative) {
        return Exactly::Absent;
    }
    let mut points: Vec<(u64, BigRational)> = order
        .iter()
        .map(|&(i, _)| i as u64)
        .zip(weights)
        .filter(|(_, w)| !w.is_zero())
        .collect();
    points.sort_by_key(|&(i, _)| i);
    let counted = |&&(i, _): &&(u64, BigRational)| !signed.intercept || signed.signs[i as usize] > 0;
    let total: BigRational = points.iter().filter(counted).map(|(_, w)| w.clone()).sum();
    if total.is_zero() {
        return Exactly::Absent;
    }
    let (points, weights) = points.into_iter().map(|(i, w)| (i, w / &total)).unzip();
    Exactly::Found(Circuit { points, weights })
}

/// A lower bound of the rank of the rows `aᵢ`, and all but surely the rank.
pub fn rank_at_least(signed: &Signed<'_>, rows: &[usize]) -> usize {
    let mut echelon = Echelon::default();
    for &i in rows {
        echelon.add(dense(signed, i));
    }
    echelon.rows.len()
}

/// Independent integer vectors orthogonal to every row that takes part: the rank of the rows is at most the
/// width less their number, and all but surely equal to it.
pub fn null_vectors(signed: &Signed<'_>, budget: &Budget) -> Exactly<Vec<Vec<BigInt>>> {
    let mut echelon = Echelon::default();
    for i in signed.participants() {
        if budget.is_spent() {
            return Exactly::BudgetSpent;
        }
        echelon.add(dense(signed, i));
    }
    let free = (0..signed.width()).filter(|j| !echelon.columns.contains(j));
    Exactly::Found(
        free.map(|j| {
            let mut v = vec![BigRational::zero(); signed.width()];
            v[j] = BigRational::one();
            for (row, &column) in echelon.rows.iter().zip(&echelon.columns) {
                v[column] = -&row[j];
            }
            cleared(&v)
        })
        .collect(),
    )
}

/// A rational `v` near `guess` with `aᵢ·v = 0` for each row of the face.
pub fn vanishing(
    signed: &Signed<'_>,
    face: &[usize],
    guess: &[f64],
    budget: &Budget,
) -> Exactly<Vec<BigRational>> {
    let mut echelon = Echelon::default();
    for &i in face {
        if budget.is_spent() {
            return Exactly::BudgetSpent;
        }
        echelon.add(dense(signed, i));
    }
    let mut v: Vec<BigRational> = guess.iter().map(|&g| exact(g)).collect();
    for &column in &echelon.columns {
        v[column] = BigRational::zero();
    }
    let free = v.clone();
    for (row, &column) in echelon.rows.iter().zip(&echelon.columns) {
        v[column] = -row.iter().zip(&free).map(|(a, b)| a * b).sum::<BigRational>();
    }
    Exactly::Found(v)
}

//! Crossover from an interior point to a basis: which rows a nearby vertex interpolates (N. Megiddo, On
//! finding primal- and dual-optimal bases, ORSA J. Computing 3, 1991).

use crate::least_absolute::basis::Basis;
use crate::least_absolute::interior_end::InteriorEnd;
use crate::row_reduction::{Band, Frame};

/// Number of candidate rows up to which more candidates are tried if the basis is rank-deficient. Cap: beyond
/// it the basis is completed by other rows.
const MAX_CANDIDATES: usize = 1 << 14;

/// The start of the simplex method.
pub(super) struct Guess {
    pub(super) basis: Basis,
    /// The sides of all rows of the band.
    pub(super) sides: Vec<i8>,
    /// The slopes of an interior point, if the guess comes from one.
    pub(super) slopes: Option<Vec<f64>>,
}

impl Guess {
    /// The basis of the rows whose slopes are furthest from their bounds, and the sides of all other rows.
    pub(super) fn new(frame: &Frame<'_>, band: &Band, count: usize, inner: &InteriorEnd) -> Option<Self> {
        let (low, high) = frame.slopes;
        let width = frame.width();
        let mut residuals: Vec<f64> = (0..count)
            .map(|i| band.targets[i] - band.design.row(i).dot(&inner.at))
            .collect();
        let slope = |i: usize| -inner.dual[i] / band.weights[i];
        let sides: Vec<i8> = (0..count)
            .map(|i| if slope(i) < 0.5 * (low + high) { 1 } else { -1 })
            .collect();
        let mut sorted: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
        let typical = match sorted.len() {
            0 => 1.0,
            length => *sorted.select_nth_unstable_by(length / 2, f64::total_cmp).1,
        };
        residuals.iter_mut().for_each(|r| *r = r.abs());
        // Where the slopes do not discriminate, the smaller residual decides.
        let mut candidates: Vec<(usize, f64)> = (0..count)
            .map(|i| {
                let slack = (slope(i) - low).min(high - slope(i)).max(0.0) / (high - low);
                let near = typical / (typical + residuals[i] + f64::MIN_POSITIVE);
                // Heuristic: 1e-8 only breaks ties between slacks; not measured yet.
                (i, slack + 1e-8 * near)
            })
            .collect();
        let by_weight = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        candidates.sort_unstable_by(by_weight);
        // If a column is rarely nonzero, more candidates may be needed to reach full rank. Heuristic: the first
        // number and the factor 16 trade eliminations for candidates; not measured yet.
        let mut most = 3 * width + 64;
        let mut basis = Basis::choose(&band.design, width, &candidates[..most.min(count)])?;
        while basis.rank() < width && most < count && most < MAX_CANDIDATES {
            most *= 16;
            basis = Basis::choose(&band.design, width, &candidates[..most.min(count)])?;
        }
        Some(Guess {
            basis,
            slopes: Some((0..count).map(slope).collect()),
            sides,
        })
    }
}

/// Adds rows of the band for columns that the basis lacks. If no row of the band has such a column, it
/// returns the index of a row outside the band that has one.
pub(super) fn complete(
    frame: &Frame<'_>,
    mut basis: Basis,
    band: &Band,
    list: &[usize],
    outside: bool,
) -> (Basis, Option<usize>) {
    let width = frame.width();
    loop {
        let null_space = basis.null_space(&band.design);
        if null_space.is_empty() {
            return (basis, None);
        }
        let mut best: Option<(usize, usize, f64)> = None;
        for row in 0..list.len() {
            let x = band.design.row(row).to_dense(width);
            if let Some((column, left)) = null_space.independent_column(&x)
                && best.is_none_or(|(_, _, most)| left > most)
            {
                best = Some((row, column, left));
            }
        }
        match best {
            Some((row, column, _)) => {
                if !basis.extend(row, column, &band.design) {
                    return (basis, None);
                }
            }
            None if !outside => return (basis, None),
            None => {
                let mut found: Option<(usize, f64)> = None;
                let mut x = vec![0.0; width];
                for &i in &frame.active {
                    x.fill(0.0);
                    frame.write_scaled_row(i, &mut x);
                    if let Some((_, left)) = null_space.independent_column(&x)
                        && found.is_none_or(|(_, most)| left > most)
                    {
                        found = Some((i, left));
                    }
                }
                let found = found.map(|(i, _)| i);
                return (basis, found);
            }
        }
    }
}

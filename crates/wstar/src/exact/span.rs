//! Rows that span all others, modulo a prime: rank from below.

use rayon::prelude::*;

use super::integers::Residues;
use super::modular::{Echelon, Field};
use super::{Budget, Signed, Stop};

/// More numbers than this are not held at once.
const MOST_NUMBERS: usize = 1 << 27;

/// Independent rows, and the coordinates they were taken in.
#[derive(Debug)]
pub(super) struct Span {
    /// The coordinates in which any of the rows has an entry that is not 0, increasing.
    pub(super) columns: Vec<usize>,
    echelon: Echelon,
}

impl Span {
    /// Rows independent of those before them.
    pub(super) fn rows(&self) -> &[usize] {
        self.echelon.pivot_rows()
    }

    /// As many coordinates in which they are independent.
    pub(super) fn pivot_columns(&self) -> Vec<usize> {
        self.named(self.echelon.pivot_columns())
    }

    /// The others that are not 0 everywhere.
    pub(super) fn free_columns(&self) -> Vec<usize> {
        self.named(self.echelon.free_columns())
    }

    fn named(&self, places: &[usize]) -> Vec<usize> {
        places.iter().map(|&place| self.columns[place]).collect()
    }

    /// Of the given rows. `in_order`: a row is left out only if it depends on those before it; else on any, and
    /// the time goes with the rank rather than with the number of rows.
    pub(super) fn new(
        signed: &Signed<'_>,
        rows: &[usize],
        in_order: bool,
        field: Field,
        budget: &Budget,
    ) -> Result<Self, Stop> {
        let columns = used_columns(signed, rows);
        let width = columns.len();
        let mut places = vec![usize::MAX; signed.width()];
        for (place, &j) in columns.iter().enumerate() {
            places[j] = place;
        }
        let first = 2 * width + 32;
        let batch: Vec<usize> = if in_order || rows.len() <= 2 * first {
            rows.to_vec()
        } else {
            (0..first).map(|k| rows[k * rows.len() / first]).collect()
        };
        if batch.len().saturating_mul(width) > MOST_NUMBERS {
            return Err(Stop::BudgetSpent);
        }
        let residues = Residues::new(field);
        let mut echelon = Echelon::new(field, width);
        let add = |echelon: &mut Echelon, batch: &[usize]| {
            let tagged = batch
                .par_iter()
                .map(|&i| (i, residues.row(signed, i, &places, width)));
            echelon.extend(tagged.collect(), budget)
        };
        if !add(&mut echelon, &batch) {
            return Err(Stop::BudgetSpent);
        }
        if batch.len() < rows.len() {
            let mut state = 1u64;
            loop {
                // A random vector orthogonal to the rows so far: any row that is not, is independent of them.
                let placed = echelon.null_vector(|| {
                    state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                    mixed ^ (mixed >> 27)
                });
                if echelon.rank() == width {
                    break;
                }
                let mut vector = vec![0; signed.width()];
                columns
                    .iter()
                    .zip(placed)
                    .for_each(|(&j, value)| vector[j] = value);
                let apart = |&&i: &&usize| residues.score(signed, i, &vector) != 0;
                let found: Vec<usize> = rows.par_iter().filter(apart).copied().collect();
                if found.is_empty() {
                    break;
                }
                let most = 2 * (width - echelon.rank()) + 32;
                let batch: Vec<usize> = if found.len() <= most {
                    found
                } else {
                    (0..most).map(|k| found[k * found.len() / most]).collect()
                };
                if !add(&mut echelon, &batch) {
                    return Err(Stop::BudgetSpent);
                }
            }
        }
        Ok(Span { columns, echelon })
    }
}

/// The coordinates in which any of the rows has an entry that is not 0, increasing.
pub(super) fn used_columns(signed: &Signed<'_>, rows: &[usize]) -> Vec<usize> {
    let mut used = vec![false; signed.width()];
    let mut left = used.len();
    for &i in rows {
        if left == 0 {
            break;
        }
        signed.for_each(i, |j, value| {
            if value != 0.0 && !used[j] {
                used[j] = true;
                left -= 1;
            }
        });
    }
    (0..used.len()).filter(|&j| used[j]).collect()
}

/// A lower bound of the rank of the rows `aᵢ`, and, but for bad luck, the rank: it is that modulo a prime.
pub fn rank_at_least(signed: &Signed<'_>, rows: &[usize]) -> usize {
    // Too large to be held: nothing is claimed.
    Span::new(signed, rows, false, Field::first(), &Budget::unlimited()).map_or(0, |span| span.rows().len())
}

//! A basis of the row space modulo a prime, and with it a lower bound on the rank.

use rayon::prelude::*;

use crate::exact::deadline::Deadline;
use crate::exact::exact_outcome::Stop;
use crate::exact::integer_scaling::Residues;
use crate::exact::modular::{Echelon, Field};
use crate::exact::signed_rows::Signed;

/// Cap: entries of the dense rows in one batch; beyond it the computation reports a spent budget.
const MAX_ENTRIES: usize = 1 << 27;

/// Independent rows, and the coordinates in which they were eliminated.
#[derive(Debug)]
pub(super) struct Span {
    /// The coordinates in which some row has a nonzero entry, increasing.
    pub(super) columns: Vec<usize>,
    echelon: Echelon,
}

impl Span {
    /// The rows that are independent of those before them.
    pub(super) fn rows(&self) -> &[usize] {
        self.echelon.pivot_rows()
    }

    /// As many coordinates, in which the rows are independent.
    pub(super) fn pivot_columns(&self) -> Vec<usize> {
        self.named(self.echelon.pivot_columns())
    }

    /// The other coordinates in which some row has a nonzero entry.
    pub(super) fn free_columns(&self) -> Vec<usize> {
        self.named(self.echelon.free_columns())
    }

    fn named(&self, positions: &[usize]) -> Vec<usize> {
        positions.iter().map(|&position| self.columns[position]).collect()
    }

    /// The span of the given rows. With `in_order` a row is left out only if it depends on rows before it.
    /// Otherwise any maximal independent subset is chosen, and the running time depends on the rank rather
    /// than on the number of rows.
    pub(super) fn new(
        signed: &Signed<'_>,
        rows: &[usize],
        in_order: bool,
        field: Field,
        budget: &Deadline,
    ) -> Result<Self, Stop> {
        let columns = used_columns(signed, rows);
        let width = columns.len();
        let mut positions = vec![usize::MAX; signed.width()];
        for (position, &j) in columns.iter().enumerate() {
            positions[j] = position;
        }
        // Heuristic: twice the largest rank, so that one batch usually suffices; not measured yet.
        let first = 2 * width + 32;
        let batch: Vec<usize> = if in_order || rows.len() <= 2 * first {
            rows.to_vec()
        } else {
            (0..first).map(|k| rows[k * rows.len() / first]).collect()
        };
        if batch.len().saturating_mul(width) > MAX_ENTRIES {
            return Err(Stop::BudgetSpent);
        }
        let residues = Residues::new(field);
        let mut echelon = Echelon::new(field, width);
        let add = |echelon: &mut Echelon, batch: &[usize]| {
            let tagged = batch
                .par_iter()
                .map(|&i| (i, residues.row(signed, i, &positions, width)));
            echelon.extend(tagged.collect(), budget)
        };
        if !add(&mut echelon, &batch) {
            return Err(Stop::BudgetSpent);
        }
        if batch.len() < rows.len() {
            let mut state = 1u64;
            loop {
                // A random vector orthogonal to the rows so far: a row that is not orthogonal to it is
                // independent of them.
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

/// The coordinates in which some row has a nonzero entry, increasing.
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

/// A lower bound on the rank of the rows `aᵢ`: their rank modulo a prime, which is almost surely the rank
/// itself.
pub fn rank_at_least(signed: &Signed<'_>, rows: &[usize]) -> usize {
    // If the rows are too large to hold, the bound is 0.
    Span::new(signed, rows, false, Field::first(), &Deadline::unlimited()).map_or(0, |span| span.rows().len())
}

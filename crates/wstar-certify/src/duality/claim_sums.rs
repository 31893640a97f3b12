//! The sums of a pass over the rows, with a bound on the error of each.

use wstar_data::error::{Error, Result};
use wstar_numeric::double_double::Compensated;
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Blocks, Rows};
use wstar_problem::problem::Problem;

use crate::duality::dual_point::DualPoint;
use crate::duality::error_bounds::{Rounding, larger};

/// The point that is certified, with the stored multipliers.
pub(super) struct Claim<'a> {
    pub(super) problem: &'a Problem,
    pub(super) parameters: &'a [f64],
    /// Rows, increasing, and the positions of their multipliers within their ranges.
    pub(super) stored: Vec<(u64, f64)>,
    pub(super) rounding: Rounding,
    /// Whether the multipliers of some rows may be changed where the columns do not fit them.
    pub(super) changes: bool,
}

impl<'a> Claim<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        parameters: &'a [f64],
        dual_point: &DualPoint,
        rounding: Rounding,
    ) -> Result<Self> {
        let stored = match dual_point {
            DualPoint::Slopes => Vec::new(),
            DualPoint::Stored(stored) => stored.pairs()?,
        };
        if problem.loss() != LossName::Squared && stored.iter().any(|(_, share)| !(0.0..=1.0).contains(share))
        {
            return Err(Error::model("a stored multiplier lies outside its range"));
        }
        Ok(Claim {
            problem,
            parameters,
            stored,
            rounding,
            changes: true,
        })
    }

    /// Visits all rows, block by block, with the number of the first row of each block.
    pub(super) fn pass(
        &self,
        blocks: &mut dyn Blocks,
        visit: &mut dyn FnMut(&Rows<'_>, u64) -> Result<()>,
    ) -> Result<()> {
        let mut first = 0u64;
        blocks.pass(&mut |rows| {
            visit(rows, first)?;
            first += rows.len() as u64;
            Ok(())
        })?;
        match self.stored.last() {
            Some(&(row, _)) if row >= first => Err(Error::model(
                "multipliers are stored for rows that the data do not have",
            )),
            _ => Ok(()),
        }
    }

    /// The stored share of a row.
    pub(super) fn share(&self, row: u64) -> Option<f64> {
        let at = self.stored.binary_search_by_key(&row, |&(row, _)| row).ok()?;
        Some(self.stored[at].1)
    }

    /// The stored shares of a range of rows.
    pub(super) fn shares(&self, rows: std::ops::Range<u64>) -> &[(u64, f64)] {
        let at = |row: u64| self.stored.partition_point(|&(stored, _)| stored < row);
        &self.stored[at(rows.start)..at(rows.end)]
    }
}

/// The sums of a pass.
#[derive(Debug, Clone)]
pub(super) struct ClaimSums {
    /// Σcᵢℓ.
    pub(super) loss: Compensated,
    /// A bound on the error of `loss`.
    pub(super) loss_error: f64,
    /// A bound on the sum of the defects of the rows without a stored multiplier.
    pub(super) defects: f64,
    /// A bound on the sum of the defects of the rows with a stored multiplier.
    pub(super) stored_defects: f64,
    /// X̃ᵀα, output by output.
    pub(super) products: Vec<Compensated>,
    /// Bounds on the errors of `products`.
    pub(super) errors: Vec<f64>,
    /// The largest |xᵢⱼ| of each column, with that of the intercept.
    pub(super) largest: Vec<f64>,
    /// A bound on the error of every score.
    pub(super) score_error: f64,
    /// The number of rows with a weight above 0.
    pub(super) rows: u64,
    /// The number of rows with a nonzero multiplier.
    pub(super) support: u64,
    /// The number of rows whose nonzero multiplier is at a bound.
    pub(super) at_bound: u64,
}

impl ClaimSums {
    pub(super) fn new(problem: &Problem) -> Self {
        let layout = problem.layout();
        ClaimSums {
            loss: Compensated::default(),
            loss_error: 0.0,
            defects: 0.0,
            stored_defects: 0.0,
            products: vec![Compensated::default(); layout.len()],
            errors: vec![0.0; layout.len()],
            largest: vec![0.0; layout.width()],
            score_error: 0.0,
            rows: 0,
            support: 0,
            at_bound: 0,
        }
    }

    /// Adds the sums of other rows.
    pub(super) fn merge(&mut self, other: &ClaimSums) {
        self.loss.add(other.loss.total());
        self.loss_error += other.loss_error;
        self.defects += other.defects;
        self.stored_defects += other.stored_defects;
        for (to, from) in self.products.iter_mut().zip(&other.products) {
            to.add(from.total());
        }
        let errors = self.errors.iter_mut().zip(&other.errors);
        errors.for_each(|(to, from)| *to += from);
        let largest = self.largest.iter_mut().zip(&other.largest);
        largest.for_each(|(to, &from)| *to = larger(*to, from));
        self.score_error = larger(self.score_error, other.score_error);
        self.rows += other.rows;
        self.support += other.support;
        self.at_bound += other.at_bound;
    }
}

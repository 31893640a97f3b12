//! The rows of two classes, each with the sign of its class.

use wstar_data::Design;

/// Rows `aᵢ = yᵢ(xᵢ, 1)` of two classes; without an intercept `aᵢ = yᵢxᵢ`.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// The points `xᵢ`.
    pub design: &'a Design,
    /// `yᵢ`: +1 or −1; 0 for a row that does not take part.
    pub signs: &'a [i8],
    /// Whether the rows end in a 1 for the intercept.
    pub intercept: bool,
}

impl Signed<'_> {
    /// The number of coordinates of a row; the last is the intercept's, if there is one.
    pub fn width(&self) -> usize {
        self.design.features() + usize::from(self.intercept)
    }

    /// The rows that take part, in increasing order.
    pub fn participants(&self) -> impl Iterator<Item = usize> {
        (0..self.design.rows()).filter(|&i| self.signs.get(i).is_some_and(|&y| y != 0))
    }

    /// Calls `visit(coordinate, value)` for the stored entries of `aᵢ`, in order.
    pub fn for_each(&self, i: usize, mut visit: impl FnMut(usize, f64)) {
        let y = f64::from(self.signs[i].signum());
        self.design.row(i).for_each(|j, x| visit(j, y * x));
        if self.intercept {
            visit(self.design.features(), y);
        }
    }
}

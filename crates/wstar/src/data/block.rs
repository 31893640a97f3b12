//! Columns of numbers that were read together and stay together, row by row: mostly they are to be the rows of
//! a dense design, which then has nothing to copy.

use std::sync::Arc;

use rayon::prelude::*;

/// Numbers row by row; NaN marks a missing one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    values: Vec<f64>,
    width: usize,
    complete: bool,
}

impl Block {
    /// Rows of `width` numbers; `complete` says that all of them are finite.
    pub(crate) fn new(values: Vec<f64>, width: usize, complete: bool) -> Self {
        Block {
            values,
            width,
            complete,
        }
    }

    /// The rows at the given positions, in that order.
    fn select(&self, rows: &[usize]) -> Self {
        let row = |&i: &usize| &self.values[i * self.width..(i + 1) * self.width];
        let mut values = Vec::with_capacity(rows.len() * self.width);
        rows.iter().for_each(|i| values.extend_from_slice(row(i)));
        let complete = self.complete || values.par_iter().all(|value| value.is_finite());
        Block::new(values, self.width, complete)
    }
}

/// One column of numbers that are stored with others, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockColumn {
    block: Arc<Block>,
    place: usize,
}

impl BlockColumn {
    /// The columns of a block, in order.
    pub(crate) fn all(block: Block) -> impl Iterator<Item = Self> {
        let block = Arc::new(block);
        (0..block.width).map(move |place| BlockColumn {
            block: Arc::clone(&block),
            place,
        })
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.block.values.len() / self.block.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of row `i`; NaN if missing.
    pub fn get(&self, i: usize) -> f64 {
        self.block.values[i * self.block.width + self.place]
    }

    /// All numbers in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f64> {
        self.from(0)
    }

    /// The numbers from row `start` on.
    pub(super) fn from(&self, start: usize) -> impl ExactSizeIterator<Item = f64> {
        let values = self.block.values.get(start * self.block.width + self.place..);
        let values = values.unwrap_or_default().iter();
        values.step_by(self.block.width).copied()
    }

    /// Whether it is known that all numbers are finite: no need to look at them.
    pub(super) fn is_complete(&self) -> bool {
        self.block.complete
    }

    /// Keeps the given rows of some columns, in that order; those that were together stay so.
    pub(super) fn select_rows<'a>(columns: impl Iterator<Item = &'a mut Self>, rows: &[usize]) {
        let mut selected: Vec<(Arc<Block>, Arc<Block>)> = Vec::new();
        for column in columns {
            let known = selected.iter().find(|(from, _)| Arc::ptr_eq(from, &column.block));
            let block = match known {
                Some((_, block)) => Arc::clone(block),
                None => {
                    let block = Arc::new(column.block.select(rows));
                    selected.push((Arc::clone(&column.block), Arc::clone(&block)));
                    block
                }
            };
            column.block = block;
        }
    }

    /// Whether these are all columns of one block, in order.
    pub(super) fn are_whole<'a>(columns: impl ExactSizeIterator<Item = &'a Self>) -> bool {
        let mut block: Option<&Arc<Block>> = None;
        let count = columns.len();
        columns.enumerate().all(|(place, column)| {
            let block = *block.get_or_insert(&column.block);
            column.place == place && block.width == count && Arc::ptr_eq(block, &column.block)
        })
    }

    /// The block of these columns row by row; they are all of it.
    pub(super) fn into_rows(columns: impl Iterator<Item = Self>) -> Vec<f64> {
        // What comes first keeps the block alive, so the last of the others to go leaves it to this one alone.
        let mut blocks = columns.map(|column| column.block);
        let first = blocks.next();
        blocks.for_each(drop);
        first.map_or_else(Vec::new, |block| Arc::unwrap_or_clone(block).values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<BlockColumn> {
        BlockColumn::all(Block::new(vec![0.0, 1.0, 10.0, f64::NAN, 20.0, 21.0], 2, false)).collect()
    }

    #[test]
    fn columns_are_seen_one_by_one() {
        let columns = columns();
        assert_eq!(columns[0].iter().collect::<Vec<_>>(), [0.0, 10.0, 20.0]);
        assert_eq!(columns[1].from(2).collect::<Vec<_>>(), [21.0]);
        assert_eq!(columns[1].from(3).len(), 0);
        assert_eq!((columns[1].len(), columns[1].get(2)), (3, 21.0));
    }

    #[test]
    fn selected_rows_stay_together() {
        let mut some = columns();
        BlockColumn::select_rows(some.iter_mut(), &[2, 0]);
        assert!(BlockColumn::are_whole(some.iter()));
        assert!(some[0].is_complete(), "the missing number was in row 1");
        assert_eq!(BlockColumn::into_rows(some.into_iter()), [20.0, 21.0, 0.0, 1.0]);
    }

    #[test]
    fn only_all_columns_in_order_are_the_block() {
        let (some, others) = (columns(), columns());
        assert!(!BlockColumn::are_whole(some[..1].iter()));
        assert!(!BlockColumn::are_whole([&some[1], &some[0]].into_iter()));
        assert!(!BlockColumn::are_whole([&some[0], &others[1]].into_iter()));
        let kept = some[0].clone();
        let rows = BlockColumn::into_rows(some.into_iter());
        assert_eq!((rows[4], kept.get(2)), (20.0, 20.0), "a block in use is copied");
    }
}

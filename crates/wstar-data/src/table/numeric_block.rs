//! Numeric columns that are stored together in row-major order, as they were read. They usually become the rows of a dense
//! design, which can then use the same memory without a copy.

use std::sync::Arc;

use rayon::prelude::*;

/// Numbers in row-major order; NaN marks a missing number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumericBlock {
    values: Vec<f64>,
    width: usize,
    complete: bool,
}

impl NumericBlock {
    /// Rows of `width` numbers; `complete` asserts that all of them are finite.
    pub(crate) fn new(values: Vec<f64>, width: usize, complete: bool) -> Self {
        NumericBlock {
            values,
            width,
            complete,
        }
    }

    /// The rows with the given indices, in that order.
    fn select(&self, rows: &[usize]) -> Self {
        let row = |&i: &usize| &self.values[i * self.width..(i + 1) * self.width];
        let mut values = Vec::with_capacity(rows.len() * self.width);
        rows.iter().for_each(|i| values.extend_from_slice(row(i)));
        let complete = self.complete || values.par_iter().all(|value| value.is_finite());
        NumericBlock::new(values, self.width, complete)
    }
}

/// One column of a block of numeric columns.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockColumn {
    block: Arc<NumericBlock>,
    index: usize,
}

impl BlockColumn {
    /// The columns of a block, in order.
    pub(crate) fn all(block: NumericBlock) -> impl Iterator<Item = Self> {
        let block = Arc::new(block);
        (0..block.width).map(move |index| BlockColumn {
            block: Arc::clone(&block),
            index,
        })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.block.values.len() / self.block.width
    }

    /// Whether the column is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of row `i`; NaN if missing.
    pub fn get(&self, i: usize) -> f64 {
        self.block.values[i * self.block.width + self.index]
    }

    /// All numbers in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f64> {
        self.from(0)
    }

    /// The numbers from row `start` on.
    pub fn from(&self, start: usize) -> impl ExactSizeIterator<Item = f64> {
        let values = self.block.values.get(start * self.block.width + self.index..);
        let values = values.unwrap_or_default().iter();
        values.step_by(self.block.width).copied()
    }

    /// Whether all numbers of the block are known to be finite, so that they need not be validated.
    pub fn is_complete(&self) -> bool {
        self.block.complete
    }

    /// Keeps the given rows of the columns, in that order. Columns of one block stay in one block.
    pub fn select_rows<'a>(columns: impl Iterator<Item = &'a mut Self>, rows: &[usize]) {
        let mut selected: Vec<(Arc<NumericBlock>, Arc<NumericBlock>)> = Vec::new();
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
    pub fn are_whole<'a>(columns: impl ExactSizeIterator<Item = &'a Self>) -> bool {
        let mut block: Option<&Arc<NumericBlock>> = None;
        let count = columns.len();
        columns.enumerate().all(|(index, column)| {
            let block = *block.get_or_insert(&column.block);
            column.index == index && block.width == count && Arc::ptr_eq(block, &column.block)
        })
    }

    /// The values of the block in row-major order; `columns` must be all its columns.
    pub fn into_rows(columns: impl Iterator<Item = Self>) -> Vec<f64> {
        // The first column keeps the block alive. After the others are dropped it is the only owner, and the values can be
        // moved out.
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
        BlockColumn::all(NumericBlock::new(
            vec![0.0, 1.0, 10.0, f64::NAN, 20.0, 21.0],
            2,
            false,
        ))
        .collect()
    }

    #[test]
    fn columns_are_read_separately() {
        let columns = columns();
        assert_eq!(columns[0].iter().collect::<Vec<_>>(), [0.0, 10.0, 20.0]);
        assert_eq!(columns[1].from(2).collect::<Vec<_>>(), [21.0]);
        assert_eq!(columns[1].from(3).len(), 0);
        assert_eq!((columns[1].len(), columns[1].get(2)), (3, 21.0));
    }

    #[test]
    fn selected_rows_stay_in_one_block() {
        let mut some = columns();
        BlockColumn::select_rows(some.iter_mut(), &[2, 0]);
        assert!(BlockColumn::are_whole(some.iter()));
        assert!(some[0].is_complete(), "the missing number was in row 1");
        assert_eq!(BlockColumn::into_rows(some.into_iter()), [20.0, 21.0, 0.0, 1.0]);
    }

    #[test]
    fn are_whole_requires_all_columns_in_order() {
        let (some, others) = (columns(), columns());
        assert!(!BlockColumn::are_whole(some[..1].iter()));
        assert!(!BlockColumn::are_whole([&some[1], &some[0]].into_iter()));
        assert!(!BlockColumn::are_whole([&some[0], &others[1]].into_iter()));
        let kept = some[0].clone();
        let rows = BlockColumn::into_rows(some.into_iter());
        assert_eq!((rows[4], kept.get(2)), (20.0, 20.0), "a block in use is copied");
    }
}

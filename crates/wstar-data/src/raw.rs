//! Raw data as the readers return them: named columns, or a matrix without names.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::{BlockColumn, Cells, Column, ColumnSource, Design, Numbers, Table, Texts};

/// Raw data as the readers return them.
#[derive(Debug, Clone)]
pub enum Raw {
    /// Named columns.
    Table(Table),
    /// A matrix whose columns have no names.
    Matrix(Matrix),
}

/// A matrix read from a format without column names (svmlight, IDX), with its labels.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The name of its source, for messages.
    pub source: String,
    /// The rows.
    pub design: Design,
    /// The label of each row, if the file has them.
    pub labels: Option<Vec<f64>>,
    /// The format of the file.
    pub origin: ColumnSource,
}

impl Raw {
    /// The name of the source.
    pub fn source(&self) -> &str {
        match self {
            Raw::Table(table) => &table.source,
            Raw::Matrix(matrix) => &matrix.source,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Raw::Table(table) => table.rows,
            Raw::Matrix(matrix) => matrix.design.rows(),
        }
    }

    /// Checks that all columns have the stated number of rows and that there is at least one row. The readers guarantee the
    /// lengths; other callers may not.
    pub(super) fn check(&self) -> Result<()> {
        let lengths_fit = match self {
            Raw::Table(table) => table.columns.iter().all(|column| {
                table.rows
                    == match &column.cells {
                        Cells::Numbers(numbers) => numbers.len(),
                        Cells::Categories { codes, .. } => codes.len(),
                        Cells::Texts(texts) => texts.len(),
                    }
            }),
            Raw::Matrix(matrix) => matrix
                .labels
                .as_ref()
                .is_none_or(|labels| labels.len() == self.rows()),
        };
        if !lengths_fit {
            return Err(Error::data("the columns do not all have the same length"));
        }
        if self.rows() == 0 {
            return Err(Error::data("there are no rows"));
        }
        Ok(())
    }

    /// The rows with the given indices, in that order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Raw::Table(table) => Raw::Table(Table {
                source: table.source.clone(),
                columns: select_columns(&table.columns, rows),
                rows: rows.len(),
            }),
            Raw::Matrix(matrix) => Raw::Matrix(Matrix {
                source: matrix.source.clone(),
                design: matrix.design.select(rows),
                labels: matrix
                    .labels
                    .as_ref()
                    .map(|labels| rows.iter().map(|&i| labels[i]).collect()),
                origin: matrix.origin.clone(),
            }),
        }
    }
}

/// The cells of the given rows, in that order.
pub(super) fn select_columns(columns: &[Column], rows: &[usize]) -> Vec<Column> {
    let select = |column: &Column| Column {
        name: column.name.clone(),
        cells: match &column.cells {
            Cells::Numbers(Numbers::F32(values)) => {
                Cells::Numbers(Numbers::F32(rows.iter().map(|&i| values[i]).collect()))
            }
            Cells::Numbers(Numbers::F64(values)) => {
                Cells::Numbers(Numbers::F64(rows.iter().map(|&i| values[i]).collect()))
            }
            // Columns of a block are selected together, below.
            Cells::Numbers(Numbers::Block(column)) => Cells::Numbers(Numbers::Block(column.clone())),
            Cells::Categories { codes, levels } => Cells::Categories {
                codes: rows.iter().map(|&i| codes[i]).collect(),
                levels: levels.clone(),
            },
            Cells::Texts(texts) => {
                let mut selected = Texts::default();
                rows.iter().for_each(|&i| selected.push(texts.get(i)));
                Cells::Texts(selected)
            }
        },
        first_missing: column.first_missing,
    };
    let mut selected: Vec<Column> = columns.par_iter().map(select).collect();
    let blocks = selected.iter_mut().filter_map(|column| match &mut column.cells {
        Cells::Numbers(Numbers::Block(column)) => Some(column),
        _ => None,
    });
    BlockColumn::select_rows(blocks, rows);
    selected
}

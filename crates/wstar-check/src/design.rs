//! The rows of a problem in memory: dense, or in compressed sparse rows (CSR).

/// The design matrix X, without the column of ones that an intercept adds.
pub(crate) struct Design {
    pub(crate) features: usize,
    /// Row i holds the entries from `starts[i]` to `starts[i + 1]`.
    pub(crate) starts: Vec<usize>,
    /// The column of each entry, increasing within a row. Empty if the matrix is dense: row i then holds all features in order.
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// The columns of the entries, or nothing if the row is dense.
    pub(crate) columns: Option<&'a [u32]>,
    pub(crate) values: &'a [f64],
}

impl Design {
    pub(crate) fn empty(features: usize) -> Design {
        let (starts, columns, values) = (vec![0], Vec::new(), Vec::new());
        Design {
            features,
            starts,
            columns,
            values,
        }
    }

    /// Appends a value to the last row: the next column of a dense row, or this column of a sparse one, where zeros are left out.
    #[inline]
    pub(crate) fn put(&mut self, column: usize, value: f64, sparse: bool) {
        if sparse && value == 0.0 {
            return;
        }
        self.values.push(value);
        self.columns.extend(sparse.then_some(column as u32));
    }

    pub(crate) fn end_row(&mut self) {
        self.starts.push(self.values.len());
    }

    pub(crate) fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub(crate) fn row(&self, i: usize) -> Row<'_> {
        let span = self.starts[i]..self.starts[i + 1];
        Row {
            columns: (!self.columns.is_empty()).then(|| &self.columns[span.clone()]),
            values: &self.values[span],
        }
    }

    /// Whether the indices describe a matrix: no access to a row of a well-formed matrix fails.
    pub(crate) fn is_well_formed(&self) -> bool {
        let dense = self.columns.is_empty() && !self.values.is_empty();
        let fits = |pair: &[usize]| pair[0] <= pair[1] && (!dense || pair[1] - pair[0] == self.features);
        let increasing = |row: Row<'_>| {
            let columns = row.columns.unwrap_or_default();
            columns.windows(2).all(|pair| pair[0] < pair[1])
                && columns.last().is_none_or(|&last| (last as usize) < self.features)
        };
        self.starts.first() == Some(&0)
            && self.starts.last() == Some(&self.values.len())
            && self.starts.windows(2).all(fits)
            && (dense || self.columns.len() == self.values.len())
            && (0..self.rows()).all(|i| increasing(self.row(i)))
    }
}

impl<'a> Row<'a> {
    pub(crate) fn entries(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let column = move |k: usize| self.columns.map_or(k, |columns| columns[k] as usize);
        self.values
            .iter()
            .enumerate()
            .map(move |(k, &value)| (column(k), value))
    }

    /// x̃·v for the parameters of one output, rounded.
    pub(crate) fn along(self, features: usize, v: &[f64]) -> f64 {
        self.entries().map(|(j, x)| v[j] * x).sum::<f64>() + v.get(features).unwrap_or(&0.0)
    }
}

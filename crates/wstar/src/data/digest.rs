//! A digest of rows, by which a model tells its training data again. It is of what the model sees, the encoded rows, so
//! that the same rows in another format, in another order of columns or gzipped have the same digest.
//!
//! It is made to tell data sets apart by accident, not against an adversary.

use rayon::prelude::*;

use crate::data::{Dataset, Row, Target};

/// Rows mixed by one task; fixed, so that the digest does not depend on the number of threads.
const BLOCK: usize = 4096;

/// Two independent sums of 64 bits, each multiplied on with its own odd number.
#[derive(Clone, Copy)]
struct Mix(u64, u64);

impl Mix {
    const START: Mix = Mix(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);

    #[inline]
    fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
        self.1 = (self.1.rotate_left(23) ^ value).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.1 ^= self.1 >> 29;
    }

    #[inline]
    fn add_entry(&mut self, column: usize, value: f64) {
        // A zero that is stored and one that is not are the same.
        if value != 0.0 {
            self.add(column as u64);
            self.add(value.to_bits());
        }
    }
}

/// Adds a row to each of two. What is added to one has to wait for what was added before, so two at a time take hardly
/// longer than one.
fn add_both(mixes: &mut [Mix; 2], rows: [Row<'_>; 2]) {
    match rows {
        [Row::Sparse64(one, ones), Row::Sparse64(other, others)] => {
            add_sparse(mixes, [(one, ones), (other, others)])
        }
        [Row::Sparse32(one, ones), Row::Sparse32(other, others)] => {
            add_sparse(mixes, [(one, ones), (other, others)])
        }
        rows => (mixes.iter_mut().zip(rows))
            .for_each(|(mix, row)| row.for_each(|j, value| mix.add_entry(j, value))),
    }
}

fn add_sparse<T: Copy + Into<f64>>([one, other]: &mut [Mix; 2], rows: [(&[u32], &[T]); 2]) {
    let [mut ones, mut others] = rows.map(|(columns, values)| columns.iter().zip(values));
    for _ in 0..ones.len().min(others.len()) {
        if let (Some((&i, &a)), Some((&j, &b))) = (ones.next(), others.next()) {
            one.add_entry(i as usize, a.into());
            other.add_entry(j as usize, b.into());
        }
    }
    ones.for_each(|(&j, &value)| one.add_entry(j as usize, value.into()));
    others.for_each(|(&j, &value)| other.add_entry(j as usize, value.into()));
}

impl Dataset {
    /// The digest of the encoded rows, their targets and their weights: 32 hexadecimal digits.
    ///
    /// ```
    /// use wstar::data::Dataset;
    /// let one = Dataset::measured(&[vec![0.0], vec![1.0]], vec![0.5, 1.5]).unwrap();
    /// let other = Dataset::measured(&[vec![0.0], vec![1.0]], vec![0.5, 1.25]).unwrap();
    /// assert_eq!(one.digest(), one.clone().digest());
    /// assert_ne!(one.digest(), other.digest());
    /// ```
    pub fn digest(&self) -> String {
        let rows = self.rows();
        let blocks = rows.div_ceil(BLOCK);
        let pairs: Vec<[Mix; 2]> = (0..blocks.div_ceil(2))
            .into_par_iter()
            .map(|pair| self.mix_blocks(2 * pair))
            .collect();
        let mut mix = Mix::START;
        [rows as u64, self.features() as u64]
            .into_iter()
            .for_each(|n| mix.add(n));
        for block in pairs.into_iter().flatten().take(blocks) {
            mix.add(block.0);
            mix.add(block.1);
        }
        for name in self.classes().into_iter().flat_map(|classes| classes.names()) {
            name.bytes().for_each(|byte| mix.add(byte.into()));
            mix.add(u64::MAX);
        }
        format!("{:016x}{:016x}", mix.0, mix.1)
    }

    /// The rows of a block and of the next one, if there is one, each mixed.
    fn mix_blocks(&self, block: usize) -> [Mix; 2] {
        let mut mixes = [Mix::START; 2];
        let span = |block: usize| block * BLOCK..((block + 1) * BLOCK).min(self.rows());
        let (mut ones, mut others) = (span(block), span(block + 1));
        // The later block is the shorter one, if any.
        while let Some(other) = others.next()
            && let Some(one) = ones.next()
        {
            add_both(&mut mixes, [self.design.row(one), self.design.row(other)]);
            self.mix_target(one, &mut mixes[0]);
            self.mix_target(other, &mut mixes[1]);
        }
        for one in ones {
            self.design
                .row(one)
                .for_each(|j, value| mixes[0].add_entry(j, value));
            self.mix_target(one, &mut mixes[0]);
        }
        mixes
    }

    /// The end of a row, its target and its weight.
    fn mix_target(&self, i: usize, mix: &mut Mix) {
        mix.add(u64::MAX);
        match &self.target {
            Target::Real(values) => mix.add((values[i] + 0.0).to_bits()),
            Target::Classes { codes, .. } => mix.add(codes[i].into()),
            Target::Unknown => {}
        }
        mix.add(self.weight(i).to_bits());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Design;

    #[test]
    fn what_differs_has_another_digest() {
        let rows = [vec![0.0, 1.0], vec![2.0, 0.0], vec![3.0, 4.0]];
        let data = Dataset::labelled(&rows, &["a", "b", "a"]).unwrap();
        let changed: [fn(&mut Dataset); 5] = [
            |data| {
                data.design = Design::from_rows(&[vec![0.0, 1.0], vec![2.0, 0.0], vec![3.0, 5.0]]).unwrap()
            },
            |data| {
                data.design = Design::from_rows(&[vec![1.0, 0.0], vec![2.0, 0.0], vec![3.0, 4.0]]).unwrap()
            },
            |data| data.weights = Some(vec![1.0, 1.0, 2.0]),
            |data| *data = data.select(&[1, 0, 2]),
            |data| *data = data.select(&[0, 1]),
        ];
        for (case, change) in changed.iter().enumerate() {
            let mut other = data.clone();
            change(&mut other);
            assert_ne!(other.digest(), data.digest(), "case {case}");
        }
    }

    #[test]
    fn storage_and_threads_do_not_matter() {
        let rows: Vec<Vec<f64>> = (0..10_000)
            .map(|i| vec![f64::from(i % 7), 0.0, f64::from(i % 3)])
            .collect();
        let targets: Vec<f64> = (0..10_000).map(f64::from).collect();
        let data = Dataset::measured(&rows, targets).unwrap();
        let mut sparse = data.clone();
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in &rows {
            for (j, &value) in row.iter().enumerate().filter(|entry| *entry.1 != 0.0) {
                indices.push(j as u32);
                values.push(value);
            }
            starts.push(indices.len());
        }
        sparse.design = Design::from_csr(starts, indices, values, 3).unwrap();
        sparse.weights = Some(vec![1.0; 10_000]);
        assert!(sparse.design.is_sparse());
        assert_eq!(sparse.digest(), data.digest());
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(alone.install(|| data.digest()), data.digest());
    }
}

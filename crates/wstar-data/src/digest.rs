//! A digest of the rows, by which a model recognises its training data. It covers the encoded rows, so the same rows have
//! the same digest in another file format, with the columns in another order, or gzipped.
//!
//! It detects accidental differences. It is not cryptographically secure.

use rayon::prelude::*;

use crate::{Dataset, Design, Target};

/// The number of rows in a block. It is part of the definition of the digest: a fixed size makes the digest independent of
/// the number of threads.
const BLOCK: usize = 4096;
/// The maximum number of blocks that one task mixes side by side.
/// Heuristic: enough independent multiplications to hide their latency; not measured yet.
const AT_ONCE: usize = 4;

/// Two independent hash states of 64 bits, each with its own odd multiplier.
#[derive(Clone, Copy)]
struct Mix(u64, u64);

impl Mix {
    /// The initial states. Arbitrary: the first 128 bits of the fraction of π.
    const START: Mix = Mix(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);

    #[inline]
    fn add(&mut self, value: u64) {
        // Arbitrary odd multipliers with many bits set. They are part of the definition of the digest.
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
        self.1 = (self.1.rotate_left(23) ^ value).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.1 ^= self.1 >> 29;
    }

    #[inline]
    fn add_entry(&mut self, column: usize, value: f64) {
        // A stored zero and an absent entry are equal.
        if value != 0.0 {
            self.add(column as u64);
            self.add(value.to_bits());
        }
    }
}

/// Adds one row to each of N hash states. Additions to one state depend on each other, so several states at a time take
/// hardly longer than one.
fn add_rows<const N: usize>(mixes: &mut [Mix; N], design: &Design, rows: [usize; N]) {
    match design {
        Design::Dense32(matrix) => add_dense(mixes, rows.map(|i| matrix.row(i))),
        Design::Dense64(matrix) => add_dense(mixes, rows.map(|i| matrix.row(i))),
        Design::Sparse32(matrix) => add_sparse(mixes, rows.map(|i| matrix.row(i))),
        Design::Sparse64(matrix) => add_sparse(mixes, rows.map(|i| matrix.row(i))),
        Design::Columns32(_) | Design::Columns64(_) => (mixes.iter_mut().zip(rows))
            .for_each(|(mix, i)| design.row(i).for_each(|j, value| mix.add_entry(j, value))),
    }
}

#[inline]
fn add_dense<T: Copy + Into<f64>, const N: usize>(mixes: &mut [Mix; N], rows: [&[T]; N]) {
    for j in 0..rows.first().map_or(0, |row| row.len()) {
        for (mix, row) in mixes.iter_mut().zip(rows) {
            mix.add_entry(j, row[j].into());
        }
    }
}

#[inline]
fn add_sparse<T: Copy + Into<f64>, const N: usize>(mixes: &mut [Mix; N], rows: [(&[u32], &[T]); N]) {
    let shared = rows.iter().map(|(indices, _)| indices.len()).min().unwrap_or(0);
    for at in 0..shared {
        for (mix, (indices, values)) in mixes.iter_mut().zip(rows) {
            mix.add_entry(indices[at] as usize, values[at].into());
        }
    }
    for (mix, (indices, values)) in mixes.iter_mut().zip(rows) {
        let rest = indices[shared..].iter().zip(&values[shared..]);
        rest.for_each(|(&j, &value)| mix.add_entry(j as usize, value.into()));
    }
}

impl Dataset {
    /// The digest of the encoded rows, their targets and their weights: 32 hexadecimal digits.
    ///
    /// ```
    /// use wstar_data::Dataset;
    /// let one = Dataset::measured(&[vec![0.0], vec![1.0]], vec![0.5, 1.5]).unwrap();
    /// let other = Dataset::measured(&[vec![0.0], vec![1.0]], vec![0.5, 1.25]).unwrap();
    /// assert_eq!(one.digest(), one.clone().digest());
    /// assert_ne!(one.digest(), other.digest());
    /// ```
    pub fn digest(&self) -> String {
        let rows = self.rows();
        let blocks = rows.div_ceil(BLOCK);
        // Blocks are distributed evenly: a task with a single block would be slowed down by its dependency chain.
        let tasks = blocks.div_ceil(AT_ONCE).max(1);
        let mixes: Vec<Vec<Mix>> = (0..tasks)
            .into_par_iter()
            .map(|task| {
                let own = blocks * task / tasks..blocks * (task + 1) / tasks;
                match own.len() {
                    4 => self.mix_blocks::<4>(own.start).into(),
                    3 => self.mix_blocks::<3>(own.start).into(),
                    2 => self.mix_blocks::<2>(own.start).into(),
                    _ => own.flat_map(|block| self.mix_blocks::<1>(block)).collect(),
                }
            })
            .collect();
        let mut mix = Mix::START;
        [rows as u64, self.features() as u64]
            .into_iter()
            .for_each(|n| mix.add(n));
        for block in mixes.into_iter().flatten() {
            mix.add(block.0);
            mix.add(block.1);
        }
        for name in self.classes().into_iter().flat_map(|classes| classes.names()) {
            name.bytes().for_each(|byte| mix.add(byte.into()));
            mix.add(u64::MAX);
        }
        format!("{:016x}{:016x}", mix.0, mix.1)
    }

    /// The hash states of the N blocks from `first` on.
    fn mix_blocks<const N: usize>(&self, first: usize) -> [Mix; N] {
        let mut mixes = [Mix::START; N];
        let starts: [usize; N] = std::array::from_fn(|k| (first + k) * BLOCK);
        let end = ((first + N) * BLOCK).min(self.rows());
        // Only the last block can be shorter than the others.
        let shared = starts.last().map_or(0, |start| end - start);
        for offset in 0..shared {
            let rows = starts.map(|start| start + offset);
            add_rows(&mut mixes, &self.design, rows);
            (mixes.iter_mut().zip(rows)).for_each(|(mix, i)| self.mix_target(i, mix));
        }
        for (k, mix) in mixes.iter_mut().enumerate().take(N - 1) {
            for i in starts[k] + shared..starts[k] + BLOCK {
                add_rows(std::array::from_mut(mix), &self.design, [i]);
                self.mix_target(i, mix);
            }
        }
        mixes
    }

    /// Adds the end of a row, its target and its weight.
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

    #[test]
    fn different_data_have_different_digests() {
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
    fn the_digest_agrees_with_sequential_hashing() {
        for rows in [
            1,
            BLOCK,
            2 * BLOCK + 1,
            3 * BLOCK + 17,
            4 * BLOCK - 1,
            9 * BLOCK + 5,
        ] {
            let values: Vec<Vec<f64>> = (0..rows).map(|i| vec![(i % 5) as f64, 0.1 * i as f64]).collect();
            let data = Dataset::measured(&values, (0..rows).map(|i| i as f64).collect()).unwrap();
            let mut mix = Mix::START;
            [rows as u64, 2].into_iter().for_each(|n| mix.add(n));
            for block in values.chunks(BLOCK).enumerate() {
                let mut own = Mix::START;
                for (i, row) in (block.0 * BLOCK..).zip(block.1) {
                    (row.iter().enumerate()).for_each(|(j, &value)| own.add_entry(j, value));
                    [u64::MAX, (i as f64).to_bits(), 1f64.to_bits()]
                        .into_iter()
                        .for_each(|n| own.add(n));
                }
                mix.add(own.0);
                mix.add(own.1);
            }
            assert_eq!(data.digest(), format!("{:016x}{:016x}", mix.0, mix.1), "{rows}");
        }
    }

    #[test]
    fn the_digest_is_independent_of_storage_and_threads() {
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

//! Sources of the examples of a pass: rows in memory, in some order, or a stream.
//!
//! Rows in memory are treated as a list or as a multiset. In a multiset a weight of `w` stands for `w` equal rows; the
//! last of them carries the fractional part of `w`. A shuffled order of a multiset depends only on the rows and the
//! seed, not on the positions of the rows. A run over weighted rows therefore equals the run over the same rows
//! repeated, in any order.

use std::cmp::Ordering;
use std::hash::Hasher;
use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use wstar_data::error::{Error, Result};
use wstar_data::read::dataset_stream::DatasetStream;
use wstar_data::{Dataset, Row};

/// Examples per batch. Heuristic: trades memory against parallelism within a batch; not measured yet.
const BATCH: usize = 1 << 13;

/// The largest number of examples that weights may stand for. Cap: beyond it, [`InMemory::multiset`] returns an error.
const MOST_LOOKS: f64 = (1u64 << 28) as f64;

/// One example.
#[derive(Debug, Clone, Copy)]
pub struct Example<'a> {
    /// The row index, from 0; the same in every pass.
    pub(crate) id: u64,
    /// Its features.
    pub(crate) row: Row<'a>,
    /// Its class.
    pub(crate) class: u32,
    /// The sample weight.
    pub(crate) weight: f64,
}

/// A set of examples that can be visited once or repeatedly.
pub trait Examples {
    /// Visits the examples of pass `pass` (from 0) until the visitor stops.
    fn pass(
        &mut self,
        pass: u64,
        visit: &mut dyn FnMut(Example<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>>;

    /// Visits all examples of pass `pass` in the same order, in batches as large as the memory holds, for visitors that
    /// process a batch in parallel.
    fn batches(&mut self, pass: u64, visit: &mut dyn FnMut(&[Example<'_>])) -> Result<()> {
        let _ = self.pass(pass, &mut |example| {
            visit(&[example]);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }
}

/// A stream is read one chunk at a time, in the order of the rows.
impl Examples for DatasetStream {
    fn pass(
        &mut self,
        _pass: u64,
        visit: &mut dyn FnMut(Example<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        self.rewind()?;
        let mut id = 0;
        while let Some(data) = self.next_chunk()? {
            let (codes, _) = data.require_classes()?;
            for (i, &class) in codes.iter().enumerate() {
                let example = Example {
                    id,
                    row: data.design().row(i),
                    class,
                    weight: data.weight(i),
                };
                id += 1;
                if example.weight > 0.0 && visit(example)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The order of the examples in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The order of the rows.
    Cyclic,
    /// Shuffled again for every pass, from this seed.
    Shuffled(u64),
}

/// Examples in memory.
#[derive(Debug)]
pub struct InMemory<'a> {
    data: &'a Dataset,
    codes: &'a [u32],
    order: Order,
    /// The examples of a pass before shuffling.
    looks: Vec<Look>,
    /// The order of the current pass, as positions in `looks`.
    places: Vec<u32>,
}

/// A row and its weight for one visit.
#[derive(Debug, Clone, Copy)]
struct Look {
    row: u32,
    weight: f64,
}

impl<'a> InMemory<'a> {
    /// The rows of a data set with these class codes; rows of weight 0 are left out.
    pub fn new(data: &'a Dataset, codes: &'a [u32], order: Order) -> Self {
        let rows = (0..codes.len()).filter(|&i| data.weight(i) > 0.0);
        let looks = rows.map(|i| Look {
            row: i as u32,
            weight: data.weight(i),
        });
        InMemory::of(data, codes, order, looks.collect())
    }

    /// The rows as a multiset. Returns an error if the weights add up to too many examples.
    pub fn multiset(data: &'a Dataset, codes: &'a [u32], order: Order) -> Result<Self> {
        let total: f64 = (0..codes.len()).map(|i| data.weight(i).ceil()).sum();
        if total > MOST_LOOKS {
            return Err(Error::data(format!(
                "the weights stand for {total:.0} rows, which is more than can be visited one by one"
            ))
            .remedy("divide all weights by the same number"));
        }
        let mut rows: Vec<u32> = (0..codes.len() as u32)
            .filter(|&i| data.weight(i as usize) > 0.0)
            .collect();
        if let Order::Shuffled(_) = order {
            let marks: Vec<u64> = (0..codes.len())
                .into_par_iter()
                .map(|i| mark(data.design().row(i), codes[i]))
                .collect();
            rows.par_sort_unstable_by(|&a, &b| {
                let (a, b) = (a as usize, b as usize);
                let alike = || compare(data.design().row(a), data.design().row(b));
                marks[a]
                    .cmp(&marks[b])
                    .then_with(|| codes[a].cmp(&codes[b]))
                    .then_with(alike)
                    .then_with(|| data.weight(b).total_cmp(&data.weight(a)))
            });
        }
        let looks = rows.into_iter().flat_map(|row| {
            let weight = data.weight(row as usize);
            let (whole, rest) = (weight.trunc() as usize, weight.fract());
            let looks = std::iter::repeat_n(1.0, whole).chain((rest > 0.0).then_some(rest));
            looks.map(move |weight| Look { row, weight })
        });
        Ok(InMemory::of(data, codes, order, looks.collect()))
    }

    fn of(data: &'a Dataset, codes: &'a [u32], order: Order, looks: Vec<Look>) -> Self {
        InMemory {
            data,
            codes,
            order,
            places: (0..looks.len() as u32).collect(),
            looks,
        }
    }

    /// Puts the examples into the order of pass `pass`.
    fn arrange(&mut self, pass: u64) {
        if let Order::Shuffled(seed) = self.order {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(pass);
            // Sorting first makes the order depend on the seed and the pass number alone.
            self.places.sort_unstable();
            self.places.shuffle(&mut random);
        }
    }

    /// The example at this position of the unshuffled order.
    fn at(&self, place: u32) -> Example<'_> {
        let Look { row, weight } = self.looks[place as usize];
        let i = row as usize;
        Example {
            id: i as u64,
            row: self.data.design().row(i),
            class: self.codes[i],
            weight,
        }
    }
}

/// The nonzero entries of a row, in any storage format.
fn entries(row: Row<'_>) -> Vec<(usize, f64)> {
    let mut entries = Vec::with_capacity(row.stored());
    row.for_each(|j, value| {
        if value != 0.0 {
            entries.push((j, value));
        }
    });
    entries
}

/// A hash of a row and its class; equal rows of a class have equal hashes.
fn mark(row: Row<'_>, class: u32) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(class);
    row.for_each(|j, value| {
        if value != 0.0 {
            hasher.write_usize(j);
            hasher.write_u64(value.to_bits());
        }
    });
    hasher.finish()
}

/// An order of rows in which only equal rows compare equal.
fn compare(a: Row<'_>, b: Row<'_>) -> Ordering {
    let (a, b) = (entries(a), entries(b));
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

impl Examples for InMemory<'_> {
    fn pass(
        &mut self,
        pass: u64,
        visit: &mut dyn FnMut(Example<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        self.arrange(pass);
        for &place in &self.places {
            if visit(self.at(place))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn batches(&mut self, pass: u64, visit: &mut dyn FnMut(&[Example<'_>])) -> Result<()> {
        self.arrange(pass);
        for places in self.places.chunks(BATCH) {
            let batch: Vec<Example<'_>> = places.iter().map(|&place| self.at(place)).collect();
            visit(&batch);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(
        rows: &[[f64; 2]],
        labels: &[&str],
        weights: Option<Vec<f64>>,
        pass: u64,
    ) -> Vec<(Vec<f64>, u32, f64)> {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        let mut data = Dataset::labelled(&rows, labels).unwrap();
        data = data.with_weights(weights).unwrap();
        let (codes, _) = data.require_classes().unwrap();
        let mut examples = InMemory::multiset(&data, codes, Order::Shuffled(7)).unwrap();
        let mut seen = Vec::new();
        let _ = examples
            .pass(pass, &mut |example| {
                seen.push((example.row.to_dense(2), example.class, example.weight));
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        seen
    }

    #[test]
    fn a_weight_is_a_number_of_rows_in_any_order() {
        let (a, b, c) = ([1.0, 0.0], [0.0, 2.0], [3.0, -1.0]);
        let weighted = (&[a, b, c][..], &["x", "y", "x"][..], Some(vec![2.0, 1.5, 0.0]));
        let repeated = (&[b, c, a, b, a][..], &["y", "x", "x", "y", "x"][..]);
        for pass in 0..3 {
            let first = seen(weighted.0, weighted.1, weighted.2.clone(), pass);
            let other = seen(repeated.0, repeated.1, Some(vec![0.5, 0.0, 1.0, 1.0, 1.0]), pass);
            assert_eq!(first, other);
            assert_eq!(first.len(), 4);
            assert_eq!(first.iter().map(|(.., weight)| weight).sum::<f64>(), 3.5);
        }
        assert_ne!(
            seen(weighted.0, weighted.1, None, 0),
            seen(weighted.0, weighted.1, None, 1)
        );
    }

    #[test]
    fn the_same_row_of_two_classes_is_two_rows() {
        let rows = [[1.0, 1.0], [1.0, 1.0], [-0.0, 0.0], [0.0, 0.0]];
        let one = seen(&rows, &["x", "y", "x", "y"], None, 0);
        let other = seen(
            &[rows[1], rows[3], rows[0], rows[2]],
            &["y", "y", "x", "x"],
            None,
            0,
        );
        assert_eq!(one, other);
    }

    #[test]
    fn weights_for_too_many_rows_are_refused() {
        let mut data = Dataset::labelled(&[vec![1.0], vec![2.0]], &["x", "y"]).unwrap();
        data = data.with_weights(vec![1e12, 1.0]).unwrap();
        let (codes, _) = data.require_classes().unwrap();
        assert!(InMemory::multiset(&data, codes, Order::Cyclic).is_err());
    }
}

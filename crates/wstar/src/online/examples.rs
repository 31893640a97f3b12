//! Where the examples of a pass come from: memory, in some order, or a stream.
//!
//! Rows in memory are a list, or a multiset: then a weight of `w` stands for `w` equal rows (the last one for what `w` has
//! beyond a whole number), and a shuffled order depends on the rows and the seed alone, not on where the rows stand. A run
//! over weighted rows is then the run over the same rows repeated, in whatever order.

use std::cmp::Ordering;
use std::hash::Hasher;
use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Row};
use crate::error::{Error, Result};

/// Examples of a batch.
const BATCH: usize = 1 << 13;

/// More examples than this are not made of weights.
const MOST_LOOKS: f64 = (1u64 << 28) as f64;

/// One example.
#[derive(Debug, Clone, Copy)]
pub struct Example<'a> {
    /// Its row, from 0: the same in every pass.
    pub id: u64,
    /// Its features.
    pub row: Row<'a>,
    /// Its class.
    pub class: u32,
    /// How much it counts.
    pub weight: f64,
}

/// A set of examples that can be passed over, once or repeatedly.
pub trait Examples {
    /// Visits the examples of pass `pass` (from 0) until the visitor breaks off.
    fn pass(
        &mut self,
        pass: u64,
        visit: &mut dyn FnMut(Example<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>>;

    /// Visits all examples of pass `pass` in the same order, as many at a time as lie in memory, for visitors that work on
    /// them side by side.
    fn batches(&mut self, pass: u64, visit: &mut dyn FnMut(&[Example<'_>])) -> Result<()> {
        let _ = self.pass(pass, &mut |example| {
            visit(&[example]);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }
}

/// The order of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As the rows stand.
    Cyclic,
    /// Shuffled anew for every pass, from this seed.
    Shuffled(u64),
}

/// Examples in memory.
#[derive(Debug)]
pub struct InMemory<'a> {
    data: &'a Dataset,
    codes: &'a [u32],
    order: Order,
    /// The examples of a pass before they are shuffled.
    looks: Vec<Look>,
    /// The order of this pass.
    places: Vec<u32>,
}

/// An example to come: a row, and how much it counts.
#[derive(Debug, Clone, Copy)]
struct Look {
    row: u32,
    weight: f64,
}

impl<'a> InMemory<'a> {
    /// The rows of a data set with these class codes; rows of weight 0 do not exist.
    pub fn new(data: &'a Dataset, codes: &'a [u32], order: Order) -> Self {
        let rows = (0..codes.len()).filter(|&i| data.weight(i) > 0.0);
        let looks = rows.map(|i| Look {
            row: i as u32,
            weight: data.weight(i),
        });
        InMemory::of(data, codes, order, looks.collect())
    }

    /// The rows as a multiset; an error if the weights add up to more examples than can be made of them.
    pub fn multiset(data: &'a Dataset, codes: &'a [u32], order: Order) -> Result<Self> {
        let total: f64 = (0..codes.len()).map(|i| data.weight(i).ceil()).sum();
        if total > MOST_LOOKS {
            return Err(Error::data(format!(
                "the weights stand for {total:.0} rows, which is more than can be passed over one by one"
            ))
            .hint("divide all weights by the same number"));
        }
        let mut rows: Vec<u32> = (0..codes.len() as u32)
            .filter(|&i| data.weight(i as usize) > 0.0)
            .collect();
        if let Order::Shuffled(_) = order {
            let marks: Vec<u64> = (0..codes.len())
                .into_par_iter()
                .map(|i| mark(data.design.row(i), codes[i]))
                .collect();
            rows.par_sort_unstable_by(|&a, &b| {
                let (a, b) = (a as usize, b as usize);
                let alike = || compare(data.design.row(a), data.design.row(b));
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
            // From the same start each time, so that a pass depends on its number alone.
            self.places.sort_unstable();
            self.places.shuffle(&mut random);
        }
    }

    /// The example at this place before shuffling.
    fn at(&self, place: u32) -> Example<'_> {
        let Look { row, weight } = self.looks[place as usize];
        let i = row as usize;
        Example {
            id: i as u64,
            row: self.data.design.row(i),
            class: self.codes[i],
            weight,
        }
    }
}

/// The entries of a row that are not 0, however it is stored.
fn entries(row: Row<'_>) -> Vec<(usize, f64)> {
    let mut entries = Vec::with_capacity(row.stored());
    row.for_each(|j, value| {
        if value != 0.0 {
            entries.push((j, value));
        }
    });
    entries
}

/// A number that equal rows of a class share.
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

/// Some order of rows in which only equal ones are equal.
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
        data.weights = weights;
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
    fn a_weight_is_a_number_of_rows_wherever_they_stand() {
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
    fn weights_beyond_counting_are_refused() {
        let mut data = Dataset::labelled(&[vec![1.0], vec![2.0]], &["x", "y"]).unwrap();
        data.weights = Some(vec![1e12, 1.0]);
        let (codes, _) = data.require_classes().unwrap();
        assert!(InMemory::multiset(&data, codes, Order::Cyclic).is_err());
    }
}

//! Parallel passes over rows that each have a state, in fixed blocks and lanes, so that sums do not depend on
//! the number of threads.

use std::ops::{AddAssign, Range};

use rayon::prelude::*;

use wstar_data::Design;
use wstar_problem::objective::products::{block_rows, lanes_for};

/// The most lanes, each of which processes consecutive blocks. Cap: more threads than this have no work; the
/// number of lanes never depends on the number of threads.
const MOST_LANES: usize = 32;
/// The numbers that the sums of all lanes together may hold. Cap: larger sums use fewer lanes.
const MOST_NUMBERS: usize = 1 << 23;

/// Calls `visit` for every block of rows with their states. Each call adds to the sums of its lane, about
/// `numbers` numbers. Returns the sums of all lanes in order.
pub(crate) fn pass<S: Send, T: Default + Send>(
    design: &Design,
    states: &mut [S],
    numbers: usize,
    visit: impl Fn(Range<usize>, &mut [S], &mut T) + Sync,
) -> Vec<T> {
    let block = block_rows(design, 1);
    let blocks = states.len().div_ceil(block);
    let lanes = (MOST_NUMBERS / numbers.max(1))
        .clamp(2, lanes_for(design, numbers, MOST_LANES))
        .min(blocks.max(1));
    let mut lane_rows = Vec::with_capacity(lanes);
    let mut rest = states;
    let mut start = 0;
    for lane in 0..lanes {
        let end = (blocks * (lane + 1) / lanes * block).min(start + rest.len());
        let (own, others) = rest.split_at_mut(end - start);
        lane_rows.push((start, own));
        (rest, start) = (others, end);
    }
    let run = |(start, own): (usize, &mut [S])| {
        let mut sums = T::default();
        for (at, states) in own.chunks_mut(block).enumerate() {
            let first = start + at * block;
            visit(first..first + states.len(), states, &mut sums);
        }
        sums
    };
    // Heuristic: two blocks take less time than waking another thread; not measured yet.
    match blocks <= 2 {
        true => lane_rows.into_iter().map(run).collect(),
        false => lane_rows.into_par_iter().map(run).collect(),
    }
}

/// Adds one vector of sums to another, which may be empty.
pub(crate) fn add<T: Copy + AddAssign>(to: &mut Vec<T>, from: &[T]) {
    if to.is_empty() {
        to.extend_from_slice(from);
    } else {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to += from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_data::Dense;

    #[test]
    fn every_row_is_visited_once_with_its_state() {
        for rows in [0, 1, 31, 32, 33, 1000, 70_000] {
            let design = Design::Dense32(Dense::new(vec![1.0; rows * 3], rows, 3).unwrap());
            let mut states: Vec<usize> = vec![0; rows];
            let sums = pass(&design, &mut states, 1, |range, states, sum: &mut usize| {
                for (i, state) in range.zip(states) {
                    *state += i + 1;
                    *sum += 1;
                }
            });
            assert_eq!(sums.iter().sum::<usize>(), rows);
            assert!(states.iter().enumerate().all(|(i, &state)| state == i + 1));
        }
    }
}

//! Appends the parsed segments, in order, to the arrays of the final matrix.
//!
//! The segments are in the caches of the threads that parse them, and only the final arrays take further memory. Values
//! are stored in `f32` until one is not exact in `f32`; then all are converted to `f64`, once.

use crate::read::position::Fault;
use crate::read::svmlight::index_rule::IndexRule;
use crate::read::svmlight::parse_rows::ParsedRows;
use crate::{Csr, Design};

/// Cap: with more segments than this waiting for an earlier one, threads wait before they parse further ones.
const MOST_WAITING: usize = 64;

/// The rows of all segments appended so far.
pub(super) struct Joined {
    rule: IndexRule,
    starts: Vec<usize>,
    labels: Vec<f64>,
    /// The indices of the file minus the base.
    columns: Vec<u32>,
    values: Values,
    features: usize,
    /// The number of the next segment to append.
    next: usize,
    /// Segments that were parsed before an earlier one.
    waiting: Vec<(usize, ParsedRows)>,
    /// Buffers to be reused.
    free: Vec<ParsedRows>,
    /// The first error, and the number of its segment.
    fault: Option<(usize, Fault)>,
}

enum Values {
    Narrow(Vec<f32>),
    Wide(Vec<f64>),
}

impl Joined {
    pub(super) fn new(rule: IndexRule) -> Self {
        Joined {
            starts: vec![0],
            labels: Vec::new(),
            columns: Vec::new(),
            values: match rule.wide {
                false => Values::Narrow(Vec::new()),
                true => Values::Wide(Vec::new()),
            },
            features: 0,
            next: 0,
            waiting: Vec::new(),
            free: Vec::new(),
            fault: None,
            rule,
        }
    }

    /// Whether an error has been found, so that further segments are not needed.
    pub(super) fn is_over(&self) -> bool {
        self.fault.is_some()
    }

    /// Whether so many segments wait for an earlier one that no others should be parsed: one slow thread must not
    /// make the others fill the memory.
    pub(super) fn is_far_ahead(&self) -> bool {
        self.waiting.len() > MOST_WAITING && !self.is_over()
    }

    /// Takes segment `number` out of `segments` and appends all that are next in order. Returns a buffer to be reused.
    pub(super) fn take(&mut self, number: usize, segment: ParsedRows, segments: usize) -> ParsedRows {
        self.waiting.push((number, segment));
        while !self.is_over()
            && let Some(turn) = self.waiting.iter().position(|&(number, _)| number == self.next)
        {
            let (_, mut segment) = self.waiting.swap_remove(turn);
            self.add(&segment, segments - self.next);
            self.fault = segment.fault.take().map(|fault| (self.next, fault));
            self.next += 1;
            self.free.push(segment);
        }
        self.free.pop().unwrap_or_default()
    }

    /// Appends the next segment. `left` is the number of segments left, including this one.
    fn add(&mut self, segment: &ParsedRows, left: usize) {
        if segment.has_zero && self.rule.base == 1 {
            self.rule.base = 0;
            self.columns.iter_mut().for_each(|column| *column += 1);
            self.features += usize::from(self.features > 0);
        }
        let base = self.rule.base;
        let before = self.columns.len();
        if before == 0 {
            self.columns.reserve(capacity_for(segment.indices().len(), left));
            self.labels.reserve(capacity_for(segment.labels.len(), left));
            self.starts.reserve(capacity_for(segment.labels.len(), left));
        }
        self.starts.extend(segment.ends.iter().map(|end| before + end));
        self.labels.extend_from_slice(&segment.labels);
        self.columns
            .extend(segment.indices().iter().map(|index| index - base));
        if segment.largest >= base && (segment.largest > 0 || segment.has_zero) {
            self.features = self.features.max((segment.largest - base) as usize + 1);
        }
        self.add_values(segment.values(), left);
    }

    fn add_values(&mut self, values: &[f64], left: usize) {
        if let Values::Narrow(narrow) = &mut self.values {
            let exact = |&value: &f64| f64::from(value as f32) == value;
            // The first value usually decides for decimals, so it is tested on its own.
            if values.first().is_none_or(exact) && values.iter().fold(true, |all, value| all & exact(value)) {
                if narrow.is_empty() {
                    narrow.reserve(capacity_for(values.len(), left));
                }
                narrow.extend(values.iter().map(|&value| value as f32));
                return;
            }
            let mut wide = Vec::with_capacity(narrow.len() + capacity_for(values.len(), left));
            wide.extend(narrow.iter().copied().map(f64::from));
            self.rule.wide = true;
            self.values = Values::Wide(wide);
        }
        if let Values::Wide(wide) = &mut self.values {
            wide.extend_from_slice(values);
        }
    }

    /// The matrix, its labels and the corrected rule; or the first error and the number of its segment.
    pub(super) fn finish(mut self) -> Result<(Design, Vec<f64>, IndexRule), (usize, Fault)> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        shrink(&mut self.starts);
        shrink(&mut self.labels);
        shrink(&mut self.columns);
        let design = match self.values {
            Values::Narrow(mut values) => {
                shrink(&mut values);
                Design::Sparse32(Csr::of_sorted(self.starts, self.columns, values, self.features))
            }
            Values::Wide(mut values) => {
                shrink(&mut values);
                Design::Sparse64(Csr::of_sorted(self.starts, self.columns, values, self.features))
            }
        };
        Ok((design, self.labels, self.rule))
    }
}

/// Arrays with at most this capacity are not shrunk. Heuristic: memory against fragmentation; not measured yet.
const SHORT: usize = 1 << 20;

/// The capacity for `left` segments, if all are as long as the first. Unused capacity costs nothing, because its pages are never
/// touched. It is rounded up to a power of two, so that the chunks of a stream, which are all about as long, reuse the same
/// allocations.
fn capacity_for(first: usize, left: usize) -> usize {
    first.saturating_mul(left).next_power_of_two()
}

/// Releases the unused capacity of a long array. Shrinking short arrays would only fragment the heap.
fn shrink<T>(array: &mut Vec<T>) {
    if array.capacity() > SHORT {
        array.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_segments_are_limited_and_appended_in_order() {
        let (mut joined, segments) = (Joined::new(IndexRule::new(None)), MOST_WAITING + 2);
        for number in 1..segments {
            assert!(!joined.is_far_ahead(), "before segment {number}");
            joined.take(number, ParsedRows::default(), segments);
        }
        assert!(joined.is_far_ahead());
        joined.take(0, ParsedRows::default(), segments);
        assert!(!joined.is_far_ahead() && joined.next == segments && joined.waiting.is_empty());
    }
}

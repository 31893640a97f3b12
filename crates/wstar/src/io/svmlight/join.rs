//! Parts put together in their order, whoever was done first: the arrays of the final matrix.
//!
//! The parts lie in the caches of those who parse them, and what is copied from there are the only pages of memory that
//! are taken. Values are stored in `f32` until one comes that is not exact in it; then all are widened, once.

use crate::data::{Csr, Design};
use crate::io::place::Fault;
use crate::io::svmlight::Plan;
use crate::io::svmlight::part::Part;

/// Parts that may wait for their turn.
const MOST_EARLY: usize = 64;

/// What the parts up to here hold.
pub(super) struct Joined {
    plan: Plan,
    starts: Vec<usize>,
    labels: Vec<f64>,
    /// As they stand in the file, minus the base.
    columns: Vec<u32>,
    values: Values,
    features: usize,
    /// The number of the next part.
    next: usize,
    /// Parts that were done before their turn.
    early: Vec<(usize, Part)>,
    /// Parts to be used again.
    free: Vec<Part>,
    /// The first fault, and the part it is in.
    fault: Option<(usize, Fault)>,
}

enum Values {
    Narrow(Vec<f32>),
    Wide(Vec<f64>),
}

impl Joined {
    pub(super) fn new(plan: Plan) -> Self {
        Joined {
            starts: vec![0],
            labels: Vec::new(),
            columns: Vec::new(),
            values: match plan.wide {
                false => Values::Narrow(Vec::new()),
                true => Values::Wide(Vec::new()),
            },
            features: 0,
            next: 0,
            early: Vec::new(),
            free: Vec::new(),
            fault: None,
            plan,
        }
    }

    /// Whether nobody will ask for what comes now.
    pub(super) fn is_over(&self) -> bool {
        self.fault.is_some()
    }

    /// Whether so many parts wait for their turn that others had better wait too: a thread that is held up must not fill
    /// the memory.
    pub(super) fn is_far_ahead(&self) -> bool {
        self.early.len() > MOST_EARLY && !self.is_over()
    }

    /// Takes the part of this number, of so many that there are; gives one to be used for another.
    pub(super) fn take(&mut self, number: usize, part: Part, parts: usize) -> Part {
        self.early.push((number, part));
        while !self.is_over()
            && let Some(turn) = self.early.iter().position(|&(number, _)| number == self.next)
        {
            let (_, mut part) = self.early.swap_remove(turn);
            self.add(&part, parts - self.next);
            self.fault = part.fault.take().map(|fault| (self.next, fault));
            self.next += 1;
            self.free.push(part);
        }
        self.free.pop().unwrap_or_default()
    }

    /// Adds the part whose turn it is; as many are left, it included.
    fn add(&mut self, part: &Part, left: usize) {
        if part.has_zero && self.plan.base == 1 {
            self.plan.base = 0;
            self.columns.iter_mut().for_each(|column| *column += 1);
            self.features += usize::from(self.features > 0);
        }
        let base = self.plan.base;
        let before = self.columns.len();
        if before == 0 {
            self.columns.reserve(room(part.indices().len(), left));
            self.labels.reserve(room(part.labels.len(), left));
            self.starts.reserve(room(part.labels.len(), left));
        }
        self.starts.extend(part.ends.iter().map(|end| before + end));
        self.labels.extend_from_slice(&part.labels);
        self.columns
            .extend(part.indices().iter().map(|index| index - base));
        if part.largest >= base && (part.largest > 0 || part.has_zero) {
            self.features = self.features.max((part.largest - base) as usize + 1);
        }
        self.add_values(part.values(), left);
    }

    fn add_values(&mut self, values: &[f64], left: usize) {
        if let Values::Narrow(narrow) = &mut self.values {
            let exact = |&value: &f64| f64::from(value as f32) == value;
            // Decimals are told by the first.
            if values.first().is_none_or(exact) && values.iter().fold(true, |all, value| all & exact(value)) {
                if narrow.is_empty() {
                    narrow.reserve(room(values.len(), left));
                }
                narrow.extend(values.iter().map(|&value| value as f32));
                return;
            }
            let mut wide = Vec::with_capacity(narrow.len() + room(values.len(), left));
            wide.extend(narrow.iter().copied().map(f64::from));
            self.plan.wide = true;
            self.values = Values::Wide(wide);
        }
        if let Values::Wide(wide) = &mut self.values {
            wide.extend_from_slice(values);
        }
    }

    /// The matrix, its labels and what was found out about the file; or the first fault, and the part it is in.
    pub(super) fn finish(mut self) -> Result<(Design, Vec<f64>, Plan), (usize, Fault)> {
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
        Ok((design, self.labels, self.plan))
    }
}

/// Arrays up to this length stay as they are.
const SHORT: usize = 1 << 20;

/// Room for so many parts, if all are like this one. What is not used costs nothing, because its pages are never touched;
/// and the chunks of a stream, which are all about the same, ask for the same room again and again, and find it.
fn room(first: usize, left: usize) -> usize {
    first.saturating_mul(left).next_power_of_two()
}

/// Gives back the room of a long array that was not needed. Short ones would only leave holes of all sizes behind.
fn shrink<T>(array: &mut Vec<T>) {
    if array.capacity() > SHORT {
        array.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_pile_up_only_so_far_and_go_in_their_order() {
        let (mut joined, parts) = (Joined::new(Plan::new(None)), MOST_EARLY + 2);
        for number in 1..parts {
            assert!(!joined.is_far_ahead(), "before part {number}");
            joined.take(number, Part::default(), parts);
        }
        assert!(joined.is_far_ahead());
        joined.take(0, Part::default(), parts);
        assert!(!joined.is_far_ahead() && joined.next == parts && joined.early.is_empty());
    }
}

//! Where a mistake-driven fit gets its examples from, and how it looks at them again.

use crate::data::Dataset;
use crate::error::Result;
use crate::online::{Examples, InMemory, Learner, Order, Plan, Run, run, run_worst};
use crate::settings::Rule;
use crate::watch::Watch;

/// Where the examples come from.
pub(super) enum Feed<'a> {
    Memory {
        data: &'a Dataset,
        codes: &'a [u32],
        rule: Rule,
        seed: u64,
        multiset: bool,
    },
    /// `again` tells whether the stream can be passed over once more.
    Stream {
        examples: &'a mut dyn Examples,
        again: bool,
    },
}

impl Feed<'_> {
    pub(super) fn run<L: Learner + Sync>(
        &mut self,
        team: &mut [L],
        plan: &Plan,
        watch: &mut dyn Watch,
    ) -> Result<Run> {
        match self {
            Feed::Memory {
                data,
                codes,
                rule,
                seed,
                multiset,
            } => {
                let order = match rule {
                    Rule::Cyclic => Order::Cyclic,
                    Rule::Shuffled => Order::Shuffled(*seed),
                    Rule::Worst => return Ok(run_worst(team, data, codes, plan, watch)),
                };
                run(team, &mut in_memory(data, codes, order, *multiset)?, plan, watch)
            }
            Feed::Stream { examples, .. } => run(team, *examples, plan, watch),
        }
    }

    /// Lets `look` pass over the examples again, in the order of the rows; `None` if they are gone.
    pub(super) fn look_again<T>(
        &mut self,
        look: impl FnOnce(&mut dyn Examples) -> Result<T>,
    ) -> Result<Option<T>> {
        match self {
            Feed::Memory {
                data,
                codes,
                multiset,
                ..
            } => look(&mut in_memory(data, codes, Order::Cyclic, *multiset)?).map(Some),
            Feed::Stream {
                examples,
                again: true,
            } => look(*examples).map(Some),
            Feed::Stream { again: false, .. } => Ok(None),
        }
    }
}

fn in_memory<'a>(data: &'a Dataset, codes: &'a [u32], order: Order, multiset: bool) -> Result<InMemory<'a>> {
    match multiset {
        true => InMemory::multiset(data, codes, order),
        false => Ok(InMemory::new(data, codes, order)),
    }
}

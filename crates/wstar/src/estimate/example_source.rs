//! The source of the examples of a mistake-driven fit, in memory or streamed.

use crate::online::{Examples, InMemory, Learner, Order, PassLimits, Run, run, run_worst};
use crate::settings::Rule;
use wstar_data::Dataset;
use wstar_data::error::Result;
use wstar_data::run::Watch;

/// The source of the examples.
pub(super) enum ExampleSource<'a> {
    Memory {
        data: &'a Dataset,
        codes: &'a [u32],
        rule: Rule,
        seed: u64,
        multiset: bool,
    },
    /// `again`: whether another pass over the stream is possible.
    Stream {
        examples: &'a mut dyn Examples,
        again: bool,
    },
}

impl ExampleSource<'_> {
    pub(super) fn run<L: Learner + Sync>(
        &mut self,
        team: &mut [L],
        plan: &PassLimits,
        watch: &mut dyn Watch,
    ) -> Result<Run> {
        match self {
            ExampleSource::Memory {
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
            ExampleSource::Stream { examples, .. } => run(team, *examples, plan, watch),
        }
    }

    /// Calls `look` for another pass over the examples in row order; `None` if the stream cannot be read again.
    pub(super) fn look_again<T>(
        &mut self,
        look: impl FnOnce(&mut dyn Examples) -> Result<T>,
    ) -> Result<Option<T>> {
        match self {
            ExampleSource::Memory {
                data,
                codes,
                multiset,
                ..
            } => look(&mut in_memory(data, codes, Order::Cyclic, *multiset)?).map(Some),
            ExampleSource::Stream {
                examples,
                again: true,
            } => look(*examples).map(Some),
            ExampleSource::Stream { again: false, .. } => Ok(None),
        }
    }
}

fn in_memory<'a>(data: &'a Dataset, codes: &'a [u32], order: Order, multiset: bool) -> Result<InMemory<'a>> {
    match multiset {
        true => InMemory::multiset(data, codes, order),
        false => Ok(InMemory::new(data, codes, order)),
    }
}

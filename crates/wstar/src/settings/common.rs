//! The settings of every method, and their setters.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Options;
use super::checks::limit;
use wstar_data::error::Result;
use wstar_data::run::Budget;
use wstar_data::setting::Setting;

/// The settings of every method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Common {
    /// The seed of every random choice.
    pub(crate) seed: u64,
    /// The time limit in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_seconds: Option<f64>,
    /// The share of the rows that training held out; a certificate is verified on the other rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) holdout: Option<f64>,
}

/// Implements the setters that every builder has. `$self => $place` names the [`Common`] inside the builder.
macro_rules! common_setters {
    ($builder:ty, $this:ident => $common:expr) => {
        impl $builder {
            /// Sets the seed of every random choice; by default 0.
            pub fn seed(mut self, seed: u64) -> Self {
                let $this = &mut self;
                $common.seed = seed;
                self
            }

            /// Limits the time of the fit, in seconds. A fit that reaches the limit says so in its status.
            pub fn max_seconds(mut self, seconds: f64) -> Self {
                let $this = &mut self;
                $common.max_seconds = Some(seconds);
                self
            }
        }
    };
}
pub(super) use common_setters;

impl Common {
    /// The seed of every random choice.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The time limit in seconds.
    pub fn max_seconds(&self) -> Option<f64> {
        self.max_seconds
    }

    /// The share of the rows that training held out; a certificate is verified on the other rows.
    pub fn holdout(&self) -> Option<f64> {
        self.holdout
    }

    pub(super) fn take(options: &mut Options) -> Self {
        Common {
            seed: std::mem::take(&mut options.seed),
            max_seconds: options.max_seconds.take(),
            holdout: options.holdout.take(),
        }
    }

    pub(super) fn give(&self, options: &mut Options) {
        options.seed = self.seed;
        options.max_seconds = self.max_seconds;
        options.holdout = self.holdout;
    }

    pub(super) fn check(&self) -> Result<()> {
        limit(Setting::MaxSeconds, self.max_seconds)
    }
}

/// The limits of a fit.
pub(super) fn budget(max_iter: Option<u64>, common: &Common) -> Budget {
    Budget {
        max_updates: max_iter,
        max_time: common.max_seconds.map(Duration::from_secs_f64),
    }
}

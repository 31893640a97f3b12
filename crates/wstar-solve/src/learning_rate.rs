//! Learning rate schedules: the step length of gradient methods as a function of the step number.

use serde::{Deserialize, Serialize};

/// The learning rate of step `t`, counted from 1, as a multiple of the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Schedule {
    /// The same rate at every step.
    #[default]
    Constant,
    /// `1/t`.
    Inverse,
    /// 1 for the first `first` steps, ½ for the next `2·first`, ¼ for the next `4·first`, and so on.
    Halving {
        /// The number of steps at the full rate.
        first: u64,
    },
}

impl Schedule {
    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Schedule::Constant => "constant",
            Schedule::Inverse => "inverse",
            Schedule::Halving { .. } => "halving",
        }
    }

    /// The factor of the rate at step `t ≥ 1`.
    pub fn factor(self, t: u64) -> f64 {
        match self {
            Schedule::Constant => 1.0,
            Schedule::Inverse => 1.0 / t.max(1) as f64,
            Schedule::Halving { first } => {
                // The k-th stage ends after (2ᵏ⁺¹ − 1)·first steps.
                let stage = (t.max(1) - 1) / first.max(1) + 1;
                0.5f64.powi(stage.ilog2() as i32)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::learning_rate::Schedule;

    #[test]
    fn halving_doubles_the_steps_at_each_rate() {
        let halving = Schedule::Halving { first: 3 };
        let rates: Vec<f64> = (1..=22).map(|t| halving.factor(t)).collect();
        let expected = [vec![1.0; 3], vec![0.5; 6], vec![0.25; 12], vec![0.125]].concat();
        assert_eq!(rates, expected);
    }

    #[test]
    fn inverse_is_one_over_t() {
        assert_eq!([1, 2, 4].map(|t| Schedule::Inverse.factor(t)), [1.0, 0.5, 0.25]);
        assert_eq!(Schedule::Constant.factor(1_000_000), 1.0);
    }
}

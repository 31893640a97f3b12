//! How a learning rate changes with time.

use serde::{Deserialize, Serialize};

/// The rate of step `t`, counted from 1, as a multiple of the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Always the same.
    #[default]
    Constant,
    /// `1/t`.
    Inverse,
    /// 1 for the first `first` steps, ½ for the next `2·first`, ¼ for the next `4·first`, and so on.
    Halving {
        /// How many steps are made at the full rate.
        first: u64,
    },
}

impl Schedule {
    /// The factor by which the rate is multiplied at step `t ≥ 1`.
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
    use super::Schedule;

    #[test]
    fn halving_stays_twice_as_long_at_each_rate() {
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

//! Conversion of scores to probabilities.

/// The form in which scores are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// The scores themselves.
    Scores,
    /// The normalised e^score, one for each class; a single score is the log odds of the last of two classes.
    Probabilities,
    /// The logarithms of the probabilities.
    LogProbabilities,
    /// The normalised one-against-rest probabilities: each score is the log odds of its class against the rest.
    Odds,
}

impl Ask {
    /// The number of values per row for this number of scores.
    pub fn columns(self, scores: usize) -> usize {
        match self {
            Ask::Scores => scores,
            _ => scores.max(2),
        }
    }

    /// Writes the answer for the scores of one row.
    pub fn answer(self, scores: &[f64], out: &mut [f64]) {
        match (self, scores) {
            (Ask::Scores, _) => out.copy_from_slice(scores),
            (Ask::Probabilities | Ask::Odds, [score]) => out.copy_from_slice(&two_shares(*score)),
            (Ask::LogProbabilities, [score]) => {
                out[0] = -softplus(*score);
                out[1] = -softplus(-score);
            }
            (Ask::Probabilities, _) => {
                out.copy_from_slice(scores);
                normalize(out);
            }
            (Ask::LogProbabilities, _) => {
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
                let whole = largest + sum.ln();
                out.iter_mut()
                    .zip(scores)
                    .for_each(|(out, score)| *out = score - whole);
            }
            (Ask::Odds, _) => {
                out.iter_mut()
                    .zip(scores)
                    .for_each(|(out, score)| *out = two_shares(*score)[1]);
                let total: f64 = out.iter().sum();
                let equal = 1.0 / out.len() as f64;
                out.iter_mut()
                    .for_each(|share| *share = if total > 0.0 { *share / total } else { equal });
            }
        }
    }
}

/// 1 − p and p = 1/(1 + e^−z), both accurate when they are close to 0.
fn two_shares(z: f64) -> [f64; 2] {
    let small = (-z.abs()).exp();
    let total = 1.0 + small;
    match z {
        z if z > 0.0 => [small / total, 1.0 / total],
        z if z <= 0.0 => [1.0 / total, small / total],
        // NaN.
        _ => [1.0, 0.0],
    }
}

/// ln(1 + e^z).
fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

/// Turns log densities into probabilities by the log-sum-exp rule. For scores of any magnitude, the largest class
/// gets a finite probability and the sum is 1. If the largest score is infinite, all classes with it share equally.
pub fn normalize(scores: &mut [f64]) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = if largest.is_finite() {
            (*score - largest).exp()
        } else {
            f64::from(u8::from(*score == largest))
        };
        // A NaN, which results from overflow on both sides, counts as no evidence for its class.
        if score.is_nan() {
            *score = 0.0;
        }
        total += *score;
    }
    let equal = 1.0 / scores.len() as f64;
    for score in scores.iter_mut() {
        *score = if total > 0.0 { *score / total } else { equal };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posteriors_survive_any_size_of_the_logarithms() {
        let mut scores = [-1e6, -1e6 + 3f64.ln()];
        normalize(&mut scores);
        assert!((scores[0] - 0.25).abs() < 1e-9 && (scores[1] - 0.75).abs() < 1e-9);
        let mut far = [1e300, -1e300];
        normalize(&mut far);
        assert_eq!(far, [1.0, 0.0]);
        for (mut scores, expected) in [
            ([f64::NEG_INFINITY; 2], [0.5, 0.5]),
            ([f64::INFINITY, 3.0], [1.0, 0.0]),
            ([f64::NAN, 3.0], [0.0, 1.0]),
            ([f64::NAN; 2], [0.5, 0.5]),
        ] {
            normalize(&mut scores);
            assert_eq!(scores, expected);
        }
    }

    #[test]
    fn two_shares_are_those_of_the_log_sum_exp_rule() {
        for z in [
            0.0,
            -0.0,
            1.0,
            -1.0,
            37.5,
            -745.0,
            1e300,
            -1e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ] {
            let mut shares = [0.0, z];
            normalize(&mut shares);
            assert_eq!(two_shares(z), shares, "{z}");
        }
    }
}

//! log Σⱼ e^(zⱼ) − z_k: the negative log-likelihood of class k among K classes (multinomial logistic regression).

use crate::loss::VectorLoss;
use crate::loss::logistic::entropy;

/// log Σⱼ e^(zⱼ) − z_k.
#[derive(Debug, Clone, Copy, Default)]
pub struct Softmax;

impl VectorLoss for Softmax {
    fn value_and_gradient(self, class: usize, scores: &mut [f64]) -> f64 {
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let own = scores[class] - largest;
        let mut sum = 0.0;
        for score in scores.iter_mut() {
            *score = (*score - largest).exp();
            sum += *score;
        }
        for score in scores.iter_mut() {
            *score /= sum;
        }
        // p_k − 1 = −Σ_{j ≠ k} pⱼ, without cancellation where p_k is close to 1.
        let others: f64 = (0..scores.len()).filter(|&k| k != class).map(|k| scores[k]).sum();
        scores[class] = -others;
        if own == 0.0 && others < 0.5 {
            -(-others).ln_1p()
        } else {
            sum.ln() - own
        }
    }

    #[inline]
    fn curvature_times(self, class: usize, gradient: &[f64], v: &[f64], out: &mut [f64]) {
        let p = |k: usize| gradient[k] + f64::from(u8::from(k == class));
        let mean: f64 = v.iter().enumerate().map(|(k, v)| p(k) * v).sum();
        for (k, out) in out.iter_mut().enumerate() {
            *out = p(k) * (v[k] - mean);
        }
    }

    fn conjugate(self, class: usize, s: &[f64]) -> f64 {
        // s + e_k must be a probability vector p; the conjugate is then Σⱼ pⱼ log pⱼ.
        let mut total = 0.0;
        for (k, &s) in s.iter().enumerate() {
            let p = s + f64::from(u8::from(k == class));
            if p < 0.0 {
                return f64::INFINITY;
            }
            total += entropy(p);
        }
        total
    }
}

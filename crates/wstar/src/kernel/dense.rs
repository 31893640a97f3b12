//! Dot products and updates of dense rows against `f64` vectors.
//!
//! Sums run in eight lanes that are added up in a fixed order: the compiler can use SIMD, and the
//! result is the same on every machine.
#![allow(unsafe_code)]

use super::widest::widest;

/// Sums that run side by side.
pub const LANES: usize = 8;

widest! {
    /// `x·w` over the shorter of the two lengths.
    pub fn dot<T>(x: &[T], w: &[f64]) -> f64 = dot_plain;

    /// `w += scale·x`.
    pub fn axpy<T>(scale: f64, x: &[T], w: &mut [f64]) -> () = axpy_plain;

    /// `‖x‖²`.
    pub fn squared_norm<T>(x: &[T]) -> f64 = squared_norm_plain;

    /// Whether `scale·|xⱼ| > boundsⱼ` for any j.
    pub fn exceeds<T>(scale: f64, x: &[T], bounds: &[f64]) -> bool = exceeds_plain;
}

#[inline(always)]
fn dot_plain<T: Copy + Into<f64>>(x: &[T], w: &[f64]) -> f64 {
    let length = x.len().min(w.len());
    let (x, w) = (&x[..length], &w[..length]);
    let mut lanes = [0.0; LANES];
    let (x_blocks, w_blocks) = (x.chunks_exact(LANES), w.chunks_exact(LANES));
    let tail: f64 = x_blocks
        .remainder()
        .iter()
        .zip(w_blocks.remainder())
        .map(|(&a, &b)| a.into() * b)
        .sum();
    for (a, b) in x_blocks.zip(w_blocks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane].into() * b[lane];
        }
    }
    add_lanes(lanes) + tail
}

#[inline(always)]
fn axpy_plain<T: Copy + Into<f64>>(scale: f64, x: &[T], w: &mut [f64]) {
    for (w, &x) in w.iter_mut().zip(x) {
        *w += scale * x.into();
    }
}

#[inline(always)]
fn squared_norm_plain<T: Copy + Into<f64>>(x: &[T]) -> f64 {
    let blocks = x.chunks_exact(LANES);
    let tail: f64 = blocks.remainder().iter().map(|&a| a.into() * a.into()).sum();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        for lane in 0..LANES {
            let value: f64 = block[lane].into();
            lanes[lane] += value * value;
        }
    }
    add_lanes(lanes) + tail
}

#[inline(always)]
fn exceeds_plain<T: Copy + Into<f64>>(scale: f64, x: &[T], bounds: &[f64]) -> bool {
    // Without an early end, which vectors cannot have.
    let pairs = x.iter().zip(bounds);
    pairs.fold(false, |any, (&x, &bound)| any | (scale * x.into().abs() > bound))
}

pub(super) fn add_lanes(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_plain_loop(pairs in prop::collection::vec((-1e3..1e3f64, -1e3..1e3f64), 0..70)) {
            let (x, w): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let plain: f64 = x.iter().zip(&w).map(|(a, b)| a * b).sum();
            let size: f64 = x.iter().zip(&w).map(|(a, b)| (a * b).abs()).sum();
            prop_assert!((dot(&x, &w) - plain).abs() <= 1e-14 * size);
            prop_assert!((squared_norm(&x) - dot(&x, &x)).abs() == 0.0);
            prop_assert_eq!(dot(&x, &w).to_bits(), dot_plain(&x, &w).to_bits());
            prop_assert_eq!(squared_norm(&x).to_bits(), squared_norm_plain(&x).to_bits());

            let any = x.iter().zip(&w).any(|(x, w)| 0.5 * x.abs() > *w);
            prop_assert_eq!(exceeds(0.5, &x, &w), any);

            let mut moved = w.clone();
            axpy(0.5, &x, &mut moved);
            for ((m, w), x) in moved.iter().zip(&w).zip(&x) {
                prop_assert_eq!(*m, w + 0.5 * x);
            }
        }

        #[test]
        fn integers_are_exact_in_any_order(x in prop::collection::vec(-255i16..=255, 0..900)) {
            let floats: Vec<f32> = x.iter().map(|&v| v.into()).collect();
            let exact: i64 = x.iter().map(|&v| i64::from(v) * i64::from(v)).sum();
            prop_assert_eq!(squared_norm(&floats), exact as f64);
        }
    }
}

//! The number types of the interior point method: `f64`, or double-double for problems whose normal equations
//! have a condition number beyond what `f64` resolves. All other code is written once, generically.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Range, Sub};

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatMut, Par};

use wstar_data::Design;
use wstar_data::linear::Layout;
use wstar_numeric::dense;
use wstar_numeric::double_double;
use wstar_numeric::double_double::{Compensated, DoubleDouble, add_products};
use wstar_numeric::linalg::double_double_cholesky::DoubleDoubleCholesky;
use wstar_numeric::linalg::householder::Triangle;
use wstar_problem::objective::products;

/// A number type, with the row products and the factorisation that the method needs.
pub(crate) trait Scalar:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Mul<f64, Output = Self>
    + Div<Output = Self>
    + AddAssign
{
    /// The machine epsilon: 2⁻⁵² in `f64`, 2⁻¹⁰⁴ in double-double.
    const EPSILON: f64;
    /// Whether parameters must be rounded to be reported, because they are stored in `f64`.
    const EXTENDED: bool;
    /// The Cholesky factor of a positive definite matrix.
    type Factor;

    /// The nearest `f64`.
    fn value(self) -> f64;
    /// The scores X̃θ of the rows.
    fn scores(design: &Design, rows: Range<usize>, layout: Layout, at: &[Self], out: &mut [Self]);
    /// Adds the column products Σᵢ rᵢ x̃ᵢ.
    fn add_column_products(
        design: &Design,
        rows: Range<usize>,
        layout: Layout,
        factors: &[Self],
        sum: &mut [Self],
    );
    /// Adds the Gram matrix Σᵢ hᵢ x̃ᵢx̃ᵢᵀ to the lower triangle, stored by columns.
    fn add_gram(design: &Design, rows: Range<usize>, layout: Layout, h: &[Self], gram: &mut [Self]);
    /// a·b.
    fn dot(a: &[Self], b: &[Self]) -> Self;
    /// Factors a symmetric matrix with a diagonal near 1 after adding `shift` to the diagonal; `None` if the
    /// result is not positive definite.
    fn factor(matrix: &[Self], width: usize, shift: f64) -> Option<Self::Factor>;
    /// Solves LLᵀx = b in place.
    fn substitute(factor: &Self::Factor, b: &mut [Self]);
}

/// Largest width that is factored by plain loops. Heuristic: below it the overhead of the library call
/// dominates; not measured yet.
const SMALL: usize = 48;

/// A Cholesky factor in `f64`.
pub(crate) enum DenseFactor {
    /// Lᵀ.
    Small(Triangle),
    /// L.
    Large(Mat<f64>),
}

impl Scalar for f64 {
    const EPSILON: f64 = f64::EPSILON;
    const EXTENDED: bool = false;
    type Factor = DenseFactor;

    fn value(self) -> f64 {
        self
    }

    fn scores(design: &Design, rows: Range<usize>, layout: Layout, at: &[f64], out: &mut [f64]) {
        products::scores(design, rows, layout, at, out);
    }

    fn add_column_products(
        design: &Design,
        rows: Range<usize>,
        layout: Layout,
        factors: &[f64],
        sum: &mut [f64],
    ) {
        products::add_column_products(design, rows, layout, factors, sum);
    }

    fn add_gram(design: &Design, rows: Range<usize>, layout: Layout, h: &[f64], gram: &mut [f64]) {
        products::add_gram(design, rows, layout, h, gram);
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        dense::dot(a, b)
    }

    fn factor(matrix: &[f64], width: usize, shift: f64) -> Option<DenseFactor> {
        let entry = |i: usize, j: usize| matrix[j * width + i] + if i == j { shift } else { 0.0 };
        // A smaller pivot is the rounding error of 0, and dividing by it yields noise.
        let least = (width as f64 * f64::EPSILON).sqrt();
        let regular = |pivot: f64| pivot > least && pivot.is_finite();
        if width <= SMALL {
            let factor = Triangle::of_small_gram(width, entry)?;
            let all = (0..width).all(|j| regular(factor.get(j, j)));
            return all.then_some(DenseFactor::Small(factor));
        }
        let mut factor = Mat::from_fn(width, width, entry);
        // Single-threaded, because the bits of a parallel factorisation depend on how it was split.
        let scratch = cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default());
        let mut memory = MemBuffer::new(scratch);
        cholesky_in_place(
            factor.as_mut(),
            Default::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Default::default(),
        )
        .ok()?;
        let all = (0..width).all(|j| regular(factor[(j, j)]));
        all.then_some(DenseFactor::Large(factor))
    }

    fn substitute(factor: &DenseFactor, b: &mut [f64]) {
        let length = b.len();
        match factor {
            DenseFactor::Small(factor) => {
                factor.solve_transposed(length, b);
                factor.solve(length, b);
            }
            DenseFactor::Large(factor) => {
                let mut b = MatMut::from_column_major_slice_mut(b, length, 1);
                solve_lower_triangular_in_place(factor.as_ref(), b.as_mut(), Par::Seq);
                solve_upper_triangular_in_place(factor.transpose(), b, Par::Seq);
            }
        }
    }
}

impl Scalar for DoubleDouble {
    const EPSILON: f64 = f64::EPSILON * f64::EPSILON;
    const EXTENDED: bool = true;
    type Factor = DoubleDoubleCholesky;

    fn value(self) -> f64 {
        self.high
    }

    fn scores(design: &Design, rows: Range<usize>, layout: Layout, at: &[Self], out: &mut [Self]) {
        for (i, out) in rows.zip(out) {
            let mut sum = Compensated::default();
            design.row(i).for_each(|j, x| sum.add_product(at[j], x));
            if let Some(&intercept) = at.get(layout.features) {
                sum.add(intercept);
            }
            *out = sum.total();
        }
    }

    fn add_column_products(
        design: &Design,
        rows: Range<usize>,
        layout: Layout,
        factors: &[Self],
        sum: &mut [Self],
    ) {
        for (i, &factor) in rows.zip(factors) {
            design.row(i).for_each(|j, x| sum[j] += factor * x);
            if let Some(intercept) = sum.get_mut(layout.features) {
                *intercept += factor;
            }
        }
    }

    fn add_gram(design: &Design, rows: Range<usize>, layout: Layout, h: &[Self], gram: &mut [Self]) {
        let width = layout.width();
        // Sums and their rounding errors are stored separately, so that both vectorise.
        let (mut sums, mut errors) = (vec![0.0; width * width], vec![0.0; width * width]);
        let mut x = vec![1.0; width];
        for (i, &h) in rows.zip(h) {
            x[..layout.features].fill(0.0);
            design.row(i).for_each(|j, value| x[j] = value);
            for (j, &value) in x.iter().enumerate() {
                if value != 0.0 && h.high != 0.0 {
                    let own = j * width + j..(j + 1) * width;
                    add_products(h * value, &x[j..], &mut sums[own.clone()], &mut errors[own]);
                }
            }
        }
        for ((gram, &sum), &error) in gram.iter_mut().zip(&sums).zip(&errors) {
            *gram += DoubleDouble::from(sum) + error;
        }
    }

    fn dot(a: &[Self], b: &[Self]) -> Self {
        double_double::dot(a, b)
    }

    fn factor(matrix: &[Self], width: usize, shift: f64) -> Option<DoubleDoubleCholesky> {
        let mut lower = Vec::with_capacity(width * (width + 1) / 2);
        for i in 0..width {
            lower.extend_from_slice(&matrix[i * width..=i * width + i]);
            if let Some(diagonal) = lower.last_mut() {
                *diagonal = *diagonal + shift;
            }
        }
        DoubleDoubleCholesky::new(lower, width)
    }

    fn substitute(factor: &DoubleDoubleCholesky, b: &mut [Self]) {
        let solution = factor.solve(b);
        b.copy_from_slice(&solution);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn small_and_general_factorisations_agree(
            (width, rows) in (1..=SMALL).prop_flat_map(|width| (
                Just(width),
                prop::collection::vec(prop::collection::vec(-1.0..1.0f64, width), width + 5),
            )),
        ) {
            // A Gram matrix plus the identity, so its diagonal is at least 1.
            let entry = |i: usize, j: usize| {
                rows.iter().map(|row| row[i] * row[j]).sum::<f64>() + if i == j { 1.0 } else { 0.0 }
            };
            let matrix: Vec<f64> = (0..width * width).map(|at| entry(at % width, at / width)).collect();
            let b: Vec<f64> = rows.iter().map(|row| row[0]).take(width).collect();
            let mut ours = b.clone();
            f64::substitute(&f64::factor(&matrix, width, 0.0).unwrap(), &mut ours);
            let mut theirs = b.clone();
            let triangle = Triangle::of_gram(width, entry).unwrap();
            triangle.solve_transposed(width, &mut theirs);
            triangle.solve(width, &mut theirs);
            for (ours, theirs) in ours.iter().zip(&theirs) {
                prop_assert!((ours - theirs).abs() <= 1e-12, "{} {}", ours, theirs);
            }
            let mut broken = matrix;
            broken[0] = -1.0;
            prop_assert!(f64::factor(&broken, width, 0.0).is_none());
        }
    }
}

//! One pass over the rows at a point in two doubles: X̃ᵀα in two doubles, and Σ hᵢx̂ᵢx̂ᵢᵀ if it is asked for.
//!
//! **Lemma (compensated products).** Let s be Σ aᵢbᵢ over k terms, aᵢ in two doubles and bᵢ in one, summed by two-sums of the rounded
//! products in any order, with all rounding errors and the products of second parts added to a second sum. Both sums
//! together differ from s by at most γ²_{k+4}·T, T = Σ|aᵢbᵢ|.
//! *Proof.* Products and sums are exact with their errors: uT(1 + γ_k)k for the sums, 2uT for products and second parts,
//! together at most γ_{k+4}T. They are added with k + 3 roundings at most. ∎ (Ogita, Rump and Oishi 2005, without their last rounding.)
//!
//! Sums of blocks of rows are added in double-double arithmetic, with a relative error of at most 3u² each (M. Joldes, J.-M. Muller, V.
//! Popescu, Tight and rigorous error bounds for basic building blocks of double-word arithmetic, ACM Trans. Math. Softw. 44, 2017).

use std::ops::Range;

use rayon::prelude::*;

use super::frame::Frame;
use super::rounding::{SLACK, gamma, unit};
use super::row_slopes::BlockSlopes;
use wstar_numeric::double_double::{Compensated, DoubleDouble, add_products, dot_rows};
use wstar_numeric::gram::{LowerTriangle, add_gram, rows_at_once};
use wstar_problem::objective::Rows;
use wstar_problem::objective::products;
use wstar_problem::problem::Problem;

/// Rows of a block: a multiple of the rows that the Gram kernel takes at once. Heuristic: a block should fit into the L2
/// cache; not measured yet.
const BLOCK: usize = 256;
/// The most ranges of rows that are summed in parallel, in a fixed order. Cap: more threads stay idle.
const MOST_LANES: usize = 8;
/// The most accumulated numbers of all lanes together. Cap: bounds the memory.
const MOST_NUMBERS: usize = 1 << 22;
/// The factor of u² in the error of a sum or a product in double-double arithmetic, with a product by a double. Derived:
/// between 3 and 5 by Joldes, Muller and Popescu.
pub(super) const DOUBLE_DOUBLE: f64 = 8.0;

/// What a pass sums.
pub(super) struct RowSums {
    /// X̃ᵀα.
    pub(super) products: Vec<DoubleDouble>,
    /// Σ|α|.
    pub(super) slopes: f64,
    /// Σh.
    pub(super) curvature: f64,
    /// Σ2c over rows near a kink.
    pub(super) unsure: f64,
    /// Σα²/c, for the squared loss.
    pub(super) residual: DoubleDouble,
    /// The lower triangle of Σhx̂x̂ᵀ, column by column; empty if it is not asked for.
    pub(super) gram: Vec<f64>,
    /// Roundings of an element of `gram`.
    pub(super) roundings: usize,
    blocks: usize,
}

/// A point in two doubles.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) high: Vec<f64>,
    pub(super) low: Vec<f64>,
}

impl Point {
    /// A point in doubles.
    pub(super) fn new(parameters: &[f64]) -> Point {
        Point {
            high: parameters.to_vec(),
            low: vec![0.0; parameters.len()],
        }
    }

    /// Element `j`.
    pub(super) fn get(&self, j: usize) -> DoubleDouble {
        DoubleDouble {
            high: self.high[j],
            low: self.low[j],
        }
    }
}

/// γ²_{k+4}: the factor of T in the lemma.
pub(super) fn compensated(terms: usize) -> f64 {
    let gamma = gamma(terms + 4);
    gamma * gamma * SLACK
}

impl RowSums {
    /// The sums at a point.
    pub(super) fn new(
        rows: &Rows<'_>,
        problem: &Problem,
        frame: &Frame,
        at: &Point,
        with_gram: bool,
    ) -> RowSums {
        let width = problem.layout().width();
        let numbers = if with_gram { width * width } else { width };
        let blocks = rows.len().div_ceil(BLOCK);
        let lanes = products::lanes_for(rows.design, numbers, MOST_LANES)
            .min(MOST_NUMBERS / numbers.max(1))
            .clamp(1, blocks.max(1));
        let pass = Pass {
            rows,
            problem,
            frame,
            at,
            with_gram,
        };
        let sums: Vec<RowSums> = (0..lanes)
            .into_par_iter()
            .map(|lane| pass.lane(lane * blocks / lanes..(lane + 1) * blocks / lanes))
            .collect();
        let mut total = RowSums::zero(width, if with_gram { width * width } else { 0 });
        for lane in sums {
            total.merge(&lane);
        }
        total
    }

    fn zero(width: usize, numbers: usize) -> Self {
        RowSums {
            products: vec![DoubleDouble::ZERO; width],
            slopes: 0.0,
            curvature: 0.0,
            unsure: 0.0,
            residual: DoubleDouble::ZERO,
            gram: vec![0.0; numbers],
            roundings: 0,
            blocks: 0,
        }
    }

    fn merge(&mut self, other: &RowSums) {
        let pairs = self.products.iter_mut().zip(&other.products);
        pairs.for_each(|(to, &from)| *to += from);
        self.slopes += other.slopes;
        self.curvature += other.curvature;
        self.unsure += other.unsure;
        self.residual += other.residual;
        let pairs = self.gram.iter_mut().zip(&other.gram);
        pairs.for_each(|(to, &from)| *to += from);
        self.roundings = self.roundings.max(other.roundings) + 1;
        self.blocks += other.blocks + 1;
    }

    /// An upper bound on the rounding error of `products[j]`, relative to max |x̃ⱼ|·Σ|α|.
    pub(super) fn relative_error(&self) -> f64 {
        let u = unit();
        (compensated(BLOCK) + self.blocks as f64 * DOUBLE_DOUBLE * u * u) * SLACK
    }
}

/// A bound on the error of a score, relative to Σ|xⱼθⱼ|.
pub(super) fn score_error(width: usize) -> f64 {
    // The second parts of the point are at most u times the first ones; eight more sums join the lanes of a row.
    compensated(width + 12)
}

struct Pass<'a> {
    rows: &'a Rows<'a>,
    problem: &'a Problem,
    frame: &'a Frame,
    at: &'a Point,
    with_gram: bool,
}

impl Pass<'_> {
    fn lane(&self, blocks: Range<usize>) -> RowSums {
        let width = self.at.high.len();
        let mut sums = RowSums::zero(width, if self.with_gram { width * width } else { 0 });
        let mut buffers = Buffers {
            x: Vec::new(),
            sums: vec![0.0; width],
            errors: vec![0.0; width],
            slopes: BlockSlopes::default(),
        };
        for block in blocks {
            let range = block * BLOCK..((block + 1) * BLOCK).min(self.rows.len());
            self.add_block(range, &mut buffers, &mut sums);
        }
        sums
    }

    fn add_block(&self, range: Range<usize>, buffers: &mut Buffers, sums: &mut RowSums) {
        let Buffers {
            x,
            sums: own,
            errors,
            slopes,
        } = buffers;
        let (rows, design) = (self.rows, self.rows.design);
        let (features, width) = (self.problem.layout().features, self.at.high.len());
        slopes.resize(range.len());
        let is_sparse = design.is_sparse();
        if is_sparse {
            for (at, i) in range.clone().enumerate() {
                let mut score = Compensated::default();
                design
                    .row(i)
                    .for_each(|j, x| score.add_product(self.at.get(j), x));
                if width > features {
                    score.add(self.at.get(features));
                }
                let score = score.total();
                (slopes.high[at], slopes.low[at]) = (score.high, score.low);
            }
        } else {
            x.clear();
            x.resize(range.len() * width, 0.0);
            for (i, x) in range.clone().zip(x.chunks_exact_mut(width)) {
                if rows.weights.get(i) == 0.0 {
                    continue;
                }
                design.row(i).for_each(|j, value| x[j] = value);
                if let Some(one) = x.get_mut(features) {
                    *one = 1.0;
                }
            }
            dot_rows(x, &self.at.high, &self.at.low, &mut slopes.high, &mut slopes.low);
        }
        let first = range.start;
        slopes.replace_scores(
            self.problem.loss(),
            |at| rows.targets[first + at],
            |at| rows.weights.get(first + at),
        );
        own.fill(0.0);
        errors.fill(0.0);
        for (at, i) in range.clone().enumerate() {
            let alpha = DoubleDouble {
                high: slopes.high[at],
                low: slopes.low[at],
            };
            if alpha.high == 0.0 {
                continue;
            }
            if !is_sparse {
                add_products(alpha, &x[at * width..][..width], own, errors);
                continue;
            }
            design
                .row(i)
                .for_each(|j, x| add_products(alpha, &[x], &mut own[j..=j], &mut errors[j..=j]));
            if width > features {
                let last = features..=features;
                add_products(alpha, &[1.0], &mut own[last.clone()], &mut errors[last]);
            }
        }
        for ((total, &sum), &error) in sums.products.iter_mut().zip(&*own).zip(&*errors) {
            *total += DoubleDouble::from(sum) + error;
        }
        sums.slopes += slopes.high.iter().map(|alpha| alpha.abs()).sum::<f64>();
        sums.curvature += slopes.curvature.iter().sum::<f64>();
        sums.unsure += slopes.unsure;
        sums.residual += slopes.residual;
        sums.blocks += 1;
        if !self.with_gram {
            return;
        }
        if is_sparse {
            let layout = self.problem.layout();
            products::add_gram(design, range.clone(), layout, &slopes.curvature, &mut sums.gram);
            sums.roundings += range.len() + 8;
            return;
        }
        if self.frame.is_centred {
            for x in x.chunks_exact_mut(width) {
                let pairs = x.iter_mut().zip(&self.frame.centre);
                pairs.for_each(|(x, m)| *x -= m);
            }
        }
        let gram = &mut sums.gram;
        add_gram(
            x,
            width,
            &slopes.curvature,
            &mut LowerTriangle { gram, stride: width },
        );
        // A chunk has so many roundings at most, and each chunk is added once.
        let of_chunk = if sums.roundings == 0 {
            range.len().min(rows_at_once())
        } else {
            0
        };
        sums.roundings += range.len().div_ceil(rows_at_once()) + of_chunk;
    }
}

struct Buffers {
    /// Rows x̃ of the block, if the design is dense.
    x: Vec<f64>,
    sums: Vec<f64>,
    errors: Vec<f64>,
    slopes: BlockSlopes,
}

//! Newton's method from the optimum of a small sample to a point near the optimum of all rows.
//!
//! Problem: minimise Σᵢ cᵢ ρ(yᵢ − x̃ᵢ·θ) as in `least_absolute`, up to an error that the simplex method can
//! correct.
//!
//! Method: the gradient of the objective at the sample's plane is a sum over all rows. The Hessian is
//! estimated with a uniform kernel, because it depends on the density of the residuals at 0: each row within
//! distance h of the plane counts with (hi − lo)/2h. After one step with this Hessian, the distance to the
//! optimum of all rows is of smaller order than the distance of that optimum to the true parameters (P. J.
//! Bickel, One-step Huber estimates in the linear model, J. Amer. Statist. Assoc. 70, 1975).
//!
//! The distance of two planes is measured by the number of rows between them, which needs no density. For p
//! parameters and a sample of m out of n rows it is about c = n√(p/m). Only these c rows make the gradient
//! nonlinear along the step, and their contribution is a random walk, so that √(pc) rows are between the
//! optimum and the next plane. Two steps from a sample of √(pn) rows leave so few rows that the simplex
//! method needs no interior point first.

use rayon::prelude::*;

use crate::fixed_order::{add, pass};
use crate::interior_point::Normal;
use crate::least_absolute::basis::Basis;
use crate::least_absolute::crossover::Guess;
use crate::row_reduction::{Band, FixedRows, Frame, TIE_FRACTION};
use wstar_data::error::Result;
use wstar_numeric::double_double::DoubleDouble;
use wstar_problem::objective::products::{add_column_products, add_gram, scores};

/// Minimum number of rows of the sample per parameter. Heuristic: trades the time for the sample's optimum
/// against its accuracy; not measured yet.
const MIN_SAMPLE_PER_PARAMETER: usize = 20;
/// Rows in the kernel of each Newton step, as a multiple of the expected number of rows between the plane and
/// the optimum. Heuristic: the first plane is so far from the optimum that a wider kernel would see a
/// different density; not measured yet.
const KERNEL_FACTORS: [f64; 2] = [1.0, 3.0];
/// Factor k of the estimate that a step from a distance of c rows leaves k·√(pc) rows. Heuristic: calibrates
/// the size of the band; not measured yet.
const REMAINING_FACTOR: f64 = 1.26;
/// Rows of the band, as a multiple of the expected number of rows between the last plane and the optimum.
/// Heuristic: large enough to include the furthest of them; not measured yet.
const BAND_FACTOR: f64 = 4.0;
/// The rows count as tied when the lower quartile of their distances exceeds its value for evenly spread rows
/// by this factor. Heuristic: trades a wasted interior point run against a long simplex run; not measured
/// yet.
const TIE_QUARTILE_RATIO: f64 = 8.0;
/// Smallest number of rows of a subsample that estimates a kernel width. Heuristic: fewer make the estimate
/// too noisy; not measured yet.
const MIN_SUBSAMPLE_RANK: usize = 100;
/// Rows that are copied at once when a Hessian is summed. Heuristic: a copy of all rows would exceed the
/// cache; not measured yet.
const GATHER_ROWS: usize = 256;
/// Maximum number of matrices that are summed in parallel. Cap: beyond it a matrix sums more rows.
const MAX_LANES: usize = 16;
/// Maximum number of entries of these matrices together. Cap: beyond it fewer matrices are summed in
/// parallel, but at least two.
const MAX_NUMBERS: usize = 1 << 23;
/// Number of passes over all rows that are counted. Derived: one for the start and one for each Newton step.
pub(super) const PASSES: u64 = KERNEL_FACTORS.len() as u64 + 1;

/// A plane near the optimum of all rows, and the band around it.
pub(super) struct NearOptimum {
    /// The parameters, on scaled columns.
    pub(super) at: Vec<f64>,
    /// The sides of all rows; 0 for rows of the band.
    pub(super) sides: Vec<i8>,
    /// The rows of the band.
    pub(super) list: Vec<usize>,
    pub(super) fixed: FixedRows,
    /// The initial basis; `None` if rows are tied.
    pub(super) guess: Option<Guess>,
}

/// A plane, and the sums over all rows at it.
struct Plane {
    at: Vec<f64>,
    /// The gradient: the sum of slope times weight times row, on scaled columns.
    gradient: Vec<f64>,
    loss: f64,
    /// Σ |residual| over the rows of positive weight.
    absolute_residuals: f64,
}

/// The position of a row relative to a plane.
#[derive(Debug, Clone, Copy, Default)]
struct RowResidual {
    /// The estimated standard error of the row's score, up to a common factor.
    standard_error: f64,
    /// The residual divided by `standard_error`; infinite if the row has weight 0.
    scaled_residual: f64,
}

impl RowResidual {
    fn distance(self) -> f64 {
        self.scaled_residual.abs()
    }
}

/// The distances of a subsample of evenly spaced rows.
fn subsample(rows: &[RowResidual]) -> Vec<f64> {
    /// Size of the subsample. Heuristic: trades the time for its quantiles against their noise; not measured yet.
    const SUBSAMPLE: usize = 1024;
    let step = rows.len().div_ceil(SUBSAMPLE);
    rows.iter().step_by(step).map(|row| row.distance()).collect()
}

/// The rows of `among` whose distance is at most `furthest`. Branch-free, because the outcome is hard to
/// predict.
fn rows_within(furthest: f64, among: &[usize], rows: &[RowResidual]) -> Vec<usize> {
    let mut list = vec![0; among.len()];
    let mut count = 0;
    for &i in among {
        list[count] = i;
        count += usize::from(rows[i].distance() <= furthest);
    }
    list.truncate(count);
    list
}

/// The value of rank `n`, counted from 0.
fn nth(values: &mut [f64], n: usize) -> f64 {
    *values.select_nth_unstable_by(n, f64::total_cmp).1
}

impl Frame<'_> {
    /// The number of rows of the sample that Newton's method starts from.
    pub(super) fn sample_size(&self) -> usize {
        let cells = self.width() as f64 * self.active.len() as f64;
        (cells.sqrt().ceil() as usize).max(MIN_SAMPLE_PER_PARAMETER * self.width())
    }

    /// A start on a sample: the least-squares solution if its loss is smaller than that of `from`, else
    /// `from`.
    pub(super) fn least_squares_start(&self, sampled: &Band, from: Vec<f64>) -> Vec<f64> {
        let (width, all) = (self.width(), 0..sampled.targets.len());
        let (mut gram, mut gradient) = (vec![0.0; width * width], vec![0.0; width]);
        add_gram(
            &sampled.design,
            all.clone(),
            self.inner,
            &sampled.weights,
            &mut gram,
        );
        let weighted_targets: Vec<f64> = (sampled.targets.iter().zip(&sampled.weights))
            .map(|(y, weight)| weight * y)
            .collect();
        add_column_products(
            &sampled.design,
            all.clone(),
            self.inner,
            &weighted_targets,
            &mut gradient,
        );
        let Some(normal) = Normal::<f64>::new(gram, width) else {
            return from;
        };
        let squares = normal.solve(&gradient);
        let loss = |at: &[f64]| -> f64 {
            let residual = |i: usize| sampled.targets[i] - sampled.design.row(i).dot(at);
            let (low, high) = self.slopes;
            let of = |i: usize| sampled.weights[i] * (-low * residual(i)).max(-high * residual(i));
            all.clone().map(of).sum()
        };
        // This is false if the loss is NaN.
        let better = loss(&squares) < loss(&from);
        if better { squares } else { from }
    }

    /// The expected number of rows between the optimum of a sample and that of all rows.
    fn rows_between(&self, sample: usize) -> f64 {
        self.active.len() as f64 * (self.width() as f64 / sample.max(1) as f64).sqrt()
    }

    /// Newton's method from the optimum `at` of a sample; `None` if it does not decrease the objective or the
    /// band is too large.
    pub(super) fn refine(&self, at: &[f64], sampled: &Band) -> Result<Option<NearOptimum>> {
        let mut rows = vec![RowResidual::default(); self.rows.len()];
        let mut rows_between = self.rows_between(sampled.targets.len());
        let mut plane = self.plane(at.to_vec(), &mut rows, Some(&self.column_variances(sampled)));
        let mut steps = 0;
        for kernel in KERNEL_FACTORS {
            let Some(next) = self.newton(&plane, &rows, (kernel * rows_between) as usize)? else {
                break;
            };
            let next = self.plane(next, &mut rows, None);
            // This is false if the loss is NaN.
            let decreased = next.loss < plane.loss;
            if !decreased {
                plane = self.plane(plane.at, &mut rows, None);
                break;
            }
            plane = next;
            steps += 1;
            rows_between = REMAINING_FACTOR * (self.width() as f64 * rows_between).sqrt();
        }
        if steps == 0 {
            return Ok(None);
        }
        let size = (BAND_FACTOR * rows_between) as usize + 2 * self.width();
        if 2 * size > self.active.len() {
            return Ok(None);
        }
        let near = self.near(&rows, size);
        if self.has_ties(&rows, size, near.0) {
            return Ok(None);
        }
        self.band(plane, &rows, size, near).map(Some)
    }

    /// Whether so many rows are on the kink that distances are not informative; the interior point method is
    /// then needed.
    fn has_ties(&self, rows: &[RowResidual], size: usize, furthest: f64) -> bool {
        let many = self.active.len() / 4;
        let even = many as f64 / size as f64 * furthest;
        let mut subsample = subsample(rows);
        let at = many * subsample.len() / rows.len();
        nth(&mut subsample, at) > TIE_QUARTILE_RATIO * even
    }

    /// The band around a plane, of the rows up to the given distance and all ties, and an initial basis.
    fn band(
        &self,
        plane: Plane,
        rows: &[RowResidual],
        size: usize,
        near: (f64, Vec<usize>),
    ) -> Result<NearOptimum> {
        let (furthest, mut list) = near;
        let tied = TIE_FRACTION * plane.absolute_residuals / self.active.len() as f64;
        let mut sides = vec![0i8; self.rows.len()];
        let among = list.len();
        for &i in &self.active {
            let row = rows[i];
            sides[i] = if row.scaled_residual > 0.0 { 1 } else { -1 };
            let within = row.distance() <= furthest;
            if row.distance() * row.standard_error <= tied && !within {
                list.push(i);
            }
        }
        if list.len() > among {
            list.sort_unstable();
        }
        let band = self.gather(&list, None)?;
        let own: Vec<i8> = list.iter().map(|&i| std::mem::take(&mut sides[i])).collect();
        let mut gradient = plane.gradient;
        let weighted_slopes: Vec<f64> = (list.iter().zip(&own))
            .map(|(&i, &side)| -self.weighted_slope(i, side))
            .collect();
        add_column_products(
            &band.design,
            0..list.len(),
            self.inner,
            &weighted_slopes,
            &mut gradient,
        );
        let distances: Vec<f64> = list.iter().map(|&i| rows[i].distance()).collect();
        let guess = (list.len() <= 2 * size)
            .then(|| Guess::near(&band, self.width(), &distances, own))
            .flatten();
        Ok(NearOptimum {
            at: plane.at,
            sides,
            list,
            fixed: FixedRows::from_gradient(gradient.into_iter().map(DoubleDouble::from).collect()),
            guess,
        })
    }

    /// Computes the residuals, the loss and the gradient at a plane. If `column_variances` is given, it also
    /// sets the standard errors of the rows.
    fn plane(&self, at: Vec<f64>, rows: &mut [RowResidual], column_variances: Option<&[f64]>) -> Plane {
        let (design, layout, width) = (self.rows.design, self.layout, self.width());
        let own = self.unscaled(&at);
        type Sums = (Vec<f64>, f64, f64);
        let lanes = pass(
            design,
            rows,
            width,
            |range, seen, (gradient, loss, absolute_residuals): &mut Sums| {
                gradient.resize(width, 0.0);
                let mut each = vec![0.0; seen.len()];
                if let Some(column_variances) = column_variances {
                    let (columns, intercept) = column_variances.split_at(layout.features);
                    let intercept: f64 = intercept.iter().sum();
                    design.squares(range.clone(), columns, &mut each);
                    for (seen, square) in seen.iter_mut().zip(&each) {
                        // A row of zeros gets a tiny standard error instead of 0, which would divide by
                        // 0.
                        seen.standard_error = (square + intercept).sqrt().max(1e-100);
                    }
                }
                scores(design, range.clone(), layout, &own, &mut each);
                for ((i, seen), each) in range.clone().zip(seen).zip(&mut each) {
                    let residual = self.rows.targets[i] - *each;
                    let counts = self.rows.weights.get(i) > 0.0;
                    seen.scaled_residual = if counts {
                        residual / seen.standard_error
                    } else {
                        f64::INFINITY
                    };
                    *loss += self.loss(i, residual);
                    *absolute_residuals += if counts { residual.abs() } else { 0.0 };
                    *each = self.weighted_slope(i, if residual > 0.0 { 1 } else { -1 });
                }
                add_column_products(design, range, layout, &each, gradient);
            },
        );
        let (mut gradient, mut loss, mut absolute_residuals) = (Vec::new(), 0.0, 0.0);
        for (own, own_loss, own_sizes) in &lanes {
            add(&mut gradient, own);
            loss += own_loss;
            absolute_residuals += own_sizes;
        }
        gradient.resize(width, 0.0);
        Plane {
            at,
            gradient: self.unscaled(&gradient),
            loss,
            absolute_residuals,
        }
    }

    /// The estimated variance of each weight, up to a common factor: scale²/Σx² over the sample. A column
    /// that is 0 in the sample gets a large one.
    fn column_variances(&self, sampled: &Band) -> Vec<f64> {
        let mut squares = vec![0.0; self.width()];
        for row in sampled.design.iter() {
            row.for_each(|j, x| squares[j] += x * x);
        }
        (squares.iter().zip(&self.scale))
            // Columns are scaled to about 1, so 1e-6 only replaces columns that are 0 in the sample.
            .map(|(square, scale)| scale * scale / square.max(1e-6))
            .collect()
    }

    /// The distance of rank `count`, and the rows up to that distance. A subsample bounds the distance first
    /// (R. W. Floyd and R. L. Rivest, Expected time bounds for selection, Comm. ACM 18, 1975).
    fn near(&self, rows: &[RowResidual], count: usize) -> (f64, Vec<usize>) {
        let count = count.min(self.active.len() - 1);
        let mut subsample = subsample(rows);
        // Heuristic: twice the expected rank and 32 more are rarely exceeded; not measured yet.
        let likely = 2 * count * subsample.len() / rows.len() + 32;
        let mut list = Vec::new();
        if likely < subsample.len() {
            let limit = nth(&mut subsample, likely);
            list = rows_within(limit, &self.active, rows);
        }
        if list.len() <= count {
            list.clone_from(&self.active);
        }
        let mut distances: Vec<f64> = list.iter().map(|&i| rows[i].distance()).collect();
        let furthest = nth(&mut distances, count);
        (furthest, rows_within(furthest, &list, rows))
    }

    /// A distance with approximately `count` rows within it, and those rows.
    fn approximately_nearest(&self, rows: &[RowResidual], count: usize) -> (f64, Vec<usize>) {
        let mut subsample = subsample(rows);
        let likely = count * subsample.len() / rows.len();
        // A smaller rank would make the estimate too noisy.
        if likely < MIN_SUBSAMPLE_RANK || likely >= subsample.len() {
            return self.near(rows, count);
        }
        let furthest = nth(&mut subsample, likely);
        (furthest, rows_within(furthest, &self.active, rows))
    }

    /// One Newton step, with a Hessian estimated from about `count` rows; `None` if the Hessian cannot be
    /// factored.
    fn newton(&self, plane: &Plane, rows: &[RowResidual], count: usize) -> Result<Option<Vec<f64>>> {
        let width = self.width();
        let (low, high) = self.slopes;
        let (furthest, list) = self.approximately_nearest(rows, count);
        if furthest <= 0.0 {
            return Ok(None);
        }
        // The rows are gathered in chunks, because a copy of all of them would exceed the cache.
        let lanes = (MAX_NUMBERS / (width * width).max(1)).clamp(2, MAX_LANES);
        let grams: Result<Vec<Vec<f64>>> = list
            .par_chunks(list.len().div_ceil(lanes).max(GATHER_ROWS))
            .map(|list| {
                let mut gram = vec![0.0; width * width];
                for list in list.chunks(GATHER_ROWS) {
                    let near = self.gather(list, None)?;
                    let curvatures: Vec<f64> = (list.iter())
                        .map(|&i| {
                            self.rows.weights.get(i) * (high - low)
                                / (2.0 * furthest * rows[i].standard_error)
                        })
                        .collect();
                    add_gram(&near.design, 0..list.len(), self.inner, &curvatures, &mut gram);
                }
                Ok(gram)
            })
            .collect();
        let mut gram = Vec::new();
        grams?.iter().for_each(|own| add(&mut gram, own));
        gram.resize(width * width, 0.0);
        let Some(normal) = Normal::<f64>::new(gram, width) else {
            return Ok(None);
        };
        let step = normal.solve(&plane.gradient);
        Ok(Some(
            plane.at.iter().zip(step).map(|(at, step)| at - step).collect(),
        ))
    }
}

impl Guess {
    /// The basis of the nearest linearly independent rows.
    fn near(band: &Band, width: usize, distances: &[f64], sides: Vec<i8>) -> Option<Self> {
        // Heuristic: as in `crossover`.
        let most = (3 * width + 64).min(distances.len());
        let mut candidates: Vec<(usize, f64)> = distances.iter().copied().enumerate().collect();
        let by_distance = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0));
        candidates.sort_unstable_by(by_distance);
        candidates.truncate(most);
        let typical = candidates.get(width).or(candidates.last())?.1 + f64::MIN_POSITIVE;
        (candidates.iter_mut()).for_each(|(_, weight)| *weight = typical / (typical + *weight));
        let basis = Basis::choose(&band.design, width, &candidates)?;
        Some(Guess {
            basis,
            sides,
            slopes: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use wstar_data::linear::Layout;
    use wstar_data::{Dense, Design};
    use wstar_problem::objective::{Rows, Weights};

    const ROWS: usize = 12_000;
    const FEATURES: usize = 4;
    const TRUTH: [f64; FEATURES + 1] = [2.0, -1.0, 0.5, 0.0, 3.0];
    const LAYOUT: Layout = Layout {
        outputs: 1,
        features: FEATURES,
        intercept: true,
    };

    /// Rows around a plane with noise of nearly Cauchy tails; every seventh row has weight 0.
    fn rows_around_a_plane() -> (Design, Vec<f64>, Vec<f64>) {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let x: Vec<f64> = (0..ROWS * FEATURES)
            .map(|_| random.random_range(-2.0..2.0))
            .collect();
        let targets = (x.chunks_exact(FEATURES))
            .map(|x| {
                let plane: f64 = x.iter().zip(TRUTH).map(|(x, w)| x * w).sum();
                plane + TRUTH[FEATURES] + (3.1 * (random.random::<f64>() - 0.5)).tan()
            })
            .collect();
        let weights = (0..ROWS)
            .map(|i| [1.0, 0.5, 2.0, 1.0, 1.0, 3.0, 0.0][i % 7])
            .collect();
        (
            Design::Dense64(Dense::new(x, ROWS, FEATURES).unwrap()),
            targets,
            weights,
        )
    }

    fn with_frame(slopes: (f64, f64), test: impl Fn(&Frame<'_>)) {
        let (design, targets, weights) = rows_around_a_plane();
        let rows = Rows {
            design: &design,
            targets: (&targets).into(),
            weights: Weights::Each((&weights).into()),
        };
        test(&Frame::new(&rows, LAYOUT, slopes));
    }

    fn objective(frame: &Frame<'_>, at: &[f64]) -> f64 {
        (0..ROWS).map(|i| frame.loss(i, frame.residual(i, at))).sum()
    }

    #[test]
    fn newton_reaches_a_smaller_objective_than_the_true_parameters() {
        for slopes in [(-1.0, 1.0), (-0.6, 0.4)] {
            with_frame(slopes, |frame| {
                let mut random = ChaCha8Rng::seed_from_u64(1);
                let sampled = frame
                    .gather(&frame.sample(frame.sample_size(), &mut random), None)
                    .unwrap();
                // Its distance to the optimum is about that of the optimum of a sample.
                let start: Vec<f64> = TRUTH.iter().map(|w| w + 0.1).collect();
                let refined = frame.refine(&frame.scaled(&start), &sampled).unwrap().unwrap();
                let at = frame.unscaled(&refined.at);
                assert!(objective(frame, &at) < objective(frame, &TRUTH));
                assert!(refined.guess.is_some() && refined.list.len() < ROWS / 10);
                // The gradient of all rows outside the band, each on its side.
                let mut gradient = vec![0.0; frame.width()];
                let mut x = vec![0.0; frame.width()];
                for i in 0..ROWS {
                    let counts = frame.rows.weights.get(i) > 0.0;
                    let inside = refined.list.contains(&i);
                    assert!(counts || !inside);
                    assert_eq!(refined.sides[i] != 0, counts && !inside);
                    if refined.sides[i] != 0 {
                        assert_eq!(refined.sides[i] > 0, frame.residual(i, &at) > 0.0);
                        x.fill(0.0);
                        frame.write_scaled_row(i, &mut x);
                        let own = frame.weighted_slope(i, refined.sides[i]);
                        gradient.iter_mut().zip(&x).for_each(|(sum, x)| *sum += own * x);
                    }
                }
                for (found, own) in refined.fixed.gradient.iter().zip(&gradient) {
                    assert!((found.value() - own).abs() < 1e-8, "{found:?} against {own}");
                }
            });
        }
    }

    #[test]
    fn the_requested_number_of_nearest_rows_is_found() {
        with_frame((-1.0, 1.0), |frame| {
            let mut rows = vec![
                RowResidual {
                    standard_error: 1.0,
                    scaled_residual: 0.0
                };
                ROWS
            ];
            frame.plane(frame.scaled(&TRUTH), &mut rows, None);
            let mut sorted: Vec<f64> = rows.iter().map(|row| row.distance()).collect();
            sorted.sort_by(f64::total_cmp);
            for count in [0, 1, 30, 1000, 4000, frame.active.len() - 1] {
                let (furthest, list) = frame.near(&rows, count);
                assert_eq!((furthest, list.len()), (sorted[count], count + 1));
            }
            assert_eq!(frame.near(&rows, ROWS).0, sorted[frame.active.len() - 1]);
            for count in [1000, ROWS / 4, ROWS / 2] {
                let (furthest, list) = frame.approximately_nearest(&rows, count);
                assert!(
                    (list.len() as f64 / count as f64 - 1.0).abs() < 0.15,
                    "{} of {count}",
                    list.len()
                );
                let within = frame.active.iter().filter(|&&i| rows[i].distance() <= furthest);
                assert!(within.eq(&list));
            }
        });
    }

    #[test]
    fn least_squares_is_the_start_unless_a_better_one_is_given() {
        with_frame((-1.0, 1.0), |frame| {
            let all: Vec<usize> = frame.active.iter().copied().step_by(10).collect();
            let sampled = frame.gather(&all, None).unwrap();
            let loss = |at: &[f64]| -> f64 {
                let at = frame.unscaled(at);
                all.iter().map(|&i| frame.loss(i, frame.residual(i, &at))).sum()
            };
            let (nothing, truth) = (vec![0.0; frame.width()], frame.scaled(&TRUTH));
            let found = frame.least_squares_start(&sampled, nothing.clone());
            assert!(loss(&found) < loss(&nothing) && loss(&found) < 1.1 * loss(&truth));
            assert!(loss(&frame.least_squares_start(&sampled, truth.clone())) <= loss(&truth));
        });
    }
}

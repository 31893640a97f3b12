//! From the optimum of a small sample nearly to that of all rows, by Newton's method.
//!
//! The slope of the objective at the sample's plane is a sum over all rows. Its curvature is the density of residuals
//! at 0, and rows within h of the plane stand for that, each with (hi − lo)/2h. One step with these comes as near to the
//! optimum of all rows as the optimum comes to the truth, and nearer (P. J. Bickel, One-step Huber estimates in the
//! linear model, J. Amer. Statist. Assoc. 70, 1975).
//!
//! How near is best said by the number of rows between both planes, which needs no density: for p parameters and a
//! sample of m among n rows it is about c = n√(p/m). Those c rows are all that makes the slope differ from a straight
//! line, by a random walk, so that √(pc) of them are between the optimum and the next plane. Two steps from √(pn)
//! rows leave so few that the simplex method can do without an interior point.

use rayon::prelude::*;

use super::basis::Basis;
use super::guess::Guess;
use super::preprocess::{Band, Fixed, Frame, TIED};
use crate::error::Result;
use crate::kernel::double_double::DoubleDouble;
use crate::oracle::products::{add_gram, add_pulls, scores};
use crate::solve::interior_point::Normal;
use crate::solve::lanes::{add, pass};

/// Rows of the sample for each parameter, at least.
const LEAST_SAMPLE: usize = 20;
/// How many times the rows between two planes the curvature is taken from, one step after the other: the first
/// plane is far enough for the density to change.
const KERNELS: [f64; 2] = [1.0, 3.0];
/// A step from c rows away leaves this times √(pc).
const LEFT: f64 = 1.26;
/// How many times the rows between the last plane and the optimum belong to the band: as far as the furthest of them.
const BAND: f64 = 4.0;
/// How many times as far as evenly spread rows a quarter of all reach where many are met.
const PILED: f64 = 8.0;
/// How many of a few rows tell a distance well enough for a curvature.
const LEAST_OF_FEW: usize = 100;
/// Rows that are copied at a time where a curvature is summed.
const PIECE: usize = 256;
/// Matrices that are summed side by side, at most, and numbers that they all have.
const MOST_LANES: usize = 16;
const MOST_NUMBERS: usize = 1 << 23;
/// Passes over all rows, at most.
pub(super) const PASSES: u64 = KERNELS.len() as u64 + 1;

/// A plane near the optimum of all rows.
pub(super) struct Refined {
    /// On the scaled columns.
    pub(super) at: Vec<f64>,
    /// Of all rows; 0 for those of the band.
    pub(super) sides: Vec<i8>,
    pub(super) list: Vec<usize>,
    pub(super) fixed: Fixed,
    /// None where rows are tied.
    pub(super) guess: Option<Guess>,
}

/// A plane, and what all rows say of it.
struct Plane {
    at: Vec<f64>,
    /// The sum of slope times weight times row, on scaled columns.
    pull: Vec<f64>,
    loss: f64,
    /// The sum of all residuals' sizes.
    sizes: f64,
}

/// A row as it lies to a plane.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// How much further than others its score may move.
    reach: f64,
    /// The residual in units of that; infinite if the row does not count.
    signed: f64,
}

impl Seen {
    fn distance(self) -> f64 {
        self.signed.abs()
    }
}

/// The distances of some rows, evenly spread.
fn few(rows: &[Seen]) -> Vec<f64> {
    const FEW: usize = 1024;
    let step = rows.len().div_ceil(FEW);
    rows.iter().step_by(step).map(|row| row.distance()).collect()
}

/// Those of the rows that are no further; without a branch, which would be mistaken too often.
fn up_to(furthest: f64, among: &[usize], rows: &[Seen]) -> Vec<usize> {
    let mut list = vec![0; among.len()];
    let mut count = 0;
    for &i in among {
        list[count] = i;
        count += usize::from(rows[i].distance() <= furthest);
    }
    list.truncate(count);
    list
}

/// The value that has `n` before it.
fn nth(values: &mut [f64], n: usize) -> f64 {
    *values.select_nth_unstable_by(n, f64::total_cmp).1
}

impl Frame<'_> {
    /// How many rows the sample has that is refined.
    pub(super) fn sample_size(&self) -> usize {
        let cells = self.width() as f64 * self.active.len() as f64;
        (cells.sqrt().ceil() as usize).max(LEAST_SAMPLE * self.width())
    }

    /// A plane to start from on a sample: that of least squares, if it leaves less than the one given.
    pub(super) fn nearer(&self, sampled: &Band, from: Vec<f64>) -> Vec<f64> {
        let (width, all) = (self.width(), 0..sampled.targets.len());
        let (mut gram, mut pull) = (vec![0.0; width * width], vec![0.0; width]);
        add_gram(
            &sampled.design,
            all.clone(),
            self.inner,
            &sampled.weights,
            &mut gram,
        );
        let pulls: Vec<f64> = (sampled.targets.iter().zip(&sampled.weights))
            .map(|(y, weight)| weight * y)
            .collect();
        add_pulls(&sampled.design, all.clone(), self.inner, &pulls, &mut pull);
        let Some(normal) = Normal::<f64>::new(gram, width) else {
            return from;
        };
        let squares = normal.solve(&pull);
        let loss = |at: &[f64]| -> f64 {
            let residual = |i: usize| sampled.targets[i] - sampled.design.row(i).dot(at);
            let (low, high) = self.slopes;
            let of = |i: usize| sampled.weights[i] * (-low * residual(i)).max(-high * residual(i));
            all.clone().map(of).sum()
        };
        // Also where it is not a number.
        let nearer = loss(&squares) < loss(&from);
        if nearer { squares } else { from }
    }

    /// Rows between the optimum of a sample and that of all rows.
    fn between(&self, sample: usize) -> f64 {
        self.active.len() as f64 * (self.width() as f64 / sample.max(1) as f64).sqrt()
    }

    /// Newton's method from the optimum `at` of a sample; none where that does not lead down.
    pub(super) fn refine(&self, at: &[f64], sampled: &Band) -> Result<Option<Refined>> {
        let mut rows = vec![Seen::default(); self.rows.len()];
        let mut between = self.between(sampled.targets.len());
        let mut plane = self.plane(at.to_vec(), &mut rows, Some(&self.known(sampled)));
        let mut steps = 0;
        for kernel in KERNELS {
            let Some(next) = self.newton(&plane, &rows, (kernel * between) as usize)? else {
                break;
            };
            let next = self.plane(next, &mut rows, None);
            // Also where it is not a number.
            let down = next.loss < plane.loss;
            if !down {
                plane = self.plane(plane.at, &mut rows, None);
                break;
            }
            plane = next;
            steps += 1;
            between = LEFT * (self.width() as f64 * between).sqrt();
        }
        if steps == 0 {
            return Ok(None);
        }
        let size = (BAND * between) as usize + 2 * self.width();
        if 2 * size > self.active.len() {
            return Ok(None);
        }
        let near = self.near(&rows, size);
        if self.is_piled_up(&rows, size, near.0) {
            return Ok(None);
        }
        self.band(plane, &rows, size, near).map(Some)
    }

    /// Whether rows are met in such numbers that distances mean nothing: then an interior point must sort them out.
    fn is_piled_up(&self, rows: &[Seen], size: usize, furthest: f64) -> bool {
        let many = self.active.len() / 4;
        let even = many as f64 / size as f64 * furthest;
        let mut few = few(rows);
        let at = many * few.len() / rows.len();
        nth(&mut few, at) > PILED * even
    }

    /// The band of a plane, of the rows up to this distance, and a first guess of the vertex.
    fn band(&self, plane: Plane, rows: &[Seen], size: usize, near: (f64, Vec<usize>)) -> Result<Refined> {
        let (furthest, mut list) = near;
        let tied = TIED * plane.sizes / self.active.len() as f64;
        let mut sides = vec![0i8; self.rows.len()];
        let among = list.len();
        for &i in &self.active {
            let row = rows[i];
            sides[i] = if row.signed > 0.0 { 1 } else { -1 };
            let nearer = row.distance() <= furthest;
            if row.distance() * row.reach <= tied && !nearer {
                list.push(i);
            }
        }
        if list.len() > among {
            list.sort_unstable();
        }
        let band = self.gather(&list, None)?;
        let own: Vec<i8> = list.iter().map(|&i| std::mem::take(&mut sides[i])).collect();
        let mut pull = plane.pull;
        let pulls: Vec<f64> = (list.iter().zip(&own))
            .map(|(&i, &side)| -self.pull(i, side))
            .collect();
        add_pulls(&band.design, 0..list.len(), self.inner, &pulls, &mut pull);
        let distances: Vec<f64> = list.iter().map(|&i| rows[i].distance()).collect();
        let guess = (list.len() <= 2 * size)
            .then(|| Guess::near(&band, self.width(), &distances, own))
            .flatten();
        Ok(Refined {
            at: plane.at,
            sides,
            list,
            fixed: Fixed::of_pull(pull.into_iter().map(DoubleDouble::from).collect()),
            guess,
        })
    }

    /// Residuals, loss and slope at a plane. What is known of each column tells the reach of the rows, if they do not know
    /// it yet: their size in units of that.
    fn plane(&self, at: Vec<f64>, rows: &mut [Seen], known: Option<&[f64]>) -> Plane {
        let (design, layout, width) = (self.rows.design, self.layout, self.width());
        let own = self.unscaled(&at);
        type Sums = (Vec<f64>, f64, f64);
        let lanes = pass(
            design,
            rows,
            width,
            |range, seen, (pull, loss, sizes): &mut Sums| {
                pull.resize(width, 0.0);
                let mut each = vec![0.0; seen.len()];
                if let Some(known) = known {
                    let (columns, intercept) = known.split_at(layout.features);
                    let intercept: f64 = intercept.iter().sum();
                    design.squares(range.clone(), columns, &mut each);
                    for (seen, square) in seen.iter_mut().zip(&each) {
                        seen.reach = (square + intercept).sqrt().max(1e-100);
                    }
                }
                scores(design, range.clone(), layout, &own, &mut each);
                for ((i, seen), each) in range.clone().zip(seen).zip(&mut each) {
                    let residual = self.rows.targets[i] - *each;
                    let counts = self.rows.weights.get(i) > 0.0;
                    seen.signed = if counts {
                        residual / seen.reach
                    } else {
                        f64::INFINITY
                    };
                    *loss += self.loss(i, residual);
                    *sizes += if counts { residual.abs() } else { 0.0 };
                    *each = self.pull(i, if residual > 0.0 { 1 } else { -1 });
                }
                add_pulls(design, range, layout, &each, pull);
            },
        );
        let (mut pull, mut loss, mut sizes) = (Vec::new(), 0.0, 0.0);
        for (own, own_loss, own_sizes) in &lanes {
            add(&mut pull, own);
            loss += own_loss;
            sizes += own_sizes;
        }
        pull.resize(width, 0.0);
        Plane {
            at,
            pull: self.unscaled(&pull),
            loss,
            sizes,
        }
    }

    /// What a sample knows of each column. Columns that it lacks are unknown.
    fn known(&self, sampled: &Band) -> Vec<f64> {
        let mut squares = vec![0.0; self.width()];
        for row in sampled.design.iter() {
            row.for_each(|j, x| squares[j] += x * x);
        }
        (squares.iter().zip(&self.scale))
            .map(|(square, scale)| scale * scale / square.max(1e-6))
            .collect()
    }

    /// The distance up to which there are so many rows beside one, and the rows up to there; by way of what a few of them
    /// tell to be near enough (R. W. Floyd and R. L. Rivest, Expected time bounds for selection, Comm. ACM 18, 1975).
    fn near(&self, rows: &[Seen], count: usize) -> (f64, Vec<usize>) {
        let count = count.min(self.active.len() - 1);
        let mut few = few(rows);
        let likely = 2 * count * few.len() / rows.len() + 32;
        let mut list = Vec::new();
        if likely < few.len() {
            let limit = nth(&mut few, likely);
            list = up_to(limit, &self.active, rows);
        }
        if list.len() <= count {
            list.clone_from(&self.active);
        }
        let mut distances: Vec<f64> = list.iter().map(|&i| rows[i].distance()).collect();
        let furthest = nth(&mut distances, count);
        (furthest, up_to(furthest, &list, rows))
    }

    /// A distance up to which there are about so many rows, and the rows up to there.
    fn about(&self, rows: &[Seen], count: usize) -> (f64, Vec<usize>) {
        let mut few = few(rows);
        let likely = count * few.len() / rows.len();
        // Fewer would tell too little.
        if likely < LEAST_OF_FEW || likely >= few.len() {
            return self.near(rows, count);
        }
        let furthest = nth(&mut few, likely);
        (furthest, up_to(furthest, &self.active, rows))
    }

    /// One step, with the curvature of about so many rows.
    fn newton(&self, plane: &Plane, rows: &[Seen], count: usize) -> Result<Option<Vec<f64>>> {
        let width = self.width();
        let (low, high) = self.slopes;
        let (furthest, list) = self.about(rows, count);
        if furthest <= 0.0 {
            return Ok(None);
        }
        // A copy of all these rows would be larger than the cache.
        let lanes = (MOST_NUMBERS / (width * width).max(1)).clamp(2, MOST_LANES);
        let grams: Result<Vec<Vec<f64>>> = list
            .par_chunks(list.len().div_ceil(lanes).max(PIECE))
            .map(|list| {
                let mut gram = vec![0.0; width * width];
                for list in list.chunks(PIECE) {
                    let near = self.gather(list, None)?;
                    let curvatures: Vec<f64> = (list.iter())
                        .map(|&i| self.rows.weights.get(i) * (high - low) / (2.0 * furthest * rows[i].reach))
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
        let step = normal.solve(&plane.pull);
        Ok(Some(
            plane.at.iter().zip(step).map(|(at, step)| at - step).collect(),
        ))
    }
}

impl Guess {
    /// The basis of the nearest rows that are independent.
    fn near(band: &Band, width: usize, distances: &[f64], sides: Vec<i8>) -> Option<Self> {
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
    use crate::data::{Dense, Design};
    use crate::oracle::{Layout, Rows, Weights};

    const ROWS: usize = 12_000;
    const FEATURES: usize = 4;
    const TRUTH: [f64; FEATURES + 1] = [2.0, -1.0, 0.5, 0.0, 3.0];
    const LAYOUT: Layout = Layout {
        outputs: 1,
        features: FEATURES,
        intercept: true,
    };

    /// Rows around a plane, with tails as heavy as Cauchy's; every seventh has no weight.
    fn around() -> (Design, Vec<f64>, Vec<f64>) {
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
        let (design, targets, weights) = around();
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
    fn a_plane_near_the_truth_becomes_one_that_fits_better_than_it() {
        for slopes in [(-1.0, 1.0), (-0.6, 0.4)] {
            with_frame(slopes, |frame| {
                let mut random = ChaCha8Rng::seed_from_u64(1);
                let sampled = frame
                    .gather(&frame.sample(frame.sample_size(), &mut random), None)
                    .unwrap();
                // As far off as the optimum of a sample is.
                let start: Vec<f64> = TRUTH.iter().map(|w| w + 0.1).collect();
                let refined = frame.refine(&frame.scaled(&start), &sampled).unwrap().unwrap();
                let at = frame.unscaled(&refined.at);
                assert!(objective(frame, &at) < objective(frame, &TRUTH));
                assert!(refined.guess.is_some() && refined.list.len() < ROWS / 10);
                // The pull of all rows outside of the band, each on its side.
                let mut pull = vec![0.0; frame.width()];
                let mut x = vec![0.0; frame.width()];
                for i in 0..ROWS {
                    let counts = frame.rows.weights.get(i) > 0.0;
                    let inside = refined.list.contains(&i);
                    assert!(counts || !inside);
                    assert_eq!(refined.sides[i] != 0, counts && !inside);
                    if refined.sides[i] != 0 {
                        assert_eq!(refined.sides[i] > 0, frame.residual(i, &at) > 0.0);
                        x.fill(0.0);
                        frame.lift(i, &mut x);
                        let own = frame.pull(i, refined.sides[i]);
                        pull.iter_mut().zip(&x).for_each(|(sum, x)| *sum += own * x);
                    }
                }
                for (found, own) in refined.fixed.pull.iter().zip(&pull) {
                    assert!((found.value() - own).abs() < 1e-8, "{found:?} against {own}");
                }
            });
        }
    }

    #[test]
    fn as_many_rows_as_were_asked_for_are_nearer() {
        with_frame((-1.0, 1.0), |frame| {
            let mut rows = vec![
                Seen {
                    reach: 1.0,
                    signed: 0.0
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
                let (furthest, list) = frame.about(&rows, count);
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
    fn least_squares_are_a_start_unless_a_better_one_is_known() {
        with_frame((-1.0, 1.0), |frame| {
            let all: Vec<usize> = frame.active.iter().copied().step_by(10).collect();
            let sampled = frame.gather(&all, None).unwrap();
            let loss = |at: &[f64]| -> f64 {
                let at = frame.unscaled(at);
                all.iter().map(|&i| frame.loss(i, frame.residual(i, &at))).sum()
            };
            let (nothing, truth) = (vec![0.0; frame.width()], frame.scaled(&TRUTH));
            let found = frame.nearer(&sampled, nothing.clone());
            assert!(loss(&found) < loss(&nothing) && loss(&found) < 1.1 * loss(&truth));
            assert!(loss(&frame.nearer(&sampled, truth.clone())) <= loss(&truth));
        });
    }
}

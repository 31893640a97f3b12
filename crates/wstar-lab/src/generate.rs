//! Synthetic data sets in the plane, the usual examples of lectures, generated from a seed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use wstar::data::error::{Error, Result};

/// Number of points of a recipe. Cap: a larger recipe is refused.
const MOST_ROWS: usize = 200_000;

/// Points as the page stores them: coordinates and class indices.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Points {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) class: Vec<u32>,
    pub(crate) classes: Vec<String>,
    /// Labels of the axes; `x1` and `x2` by default.
    pub(crate) axes: Option<[String; 2]>,
}

/// Kinds of synthetic data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Two classes on the two sides of a line, all points at least the margin away from it.
    Separable,
    /// Two overlapping isotropic Gaussian clouds.
    Overlap,
    /// Four Gaussian clouds; opposite clouds have the same class.
    Xor,
    /// A disc and a ring around it.
    Rings,
    /// Two isotropic Gaussian clouds, and a few points of one class far from both.
    Outliers,
    /// Three isotropic Gaussian clouds, one per class.
    Three,
    /// A linear function with Gaussian noise, for regression.
    Line,
}

/// The parameters of a synthetic data set.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    pub(crate) kind: Kind,
    pub(crate) rows: usize,
    #[serde(default)]
    pub(crate) seed: u64,
    /// Half the width of the empty band between separable classes.
    #[serde(default = "default_margin")]
    pub(crate) margin: f64,
    /// The standard deviation of clouds.
    #[serde(default = "default_spread")]
    pub(crate) spread: f64,
}

fn default_margin() -> f64 {
    0.5
}

fn default_spread() -> f64 {
    1.0
}

impl Recipe {
    /// Generates the points.
    pub(crate) fn points(&self) -> Result<Points> {
        let sensible = |value: f64| value.is_finite() && (0.0..=100.0).contains(&value);
        if self.rows > MOST_ROWS || !sensible(self.margin) || !sensible(self.spread) {
            return Err(Error::settings(format!(
                "a recipe makes up to {MOST_ROWS} points, with a margin and a spread from 0 to 100"
            )));
        }
        let mut maker = Maker {
            random: ChaCha8Rng::seed_from_u64(self.seed),
            points: Points::default(),
        };
        for i in 0..self.rows {
            maker.add(self, i);
        }
        let classes: &[&str] = match self.kind {
            Kind::Three => &["A", "B", "C"],
            Kind::Line => &["A"],
            _ => &["A", "B"],
        };
        maker.points.classes = classes.iter().map(|name| (*name).to_string()).collect();
        Ok(maker.points)
    }
}

struct Maker {
    random: ChaCha8Rng,
    points: Points,
}

impl Maker {
    fn uniform(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.random.random::<f64>()
    }

    /// A sample of an isotropic Gaussian with standard deviation `spread` (Box and Muller 1958).
    fn cloud(&mut self, centre: [f64; 2], spread: f64) -> [f64; 2] {
        let radius = (-2.0 * (1.0 - self.random.random::<f64>()).ln()).sqrt();
        let (sine, cosine) = self.uniform(0.0, std::f64::consts::TAU).sin_cos();
        [
            centre[0] + spread * radius * cosine,
            centre[1] + spread * radius * sine,
        ]
    }

    fn add(&mut self, recipe: &Recipe, i: usize) {
        let class = (i % 2) as u32;
        let sign = f64::from(class) * 2.0 - 1.0;
        let (point, class) = match recipe.kind {
            Kind::Separable => {
                // Coordinates along the line and away from it. The line is tilted, so that neither axis separates.
                let (along, away) = (
                    self.uniform(-4.0, 4.0),
                    recipe.margin + self.uniform(0.0, 3.0 * recipe.spread),
                );
                let (sine, cosine) = 0.6f64.sin_cos();
                let away = sign * away;
                (
                    [along * cosine - away * sine, along * sine + away * cosine],
                    class,
                )
            }
            Kind::Overlap => (
                self.cloud([1.25 * sign, 0.75 * sign], 1.25 * recipe.spread),
                class,
            ),
            Kind::Xor => {
                let other = if (i / 2).is_multiple_of(2) { 1.0 } else { -1.0 };
                (
                    self.cloud([2.0 * other, 2.0 * other * -sign], 0.7 * recipe.spread),
                    class,
                )
            }
            Kind::Rings => {
                let angle = self.uniform(0.0, std::f64::consts::TAU);
                let radius = match class {
                    0 => self.uniform(0.0, 1.5),
                    _ => self.uniform(2.5, 3.75),
                };
                let (sine, cosine) = angle.sin_cos();
                (
                    self.cloud([radius * cosine, radius * sine], 0.1 * recipe.spread),
                    class,
                )
            }
            Kind::Outliers => {
                let far = class == 1 && i % 10 == 1;
                let centre = if far { [18.0, 8.0] } else { [1.75 * sign, sign] };
                (self.cloud(centre, 0.7 * recipe.spread), class)
            }
            Kind::Three => {
                let class = (i % 3) as u32;
                let angle = std::f64::consts::TAU * (f64::from(class) / 3.0 + 0.25);
                let centre = [2.2 * angle.cos(), 2.2 * angle.sin()];
                (self.cloud(centre, 0.9 * recipe.spread), class)
            }
            Kind::Line => {
                let x = self.uniform(-4.0, 4.0);
                let noise = self.cloud([0.0, 0.0], 0.6 * recipe.spread)[0];
                ([x, 0.5 + 0.75 * x + noise], 0)
            }
        };
        // Three decimals keep the coordinates readable and short enough for a link.
        let short = |value: f64| (value * 1000.0).round() / 1000.0;
        self.points.x.push(short(point[0]));
        self.points.y.push(short(point[1]));
        self.points.class.push(class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(kind: Kind, seed: u64) -> Recipe {
        Recipe {
            kind,
            rows: 400,
            seed,
            margin: 0.75,
            spread: 1.0,
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_points() {
        let [a, b, c] = [1, 1, 2].map(|seed| recipe(Kind::Overlap, seed).points().unwrap());
        assert_eq!((&a.x, &a.y), (&b.x, &b.y));
        assert_ne!(a.x, c.x);
    }

    #[test]
    fn separable_points_keep_their_margin() {
        let points = recipe(Kind::Separable, 7).points().unwrap();
        let (sine, cosine) = 0.6f64.sin_cos();
        let away = |i: usize| cosine * points.y[i] - sine * points.x[i];
        for i in 0..400 {
            let sign = if points.class[i] == 1 { 1.0 } else { -1.0 };
            assert!(sign * away(i) > 0.75 - 0.001, "point {i} is too near");
        }
    }

    #[test]
    fn a_recipe_out_of_bounds_is_refused() {
        let wild = Recipe {
            rows: MOST_ROWS + 1,
            ..recipe(Kind::Rings, 0)
        };
        assert!(wild.points().is_err());
        let wild = Recipe {
            spread: f64::NAN,
            ..recipe(Kind::Rings, 0)
        };
        assert!(wild.points().is_err());
    }
}

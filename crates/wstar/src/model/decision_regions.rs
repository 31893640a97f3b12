//! The geometry of a model with two features, in units of the raw columns: points, decision regions and lines.

use crate::model::Model;
use wstar_data::error::{Error, Result};
use wstar_data::linear::Hyperplane;
use wstar_data::{Dataset, Design};

/// A rectangle of the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// The left and right end.
    pub x: (f64, f64),
    /// The lower and upper end.
    pub y: (f64, f64),
}

impl Window {
    /// The smallest window that contains the points, enlarged on every side by the share `room` of its size.
    pub fn around(points: &[(f64, f64)], room: f64) -> Self {
        let range = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            });
            match high - low {
                width if width > 0.0 => (low - room * width, high + room * width),
                _ if low.is_finite() => (low - 0.5, low + 0.5),
                _ => (0.0, 1.0),
            }
        };
        Window {
            x: range(&mut points.iter().map(|point| point.0)),
            y: range(&mut points.iter().map(|point| point.1)),
        }
    }

    /// The segment of the line `w·x + b = level` inside the window.
    pub fn segment(&self, plane: &Hyperplane, level: f64) -> Option<[(f64, f64); 2]> {
        let [a, b] = plane.weights.as_slice() else {
            return None;
        };
        let c = level - plane.intercept;
        // Intersections with the four sides; a corner may occur twice.
        let across = [self.x.0, self.x.1].map(|x| (x, (c - a * x) / b));
        let up = [self.y.0, self.y.1].map(|y| ((c - b * y) / a, y));
        // Heuristic: far above the rounding of an intersection and far below a pixel; not measured yet.
        let slack = |range: (f64, f64)| 1e-9 * (range.1 - range.0);
        let within = |range: (f64, f64), v: f64| v >= range.0 - slack(range) && v <= range.1 + slack(range);
        let ends: Vec<(f64, f64)> = across
            .into_iter()
            .chain(up)
            .filter(|end| within(self.x, end.0) && within(self.y, end.1))
            .collect();
        let far = |p: &(f64, f64), q: &(f64, f64)| {
            ((p.0 - q.0) / (self.x.1 - self.x.0)).hypot((p.1 - q.1) / (self.y.1 - self.y.0))
        };
        let first = *ends.first()?;
        let last = *ends
            .iter()
            .max_by(|p, q| far(&first, p).total_cmp(&far(&first, q)))?;
        (far(&first, &last) > 0.0).then_some([first, last])
    }
}

impl Model {
    /// The hyperplanes of a linear model, in units of the raw columns; `None` if the model is not linear.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = wstar::read("@breast-cancer")?.standardize().dataset()?;
    /// let model = Logistic::l2().fit(&data)?;
    /// // The same decision, for columns that are not standardised.
    /// let raw = model.raw_hyperplanes().expect("logistic regression is linear");
    /// assert_ne!(model.hyperplanes(), Some(raw));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn raw_hyperplanes(&self) -> Option<Vec<Hyperplane>> {
        let mut planes = self.predictor.hyperplanes()?;
        if let Some(scaling) = &self.schema.scaling {
            for plane in &mut planes {
                scaling.unscale(&mut plane.weights, &mut plane.intercept);
            }
        }
        Some(planes)
    }

    /// The points of rows that the model can [predict](Model::predict), in units of the raw columns. The model must have
    /// two features.
    pub fn raw_points(&self, data: &Dataset) -> Result<Vec<(f64, f64)>> {
        self.check_plane()?;
        let raw = |j: usize, value: f64| match &self.schema.scaling {
            Some(scaling) => value / scaling.factors()[j] + scaling.shifts().get(j).copied().unwrap_or(0.0),
            None => value,
        };
        let point = |row: wstar_data::Row<'_>| {
            let values = row.to_dense(2);
            (raw(0, values[0]), raw(1, values[1]))
        };
        Ok(self.design_of(data)?.iter().map(point).collect())
    }

    /// The predicted class at the centre of each cell of a grid, row by row from the bottom. The model must have two
    /// features.
    pub fn regions(&self, window: &Window, columns: usize, rows: usize) -> Result<Vec<u32>> {
        self.check_plane()?;
        let at = |range: (f64, f64), k: usize, of: usize| {
            range.0 + (range.1 - range.0) * (k as f64 + 0.5) / of as f64
        };
        let middles = (0..rows)
            .flat_map(|i| (0..columns).flat_map(move |j| [at(window.x, j, columns), at(window.y, i, rows)]));
        let mut design = Design::from_dense(middles.collect(), rows * columns, 2)?;
        if let Some(scaling) = &self.schema.scaling {
            design = scaling.apply(design)?;
        }
        Ok(self.decide(&self.predictor.scores(&design)?))
    }

    fn check_plane(&self) -> Result<()> {
        match self.schema.features {
            2 => Ok(()),
            features => Err(Error::model(format!(
                "a picture of the plane needs a model of two features, and this one has {features}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Method, Options};
    use proptest::prelude::*;
    use wstar_data::read::{ReadOptions, read_bytes};
    use wstar_data::run::Unwatched;
    use wstar_data::{Preparation, Row, prepare};

    #[test]
    fn standardised_points_come_back_and_the_line_divides_the_regions() {
        let text = b"height,weight,kind\n150,4,a\n160,5,a\n170,4.5,a\n151,9,b\n162,8,b\n175,9.5,b\n";
        let raw = read_bytes("people.csv", text, &ReadOptions::default()).unwrap();
        let how = Preparation {
            standardize: true,
            ..Preparation::default()
        };
        let data = prepare(raw, &how).unwrap();
        let model = crate::estimate::fit(&data, &Options::of(Method::Logistic), &mut Unwatched).unwrap();
        let points = model.raw_points(&data).unwrap();
        for (found, expected) in points
            .iter()
            .zip([(150.0, 4.0), (160.0, 5.0), (170.0, 4.5), (151.0, 9.0)])
        {
            assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9);
        }
        let window = Window::around(&points, 0.1);
        assert!((window.x.0 - 147.5).abs() < 1e-9 && (window.x.1 - 177.5).abs() < 1e-9);
        let [plane] = model.raw_hyperplanes().unwrap().try_into().unwrap();
        let regions = model.regions(&window, 20, 10).unwrap();
        for (cell, &class) in regions.iter().enumerate() {
            let x = 147.5 + 30.0 * ((cell % 20) as f64 + 0.5) / 20.0;
            let y = window.y.0 + (window.y.1 - window.y.0) * ((cell / 20) as f64 + 0.5) / 10.0;
            assert_eq!(class == 1, plane.score(Row::Dense64(&[x, y])) > 0.0);
        }
        let ends = window.segment(&plane, 0.0).unwrap();
        for (x, y) in ends {
            assert!(plane.score(Row::Dense64(&[x, y])).abs() < 1e-9);
        }
    }

    #[test]
    fn lines_that_miss_the_window_are_not_drawn() {
        let window = Window {
            x: (0.0, 1.0),
            y: (0.0, 1.0),
        };
        let line = |weights: [f64; 2], b: f64| window.segment(&Hyperplane::new(weights.to_vec(), b), 0.0);
        assert_eq!(line([1.0, 1.0], -3.0), None);
        assert_eq!(line([0.0, 0.0], 1.0), None);
        assert_eq!(line([0.0, 2.0], -1.0), Some([(0.0, 0.5), (1.0, 0.5)]));
        assert_eq!(line([2.0, 0.0], -1.0), Some([(0.5, 0.0), (0.5, 1.0)]));
    }

    proptest! {
        #[test]
        fn a_segment_lies_on_its_line_and_in_its_window(a in -3.0..3.0f64, b in -3.0..3.0f64, c in -2.0..2.0f64) {
            let window = Window { x: (-1.0, 2.0), y: (0.0, 1.0) };
            let plane = Hyperplane::new(vec![a, b], c);
            if let Some(ends) = window.segment(&plane, 1.0) {
                for (x, y) in ends {
                    prop_assert!((plane.score(Row::Dense64(&[x, y])) - 1.0).abs() < 1e-9);
                    prop_assert!((-1.0001..=2.0001).contains(&x) && (-0.0001..=1.0001).contains(&y));
                }
            }
        }
    }
}

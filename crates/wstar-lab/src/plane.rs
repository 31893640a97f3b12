//! Points in the plane: converts the data that a request names into a data set for the library.

use serde::Serialize;
use wstar::data::error::{Error, Result};
use wstar::data::read;
use wstar::data::read::{EMBEDDED, ReadOptions, Source};
use wstar::data::{self, Classes, Components, Dataset, Design, Preparation, Schema, Target};

use crate::generate::Points;
use crate::request::Data;

/// Number of classes, each with its own colour and shape. Cap: data with more classes are refused.
const MOST_CLASSES: usize = 8;
/// Names of the principal components of the features, which can be chosen as axes like a feature.
const COMPONENTS: [&str; 2] = ["component 1", "component 2"];
/// Number of points that the page draws. Cap: larger data are refused.
const MOST_POINTS: usize = 1_000_000;

/// Points in the plane with a class each, or, for regression, points whose second coordinate is the target.
#[derive(Debug, Serialize)]
pub(crate) struct Plane {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) class: Vec<u32>,
    pub(crate) classes: Vec<String>,
    /// Labels of the axes.
    pub(crate) axes: [String; 2],
    /// The features, and components, that can be chosen as axes.
    pub(crate) columns: Vec<String>,
    /// Whether the second coordinate is a real target.
    pub(crate) real: bool,
    /// Notes of the reader on what it left out or changed.
    pub(crate) notes: Vec<String>,
}

impl Plane {
    /// The points that a request names.
    pub(crate) fn of(data: Data) -> Result<Self> {
        match data {
            Data::Points(points) => Plane::drawn(points),
            Data::Make(recipe) => Plane::drawn(recipe.points()?),
            Data::Set { name, columns } => {
                let raw = read::read(&Source::parse(&format!("@{name}"))?, &ReadOptions::default())?;
                Plane::chosen(
                    data::prepare::prepare(raw, &Preparation::default())?,
                    columns.as_ref(),
                )
            }
        }
    }

    /// The points of a file whose bytes are in memory.
    pub(crate) fn of_file(name: &str, bytes: &[u8], columns: Option<&[String; 2]>) -> Result<Self> {
        let raw = read::read_bytes(name, bytes, &ReadOptions::default())?;
        Plane::chosen(data::prepare::prepare(raw, &Preparation::default())?, columns)
            .map_err(|error| error.in_file(name))
    }

    fn drawn(points: Points) -> Result<Self> {
        let rows = points.x.len();
        if rows != points.y.len() || rows != points.class.len() {
            return Err(Error::data("every point needs two coordinates and a class"));
        }
        let classes = points.classes.len();
        if points.class.iter().any(|&class| class as usize >= classes) {
            return Err(Error::data(format!(
                "a class index is not below {classes}, the number of classes"
            )));
        }
        let absent = (0..classes as u32).find(|class| !points.class.contains(class));
        if let Some(absent) = absent.filter(|_| rows > 0) {
            return Err(Error::data(format!(
                "class {} has no points",
                points.classes[absent as usize]
            )));
        }
        let axes = points.axes.unwrap_or_else(|| ["x1".into(), "x2".into()]);
        let plane = Plane {
            columns: axes.to_vec(),
            x: points.x,
            y: points.y,
            class: points.class,
            classes: points.classes,
            axes,
            real: false,
            notes: Vec::new(),
        };
        plane.check()
    }

    /// Two features of a data set, or one feature and the target if the target is real.
    fn chosen(data: Dataset, wanted: Option<&[String; 2]>) -> Result<Self> {
        let mut columns: Vec<String> = data.schema().feature_names().collect();
        let features = columns.len();
        let real = matches!(data.target(), Target::Real(_));
        if !real && features > 2 {
            columns.extend(COMPONENTS.map(String::from));
        }
        let index = |name: &String| {
            columns.iter().position(|column| column == name).ok_or_else(|| {
                Error::data(format!("there is no feature {name}"))
                    .remedy(format!("there are {}", columns.join(", ")))
            })
        };
        let least = if real { 1 } else { 2 };
        if features < least {
            return Err(Error::data(format!(
                "a picture needs {least} features besides the target, and there are {features}"
            )));
        }
        let [first, second] = match wanted {
            Some([a, b]) if real => [index(a)?, index(b).unwrap_or(0)],
            Some([a, b]) => [index(a)?, index(b)?],
            None => [0, 1],
        };
        let components = match first.max(second) >= features {
            true => Some(Components::learn(data.design(), None, COMPONENTS.len())?),
            false => None,
        };
        let coordinate = |j: usize| (0..data.rows()).map(move |i| (i, j));
        let at = |(i, j): (usize, usize)| {
            if let (Some(components), true) = (&components, j >= features) {
                return components.project(data.design().row(i))[j - features];
            }
            let mut found = 0.0;
            data.design().row(i).for_each(|k, value| {
                if k == j {
                    found = value;
                }
            });
            found
        };
        let x: Vec<f64> = coordinate(first).map(at).collect();
        let target = data.schema().target.clone().unwrap_or_else(|| "target".into());
        let (y, class, classes, second) = match data.target() {
            Target::Real(values) => (values.clone(), vec![0; values.len()], vec!["A".into()], target),
            Target::Classes { codes, classes } => (
                coordinate(second).map(at).collect(),
                codes.clone(),
                classes.names().to_vec(),
                columns[second].clone(),
            ),
            _ => return Err(Error::data("the data have no target column that can be drawn")),
        };
        let plane = Plane {
            axes: [columns[first].clone(), second],
            x,
            y,
            class,
            classes,
            columns,
            real,
            notes: data.notes().iter().map(ToString::to_string).collect(),
        };
        plane.check()
    }

    fn check(self) -> Result<Self> {
        if self.classes.len() > MOST_CLASSES {
            return Err(Error::data(format!(
                "the lab draws at most {MOST_CLASSES} classes, and these are {}",
                self.classes.len()
            )));
        }
        if self.x.len() > MOST_POINTS {
            return Err(Error::data(format!(
                "the lab draws at most {MOST_POINTS} points, and these are {}",
                self.x.len()
            ))
            .remedy("`wstar train` accepts any number"));
        }
        Ok(self)
    }

    /// The data set of the points. For a regression, the second coordinate is the target.
    pub(crate) fn dataset(self, regression: bool) -> Result<Dataset> {
        let rows = self.x.len();
        let [first, second] = self.axes;
        if regression {
            let design = Design::from_dense(self.x, rows, 1)?;
            let schema = Schema::numeric([first]);
            return Ok(Dataset::new(design, Target::Real(self.y), schema)?.with_source("the points"));
        }
        if self.real {
            return Err(Error::data(format!("{second} is a real number, not a class"))
                .remedy("least-squares and lad are for real targets"));
        }
        let values = self.x.iter().zip(&self.y).flat_map(|(&x, &y)| [x, y]).collect();
        let design = Design::from_dense(values, rows, 2)?;
        let target = Target::Classes {
            codes: self.class,
            classes: Classes::ordered(self.classes)?,
        };
        Ok(Dataset::new(design, target, Schema::numeric([first, second]))?.with_source("the points"))
    }
}

/// The embedded data sets that the page can draw.
pub(crate) fn sets() -> serde_json::Value {
    let drawable = EMBEDDED
        .iter()
        .filter(|set| set.text.is_empty() && set.name != "digits");
    let sets = drawable.map(|set| {
        serde_json::json!({
            "name": set.name,
            "description": set.description,
            "rows": set.rows,
            "source": set.source,
        })
    });
    sets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_columns_of_a_data_set() {
        let columns = Some(["petal length".to_string(), "petal width".to_string()]);
        let all = Plane::of(Data::Set {
            name: "iris".into(),
            columns: None,
        })
        .unwrap();
        assert_eq!((all.x.len(), all.classes.len(), all.columns.len()), (150, 3, 6));
        let named = all.columns[2..4].to_vec();
        let two = Plane::of(Data::Set {
            name: "iris".into(),
            columns: Some([named[0].clone(), named[1].clone()]),
        });
        assert_eq!(two.unwrap().axes.to_vec(), named);
        let wrong = Plane::of(Data::Set {
            name: "wine".into(),
            columns,
        });
        assert!(wrong.unwrap_err().to_string().contains("there is no feature"));
    }

    #[test]
    fn many_columns_have_a_projection() {
        let plane = Plane::of(Data::Set {
            name: "wine".into(),
            columns: Some(COMPONENTS.map(String::from)),
        })
        .unwrap();
        assert_eq!(plane.axes, COMPONENTS);
        let variance = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64;
        let along = [variance(&plane.x), variance(&plane.y)];
        // The two largest eigenvalues of the correlation matrix of wine.
        assert!(
            (along[0] - 4.706).abs() < 0.01 && (along[1] - 2.497).abs() < 0.01,
            "{along:?}"
        );
        let product: f64 = plane.x.iter().zip(&plane.y).map(|(x, y)| x * y).sum();
        assert!(product.abs() < 1e-9 * plane.x.len() as f64);
    }

    #[test]
    fn a_real_target_is_the_second_coordinate() {
        let plane = Plane::of(Data::Set {
            name: "diabetes".into(),
            columns: None,
        })
        .unwrap();
        assert!(plane.real);
        assert_eq!(plane.y.len(), 442);
        let data = plane.dataset(true).unwrap();
        assert_eq!(data.features(), 1);
    }

    #[test]
    fn a_file_fails_with_the_error_of_the_command_line() {
        let text = b"height,weight,kind\n1.5,60,a\n1.6,sixty,b\n1.7,70,a\n";
        let folder = std::env::temp_dir().join(format!("wstar-lab-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("people.csv");
        std::fs::write(&path, &text[..text.len() - 4]).unwrap();
        let name = path.display().to_string();
        let ours = Plane::of_file(&name, &text[..text.len() - 4], None)
            .unwrap_err()
            .to_string();
        let theirs = read::read(&Source::Path(path), &ReadOptions::default())
            .and_then(|raw| data::prepare::prepare(raw, &Preparation::default()))
            .unwrap_err()
            .to_string();
        assert_eq!(ours, theirs);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! What the page may ask, as JSON.

use serde::Deserialize;
use wstar::model::Hyperplane;
use wstar::settings::{Method, Settings};

use crate::generate::Recipe;

/// Where points come from.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Data {
    /// From the page.
    Points(Points),
    /// From a data set inside the library.
    Set {
        /// Its name, without the `@`.
        name: String,
        /// The two features that are drawn; the first two if not named.
        columns: Option<[String; 2]>,
    },
    /// From a recipe.
    Make(Recipe),
}

/// Points as the page holds them: coordinates and the number of each one's class.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Points {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) class: Vec<u32>,
    pub(crate) classes: Vec<String>,
    /// What the axes stand for; `x1` and `x2` if not named.
    pub(crate) axes: Option<[String; 2]>,
}

/// A part of the plane, and how finely it is looked at.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct View {
    pub(crate) x: [f64; 2],
    pub(crate) y: [f64; 2],
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// Fit a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FitRequest {
    pub(crate) data: Data,
    pub(crate) settings: Settings,
    /// Whether every step is wanted.
    #[serde(default)]
    pub(crate) trace: bool,
    /// Where decisions are wanted that no hyperplane tells.
    pub(crate) view: Option<View>,
}

/// How do the classes lie?
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeparateRequest {
    pub(crate) data: Data,
    #[serde(default)]
    pub(crate) no_intercept: bool,
}

/// How do methods do on the same points?
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareRequest {
    pub(crate) data: Data,
    pub(crate) methods: Vec<Method>,
    #[serde(default)]
    pub(crate) seed: u64,
}

/// How good is a hyperplane that a hand has drawn?
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JudgeRequest {
    pub(crate) data: Data,
    pub(crate) plane: Hyperplane,
}

/// What is the objective, over two of the parameters?
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SurfaceRequest {
    pub(crate) data: Data,
    pub(crate) settings: Settings,
    /// Which two: numbers into the parameters, the weights first and then the intercept.
    pub(crate) axes: [usize; 2],
    /// All parameters; those of the axes are replaced.
    pub(crate) at: Vec<f64>,
    /// From where to where, for both axes.
    pub(crate) range: [[f64; 2]; 2],
    /// How many values along each axis.
    pub(crate) steps: usize,
}

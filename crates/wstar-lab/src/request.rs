//! The JSON requests of the page.

use serde::Deserialize;
use wstar::data::linear::Hyperplane;
use wstar::settings::{Method, Options};

use crate::generate::{Points, Recipe};

/// The source of the points.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Data {
    /// Points sent by the page.
    Points(Points),
    /// An embedded data set.
    Set {
        /// Its name, without the `@`.
        name: String,
        /// The two features to draw; the first two by default.
        columns: Option<[String; 2]>,
    },
    /// A synthetic data set.
    Make(Recipe),
}

/// A rectangle of the plane, and the grid on it at which decisions are computed.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct View {
    pub(crate) x: [f64; 2],
    pub(crate) y: [f64; 2],
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// Fits a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FitRequest {
    pub(crate) data: Data,
    pub(crate) settings: Options,
    /// Whether the steps of the fit are recorded.
    #[serde(default)]
    pub(crate) trace: bool,
    /// The grid for the decision regions of models whose hyperplanes alone do not determine them.
    pub(crate) view: Option<View>,
}

/// Decides which pairs of classes are linearly separable.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeparateRequest {
    pub(crate) data: Data,
    #[serde(default)]
    pub(crate) no_intercept: bool,
}

/// Compares methods on the same points.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareRequest {
    pub(crate) data: Data,
    pub(crate) methods: Vec<Method>,
    #[serde(default)]
    pub(crate) seed: u64,
}

/// Counts the errors, and computes the margin, of a hyperplane that the user has drawn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JudgeRequest {
    pub(crate) data: Data,
    pub(crate) plane: Hyperplane,
}

/// Evaluates the objective over two of the parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SurfaceRequest {
    pub(crate) data: Data,
    pub(crate) settings: Options,
    /// Indices of the two parameters: the weights come first, then the intercept.
    pub(crate) axes: [usize; 2],
    /// All parameters; the two of `axes` are replaced by the grid's values.
    pub(crate) at: Vec<f64>,
    /// The range of each of the two parameters.
    pub(crate) range: [[f64; 2]; 2],
    /// Number of grid points along each axis.
    pub(crate) steps: usize,
}

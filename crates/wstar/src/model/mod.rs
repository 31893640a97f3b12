//! Fitted models: prediction, evaluation, verification, geometry, and the model file.
//!
//! - `fitted_model`, `fit_record`: the model; how its fit ended, and its counts.
//! - `predict`: scores, classes and probabilities of rows. `evaluate`, `one_vs_rest_scores`: evaluation on labelled rows.
//! - `verify`: recomputes the certificate from the data. `statements`: and what else the model file states.
//! - `support_vectors`, `decision_regions`: the soft margin point by point; the geometry of a model with two features.
//! - `model_file`: the model file.
//! - `note`, `history`: notes about a fit; objective and gap by iteration.

mod decision_regions;
mod evaluate;
mod fit_record;
mod fitted_model;
mod history;
mod model_file;
mod note;
mod one_vs_rest_scores;
mod predict;
mod predictor;
mod statements;
mod support_vectors;
mod verify;

pub use decision_regions::Window;
pub use evaluate::{Deviations, Evaluation, Judgement, evaluate, evaluate_with, judge};
pub use fit_record::{Chosen, FitRecord};
pub use fitted_model::Model;
pub use history::History;
pub use note::{Invalid, Note, Separability, SeparableSide};
pub use one_vs_rest_scores::{AgainstRest, against_rest};
pub use predict::Predictions;
pub use predictor::{Link, Predictor, Scores};
pub use statements::NOT_CHECKED;
pub use support_vectors::{Case, SoftMargin, SupportPoint, SupportVectors, soft_margins, support_vectors};
pub(crate) use verify::certify_estimate;
pub use verify::{Verification, verify, verify_stream};
pub use wstar_data::linear::Hyperplane;

//! What most programs use: `use wstar::prelude::*;`.

pub use crate::certificate::Certificate;
pub use crate::model::{Judgement, Model, Note, Predictions, Verification};
pub use crate::settings::{
    Densities, Density, KozinecMargin, Lad, LeastSquares, Logistic, MaximumMargin, MinError, MseClassifier,
    Perceptrons, Rule, Softmax, Svm,
};
pub use wstar_data::error::{Error, ErrorKind};
pub use wstar_data::run::{Status, Watch};
pub use wstar_data::{Dataset, Design, Target};
pub use wstar_problem::loss::Quantile;
pub use wstar_problem::multiclass::ClassWeights;
pub use wstar_solve::SolverName;
pub use wstar_solve::learning_rate::Schedule;

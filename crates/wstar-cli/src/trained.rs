//! A finished training, and the durations of its phases.

use std::path::PathBuf;
use std::time::Duration;

use wstar::Model;
use wstar::model::{Judgement, SoftMargin};

/// Durations of the phases of a training.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seconds {
    pub(crate) read: Duration,
    pub(crate) solve: Duration,
    pub(crate) certify: Duration,
    pub(crate) total: Duration,
}

/// A finished training: what the summary and the JSON object print.
pub(crate) struct Trained {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) model: Model,
    /// Number of rows of each class.
    pub(crate) class_counts: Vec<usize>,
    /// Evaluation on the training rows; absent if it would take another long pass.
    pub(crate) train: Option<Judgement>,
    pub(crate) test: Option<Judgement>,
    /// The soft margin of each problem of a support vector machine; empty for a stream.
    pub(crate) margins: Vec<SoftMargin>,
    pub(crate) seconds: Seconds,
}

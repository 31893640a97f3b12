//! The provenance of a report.

/// The provenance of a report, printed so that the report can be reproduced.
#[derive(Debug, Clone)]
pub struct Made<'a> {
    /// The model file, as given by the user.
    pub model: &'a str,
    /// The data source, as given by the user.
    pub data: &'a str,
    /// The display name of the data.
    pub title: &'a str,
    /// Whether the evaluated rows were held out of the training.
    pub held_out: bool,
    /// Columns of the data that the model does not use.
    pub unused: &'a [String],
    /// The version of the program.
    pub version: &'a str,
}

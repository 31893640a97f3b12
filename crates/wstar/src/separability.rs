//! Whether hyperplanes separate the classes of a data set, with proofs in exact arithmetic.

use wstar_data::Dataset;
use wstar_data::error::Result;
use wstar_data::run::{Budget, Unwatched};
use wstar_separate::margin::{Question, Separated, separate_classes};
use wstar_separate::proof::all_sides;

/// Decides whether a hyperplane separates the classes, with the maximum margin and a proof of the verdict: one answer for
/// two classes, otherwise one for each class against the rest.
///
/// [`separate_classes`] also takes two of many classes, hyperplanes through the origin, limits and an observer.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::separate::proof::Verdict;
/// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [4.0]], &["low", "low", "high", "high"])?;
/// let [found] = wstar::separability(&data)?.try_into().expect("two classes have one answer");
/// assert_eq!(found.verdict(), Some(Verdict::Separable));
/// let proof = found.proof.expect("a verdict has a proof");
/// assert!((proof.margin.upper - 1.0).abs() < 1e-9);
/// assert!(proof.check_data(&data)?.holds);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn separability(data: &Dataset) -> Result<Vec<Separated>> {
    let (_, classes) = data.require_classes()?;
    let decide = |sides| {
        separate_classes(
            data,
            sides,
            true,
            Question::Margin,
            Budget::default(),
            &mut Unwatched,
        )
    };
    all_sides(classes).into_iter().map(decide).collect()
}

//! Separability of two classes of a data set, or of one class and all others.

use crate::exact::Signed;
use crate::margin::{Question, Separated, separate};
use crate::proof::{PointOrigin, Sides};
use wstar_data::error::Result;
use wstar_data::run::{Budget, Watch};
use wstar_data::{Dataset, refuse_huge};

/// Decides whether two classes of a data set, or one class and all others, are separable. The proof records
/// how its points were made from the rows of the data set.
///
/// ```
/// use wstar_separate::proof::{Sides, Verdict};
/// use wstar_data::Dataset;
/// use wstar_separate::margin::{Question, separate_classes};
/// use wstar_data::run::{Budget, Unwatched};
/// let rows = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]].map(Vec::from);
/// let data = Dataset::labelled(&rows, &["even", "even", "odd", "odd"]).unwrap();
/// let sides = Sides { positive: 1, negative: None };
/// let found =
///     separate_classes(&data, sides, true, Question::Verdict, Budget::default(), &mut Unwatched).unwrap();
/// assert_eq!(found.proof.unwrap().verdict, Verdict::Inseparable, "exclusive or");
/// ```
pub fn separate_classes(
    data: &Dataset,
    sides: Sides,
    intercept: bool,
    question: Question,
    budget: Budget,
    watch: &mut dyn Watch,
) -> Result<Separated> {
    refuse_huge(data)?;
    let signs = sides.signs(data)?;
    let (_, classes) = data.require_classes()?;
    let signed = Signed {
        design: data.design(),
        signs: &signs,
        intercept,
    };
    let mut found = separate(&signed, sides.names(classes), question, budget, watch)
        .map_err(|error| error.in_file(data.source()))?;
    if let Some(proof) = &mut found.proof {
        proof.points = Some(Box::new(PointOrigin {
            schema: data.schema().clone(),
            classes: classes.clone(),
            sides,
        }));
    }
    Ok(found)
}

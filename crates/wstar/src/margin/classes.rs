//! Classes of a data set: which lie apart, and which do not.

use crate::certify::proof::{Points, Sides};
use crate::data::{Dataset, refuse_huge};
use crate::error::Result;
use crate::exact::Signed;
use crate::margin::{Question, Separated, separate};
use crate::watch::{Budget, Watch};

/// Decides how two classes of a data set lie, or one and all others; the proof says how its points were made.
///
/// ```
/// use wstar::certify::proof::{Sides, Verdict};
/// use wstar::data::Dataset;
/// use wstar::margin::{Question, separate_classes};
/// use wstar::watch::{Budget, Unwatched};
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
        design: &data.design,
        signs: &signs,
        intercept,
    };
    let mut found = separate(&signed, sides.names(classes), question, budget, watch)
        .map_err(|error| error.in_file(&data.source))?;
    if let Some(proof) = &mut found.proof {
        proof.points = Some(Box::new(Points {
            schema: data.schema.clone(),
            classes: classes.clone(),
            sides,
        }));
    }
    Ok(found)
}

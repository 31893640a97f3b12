//! How the rows of a file became the points of a proof, so that the points can be made again from the file.

use serde::{Deserialize, Serialize};

use wstar_data::error::{Error, Result};
use wstar_data::{Classes, Dataset, Schema, discriminants};

/// The names of the two classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassNames {
    /// y = +1.
    pub positive: String,
    /// y = −1.
    pub negative: String,
}

/// Two classes of a data set, or one class against all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sides {
    /// The code of the class with y = +1.
    pub positive: u32,
    /// The code of the class with y = −1; `None` for all other classes.
    pub negative: Option<u32>,
}

impl Sides {
    /// +1 or −1 for each row that takes part. 0 for rows of other classes and rows of weight 0.
    pub fn signs(self, data: &Dataset) -> Result<Vec<i8>> {
        let (codes, classes) = data.require_classes()?;
        let fits = |code: u32| (code as usize) < classes.len();
        if !fits(self.positive)
            || self
                .negative
                .is_some_and(|code| !fits(code) || code == self.positive)
        {
            return Err(Error::model("there are no such classes in the data").in_file(data.source()));
        }
        let sign = |code: u32| match self.negative {
            _ if code == self.positive => 1,
            Some(negative) if code != negative => 0,
            _ => -1,
        };
        let codes = codes.iter().enumerate();
        Ok(codes
            .map(|(i, &code)| if data.weight(i) > 0.0 { sign(code) } else { 0 })
            .collect())
    }

    /// The names of the two sides.
    pub fn names(self, classes: &Classes) -> ClassNames {
        ClassNames {
            positive: classes.name(self.positive).to_owned(),
            negative: match (self.negative, classes.len()) {
                (Some(code), _) => classes.name(code).to_owned(),
                (None, 2) => classes.name(1 - self.positive.min(1)).to_owned(),
                (None, _) => "the rest".to_owned(),
            },
        }
    }
}

/// The binary problems of a classification: the second class against the first, or each class against the
/// rest.
pub fn all_sides(classes: &Classes) -> Vec<Sides> {
    let count = discriminants(classes.len()) as u32;
    let side = |positive| Sides {
        positive,
        negative: None,
    };
    match count {
        1 => vec![side(1)],
        count => (0..count).map(side).collect(),
    }
}

/// How raw rows became points and classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointOrigin {
    /// The transformation from raw columns to features.
    pub schema: Schema,
    /// All classes of the data.
    pub classes: Classes,
    /// The two sides that the proof is about.
    pub sides: Sides,
}

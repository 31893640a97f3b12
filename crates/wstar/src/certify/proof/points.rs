//! How the rows of a file became the points of a proof, so that they can be made again from the file alone.

use serde::{Deserialize, Serialize};

use crate::data::{Classes, Dataset, Schema};
use crate::error::{Error, Result};

/// Two classes of a data set, or one against all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sides {
    /// The code of the class with y = +1.
    pub positive: u32,
    /// The code of the one with y = −1; none: all others.
    pub negative: Option<u32>,
}

impl Sides {
    /// +1 or −1 for each row that takes part, 0 for the others: rows of other classes, and those of weight 0.
    pub fn signs(self, data: &Dataset) -> Result<Vec<i8>> {
        let (codes, classes) = data.require_classes()?;
        let fits = |code: u32| (code as usize) < classes.len();
        if !fits(self.positive)
            || self
                .negative
                .is_some_and(|code| !fits(code) || code == self.positive)
        {
            return Err(Error::model("there are no such classes in the data").in_file(&data.source));
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

    /// What the sides are called.
    pub fn names(self, classes: &Classes) -> super::Classes {
        super::Classes {
            positive: classes.name(self.positive).to_owned(),
            negative: match (self.negative, classes.len()) {
                (Some(code), _) => classes.name(code).to_owned(),
                (None, 2) => classes.name(1 - self.positive.min(1)).to_owned(),
                (None, _) => "the rest".to_owned(),
            },
        }
    }
}

/// How raw rows became points and classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// From raw columns to features.
    pub schema: Schema,
    /// All classes of the data.
    pub classes: Classes,
    /// Those that the proof is about.
    pub sides: Sides,
}

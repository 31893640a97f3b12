//! The names of the classes of a target.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The names of the classes: sorted by value if all are numbers and alphabetically otherwise, or one class against all
/// others. With two classes, the last one is the positive class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Classes {
    names: Vec<String>,
}

impl Classes {
    /// No classes, as for a real target.
    pub const NONE: Classes = Classes { names: Vec::new() };

    /// The distinct names, sorted.
    pub fn new<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Self {
        let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
        let all_numbers = names
            .iter()
            .all(|name| name.parse::<f64>().is_ok_and(f64::is_finite));
        if all_numbers {
            let value = |name: &String| name.parse::<f64>().unwrap_or_default();
            names.sort_by(|a, b| value(a).total_cmp(&value(b)).then_with(|| a.cmp(b)));
        } else {
            names.sort();
        }
        names.dedup();
        Classes { names }
    }

    /// These names in this order, for callers that number their classes themselves. Repeated names are an error.
    #[inline]
    pub fn ordered<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Result<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::data(format!("two classes are called {}", pair[0]))),
            None => Ok(Classes { names }),
        }
    }

    /// One positive class against all others, which are called `rest`, or `other` if the positive class has that name.
    #[inline]
    pub fn against_rest(positive: impl Into<String>) -> Self {
        let positive = positive.into();
        let rest = if positive == "rest" { "other" } else { "rest" };
        Classes {
            names: vec![rest.into(), positive],
        }
    }

    /// The number of classes.
    #[inline]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no classes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names in order.
    #[inline]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a class.
    #[inline]
    pub fn name(&self, code: u32) -> &str {
        &self.names[code as usize]
    }

    /// The code of a name.
    #[inline]
    pub fn code(&self, name: &str) -> Option<u32> {
        self.names
            .iter()
            .position(|known| known == name)
            .map(|k| k as u32)
    }
}

/// The number of discriminants of a classifier: 1 for two classes, K for K > 2 classes.
pub fn discriminants(classes: usize) -> usize {
    if classes <= 2 { 1 } else { classes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_sorted_or_keep_the_given_order() {
        assert_eq!(Classes::new(["10", "9"]).names(), ["9", "10"]);
        assert_eq!(Classes::ordered(["10", "9"]).unwrap().names(), ["10", "9"]);
        assert!(Classes::ordered(["a", "b", "a"]).is_err());
    }
}

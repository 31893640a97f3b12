//! How the indices and values of a file are interpreted and stored.

/// The largest valid index. Derived: the number of features, one more than the largest index, must also fit in 32 bits.
pub(super) const LARGEST_INDEX: u64 = u32::MAX as u64 - 1;

/// How indices and values are interpreted and stored.
#[derive(Clone, Copy)]
pub(crate) struct IndexRule {
    /// The index of the first feature.
    pub(super) base: u32,
    /// Whether an index below the base is an error.
    base_is_known: bool,
    /// Whether values are stored in `f64`.
    pub(super) wide: bool,
}

impl IndexRule {
    /// The rule at the start of a file, with the base if it is known.
    pub(crate) fn new(base: Option<u32>) -> Self {
        IndexRule {
            base: base.unwrap_or(1),
            base_is_known: base.is_some(),
            wide: false,
        }
    }

    /// Fixes the base for the rest of the file.
    pub(crate) fn settle(&mut self) {
        self.base_is_known = true;
    }

    /// The least valid index.
    pub(super) fn least(&self) -> u32 {
        if self.base_is_known { self.base } else { 0 }
    }
}

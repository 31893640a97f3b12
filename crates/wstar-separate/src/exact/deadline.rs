//! The time limit of an exact computation. The numbers can become so long that it does not end in useful time.

use std::time::{Duration, Instant};

/// A deadline for exact arithmetic.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deadline {
    until: Option<Instant>,
}

impl Deadline {
    /// No deadline.
    pub fn unlimited() -> Self {
        Deadline::default()
    }

    /// A deadline `time` from now.
    pub fn within(time: Duration) -> Self {
        Deadline {
            until: Instant::now().checked_add(time),
        }
    }

    /// Whether the deadline has passed.
    pub fn is_spent(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

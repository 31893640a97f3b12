//! The answer of a command, from which the exit code follows.

/// The answer of a command that ends without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The result holds: exit code 0.
    Yes,
    /// The answer is no: exit code 1.
    No,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        if yes { Answer::Yes } else { Answer::No }
    }
}

//! Where results go (standard output) and everything else (standard error), with or without colour.

use std::io::{self, BufWriter, IsTerminal, Write};

pub(crate) use wstar_report::words::{count, number, percent, plural};

/// Standard output, buffered.
pub(crate) fn results() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Says something on standard error, after the program's name.
pub(crate) fn complain(message: &str) {
    // Nobody is left to be told if this fails.
    let _ = writeln!(io::stderr(), "wstar: {message}");
}

/// Says something on standard error as it is.
pub(crate) fn note(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// Whether an error only means that the reader of our output has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// How text is made to stand out on standard output; not at all if that is no terminal or `NO_COLOR` is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    on: bool,
}

impl Style {
    pub(crate) fn for_results() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style {
            on: io::stdout().is_terminal() && !refused,
        }
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}

/// A cell of a CSV file, quoted where it has to be.
pub(crate) fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_have_to_be() {
        assert_eq!(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}

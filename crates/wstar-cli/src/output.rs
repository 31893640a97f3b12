//! Output: results go to standard output, all messages to standard error, with or without colour.

use std::io::{self, BufWriter, IsTerminal, Write};

pub(crate) use wstar_report::words::{count, number, percent, plural};

/// Standard output, buffered.
pub(crate) fn results() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Prints a message on standard error, prefixed with the program's name.
pub(crate) fn complain(message: &str) {
    // If writing to standard error fails, there is no other place to report it.
    let _ = writeln!(io::stderr(), "wstar: {message}");
}

/// Prints a message on standard error without a prefix.
pub(crate) fn note(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// Whether the error is a broken pipe: the reader of the output has closed it.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Text styles for standard output; plain text if it is not a terminal or `NO_COLOR` is set.
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

/// Formats a cell of a CSV file, quoted where necessary.
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

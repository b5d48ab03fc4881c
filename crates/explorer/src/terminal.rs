//! What a person reads in a terminal: results, errors and progress.

pub(crate) mod backfill;
pub(crate) mod progress_bar;

use std::io::Write;

/// Prints an error with its causes.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  because: {cause}\n"));
    }
    // A failed write to standard error cannot be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Writes to standard error, where standard output is taken by data.
pub(crate) fn print_note(text: &str) {
    // A failed write to standard error cannot be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Writes to standard output; a closed pipe is not an error.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

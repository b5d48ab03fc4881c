//! Progress messages on stderr.

use std::io::Write;

pub(crate) fn report(message: impl AsRef<str>) {
    // The figures do not depend on whether stderr is open.
    let _ = writeln!(std::io::stderr(), "{}", message.as_ref());
}

//! What a long run says meanwhile, beside its results.

use std::io::Write;

pub(crate) fn tell(what: impl AsRef<str>) {
    // Nobody may be listening, and the figures do not depend on it.
    let _ = writeln!(std::io::stderr(), "{}", what.as_ref());
}

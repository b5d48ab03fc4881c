use serde_json::{Map, Value};

use super::error::{MAX_FILES, MAX_NAME, SourcesError};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Editors add byte-order marks, and no compiler accepts them, so the original source had none.
pub(super) fn without_bom(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

pub(super) fn check_names(sources: &Map<String, Value>) -> Result<(), SourcesError> {
    if sources.len() > MAX_FILES {
        return Err(SourcesError::TooManyFiles);
    }
    match sources.keys().find(|name| name.chars().count() > MAX_NAME) {
        Some(name) => Err(SourcesError::LongName { start: name.clone() }),
        None => Ok(()),
    }
}

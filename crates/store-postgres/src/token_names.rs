/// Bytes of a name that are indexed.
const MAX_NAME: usize = 40;

/// Normalizes a name for comparison: lower case, truncated.
pub(crate) fn folded(text: &str) -> Vec<u8> {
    let mut folded = text.trim().to_lowercase().into_bytes();
    folded.truncate(MAX_NAME);
    folded
}

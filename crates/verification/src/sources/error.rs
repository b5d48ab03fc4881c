use std::fmt;

use alloy_primitives::B256;

use crate::shortened;

/// Limits of files per request and of characters per name.
pub(super) const MAX_FILES: usize = 2_000;
pub(super) const MAX_NAME: usize = 512;
/// Missing files that a message names.
const MAX_NAMED: usize = 10;

/// Why the source code of a request is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourcesError {
    #[error("is empty")]
    Empty,
    #[error("starts like JSON, but is not valid JSON: {0}")]
    NotJson(String),
    #[error("is standard JSON input of a language other than Solidity and Vyper")]
    OtherLanguage,
    #[error("is a metadata.json of a language other than Solidity")]
    NotSolidity,
    #[error("has no content and no abi for the interface {}", shortened(name))]
    NoInterface { name: String },
    #[error("has no content for the source {}: send its text, URLs are not fetched", shortened(name))]
    NoContent { name: String },
    #[error("has more than {MAX_FILES} files")]
    TooManyFiles,
    #[error("has a file with a name of more than {MAX_NAME} characters: {}", shortened(start))]
    LongName { start: String },
    #[error(
        "is a metadata.json without all of its sources; add each as \"path\": {{\"content\": \"...\"}} next to it. Missing: {}",
        named(.0)
    )]
    MissingSources(Vec<MissingSource>),
}

/// A source that is listed in a metadata.json but was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSource {
    pub path: String,
    /// The hash of the required content.
    pub keccak256: Option<B256>,
    /// The hash of the content that was sent under this name.
    pub sent: Option<B256>,
}

impl fmt::Display for MissingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortened(&self.path))?;
        if let Some(hash) = self.keccak256 {
            write!(f, " (keccak256 {hash:#x}")?;
            match self.sent {
                Some(sent) => write!(f, "; the file sent has {sent:#x})")?,
                None => f.write_str(")")?,
            }
        }
        Ok(())
    }
}

fn named(missing: &[MissingSource]) -> String {
    let mut text = missing.iter().take(MAX_NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if missing.len() > MAX_NAMED {
        text.push_str(&format!(", and {} more", missing.len() - MAX_NAMED));
    }
    text
}

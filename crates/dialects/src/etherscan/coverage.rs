//! Lists of an index that begins in the middle of the chain: one with gaps would look like one without.

use domain::BlockNumber;

use super::answer::Failure;
use crate::{app::App, error::DialectError};

/// What a list is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    /// The first block; None for the beginning of the chain.
    pub(super) from: Option<BlockNumber>,
    /// Entries before the page.
    pub(super) skip: u64,
}

impl Asked {
    /// The first indexed block, if the list begins before it: what happened there is not known.
    pub(super) async fn known_since(self, app: &App) -> Result<Option<BlockNumber>, DialectError> {
        let first = app.services.chain.coverage().await?.first_block;
        Ok(first.filter(|first| *first > self.from.unwrap_or(0)))
    }

    /// Nothing was found. A list without an entry is empty only if all of its blocks are indexed; a page after the last entry is the
    /// end of the list.
    pub(super) fn none_found(self, message: &'static str, known_since: Option<BlockNumber>) -> Failure {
        match known_since.filter(|_| self.skip == 0) {
            None => Failure::empty(message),
            Some(first) => Failure::text(format!(
                "Error! The index begins with block {first}: nothing was found since then, and what happened before is not known here"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_list_of_indexed_blocks_is_empty() {
        let result = |skip, known_since| {
            Asked { from: None, skip }.none_found("No transactions found", known_since).result().clone()
        };
        assert_eq!(result(0, None), json!([]));
        assert_eq!(result(25, Some(7)), json!([]), "the end of a list");
        let unknown = result(0, Some(7));
        assert!(
            unknown.as_str().is_some_and(|text| text.starts_with("Error! The index begins with block 7")),
            "{unknown}"
        );
    }
}

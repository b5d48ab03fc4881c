use domain::{Address, B256};

use super::{MAX_QUERY_CHARACTERS, block_range, id_in_link, malformed};
use crate::view::{grouped, sanitize_text};

/// Longest text about a query.
const MAX_TEXT: usize = 200;

/// A query of the search, as it was typed or pasted.
pub(in crate::pages) fn search_query(typed: &str) {
    let query: String = typed.trim().chars().take(MAX_QUERY_CHARACTERS).collect();
    let id = id_in_link(&query);
    assert!(query.contains(id));
    assert_eq!(id_in_link(id), id, "what a link leads to is no link");
    if let Some([first, last]) = block_range(&query) {
        for written in [format!("{first}-{last}"), format!("{} – {}", grouped(first), grouped(last))] {
            assert_eq!(block_range(&written), Some([first, last]), "{written}");
        }
    }
    if let Some(text) = malformed(&query) {
        assert!((1..=MAX_TEXT).contains(&text.len()), "{text}");
        assert!(query.parse::<Address>().is_err() && query.parse::<B256>().is_err(), "{query} is complete");
    }
    let shown = sanitize_text(&query, MAX_QUERY_CHARACTERS);
    assert_eq!(sanitize_text(&shown, MAX_QUERY_CHARACTERS), shown);
    assert!(!shown.contains(|char: char| char.is_control() && char != '\n'));
}

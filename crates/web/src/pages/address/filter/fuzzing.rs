use axum::{extract::Query, http::Uri};
use domain::Address;

use super::FilterFields;

const OWN: Address = Address::repeat_byte(0x11);
/// Longest text about a condition.
const MAX_TEXT: usize = 200;

/// Longer ones would be too long for a URI once they are encoded.
const MAX_QUERY: usize = 8_192;

/// The link of a filtered list has the same conditions as the query that it was made of, and they mean the same.
pub(in crate::pages) fn list_filter(query: &str) {
    let Some(fields) = Some(query).filter(|query| query.len() <= MAX_QUERY).and_then(read) else { return };
    let link = fields.query();
    assert_eq!(fields.is_set(), !link.is_empty());
    let again = read(link.trim_start_matches('&')).unwrap_or_else(|| panic!("{link} is no query"));
    assert_eq!(again.texts(), fields.texts());
    assert_eq!(again.query(), link);
    let parsed = fields.parse(OWN);
    assert_eq!(again.parse(OWN), parsed);
    match parsed {
        Ok(parsed) => {
            let (all, transfers) = (parsed.filter.transactions(), parsed.filter.transfers());
            let parties = [all.address, all.from, all.to];
            assert!(parties.contains(&Some(OWN)), "a list of others: {parties:?}");
            assert_eq!([transfers.address, transfers.from, transfers.to], parties);
        }
        Err(text) => assert!((1..=MAX_TEXT).contains(&text.len()), "{text}"),
    }
}

fn read(query: &str) -> Option<FilterFields> {
    let uri: Uri = format!("/address?{query}").parse().ok()?;
    Query::try_from_uri(&uri).ok().map(|Query(fields)| fields)
}

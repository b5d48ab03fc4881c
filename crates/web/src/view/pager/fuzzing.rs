use askama::Template;
use axum::{extract::Query, http::Uri};

use super::{PAGE_SIZES, Paging};

/// Whatever the query says, a page of a list is asked for, and the address of a later page leads to the same one.
pub(crate) fn paging(query: &str) {
    let Some(paging) = read(&format!("/list?{query}")) else { return };
    let request = paging.request();
    assert!(PAGE_SIZES.contains(&request.limit));
    for path in ["/list", "/list?tab=transfers"] {
        let pager = paging.pager(path, query.len() as u64 * 10);
        let address = pager.address();
        let again = read(&address).unwrap_or_else(|| panic!("{address} has no page"));
        assert_eq!(again.is_first(), paging.is_first(), "{address}");
        if !paging.is_first() {
            assert_eq!(again.request(), request, "{address}");
        }
        let shown = pager.with_files().render().expect("a template");
        assert!(shown.len() < 8_192, "{} bytes", shown.len());
    }
}

fn read(address: &str) -> Option<Paging> {
    let uri: Uri = address.parse().ok()?;
    Query::try_from_uri(&uri).ok().map(|Query(paging)| paging)
}

use axum::{http::header::LOCATION, response::IntoResponse};
use domain::BlockId;

use super::{address::list_filter, block, redirects, search::fuzzing::search_query, sitemap::File, verify};
use crate::{
    form::{self, FormFields},
    view::{list_file, pager},
};

/// Longest refusal: it may quote a part of the form.
const MAX_REFUSAL: usize = 16 << 10;

/// What visitors send to pages: the last part of a path or what they search for and, behind a line break, a query or a form.
pub fn page_input(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return form::fuzzing::form_fields(data) };
    let (id, query) = text.split_once('\n').unwrap_or((text, ""));
    block_id(id);
    search_query(id);
    list_file::fuzzing::csv_cell(text);
    redirect(id, query);
    if let Some(file) = File::parse(id) {
        assert_eq!(File::parse(&file.name()), Some(file));
    }
    pager::fuzzing::paging(query);
    list_filter(query);
    form::fuzzing::form_fields(query.as_bytes());
    if let Err(text) = verify::read(&FormFields::parse(query.as_bytes())) {
        assert!((1..=MAX_REFUSAL).contains(&text.len()), "a refusal of {} bytes", text.len());
    }
}

fn block_id(id: &str) {
    let written = match block::parse(id) {
        None => return,
        Some(BlockId::Number(number)) => number.to_string(),
        Some(BlockId::Hash(hash)) => format!("{hash:#x}"),
    };
    assert_eq!(block::parse(&written), block::parse(id), "{id}");
}

/// A redirect leads to the same site, and keeps the query or leaves it out as a whole.
fn redirect(id: &str, query: &str) {
    let path = format!("/block/{}", redirects::alphanumeric(id));
    let response = redirects::moved(&path, Some(query.to_owned())).into_response();
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let location = location.unwrap_or_else(|| panic!("no location for {path} and {query}"));
    assert!(location == path || location == format!("{path}?{query}"), "{location}");
}

//! URLs of other explorers, and of the API without its prefix.

use axum::{
    extract::{Path, RawQuery},
    response::Redirect,
};

pub(super) async fn to_contract(Path((_, address)): Path<(String, String)>) -> Redirect {
    Redirect::temporary(&format!("/address/{}?tab=contract#code", alphanumeric(&address)))
}

pub(super) async fn to_transactions(RawQuery(query): RawQuery) -> Redirect {
    moved("/transactions", query)
}

pub(super) async fn to_block(Path(id): Path<String>, RawQuery(query): RawQuery) -> Redirect {
    moved(&format!("/block/{}", alphanumeric(&id)), query)
}

pub(super) async fn to_transaction(Path(hash): Path<String>) -> Redirect {
    Redirect::permanent(&format!("/tx/{}", alphanumeric(&hash)))
}

pub(super) async fn to_address(Path(address): Path<String>, RawQuery(query): RawQuery) -> Redirect {
    moved(&format!("/address/{}", alphanumeric(&address)), query)
}

pub(super) async fn to_token(Path(address): Path<String>, RawQuery(query): RawQuery) -> Redirect {
    moved(&format!("/token/{}", alphanumeric(&address)), query)
}

/// Redirects to the new path of a page, with the same query.
pub(super) fn moved(path: &str, query: Option<String>) -> Redirect {
    match query.filter(|query| query.bytes().all(|byte| byte.is_ascii_graphic())) {
        Some(query) => Redirect::permanent(&format!("{path}?{query}")),
        None => Redirect::permanent(path),
    }
}

/// Keeps only characters of numbers, hashes and addresses, which are safe in a `Location` header.
pub(super) fn alphanumeric(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).take(66).collect()
}

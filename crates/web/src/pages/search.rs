//! Search by number, hash, address or name.

use askama::Template;
use axum::{
    Json,
    extract::{Query, State},
    response::{IntoResponse, Redirect, Response},
};
use domain::{Address, B256, BlockId};
use serde::{Deserialize, Serialize};

use super::App;
use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::WebState,
    view::{grouped, sanitize_name, sanitize_text, short},
};

/// Maximum number of matches by name.
const MAX_MATCHES: usize = 8;
/// Longer queries are cut.
const MAX_QUERY_CHARACTERS: usize = 128;

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    q: String,
}

/// A search result.
#[derive(Debug, Clone, Serialize)]
struct Match {
    kind: &'static str,
    title: String,
    detail: String,
    href: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct Results {
    frame: Frame,
    query: String,
    /// What is wrong with a query that looks like a hash or an address.
    malformed: Option<String>,
    matches: Vec<Match>,
}

/// Redirects to an unambiguous match, and lists the matches otherwise.
pub(super) async fn show(State(app): State<App>, Query(params): Query<Params>) -> Result<Response, PageError> {
    let query: String = params.q.trim().chars().take(MAX_QUERY_CHARACTERS).collect();
    let mut matches = app.matches(&query).await?;
    if let [only] = matches.as_slice() {
        return Ok(Redirect::to(&only.href).into_response());
    }
    // An exact match takes precedence over prefix matches.
    let exact: Vec<_> = matches.iter().filter(|found| found.title.eq_ignore_ascii_case(&query)).collect();
    if let [only] = exact.as_slice() {
        return Ok(Redirect::to(&only.href).into_response());
    }
    matches.truncate(MAX_MATCHES);
    let mut frame = app.frame("Search", Section::None).await;
    // A link may contain any query, including characters that change the direction of text.
    let query = sanitize_text(&query, MAX_QUERY_CHARACTERS);
    frame.search.clone_from(&query);
    page(&Results { frame, malformed: malformed(&query), query, matches })
}

/// Suggestions for the search box.
pub(super) async fn suggest(State(app): State<App>, Query(params): Query<Params>) -> Result<Response, PageError> {
    let query: String = params.q.trim().chars().take(MAX_QUERY_CHARACTERS).collect();
    let mut matches = app.matches(&query).await?;
    matches.truncate(MAX_MATCHES);
    Ok(Json(matches).into_response())
}

impl WebState {
    async fn matches(&self, query: &str) -> Result<Vec<Match>, PageError> {
        if let Some(found) = self.exact(query).await? {
            return Ok(vec![found]);
        }
        let mut matches = Vec::new();
        if query.is_empty() {
            return Ok(matches);
        }
        let labels = self.names.operator.labels();
        for (address, label) in labels.starting_with(query).into_iter().take(MAX_MATCHES) {
            let full = address.to_checksum(None);
            matches.push(Match {
                kind: "Address",
                title: sanitize_name(label),
                detail: short(&full),
                href: format!("/address/{full}"),
            });
        }
        for token in self.chain.search_tokens(query, MAX_MATCHES).await? {
            let full = token.address.to_checksum(None);
            let (name, symbol) = (sanitize_name(&token.metadata.name), sanitize_name(&token.metadata.symbol));
            matches.push(Match {
                kind: self.names.token_kind(token.kind),
                title: if symbol.is_empty() { name.clone() } else { symbol },
                detail: format!("{name} {} ({} holders)", short(&full), grouped(token.holder_count)),
                href: format!("/token/{full}"),
            });
        }
        Ok(matches)
    }

    /// A match by number, address or hash.
    async fn exact(&self, query: &str) -> Result<Option<Match>, PageError> {
        let digits = query.replace([',', '_', ' '], "");
        if let Ok(number) = digits.parse() {
            let block = self.chain.find_block(BlockId::Number(number)).await?;
            return Ok(block.map(|block| block_match(block.number)));
        }
        let hex = query.strip_prefix("0x").or(query.strip_prefix("0X")).unwrap_or(query);
        match hex.len() {
            40 => {
                let Ok(address) = hex.parse::<Address>() else { return Ok(None) };
                let full = address.to_checksum(None);
                let href = format!("/address/{full}");
                Ok(Some(Match { kind: "Address", title: full, detail: String::new(), href }))
            }
            64 => {
                let Ok(hash) = hex.parse::<B256>() else { return Ok(None) };
                if self.chain.find_transaction(hash).await?.is_some() {
                    let full = format!("{hash:#x}");
                    let href = format!("/tx/{full}");
                    return Ok(Some(Match { kind: "Transaction", title: short(&full), detail: full, href }));
                }
                let block = self.chain.find_block(BlockId::Hash(hash)).await?;
                Ok(block.map(|block| block_match(block.number)))
            }
            _ => Ok(None),
        }
    }
}

/// Tells what is wrong with a hash or an address that was not copied completely.
fn malformed(query: &str) -> Option<String> {
    let digits = query.strip_prefix("0x").or(query.strip_prefix("0X"))?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some("A hash or an address has only the digits 0 to 9 and a to f after 0x.".to_owned());
    }
    let count = digits.len();
    (count != 40 && count != 64)
        .then(|| format!("It is neither a hash, with 64 digits after 0x, nor an address, with 40: it has {count}."))
}

fn block_match(number: u64) -> Match {
    Match { kind: "Block", title: grouped(number), detail: String::new(), href: format!("/block/{number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_hash_is_malformed() {
        assert!(malformed(&format!("0x{}", "a".repeat(63))).is_some_and(|text| text.ends_with("it has 63.")));
        assert!(malformed("0xzz").is_some());
        assert_eq!(malformed(&format!("0x{}", "a".repeat(64))), None);
        assert_eq!(malformed(&format!("0x{}", "a".repeat(40))), None);
        assert_eq!(malformed("coin"), None);
    }
}

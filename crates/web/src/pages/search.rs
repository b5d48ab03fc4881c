//! Search by number, hash, address, link or name.

pub(in crate::pages) mod fuzzing;

use askama::Template;
use axum::{
    Json,
    extract::{Query, State},
    response::{IntoResponse, Redirect, Response},
};
use domain::{Address, B256, BlockId};
use serde::{Deserialize, Serialize};

use crate::{
    error::PageError,
    frame::{Frame, Section, page},
    state::{App, WebState},
    view::{counted, grouped, imitated_name, sanitize_name, sanitize_text, short},
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
    /// What a token may be mistaken for; empty for all others.
    warning: String,
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
    let mut matches = find_matches(&app, &query).await?;
    if let [only] = matches.as_slice() {
        return Ok(Redirect::to(&only.href).into_response());
    }
    // An exact match takes precedence over prefix matches.
    let folded = query.to_lowercase();
    let exact: Vec<_> = matches.iter().filter(|found| found.title.to_lowercase() == folded).collect();
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
    let mut matches = find_matches(&app, &query).await?;
    matches.truncate(MAX_MATCHES);
    Ok(Json(matches).into_response())
}

async fn find_matches(app: &WebState, query: &str) -> Result<Vec<Match>, PageError> {
    if let Some(found) = find_exact(app, query).await? {
        return Ok(vec![found]);
    }
    if query.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(range) = block_range(query) {
        return Ok(range.map(block_match).into());
    }
    let labels = named_addresses(app, query);
    let mut tokens = Vec::new();
    for token in app.chain.search_tokens(query, MAX_MATCHES).await? {
        let full = token.address.to_checksum(None);
        let metadata = &token.metadata;
        let imitated = app.imitations.find(token.address, &metadata.symbol, &metadata.name).await?;
        let (name, symbol) = (sanitize_name(&token.metadata.name), sanitize_name(&token.metadata.symbol));
        tokens.push(Match {
            kind: app.names.token_kind(token.kind),
            title: if symbol.is_empty() { name.clone() } else { symbol },
            detail: format!("{name} {} ({})", short(&full), counted(token.holder_count, "holder")),
            href: format!("/token/{full}"),
            warning: imitated
                .map_or_else(String::new, |original| format!("Imitation of {}?", imitated_name(&original))),
        });
    }
    let contracts = app.verified_names.list().await?.search(query, MAX_MATCHES).into_iter().map(|found| {
        let full = found.address.to_checksum(None);
        Match {
            kind: "Contract, source verified",
            title: sanitize_name(&found.name),
            detail: short(&full),
            href: format!("/address/{full}?tab=contract"),
            warning: String::new(),
        }
    });
    Ok(interleave([labels, tokens, contracts.collect()]))
}

/// Addresses whose labels contain the text.
fn named_addresses(app: &WebState, text: &str) -> Vec<Match> {
    let labels = app.names.operator.labels();
    let found = labels.containing(text).into_iter().take(MAX_MATCHES).map(|(address, label)| {
        let full = address.to_checksum(None);
        Match {
            kind: "Address",
            title: sanitize_name(label),
            detail: short(&full),
            href: format!("/address/{full}"),
            warning: String::new(),
        }
    });
    found.collect()
}

/// A match by number, address or hash.
async fn find_exact(app: &WebState, query: &str) -> Result<Option<Match>, PageError> {
    let query = id_in_link(query);
    let digits = query.replace([',', '_', ' '], "");
    if let Ok(number) = digits.parse() {
        let block = app.chain.find_block(BlockId::Number(number)).await?;
        return Ok(block.map(|block| block_match(block.number)));
    }
    let hex = query.strip_prefix("0x").or(query.strip_prefix("0X")).unwrap_or(query);
    match hex.len() {
        40 => {
            let Ok(address) = hex.parse::<Address>() else { return Ok(None) };
            let full = address.to_checksum(None);
            let href = format!("/address/{full}");
            Ok(Some(Match { kind: "Address", title: full, detail: String::new(), href, warning: String::new() }))
        }
        64 => {
            let Ok(hash) = hex.parse::<B256>() else { return Ok(None) };
            if app.chain.find_transaction(hash).await?.is_some() {
                let full = format!("{hash:#x}");
                let href = format!("/tx/{full}");
                let title = short(&full);
                return Ok(Some(Match { kind: "Transaction", title, detail: full, href, warning: String::new() }));
            }
            let block = app.chain.find_block(BlockId::Hash(hash)).await?;
            Ok(block.map(|block| block_match(block.number)))
        }
        _ => Ok(None),
    }
}

/// Takes matches of all kinds in turn, so that no kind takes all places.
fn interleave(kinds: [Vec<Match>; 3]) -> Vec<Match> {
    let mut kinds = kinds.map(Vec::into_iter);
    let mut matches = Vec::new();
    loop {
        let before = matches.len();
        matches.extend(kinds.iter_mut().filter_map(Iterator::next));
        if matches.len() == before {
            return matches;
        }
    }
}

/// The number, hash or address in a link to a page of an explorer; other text as it is.
fn id_in_link(query: &str) -> &str {
    let Some((_, path)) = query.split_once("://") else { return query };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let is_id = |part: &&str| {
        let is_hex = part.strip_prefix("0x").is_some_and(|hex| hex.len() == 40 || hex.len() == 64);
        is_hex || (!part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    path.split('/').skip(1).find(is_id).unwrap_or(query)
}

/// The first and the last block of a range such as `1,200 - 1,300`.
fn block_range(query: &str) -> Option<[u64; 2]> {
    let (first, last) = query.split_once(['-', '–']).or_else(|| query.split_once(".."))?;
    let number = |text: &str| text.replace([',', '_', ' ', '.'], "").parse().ok();
    Some([number(first)?, number(last)?])
}

/// Says what is wrong with a hash or an address that was not copied completely.
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
    let (title, href) = (grouped(number), format!("/block/{number}"));
    Match { kind: "Block", title, detail: String::new(), href, warning: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_link_is_what_it_links_to() {
        let (address, hash) = (format!("0x{}", "ab".repeat(20)), format!("0x{}", "cd".repeat(32)));
        assert_eq!(id_in_link(&format!("https://bscscan.com/address/{address}#code")), address);
        assert_eq!(id_in_link(&format!("http://host:3000/base/tx/{hash}?tab=logs")), hash);
        assert_eq!(id_in_link("https://host/block/17"), "17");
        assert_eq!(id_in_link("https://host/"), "https://host/");
        assert_eq!(id_in_link("Coin"), "Coin");
    }

    #[test]
    fn a_range_has_two_numbers() {
        assert_eq!(block_range("1,200 - 1,300"), Some([1_200, 1_300]));
        assert_eq!(block_range("7..9"), Some([7, 9]));
        assert_eq!(block_range("7–9"), Some([7, 9]));
        assert_eq!(block_range("Coin-2"), None);
    }

    #[test]
    fn no_kind_takes_all_places() {
        let matches = |kind: &'static str, count: u64| -> Vec<Match> {
            (0..count).map(|number| Match { kind, ..block_match(number) }).collect()
        };
        let mixed = interleave([matches("a", 9), matches("b", 1), matches("c", 2)]);
        let kinds: Vec<&str> = mixed.iter().map(|found| found.kind).take(6).collect();
        assert_eq!((kinds, mixed.len()), (vec!["a", "b", "c", "a", "c", "a"], 12));
    }

    #[test]
    fn an_incomplete_hash_is_malformed() {
        assert!(malformed(&format!("0x{}", "a".repeat(63))).is_some_and(|text| text.ends_with("it has 63.")));
        assert!(malformed("0xzz").is_some());
        assert_eq!(malformed(&format!("0x{}", "a".repeat(64))), None);
        assert_eq!(malformed(&format!("0x{}", "a".repeat(40))), None);
        assert_eq!(malformed("coin"), None);
    }
}

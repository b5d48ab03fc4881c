//! One box for everything: a number, a hash, an address, a name.

use askama::Template;
use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use domain::{Address, B256, BlockId};
use serde::{Deserialize, Serialize};

use super::App;
use crate::error::PageError;
use crate::frame::{Frame, Section, page};
use crate::state::WebState;
use crate::view::{grouped, short, tame, visible};

/// Matches that are looked for by name.
const MATCHES: usize = 8;
/// Characters of a question that are looked at.
const LONGEST: usize = 128;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    q: String,
}

/// Something that a question may mean.
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
    question: String,
    matches: Vec<Match>,
}

/// Goes straight to what is meant where there is no doubt, and lists the matches otherwise.
pub(super) async fn show(State(app): State<App>, Query(asked): Query<Asked>) -> Result<Response, PageError> {
    let question: String = asked.q.trim().chars().take(LONGEST).collect();
    let mut matches = app.matches(&question).await?;
    if let [only] = matches.as_slice() {
        return Ok(Redirect::to(&only.href).into_response());
    }
    // Several tokens share a beginning; one that is called just so is meant.
    let exact: Vec<_> = matches.iter().filter(|found| found.title.eq_ignore_ascii_case(&question)).collect();
    if let [only] = exact.as_slice() {
        return Ok(Redirect::to(&only.href).into_response());
    }
    matches.truncate(MATCHES);
    let mut frame = app.frame("Search", Section::Elsewhere);
    // A link can bring any question, also one that would turn the direction of writing.
    let question = visible(&question, LONGEST);
    frame.search.clone_from(&question);
    page(&Results { frame, question, matches })
}

/// What the box offers while someone types.
pub(super) async fn suggest(State(app): State<App>, Query(asked): Query<Asked>) -> Result<Response, PageError> {
    let question: String = asked.q.trim().chars().take(LONGEST).collect();
    let mut matches = app.matches(&question).await?;
    matches.truncate(MATCHES);
    Ok(Json(matches).into_response())
}

impl WebState {
    async fn matches(&self, question: &str) -> Result<Vec<Match>, PageError> {
        if let Some(found) = self.exact(question).await? {
            return Ok(vec![found]);
        }
        let mut matches = Vec::new();
        if question.is_empty() {
            return Ok(matches);
        }
        for (address, label) in self.names.labels.starting_with(question).into_iter().take(MATCHES) {
            let full = address.to_checksum(None);
            matches.push(Match {
                kind: "Address",
                title: tame(label),
                detail: short(&full),
                href: format!("/address/{full}"),
            });
        }
        for token in self.chain.search_tokens(question, MATCHES).await? {
            let full = token.address.to_checksum(None);
            let (name, symbol) = (tame(&token.facts.name), tame(&token.facts.symbol));
            matches.push(Match {
                kind: self.names.token_kind(token.kind),
                title: if symbol.is_empty() { name.clone() } else { symbol },
                detail: format!("{name} {} ({} holders)", short(&full), grouped(token.holder_count)),
                href: format!("/token/{full}"),
            });
        }
        Ok(matches)
    }

    /// What can mean one thing only.
    async fn exact(&self, question: &str) -> Result<Option<Match>, PageError> {
        let digits = question.replace([',', '_', ' '], "");
        if let Ok(number) = digits.parse() {
            let block = self.chain.find_block(BlockId::Number(number)).await?;
            return Ok(block.map(|block| block_match(block.number)));
        }
        let hex = question.strip_prefix("0x").or(question.strip_prefix("0X")).unwrap_or(question);
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

fn block_match(number: u64) -> Match {
    Match { kind: "Block", title: grouped(number), detail: String::new(), href: format!("/block/{number}") }
}

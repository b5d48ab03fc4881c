use std::sync::Arc;

use axum::{
    Json,
    extract::{RawQuery, State},
};
use domain::{Order, PageRequest, VerifiedSummary};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    contract::{Match, match_id},
    error::SourcifyError,
    paths::{AddressPath, ChainPath},
};
use crate::app::App;

const MAX_RESULTS: usize = 200;
/// Contracts that are read at most, to find the one after which the list begins.
const MAX_SCANNED: u64 = 20_000;
/// Contracts that are read at a time.
const PART: u32 = 500;

/// `GET v2/contract/all-chains/{address}`: there is one chain.
pub(super) async fn list_chains_of_contract(
    State(app): State<Arc<App>>,
    AddressPath(address): AddressPath,
) -> Result<Json<Value>, SourcifyError> {
    let chain_id = app.chain_id().await?;
    let found = app.find_contract(address).await?;
    let results: Vec<_> = found.iter().map(|contract| Match::of(contract).to_json(chain_id)).collect();
    Ok(Json(json!({ "results": results })))
}

/// `GET v2/contracts/{chainId}`: verified contracts, the newest first.
pub(super) async fn list_contracts(
    State(app): State<Arc<App>>,
    ChainPath(chain_id): ChainPath,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, SourcifyError> {
    let ListParams { order, limit, mut after } = ListParams::read(query.as_deref())?;
    let (mut results, mut offset) = (Vec::new(), 0);
    while results.len() < limit {
        if offset >= MAX_SCANNED {
            return Err(SourcifyError::invalid(
                "afterMatchId is too far from this end of the list: sort the other way round",
            ));
        }
        let page = app.services.verified.list_verified(PageRequest { offset, limit: PART, order }).await?;
        if page.items.is_empty() {
            break;
        }
        offset += page.items.len() as u64;
        for summary in page.items {
            match &after {
                Some(id) if *id == match_id(summary.address, summary.code_hash) => after = None,
                Some(_) => {}
                None if results.len() < limit => results.push(match_of(&summary).to_json(chain_id)),
                None => break,
            }
        }
    }
    // Nothing after an unknown entry would look like the end of the list.
    if after.is_some() {
        return Err(SourcifyError::invalid("afterMatchId is not the matchId of a verified contract"));
    }
    Ok(Json(json!({ "results": results })))
}

fn match_of(summary: &VerifiedSummary) -> Match {
    Match {
        address: summary.address,
        runtime: Some(summary.runtime_match),
        creation: summary.creation_match,
        verified: Some((summary.verified_at, summary.code_hash)),
    }
}

struct ListParams {
    order: Order,
    limit: usize,
    after: Option<String>,
}

impl ListParams {
    fn read(query: Option<&str>) -> Result<Self, SourcifyError> {
        let mut params = Self { order: Order::NewestFirst, limit: MAX_RESULTS, after: None };
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match name.as_ref() {
                "sort" => {
                    params.order = match value.as_ref() {
                        "desc" => Order::NewestFirst,
                        "asc" => Order::OldestFirst,
                        _ => return Err(SourcifyError::invalid("sort must be asc or desc")),
                    }
                }
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=MAX_RESULTS).contains(limit));
                    params.limit =
                        limit.ok_or_else(|| SourcifyError::invalid("limit must be a number from 1 to 200"))?;
                }
                "afterMatchId" => params.after = Some(value.into_owned()),
                _ => {}
            }
        }
        Ok(params)
    }
}

/// `GET chains`.
pub(super) async fn list_chains(State(app): State<Arc<App>>) -> Result<Json<Value>, SourcifyError> {
    let chain_id = app.chain_id().await?;
    let name = format!("Chain {chain_id}");
    Ok(Json(json!([{
        "name": name,
        "title": name,
        "chainId": chain_id,
        "rpc": [],
        "supported": true,
        "etherscanAPI": false,
    }])))
}

//! `module=contract`: verified sources, and verification.

mod proxies;
mod source;
pub(super) mod verification;

use std::sync::Arc;

use futures::future::try_join_all;
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure, NOT_VERIFIED},
    params::Params,
    sender::Sender,
};
use crate::app::App;

const MAX_CREATIONS: usize = 5;

pub(super) async fn dispatch(app: &Arc<App>, sender: Sender, action: &str, params: &Params) -> Result<Answer, Failure> {
    match action {
        "getabi" => get_abi(app, params).await,
        "getsourcecode" => source::get_source_code(app, params).await,
        "getcontractcreation" => get_contract_creation(app, params).await,
        "verifysourcecode" => verification::submit(app, sender, params).await,
        "checkverifystatus" => verification::check(app, params).await,
        "verifyproxycontract" => proxies::submit(app, params).await,
        "checkproxyverification" => proxies::check(app, params).await,
        _ => Err(Failure::unknown_action()),
    }
}

async fn get_abi(app: &App, params: &Params) -> Result<Answer, Failure> {
    match app.find_contract(params.address("address")?).await? {
        Some(contract) => Ok(Answer::text(contract.code.abi)),
        None => Err(Failure::text(NOT_VERIFIED)),
    }
}

async fn get_contract_creation(app: &App, params: &Params) -> Result<Answer, Failure> {
    let addresses = params.addresses("contractaddresses", MAX_CREATIONS)?;
    let found = try_join_all(addresses.into_iter().map(|address| find_creation(app, address))).await?;
    let found: Vec<Value> = found.into_iter().flatten().collect();
    if found.is_empty() { Err(Failure::nothing("No data found")) } else { Ok(Answer::Result(found.into())) }
}

async fn find_creation(app: &App, address: domain::Address) -> Result<Option<Value>, Failure> {
    let chain = &app.services.chain;
    let Some(creation) = chain.find_address(address).await?.and_then(|summary| summary.creation) else {
        return Ok(None);
    };
    let Some(transaction) = chain.find_transaction(creation.tx_hash).await? else { return Ok(None) };
    let factory = (creation.creator != transaction.from).then_some(creation.creator);
    Ok(Some(json!({
        "contractAddress": format!("{address:#x}"),
        "contractCreator": format!("{:#x}", transaction.from),
        "txHash": format!("{:#x}", creation.tx_hash),
        "contractFactory": factory.map(|factory| format!("{factory:#x}")).unwrap_or_default(),
        "blockNumber": transaction.block_number.to_string(),
        "timestamp": transaction.timestamp.to_string(),
    })))
}

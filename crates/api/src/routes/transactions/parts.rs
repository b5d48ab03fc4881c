//! What happened in one transaction: its transfers, trades and calls, and what it changed.

use axum::extract::State;
use domain::{B256, TransactionEvents};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    ApiState,
    document::{BadParameter, NoSuchTransaction, NotTraced, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    node_call::NodeCall,
    params::{Paging, TransactionInPath, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_transaction_transfers))
        .routes(routes!(list_transaction_trades))
        .routes(routes!(get_transaction_calls))
        .routes(routes!(get_transaction_state_changes))
}

/// Token transfers of a transaction, in log order
#[utoipa::path(
    get,
    path = "/transactions/{hash}/transfers",
    tag = "chain",
    params(TransactionInPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::TransactionTransferList),
        BadParameter,
        NoSuchTransaction
    )
)]
async fn list_transaction_transfers(
    State(app): State<App>,
    ValidPath(hash): ValidPath<B256>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::TransactionTransferList>, ApiError> {
    let events = find_events(&app, hash, paging).await?;
    let list = wire::TransactionTransferList::new(events.transfers, paging, app.token_prefix());
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// DEX trades of a transaction, in log order
#[utoipa::path(
    get,
    path = "/transactions/{hash}/trades",
    tag = "chain",
    params(TransactionInPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::TransactionTradeList),
        BadParameter,
        NoSuchTransaction
    )
)]
async fn list_transaction_trades(
    State(app): State<App>,
    ValidPath(hash): ValidPath<B256>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::TransactionTradeList>, ApiError> {
    let events = find_events(&app, hash, paging).await?;
    let list = wire::TransactionTradeList::new(events.trades, paging, &app.operator_names.dexes());
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

async fn find_events(app: &ApiState, hash: B256, paging: Paging) -> Result<TransactionEvents, ApiError> {
    let window = paging.newest_first();
    let events = app.chain.find_transaction_events(hash, window.offset, window.limit).await?;
    events.ok_or(ApiError::TransactionNotFound)
}

/// All calls of a transaction, in the order of execution
///
/// From a trace of the node, also those that move no value; at most 500.
#[utoipa::path(
    get,
    path = "/transactions/{hash}/calls",
    tag = "chain",
    params(TransactionInPath),
    responses(
        (status = 200, description = "The calls", body = wire::CallTree),
        BadParameter,
        NotTraced,
        Unavailable
    )
)]
async fn get_transaction_calls(
    State(app): State<App>,
    ValidPath(hash): ValidPath<B256>,
    _permit: NodeCall,
) -> Result<JsonResponse<wire::CallTree>, ApiError> {
    let freshness = find_freshness(&app, hash).await?;
    Ok(JsonResponse::new(app.traces.call_tree(hash).await?.into(), freshness))
}

/// What a transaction changed in the state of the chain
///
/// From a trace of the node: before and after the transaction, for at most 200 accounts and 50 slots of each.
#[utoipa::path(
    get,
    path = "/transactions/{hash}/state-changes",
    tag = "chain",
    params(TransactionInPath),
    responses(
        (status = 200, description = "The accounts", body = wire::StateChanges),
        BadParameter,
        NotTraced,
        Unavailable
    )
)]
async fn get_transaction_state_changes(
    State(app): State<App>,
    ValidPath(hash): ValidPath<B256>,
    _permit: NodeCall,
) -> Result<JsonResponse<wire::StateChanges>, ApiError> {
    let freshness = find_freshness(&app, hash).await?;
    Ok(JsonResponse::new(app.traces.state_changes(hash).await?.into(), freshness))
}

/// How long a trace of an indexed transaction may be cached.
async fn find_freshness(app: &ApiState, hash: B256) -> Result<Freshness, ApiError> {
    let transaction = app.chain.find_transaction(hash).await?.ok_or(ApiError::TransactionNotFound)?;
    Ok(app.freshness_of(transaction.block_number))
}

mod parts;

use std::{sync::Arc, time::Duration};

use admission::AUTHORIZATION_OUTCOMES;
use axum::{extract::State, response::IntoResponse};
use contracts::revert_reason;
use domain::{
    Address, AuthorizationOutcome, B256, BlockId, PendingTransaction, Transaction, TransactionDetail, TransactionFilter,
};
use futures::future::BoxFuture;
use tokio::time::timeout;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    ApiState,
    document::{BadParameter, NoSuchTransaction, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    node_call::NodeCall,
    params::{FromQuery, Paging, Query, TransactionInPath, ValidPath, ValidQuery},
    state::App,
    surcharge::Surcharge,
    wire,
};

/// Short, since the index has most of a transaction.
const NODE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// A node that has not responded for this long is not called.
const UNRESPONSIVE_AFTER: Duration = Duration::from_secs(5);

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_transactions)).routes(routes!(get_transaction)).merge(parts::router())
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListTransactionsParams {
    #[param(ignore)]
    paging: Paging,
    /// Only those from or to this address.
    #[param(value_type = Option<wire::AnyCaseAddress>)]
    address: Option<Address>,
}

impl FromQuery for ListTransactionsParams {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { paging: Paging::from_query(query)?, address: query.find_address()? })
    }
}

impl ListTransactionsParams {
    fn filter(&self) -> TransactionFilter {
        TransactionFilter { address: self.address, ..TransactionFilter::default() }
    }
}

/// Transactions, newest first
#[utoipa::path(
    get,
    path = "/transactions",
    tag = "chain",
    params(Paging, ListTransactionsParams),
    responses(
        (status = 200, description = "A page", body = wire::TransactionList),
        BadParameter
    )
)]
async fn list_transactions(
    State(app): State<App>,
    ValidQuery(params): ValidQuery<ListTransactionsParams>,
) -> Result<JsonResponse<wire::TransactionList>, ApiError> {
    let page = app.chain.list_transactions(&params.filter(), params.paging.newest_first()).await?;
    let list = wire::TransactionList::new(page, params.paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
struct GetTransactionParams {
    /// Whether to find a transaction that the node has, but no indexed block.
    #[param(value_type = Option<bool>, example = false)]
    pending: bool,
}

impl FromQuery for GetTransactionParams {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { pending: query.flag("pending")? })
    }
}

/// One transaction
///
/// With its call data, fees and logs, which are read from the node. `error` and `revertReason` say why it failed. Outcomes of
/// authorizations that are not cached cost 6 more, and are null above the limit.
#[utoipa::path(
    get,
    path = "/transactions/{hash}",
    tag = "chain",
    params(TransactionInPath, GetTransactionParams),
    responses(
        (status = 200, description = "The transaction", body = wire::FoundTransaction),
        BadParameter,
        NoSuchTransaction,
        Unavailable
    )
)]
async fn get_transaction(
    State(app): State<App>,
    ValidPath(hash): ValidPath<B256>,
    ValidQuery(params): ValidQuery<GetTransactionParams>,
    surcharge: Surcharge,
    _permit: NodeCall,
) -> Result<impl IntoResponse, ApiError> {
    let Some(transaction) = app.chain.find_transaction(hash).await? else {
        let pending = if params.pending { find_pending(&app, hash).await? } else { None };
        let pending = pending.ok_or(ApiError::TransactionNotFound)?;
        let found = wire::FoundTransaction::Pending(Box::new(pending.into()));
        return Ok((None, JsonResponse::new(found, Freshness::Momentary)));
    };
    // A block that was reverted in between is not one without a base fee.
    let block = app.chain.find_block(BlockId::Hash(transaction.block_hash)).await?;
    let base_fee = block.ok_or(ApiError::TransactionNotFound)?.base_fee_per_gas;
    let may_trace = || -> BoxFuture<'_, bool> { Box::pin(surcharge.pay(AUTHORIZATION_OUTCOMES.cost())) };
    let detail = app.details.find(&transaction, &may_trace).await;
    let failure = find_failure(&app, &transaction, detail.as_deref()).await;
    let is_complete = detail.as_deref().is_some_and(has_all_outcomes) && (transaction.succeeded || failure.is_some());
    // A contract that is verified later can give a failure other words.
    let is_lasting = is_complete && transaction.succeeded;
    let freshness = if is_lasting { app.freshness_of(transaction.block_number) } else { Freshness::UntilNextBlock };
    let found = wire::TransactionDetail::new(transaction, base_fee, detail.map(Arc::unwrap_or_clone), failure);
    let response = JsonResponse::new(wire::FoundTransaction::Mined(Box::new(found)), freshness);
    // What the node says about a transaction in this block never changes.
    Ok((surcharge.paid(), if is_complete { response.cacheable() } else { response }))
}

/// Whether it is known what became of all authorizations. What is not known now may be known later.
fn has_all_outcomes(detail: &TransactionDetail) -> bool {
    detail.authorizations.iter().flatten().all(|given| given.outcome != AuthorizationOutcome::Unknown)
}

/// A transaction that the node has in its pool, or in a block above the index.
async fn find_pending(app: &ApiState, hash: B256) -> Result<Option<PendingTransaction>, ApiError> {
    if app.node.silent_for().is_some_and(|waited| waited >= UNRESPONSIVE_AFTER) {
        return Err(ApiError::PoolUnavailable(None));
    }
    let found = timeout(NODE_TIMEOUT, app.node.find_pending(hash)).await;
    let found = found.map_err(|_| ApiError::PoolUnavailable(None))?;
    let found = found.map_err(|error| ApiError::PoolUnavailable(Some(error)))?;
    let tip = app.chain.find_tip().await?.map_or(0, |tip| tip.number);
    Ok(found.filter(|pending| pending.is_ahead_of(tip)))
}

/// Why a transaction failed; None if it succeeded, or if the node cannot tell now.
async fn find_failure(
    app: &ApiState,
    transaction: &Transaction,
    detail: Option<&TransactionDetail>,
) -> Option<wire::TransactionFailure> {
    let found = app.failures.find(transaction, detail).await;
    let failure = found.inspect_err(|error| tracing::debug!(%error, "cannot find why a transaction failed")).ok()??;
    let interfaces = match transaction.to {
        Some(to) if failure.data.is_some() => timeout(NODE_TIMEOUT, app.calls.find_decoders(to)).await.ok(),
        _ => None,
    };
    let interfaces = interfaces.and_then(Result::ok).unwrap_or_default();
    let reason = failure.data.as_ref().map(|data| revert_reason(Some(data), "", &interfaces));
    Some(wire::TransactionFailure::new(failure, reason))
}

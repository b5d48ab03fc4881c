use axum::extract::State;
use domain::{Address, B256, TransactionFilter};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    document::{BadParameter, NoSuchTransaction, NotModified, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{FromQuery, Paging, Query, ValidPath, ValidQuery},
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_transactions)).routes(routes!(get_transaction))
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListTransactionsParams {
    #[param(ignore)]
    paging: Paging,
    /// Only transactions from or to this address, in any letter case.
    #[param(inline, value_type = Option<wire::AnyCaseAddress>)]
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
        (status = 200, description = "A page of transactions", body = wire::TransactionList),
        NotModified,
        BadParameter,
        Unavailable
    )
)]
async fn list_transactions(
    State(app): State<App>,
    ValidQuery(params): ValidQuery<ListTransactionsParams>,
) -> Result<JsonResponse<wire::TransactionList>, ApiError> {
    let page = app.chain.list_transactions(&params.filter(), params.paging.newest_first()).await?;
    Ok(JsonResponse::new(wire::TransactionList::new(page, params.paging), Freshness::UntilNextBlock).cacheable())
}

/// One transaction
#[utoipa::path(
    get,
    path = "/transactions/{hash}",
    tag = "chain",
    params((
        "hash" = String,
        Path,
        description = "The transaction's hash in any letter case",
        pattern = "^0x[0-9a-fA-F]{64}$",
        example = "0x88e96d4537bea4d9c05d12549907b32561d3bf31f45aae734cdc119f13406cb6",
    )),
    responses(
        (status = 200, description = "The transaction", body = wire::Transaction),
        NotModified,
        BadParameter,
        NoSuchTransaction,
        Unavailable
    )
)]
async fn get_transaction(
    State(app): State<App>,
    ValidPath(hash): ValidPath<B256>,
) -> Result<JsonResponse<wire::Transaction>, ApiError> {
    let transaction = app.chain.find_transaction(hash).await?.ok_or(ApiError::TransactionNotFound)?;
    let freshness = app.freshness_of(transaction.block_number);
    Ok(JsonResponse::new(transaction.into(), freshness).cacheable())
}

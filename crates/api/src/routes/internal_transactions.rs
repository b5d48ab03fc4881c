use axum::extract::State;
use domain::{Address, B256, InternalFilter};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::BadParameter,
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{Blocks, FromQuery, Paging, Query, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_internal_transactions))
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListInternalTransactionsParams {
    #[param(ignore)]
    paging: Paging,
    /// The sender or the receiver.
    #[param(value_type = Option<wire::AnyCaseAddress>)]
    address: Option<Address>,
    #[param(rename = "fromAddress", value_type = Option<wire::AnyCaseAddress>)]
    from_address: Option<Address>,
    #[param(rename = "toAddress", value_type = Option<wire::AnyCaseAddress>)]
    to_address: Option<Address>,
    #[param(rename = "txHash", value_type = Option<wire::AnyCaseHash>)]
    tx_hash: Option<B256>,
    #[param(ignore)]
    blocks: Blocks,
}

impl FromQuery for ListInternalTransactionsParams {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self {
            paging: Paging::from_query(query)?,
            address: query.find_address()?,
            from_address: query.find_address_named("fromAddress")?,
            to_address: query.find_address_named("toAddress")?,
            tx_hash: query.find_hash("txHash")?,
            blocks: Blocks::from_query(query)?,
        })
    }
}

impl ListInternalTransactionsParams {
    fn filter(&self) -> InternalFilter {
        InternalFilter {
            address: self.address,
            from: self.from_address,
            to: self.to_address,
            transaction: self.tx_hash,
            blocks: self.blocks.range(),
        }
    }
}

/// Internal transactions, newest first
///
/// Calls with a value, contract creations and self-destructs inside transactions. They are traced behind the newest block:
/// `completeFrom` and `completeTo` say for which blocks the list is complete.
#[utoipa::path(
    get,
    path = "/internal-transactions",
    tag = "chain",
    params(Paging, ListInternalTransactionsParams, Blocks),
    responses(
        (status = 200, description = "A page", body = wire::InternalTransactionList),
        BadParameter
    )
)]
async fn list_internal_transactions(
    State(app): State<App>,
    ValidQuery(params): ValidQuery<ListInternalTransactionsParams>,
) -> Result<JsonResponse<wire::InternalTransactionList>, ApiError> {
    let found = app.chain.list_internal_transactions(&params.filter(), params.paging.newest_first()).await?;
    let list = wire::InternalTransactionList::new(found, params.paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

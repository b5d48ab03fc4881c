use axum::extract::State;
use domain::Address;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{BadParameter, TopAccountsOff},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{Paging, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_accounts))
}

/// The accounts with the largest native balances
///
/// Up to 1,000 of the addresses that the index knows, with balances from the node at the block in `block`. While `allAddressesRead` is
/// false, larger accounts may be missing, and `missing` says which. Those that only contracts paid are known once these are traced. If
/// the node fails, the list stays as it was. Only if the operator turned it on; each process has a list of its own.
#[utoipa::path(
    get,
    path = "/accounts",
    tag = "chain",
    params(Paging),
    responses(
        (status = 200, description = "A page", body = wire::AccountList),
        BadParameter,
        TopAccountsOff
    )
)]
async fn list_accounts(
    State(app): State<App>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::AccountList>, ApiError> {
    let listing = app.top_accounts.as_ref().ok_or(ApiError::TopAccountsOff)?.listing();
    let page = listing.page(paging.newest_first());
    let addresses: Vec<Address> = page.items.iter().map(|account| account.address).collect();
    let counts = app.chain.count_transactions(&addresses).await?;
    let list = wire::AccountList::new(&listing, page, counts, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock))
}

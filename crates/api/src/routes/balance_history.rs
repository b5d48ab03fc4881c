use axum::extract::State;
use domain::{Address, BalanceKey};
use enrichment::{Inexact, coin_history, token_history};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{BadParameter, NoSuchAddressOrToken, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    node_call::NodeCall,
    params::{AddressInPath, FromQuery, Query, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_balance_history))
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
struct BalanceHistoryParams {
    /// By default the coin of the chain.
    #[param(value_type = Option<wire::AnyCaseAddress>)]
    token: Option<Address>,
}

impl FromQuery for BalanceHistoryParams {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { token: query.find_address_named("token")? })
    }
}

/// The balance of an address over time
///
/// Computed from the newest balance and what moved before it, withdrawals and new coins included: at most the newest 300
/// transactions and 300 internal transactions of the address, or for a token the newest 300 transfers. `completeFrom` says how far
/// back that reaches. At most 100 points: the first one, each block that changed the balance, and the newest block; if these are
/// more, the last one of each hundredth of the time. `exact` is true if the node has the same balance at the first point as the
/// sum; if it is false, `inexactReasons` says what is missing.
#[utoipa::path(
    get,
    path = "/addresses/{address}/balance-history",
    tag = "chain",
    params(AddressInPath, BalanceHistoryParams),
    responses(
        (status = 200, description = "The history", body = wire::BalanceHistory),
        BadParameter,
        NoSuchAddressOrToken,
        Unavailable
    )
)]
async fn get_balance_history(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(params): ValidQuery<BalanceHistoryParams>,
    _permit: NodeCall,
) -> Result<JsonResponse<wire::BalanceHistory>, ApiError> {
    let history = match params.token {
        Some(token) => {
            let found = token_history(&*app.chain, BalanceKey { token, holder: address }).await?;
            found.ok_or(ApiError::TokenNotFound)?
        }
        None => {
            let found = coin_history(&*app.chain, &app.accounts, address, &|| true).await?;
            found.ok_or(ApiError::AddressNotFound)?
        }
    };
    // The balance of an indexed block is valid until the index changes; that of another one until the node responds again.
    let may_be_known_later = [Inexact::BalanceOfOtherBlock, Inexact::Unconfirmed];
    let is_of_index = !may_be_known_later.iter().any(|reason| history.inexact.contains(reason));
    let imitations = app.imitations.among(history.token.iter().collect()).await?;
    let history = wire::BalanceHistory::new(address, history, app.token_prefix(), &imitations);
    let response = JsonResponse::new(history, Freshness::UntilNextBlock);
    Ok(if is_of_index { response.cacheable() } else { response })
}

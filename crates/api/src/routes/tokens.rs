use axum::extract::State;
use domain::Address;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{BadParameter, NoSuchToken},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{AddressInPath, Paging, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_tokens)).routes(routes!(get_token)).routes(routes!(list_holders))
}

/// Tokens by number of holders, then by address
#[utoipa::path(
    get,
    path = "/tokens",
    tag = "chain",
    params(Paging),
    responses((status = 200, description = "A page", body = wire::TokenList), BadParameter)
)]
async fn list_tokens(
    State(app): State<App>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::TokenList>, ApiError> {
    let page = app.chain.list_tokens(paging.newest_first()).await?;
    let imitations = app.imitations.among(page.items.iter().collect()).await?;
    let list = wire::TokenList::new(page, app.token_prefix(), paging, app.chain.coverage().await?, &imitations);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// One token
#[utoipa::path(
    get,
    path = "/tokens/{address}",
    tag = "chain",
    params(AddressInPath),
    responses(
        (status = 200, description = "The token", body = wire::TokenDetail),
        BadParameter,
        NoSuchToken
    )
)]
async fn get_token(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
) -> Result<JsonResponse<wire::TokenDetail>, ApiError> {
    let token = app.chain.find_token(address).await?.ok_or(ApiError::TokenNotFound)?;
    let imitations = app.imitations.among(vec![&token]).await?;
    let token = wire::TokenDetail::new(token, app.token_prefix(), app.chain.coverage().await?, &imitations);
    Ok(JsonResponse::new(token, Freshness::UntilNextBlock).cacheable())
}

/// Holders of a token, largest balance first
///
/// May lag the newest block by a moment.
#[utoipa::path(
    get,
    path = "/tokens/{address}/holders",
    tag = "chain",
    params(
        AddressInPath,
        Paging
    ),
    responses(
        (status = 200, description = "A page", body = wire::HolderList),
        BadParameter,
        NoSuchToken
    )
)]
async fn list_holders(
    State(app): State<App>,
    ValidPath(token): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::HolderList>, ApiError> {
    let page = app.chain.list_holders(token, paging.newest_first()).await?.ok_or(ApiError::TokenNotFound)?;
    let list = wire::HolderList::new(page, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

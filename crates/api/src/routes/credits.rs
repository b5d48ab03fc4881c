//! What the protocol paid: withdrawals of validators, rewards, and coins that deposits brought.

use axum::extract::State;
use domain::{Address, BlockId, Credit, CreditClass, CreditFilter, Page};
use store::list_block_credits;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{BadParameter, NoSuchBlock},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{AddressInPath, BlockInPath, Paging, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_withdrawals_of_block))
        .routes(routes!(list_withdrawals_of_address))
        .routes(routes!(list_issuance_of_block))
        .routes(routes!(list_issuance_of_address))
}

/// Withdrawals in a block, newest first
///
/// No transaction moves them.
#[utoipa::path(
    get,
    path = "/blocks/{numberOrHash}/withdrawals",
    tag = "chain",
    params(BlockInPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::WithdrawalList),
        BadParameter,
        NoSuchBlock
    )
)]
async fn list_withdrawals_of_block(
    State(app): State<App>,
    ValidPath(block): ValidPath<BlockId>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::WithdrawalList>, ApiError> {
    let (page, freshness) = of_block(&app, block, CreditClass::Withdrawals, paging).await?;
    let list = wire::WithdrawalList::new(page, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, freshness).cacheable())
}

/// Withdrawals to an address, newest first
#[utoipa::path(
    get,
    path = "/addresses/{address}/withdrawals",
    tag = "chain",
    params(AddressInPath, Paging),
    responses((status = 200, description = "A page", body = wire::WithdrawalList), BadParameter)
)]
async fn list_withdrawals_of_address(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::WithdrawalList>, ApiError> {
    let filter = CreditFilter::of(address, CreditClass::Withdrawals);
    let page = app.chain.list_credits(&filter, paging.newest_first()).await?;
    let list = wire::WithdrawalList::new(page, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// New coins in a block, newest first
///
/// Rewards, as far as the rules of the chain are known, and coins that deposits brought from the chain below a rollup.
#[utoipa::path(
    get,
    path = "/blocks/{numberOrHash}/issuance",
    tag = "chain",
    params(BlockInPath, Paging),
    responses(
        (status = 200, description = "A page", body = wire::IssuanceList),
        BadParameter,
        NoSuchBlock
    )
)]
async fn list_issuance_of_block(
    State(app): State<App>,
    ValidPath(block): ValidPath<BlockId>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::IssuanceList>, ApiError> {
    let (page, freshness) = of_block(&app, block, CreditClass::Issuances, paging).await?;
    let list = wire::IssuanceList::new(page, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, freshness).cacheable())
}

/// New coins for an address, newest first
///
/// Rewards, as far as the rules of the chain are known, and coins that deposits brought from the chain below a rollup.
#[utoipa::path(
    get,
    path = "/addresses/{address}/issuance",
    tag = "chain",
    params(AddressInPath, Paging),
    responses((status = 200, description = "A page", body = wire::IssuanceList), BadParameter)
)]
async fn list_issuance_of_address(
    State(app): State<App>,
    ValidPath(address): ValidPath<Address>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::IssuanceList>, ApiError> {
    let filter = CreditFilter::of(address, CreditClass::Issuances);
    let page = app.chain.list_credits(&filter, paging.newest_first()).await?;
    let list = wire::IssuanceList::new(page, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// A page of the credits of a block: it has few, of all classes together.
async fn of_block(
    app: &App,
    block: BlockId,
    class: CreditClass,
    paging: Paging,
) -> Result<(Page<Credit>, Freshness), ApiError> {
    let block = app.chain.find_block(block).await?.ok_or(ApiError::BlockNotFound)?;
    let all = list_block_credits(&*app.chain, block.number, class).await?;
    let total = all.len() as u64;
    let ranks = paging.newest_first().ranks(total);
    let items = ranks.filter_map(|rank| all.get(usize::try_from(rank).ok()?).copied()).collect();
    Ok((Page { items, total }, app.freshness_of(block.number)))
}

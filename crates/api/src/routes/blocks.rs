use axum::extract::State;
use domain::{BlockId, BlockRange};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    document::{BadParameter, NoSuchBlock},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{Paging, ValidPath, ValidQuery},
    state::App,
    wire,
};

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_blocks)).routes(routes!(get_block))
}

/// Blocks, newest first
#[utoipa::path(
    get,
    path = "/blocks",
    tag = "chain",
    params(Paging),
    responses((status = 200, description = "A page of blocks", body = wire::BlockList), BadParameter)
)]
async fn list_blocks(
    State(app): State<App>,
    ValidQuery(paging): ValidQuery<Paging>,
) -> Result<JsonResponse<wire::BlockList>, ApiError> {
    let page = app.chain.list_blocks(BlockRange::ALL, paging.newest_first()).await?;
    let list = wire::BlockList::new(page, paging, app.chain.coverage().await?);
    Ok(JsonResponse::new(list, Freshness::UntilNextBlock).cacheable())
}

/// One block
#[utoipa::path(
    get,
    path = "/blocks/{numberOrHash}",
    tag = "chain",
    params((
        "numberOrHash" = String,
        Path,
        description = "The block's number, or its hash in any letter case",
        pattern = "^([0-9]+|0x[0-9a-fA-F]{64})$",
        example = "21000000",
    )),
    responses(
        (status = 200, description = "The block", body = wire::Block),
        BadParameter,
        NoSuchBlock
    )
)]
async fn get_block(
    State(app): State<App>,
    ValidPath(id): ValidPath<BlockId>,
) -> Result<JsonResponse<wire::Block>, ApiError> {
    let block = app.chain.find_block(id).await?.ok_or(ApiError::BlockNotFound)?;
    let freshness = app.freshness_of(block.number);
    Ok(JsonResponse::new(block.into(), freshness).cacheable())
}

use axum::extract::State;
use domain::{BlockId, BlockNumber, BlockRange, Fee, Order, PageRequest, TransactionFilter, U256};
use enrichment::{AccountError, AccountUnavailable};
use node::NodeError;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    ApiState,
    document::{BadParameter, NoSuchBlock, Unavailable},
    error::ApiError,
    json_response::{Freshness, JsonResponse},
    params::{BlockInPath, Paging, ValidPath, ValidQuery},
    state::App,
    wire,
};

/// Transactions that are read at once.
const PART: u32 = 1_000;

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_blocks)).routes(routes!(get_block)).routes(routes!(get_block_header))
}

/// Blocks, newest first
#[utoipa::path(
    get,
    path = "/blocks",
    tag = "chain",
    params(Paging),
    responses((status = 200, description = "A page", body = wire::BlockList), BadParameter)
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
    params(BlockInPath),
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

/// The header of a block, and its blobs
///
/// What the index does not have, as the node returns it.
#[utoipa::path(
    get,
    path = "/blocks/{numberOrHash}/header",
    tag = "chain",
    params(BlockInPath),
    responses(
        (status = 200, description = "The header", body = wire::BlockHeader),
        BadParameter,
        NoSuchBlock,
        Unavailable
    )
)]
async fn get_block_header(
    State(app): State<App>,
    ValidPath(id): ValidPath<BlockId>,
) -> Result<JsonResponse<wire::BlockHeader>, ApiError> {
    let block = app.chain.find_block(id).await?.ok_or(ApiError::BlockNotFound)?;
    let failed = |cause| ApiError::from(AccountError::Unavailable(AccountUnavailable::Node(cause)));
    // The block is known here: only its header is not, while the node has another block or none at this height.
    let missing = || NodeError::InvalidResponse { method: "eth_getBlockByNumber", what: "another block".to_owned() };
    let found = app.node.find_block_header(block.id()).await.map_err(failed)?;
    let header = found.ok_or_else(|| failed(missing()))?;
    let blob_fees = if header.blob_hashes.is_empty() { U256::ZERO } else { blob_fees(&app, block.number).await? };
    let freshness = app.freshness_of(block.number);
    Ok(JsonResponse::new(wire::BlockHeader::new(block.id(), header, blob_fees), freshness).cacheable())
}

/// What the transactions of a block paid for blobs.
async fn blob_fees(app: &ApiState, block: BlockNumber) -> Result<U256, ApiError> {
    let filter = TransactionFilter { blocks: BlockRange::only(block), ..TransactionFilter::default() };
    let mut sum = U256::ZERO;
    for offset in (0..).step_by(PART as usize) {
        let page = PageRequest { offset, limit: PART, order: Order::OldestFirst };
        let found = app.chain.list_transactions(&filter, page).await?;
        sum += found.items.iter().map(|tx| Fee::of(tx, None).blob).sum::<U256>();
        if offset + u64::from(PART) >= found.total {
            break;
        }
    }
    Ok(sum)
}

//! Blocks and their receipts.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{B256, U64};

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
    protocol::{Reply, reply},
    wire,
};
use crate::{DevChain, block::BlockView};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("eth_blockNumber", typed(block_number));
    methods.insert("eth_getBlockByNumber", Box::new(get_block_by_number));
    methods.insert("eth_getBlockByHash", Box::new(get_block_by_hash));
    methods.insert("eth_getBlockReceipts", Box::new(get_block_receipts));
    methods.insert("eth_getBlockTransactionCountByNumber", typed(count_by_number));
    methods.insert("eth_getBlockTransactionCountByHash", typed(count_by_hash));
}

fn block_number(chain: &DevChain, _: Params) -> Result<U64, RpcError> {
    Ok(U64::from(chain.head().number))
}

fn get_block_by_number(chain: &DevChain, mut params: Params) -> Result<Reply, RpcError> {
    let tag: BlockNumberOrTag = params.required(0, "block number")?;
    let view = block_view(&mut params)?;
    cached_json(chain, tag, view)
}

fn get_block_by_hash(chain: &DevChain, mut params: Params) -> Result<Reply, RpcError> {
    let hash: B256 = params.required(0, "block hash")?;
    let view = block_view(&mut params)?;
    cached_json(chain, hash, view)
}

fn get_block_receipts(chain: &DevChain, mut params: Params) -> Result<Reply, RpcError> {
    let id: BlockId = params.required(0, "block")?;
    cached_json(chain, id, BlockView::Receipts)
}

fn count_by_number(chain: &DevChain, mut params: Params) -> Result<Option<U64>, RpcError> {
    let tag: BlockNumberOrTag = params.required(0, "block number")?;
    count(chain, tag)
}

fn count_by_hash(chain: &DevChain, mut params: Params) -> Result<Option<U64>, RpcError> {
    let hash: B256 = params.required(0, "block hash")?;
    count(chain, hash)
}

fn count(chain: &DevChain, id: impl Into<BlockId>) -> Result<Option<U64>, RpcError> {
    let block = chain.find_block(id)?;
    Ok(block.map(|block| U64::from(block.transactions.len())))
}

fn block_view(params: &mut Params) -> Result<BlockView, RpcError> {
    let full: Option<bool> = params.optional(1, "whether transactions are full objects")?;
    Ok(match full {
        Some(true) => BlockView::Full,
        Some(false) | None => BlockView::Hashes,
    })
}

fn cached_json(chain: &DevChain, id: impl Into<BlockId>, view: BlockView) -> Result<Reply, RpcError> {
    let Some(block) = chain.find_block(id)? else {
        return reply(&());
    };
    block.json.get_or_render(view, || match view {
        BlockView::Full => reply(&wire::full_block(&block)),
        BlockView::Hashes => reply(&wire::block_of_hashes(&block)),
        BlockView::Receipts => reply(&wire::receipts(&block)),
    })
}

//! Methods for mining and reorgs, which only dev nodes have.

use alloy_primitives::{B256, U64};
use serde::Deserialize;

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
};
use crate::{DevChain, ReorgedTransactions};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("evm_mine", typed(mine));
    methods.insert("dev_reorg", typed(reorg));
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum TransactionMode {
    Replay,
    Drop,
}

/// Mines a block; the result is the same as of other dev nodes.
fn mine(chain: &DevChain, mut params: Params) -> Result<&'static str, RpcError> {
    let timestamp: Option<U64> = params.optional(0, "timestamp")?;
    chain.mine(timestamp.map(|timestamp| timestamp.to()));
    Ok("0x0")
}

/// Replaces the latest blocks; the result is the hash of the new head.
fn reorg(chain: &DevChain, mut params: Params) -> Result<B256, RpcError> {
    const MAX_NEW_BLOCKS: u64 = 1_024;

    let depth: U64 = params.required(0, "depth")?;
    let new_blocks: U64 = params.required(1, "number of new blocks")?;
    let transactions = match params.optional(2, "\"replay\" or \"drop\"")? {
        Some(TransactionMode::Drop) => ReorgedTransactions::Drop,
        Some(TransactionMode::Replay) | None => ReorgedTransactions::Replay,
    };
    if new_blocks.to::<u64>() > MAX_NEW_BLOCKS {
        let message = format!("at most {MAX_NEW_BLOCKS} new blocks");
        return Err(RpcError::invalid_params(message));
    }
    Ok(chain.reorg(depth.to(), new_blocks.to(), transactions)?.hash)
}

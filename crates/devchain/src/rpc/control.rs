//! What only a dev chain lets a client do.

use alloy_primitives::{B256, U64};
use serde::Deserialize;

use super::{
    dispatch::{Methods, typed},
    error::RpcError,
    params::Params,
};
use crate::{DevChain, ReorgedTransactions};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("evm_mine", typed(mine));
    methods.insert("dev_reorg", typed(reorg));
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fate {
    Replay,
    Drop,
}

/// Mines a block; the answer is the one that other dev nodes give.
fn mine(chain: &DevChain, mut params: Params) -> Result<&'static str, RpcError> {
    let timestamp: Option<U64> = params.optional(0, "timestamp")?;
    chain.mine(timestamp.map(|timestamp| timestamp.to()));
    Ok("0x0")
}

/// Replaces the newest blocks; the answer is the hash of the new head.
fn reorg(chain: &DevChain, mut params: Params) -> Result<B256, RpcError> {
    const MOST_NEW_BLOCKS: u64 = 1_024;

    let depth: U64 = params.required(0, "depth")?;
    let new_blocks: U64 = params.required(1, "number of new blocks")?;
    let transactions = match params.optional(2, "\"replay\" or \"drop\"")? {
        Some(Fate::Drop) => ReorgedTransactions::Drop,
        Some(Fate::Replay) | None => ReorgedTransactions::Replay,
    };
    if new_blocks.to::<u64>() > MOST_NEW_BLOCKS {
        let message = format!("at most {MOST_NEW_BLOCKS} new blocks");
        return Err(RpcError::invalid_params(message));
    }
    Ok(chain.reorg(depth.to(), new_blocks.to(), transactions)?.hash)
}

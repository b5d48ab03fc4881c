//! Logs by address, topic and block.

use std::sync::Arc;

use alloy_eips::BlockNumberOrTag;
use alloy_rpc_types_eth::{Filter, FilterBlockOption, Log};

use super::{
    dispatch::{Methods, typed},
    error::RpcError,
    params::Params,
    wire,
};
use crate::{DevChain, block::MinedBlock};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("eth_getLogs", typed(get_logs));
}

fn get_logs(chain: &DevChain, mut params: Params) -> Result<Vec<Log>, RpcError> {
    let filter: Filter = params.required(0, "filter")?;
    let blocks = match filter.block_option {
        FilterBlockOption::AtBlockHash(hash) => {
            let block = chain.block(hash);
            vec![block.ok_or_else(|| RpcError::server("unknown block"))?]
        }
        FilterBlockOption::Range { from_block, to_block } => {
            range(chain, from_block.unwrap_or_default(), to_block.unwrap_or_default())?
        }
    };
    Ok(blocks
        .iter()
        .filter(|block| filter.matches_bloom(block.header.logs_bloom))
        .flat_map(|block| matching(block, &filter))
        .collect())
}

/// The existing blocks of an inclusive range.
fn range(chain: &DevChain, from: BlockNumberOrTag, to: BlockNumberOrTag) -> Result<Vec<Arc<MinedBlock>>, RpcError> {
    let number = |tag: BlockNumberOrTag| match tag {
        BlockNumberOrTag::Number(number) => number,
        tag => chain.block(tag).map(|block| block.number()).unwrap_or_default(),
    };
    let (from, to) = (number(from), number(to));
    if from > to {
        return Err(RpcError::invalid_params("invalid block range params"));
    }
    Ok((from..=to).map_while(|number| chain.block(number)).collect())
}

fn matching(block: &MinedBlock, filter: &Filter) -> Vec<Log> {
    let mut found = Vec::new();
    for (index, mined) in block.transactions.iter().enumerate() {
        for (log_index, log) in (mined.first_log_index..).zip(mined.receipt.logs()) {
            if filter.matches(log) {
                found.push(wire::log(block, index, log_index, log.clone()));
            }
        }
    }
    found
}

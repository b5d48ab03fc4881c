//! Logs by address, topic and block.

use std::ops::RangeInclusive;

use alloy_eips::BlockNumberOrTag;
use alloy_rpc_types_eth::{Filter, FilterBlockOption, Log};

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
    wire,
};
use crate::{DevChain, block::MinedBlock};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("eth_getLogs", typed(get_logs));
}

fn get_logs(chain: &DevChain, mut params: Params) -> Result<Vec<Log>, RpcError> {
    let filter: Filter = params.required(0, "filter")?;
    let mut logs = Vec::new();
    match filter.block_option {
        FilterBlockOption::AtBlockHash(hash) => {
            let block = chain.find_block(hash)?.ok_or_else(|| RpcError::server("unknown block"))?;
            logs.extend(matching(&block, &filter));
        }
        FilterBlockOption::Range { from_block, to_block } => {
            for number in range(chain, from_block.unwrap_or_default(), to_block.unwrap_or_default())? {
                let Some(block) = chain.find_block(number)? else { break };
                logs.extend(matching(&block, &filter));
            }
        }
    }
    Ok(logs)
}

/// The numbers of an inclusive range; blocks may not exist.
fn range(chain: &DevChain, from: BlockNumberOrTag, to: BlockNumberOrTag) -> Result<RangeInclusive<u64>, RpcError> {
    let number = |tag: BlockNumberOrTag| match tag {
        BlockNumberOrTag::Number(number) => Ok(number),
        tag => chain.find_block(tag).map(|block| block.map(|block| block.number()).unwrap_or_default()),
    };
    let (from, to) = (number(from)?, number(to)?);
    if from > to {
        return Err(RpcError::invalid_params("invalid block range params"));
    }
    Ok(from..=to)
}

fn matching(block: &MinedBlock, filter: &Filter) -> Vec<Log> {
    let mut found = Vec::new();
    if !filter.matches_bloom(block.header.logs_bloom) {
        return found;
    }
    for (index, mined) in block.transactions.iter().enumerate() {
        for (log_index, log) in (mined.first_log_index..).zip(mined.receipt.logs()) {
            if filter.matches(log) {
                found.push(wire::log(block, index, log_index, log.clone()));
            }
        }
    }
    found
}

//! Gas price and fee history.

use alloy_consensus::Transaction;
use alloy_eips::BlockNumberOrTag;
use alloy_primitives::U64;
use alloy_rpc_types_eth::FeeHistory;

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
};
use crate::{DevChain, block::MinedBlock};

/// A tip that is enough for the next block.
const SUGGESTED_TIP: u64 = 1_000_000_000;
const MAX_HISTORY: u64 = 1_024;
const MAX_PERCENTILES: usize = 100;

pub(super) fn register(methods: &mut Methods) {
    methods.insert("eth_gasPrice", typed(gas_price));
    methods.insert("eth_maxPriorityFeePerGas", typed(max_priority_fee_per_gas));
    methods.insert("eth_feeHistory", typed(fee_history));
}

fn gas_price(chain: &DevChain, _: Params) -> Result<U64, RpcError> {
    Ok(U64::from(chain.next_base_fee() + SUGGESTED_TIP))
}

fn max_priority_fee_per_gas(_: &DevChain, _: Params) -> Result<U64, RpcError> {
    Ok(U64::from(SUGGESTED_TIP))
}

fn fee_history(chain: &DevChain, mut params: Params) -> Result<FeeHistory, RpcError> {
    let count: U64 = params.required(0, "block count")?;
    let newest: BlockNumberOrTag = params.required(1, "newest block")?;
    let percentiles: Option<Vec<f64>> = params.optional(2, "reward percentiles")?;
    check_percentiles(percentiles.as_deref().unwrap_or_default())?;
    let newest = chain.find_block(newest)?.ok_or_else(|| RpcError::server("request beyond head block"))?;
    let count = count.to::<u64>().min(MAX_HISTORY).min(newest.number() + 1);
    let oldest = newest.number() + 1 - count;
    let mut history =
        FeeHistory { oldest_block: oldest, reward: percentiles.as_ref().map(|_| Vec::new()), ..FeeHistory::default() };
    for number in oldest..=newest.number() {
        let Some(block) = chain.find_block(number)? else { continue };
        let base_fee = block.header.base_fee_per_gas.unwrap_or_default();
        history.base_fee_per_gas.push(u128::from(base_fee));
        history.gas_used_ratio.push(ratio(block.header.gas_used, block.header.gas_limit));
        history.base_fee_per_blob_gas.push(1);
        history.blob_gas_used_ratio.push(0.0);
        if let (Some(rewards), Some(percentiles)) = (&mut history.reward, &percentiles) {
            rewards.push(rewards_at(&block, base_fee, percentiles));
        }
    }
    if count > 0 {
        let next = chain.base_fee_after(&newest);
        history.base_fee_per_gas.push(u128::from(next));
        history.base_fee_per_blob_gas.push(1);
    }
    Ok(history)
}

fn check_percentiles(percentiles: &[f64]) -> Result<(), RpcError> {
    let in_range = percentiles.iter().all(|one| (0.0..=100.0).contains(one));
    if percentiles.len() > MAX_PERCENTILES || !in_range || !percentiles.is_sorted() {
        let message = "reward percentiles must be at most 100 ascending values from 0 to 100";
        return Err(RpcError::invalid_params(message));
    }
    Ok(())
}

/// The tips at the given percentiles of the block's gas; zeros for an empty block.
fn rewards_at(block: &MinedBlock, base_fee: u64, percentiles: &[f64]) -> Vec<u128> {
    let mut tips: Vec<(u128, u64)> = block
        .transactions
        .iter()
        .map(|mined| {
            let tip = mined.transaction.effective_tip_per_gas(base_fee);
            (tip.unwrap_or_default(), mined.gas_used)
        })
        .collect();
    tips.sort_unstable();
    percentiles
        .iter()
        .map(|percentile| {
            let mut gas = 0;
            tips.iter()
                .find(|(_, used)| {
                    gas += used;
                    ratio(gas, block.header.gas_used) * 100.0 >= *percentile
                })
                .map(|(tip, _)| *tip)
                .unwrap_or_default()
        })
        .collect()
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

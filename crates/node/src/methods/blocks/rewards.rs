//! What a chain with proof of work pays for a block and its uncles.

use alloy_primitives::B256;
use domain::{Block, CreditEvent, CreditSource, RewardRules};

use crate::{
    decode::{RawBlock, RawUncle},
    endpoint::{call::Call, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
    verify::{Contradiction, RejectedBlock, check_uncles, hash},
};

/// How a block was found by work.
#[derive(Debug)]
pub(super) struct Work {
    uncles: usize,
    /// Of the list of uncles, in the header; None if the node does not tell it.
    uncles_hash: Option<B256>,
}

impl Work {
    /// None for a block that was not found by work.
    pub(super) fn of(block: &RawBlock) -> Option<Self> {
        block.difficulty.filter(|difficulty| !difficulty.0.is_zero())?;
        Some(Self { uncles: block.uncles.as_ref().map_or(0, Vec::len), uncles_hash: hash(&block.sha3_uncles) })
    }

    /// Asks the node for the uncles, of which most blocks have none.
    pub(super) async fn credits(
        &self,
        upstream: &Upstream,
        rules: RewardRules,
        block: &Block,
    ) -> Result<Vec<CreditEvent>, NodeError> {
        // Without it, what the protocol paid is not known, which is not nothing.
        let uncles_hash = self.uncles_hash.ok_or_else(|| {
            NodeError::invalid_response(RpcMethod::GetBlockByNumber, "a block that was found by work has no sha3Uncles")
        })?;
        let uncles = fetch_uncles(upstream, block.hash, self.uncles).await?;
        let hashes = check_uncles(uncles_hash, &uncles).map_err(|Contradiction { check, what }| {
            upstream.verifier().evidence().reject(RejectedBlock { number: block.number, check });
            let host = upstream.verifier().host().to_owned();
            NodeError::InvalidBlock { host, number: block.number, check, what }
        })?;
        let of_uncle = |(uncle, hash): (&RawUncle, B256)| CreditEvent {
            to: uncle.miner.0,
            amount: rules.of_uncle(block.number, uncle.number.0),
            source: CreditSource::UncleReward { number: uncle.number.0, hash, timestamp: uncle.timestamp.0 },
        };
        let amount = rules.of_block(block.number, uncles.len());
        let of_block = CreditEvent { to: block.miner, amount, source: CreditSource::BlockReward };
        let all = std::iter::once(of_block).chain(uncles.iter().zip(hashes).map(of_uncle));
        Ok(all.filter(|credit| !credit.amount.is_zero()).collect())
    }
}

async fn fetch_uncles(upstream: &Upstream, block: B256, count: usize) -> Result<Vec<RawUncle>, NodeError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let method = RpcMethod::GetUncleByBlockHashAndIndex;
    let calls: Vec<Call> =
        (0..count).map(|index| Call::new(method, format!(r#"["{block:#x}","{index:#x}"]"#))).collect();
    let found = upstream.call_many::<RawUncle>(&calls).await?.into_iter();
    found.map(|uncle| uncle?.ok_or_else(|| NodeError::invalid_response(method, "no such uncle"))).collect()
}

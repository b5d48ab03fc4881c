//! Generates the chain block by block and records each block.

use std::time::Instant;

use alloy_primitives::U256;
use anyhow::{Context, bail};
use devchain::{
    DevChain, DevChainConfig,
    traffic::{Mix, Traffic},
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::tally::Tally;
use crate::{
    figures::own_megabytes,
    progress::report,
    recording::{Recorder, Recording},
};

const SEED: u64 = 1;
const BLOCK_SECONDS: u64 = 3;
/// The time of the last block. In the past, as of a chain that is backfilled: the client checks recent blocks fully, which
/// costs several times as much.
const END: u64 = 1_700_000_000;
/// Blocks for the deployment before the traffic.
const FIRST_BLOCKS: u64 = 16;
const ACCOUNTS: usize = 200;
/// Enough for millions of transactions. With far more, the reserves of the pools would overflow.
const COINS_PER_ACCOUNT: u64 = 1_000_000;
/// Several hundred transactions fit, as on chains with large blocks.
const BLOCK_GAS: u64 = 300_000_000;
/// Blocks between two progress reports.
const ROUND: u64 = 1_000;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainPlan {
    pub(crate) transactions: u64,
    /// Average per block; blocks have between none and twice as many.
    pub(crate) per_block: u64,
}

pub(super) struct Made {
    pub(super) chain: DevChain,
    pub(super) traffic: Traffic,
    pub(super) recording: Recording,
    pub(super) tally: Tally,
    pub(super) report: String,
}

pub(super) fn make(plan: ChainPlan) -> anyhow::Result<Made> {
    let started = Instant::now();
    let per_block = plan.per_block.max(1);
    let blocks = plan.transactions.div_ceil(per_block);
    let chain = DevChain::new(DevChainConfig {
        genesis_timestamp: END.saturating_sub((blocks + FIRST_BLOCKS) * BLOCK_SECONDS),
        block_seconds: BLOCK_SECONDS,
        accounts: ACCOUNTS,
        account_balance: U256::from(COINS_PER_ACCOUNT) * U256::from(10).pow(U256::from(18)),
        block_gas_limit: BLOCK_GAS,
        ..DevChainConfig::default()
    });
    let mut traffic = Traffic::new(chain.clone(), SEED).with_mix(Mix::Trading);
    traffic.deploy()?;
    let mut record =
        Record { chain: chain.clone(), recorder: Recorder::new(plan.transactions)?, tally: Tally::default() };
    for number in 0..=chain.head().number {
        record.block(number)?;
    }
    let mut sizes = StdRng::seed_from_u64(SEED);
    for left in (1..=blocks).rev() {
        let wanted = plan.transactions.saturating_sub(record.tally.transactions());
        // Up to twice the mean of the remaining ones, so that blocks are uneven and the total is right.
        let count = if left == 1 { wanted } else { sizes.random_range(0..=2 * wanted.div_ceil(left)) };
        traffic.send(usize::try_from(count.min(wanted))?)?;
        let number = chain.mine(None).number;
        record.block(number)?;
        if left % ROUND == 0 {
            let (done, seconds) = (record.tally.transactions(), started.elapsed().as_secs());
            report(format!("generating the chain: {done} of {} transactions in {seconds} s", plan.transactions));
        }
    }
    let recording = record.recorder.finish()?;
    let summary = format!(
        "Generated in {:.0} s with {:.0} MB of memory, recorded in {}.",
        started.elapsed().as_secs_f64(),
        own_megabytes()?,
        recording.storage()
    );
    report(&summary);
    Ok(Made { chain, traffic, recording, tally: record.tally, report: summary })
}

struct Record {
    chain: DevChain,
    recorder: Recorder,
    tally: Tally,
}

impl Record {
    fn block(&mut self, number: u64) -> anyhow::Result<()> {
        let block = self.chain.block(number).context("a block that was just mined is missing")?;
        self.tally.add(&block);
        let full = self.call("eth_getBlockByNumber", &format!(r#"["{number:#x}",true]"#))?;
        let receipts = self.call("eth_getBlockReceipts", &format!(r#"["{number:#x}"]"#))?;
        self.recorder.push(full, receipts)
    }

    /// The raw JSON of the result.
    fn call(&self, method: &str, params: &str) -> anyhow::Result<Vec<u8>> {
        let request = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{method}","params":{params}}}"#);
        let response = self.chain.answer(request.as_bytes()).context("the chain does not respond")?;
        let result =
            response.strip_prefix(br#"{"jsonrpc":"2.0","id":0,"result":"#).and_then(|rest| rest.strip_suffix(b"}"));
        match result {
            Some(result) => Ok(result.to_vec()),
            None => bail!("{method} {params} failed: {}", String::from_utf8_lossy(&response)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_ends_long_ago() {
        assert!(
            END + 30 * 86_400 < unix_time::seconds(),
            "blocks of the last hour are checked as those at the head are"
        );
    }
}

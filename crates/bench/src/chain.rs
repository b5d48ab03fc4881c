//! The chain to index: traffic of the dev chain, recorded once and served over HTTP.

mod making;
mod tally;

use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::{Address, TxKind, U256};
use anyhow::{Context, bail};
use devchain::{DevChain, traffic::Traffic};

pub(crate) use self::making::ChainPlan;
use self::tally::Tally;
use crate::{
    recording::Recording,
    replay::{Conditions, Replay},
};

pub(crate) struct RecordedChain {
    chain: DevChain,
    recording: Arc<Recording>,
    traffic: Arc<Mutex<Traffic>>,
    local: Replay,
    tally: Tally,
    /// A description of how it was generated.
    pub(crate) making: String,
    pub(crate) head: u64,
    pub(crate) transactions: u64,
    /// The address with the most transactions, and how many.
    pub(crate) busiest: (Address, u64),
}

impl RecordedChain {
    pub(crate) async fn make(plan: ChainPlan) -> anyhow::Result<Self> {
        let made = tokio::task::spawn_blocking(move || making::make(plan)).await??;
        let recording = Arc::new(made.recording);
        let local = Replay::start(Arc::clone(&recording), made.chain.clone(), Conditions::default()).await?;
        Ok(Self {
            local,
            recording,
            traffic: Arc::new(Mutex::new(made.traffic)),
            making: made.report,
            head: made.chain.head().number,
            transactions: made.tally.transactions(),
            busiest: made.tally.busiest(),
            tally: made.tally,
            chain: made.chain,
        })
    }

    /// The newest block, with those that were mined since the chain was recorded.
    pub(crate) fn newest(&self) -> u64 {
        self.chain.head().number
    }

    /// The URL where it is served without delay.
    pub(crate) fn url(&self) -> String {
        self.local.url()
    }

    pub(crate) fn local(&self) -> &Replay {
        &self.local
    }

    /// Serves the same chain again, with other conditions.
    pub(crate) async fn serve(&self, conditions: Conditions) -> anyhow::Result<Replay> {
        Replay::start(Arc::clone(&self.recording), self.chain.clone(), conditions).await
    }

    /// Mines another block with at least this many transactions and returns its number. It is not recorded.
    pub(crate) async fn mine_block(&self, transactions: usize) -> anyhow::Result<u64> {
        let (chain, traffic) = (self.chain.clone(), Arc::clone(&self.traffic));
        tokio::task::spawn_blocking(move || {
            traffic.lock().unwrap_or_else(PoisonError::into_inner).send(transactions)?;
            Ok(chain.mine(None).number)
        })
        .await?
    }

    /// Creates a contract in a separate block; returns its address and the block number.
    pub(crate) async fn deploy(&self, code: Vec<u8>) -> anyhow::Result<(Address, u64)> {
        let chain = self.chain.clone();
        tokio::task::spawn_blocking(move || {
            let creator = chain.accounts().first().context("the chain has no accounts")?.address();
            let created = creator.create(chain.next_nonce(creator));
            chain.send(0, TxKind::Create, U256::ZERO, code)?;
            let block = chain.mine(None).number;
            if chain.code(created).is_empty() {
                bail!("the contract was not created");
            }
            Ok((created, block))
        })
        .await?
    }

    /// The number of transactions up to and including a block.
    pub(crate) fn transactions_up_to(&self, block: u64) -> u64 {
        self.tally.transactions_up_to(block)
    }

    /// The first block at which this share of all transactions is reached.
    pub(crate) fn block_at(&self, share: f64) -> u64 {
        self.tally.block_at(share)
    }

    pub(crate) fn describe(&self) -> String {
        let Self { head, transactions, busiest: (_, entries), .. } = self;
        let blocks = head + 1;
        format!(
            "Chain: {transactions} transactions in {blocks} blocks, {:.2} token transfers per transaction, {} addresses, \
             {entries} transactions of the busiest one; {:.0} bytes of JSON per transaction. {}\n",
            self.tally.transfers() as f64 / *transactions as f64,
            self.tally.addresses(),
            self.recording.bytes() as f64 / *transactions as f64,
            self.making,
        )
    }
}

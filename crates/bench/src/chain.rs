//! The chain to index: the dev chain's own traffic, recorded once and served over HTTP.

mod making;
mod tally;

use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::{Address, TxKind, U256};
use anyhow::{Context, bail};
use devchain::DevChain;
use devchain::traffic::Traffic;

pub(crate) use self::making::ChainPlan;
use self::tally::Tally;
use crate::recording::Recording;
use crate::replay::{Conditions, Replay};

pub(crate) struct RecordedChain {
    chain: DevChain,
    recording: Arc<Recording>,
    traffic: Arc<Mutex<Traffic>>,
    near: Replay,
    tally: Tally,
    /// What making it took, in words.
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
        let near = Replay::start(Arc::clone(&recording), made.chain.clone(), Conditions::default()).await?;
        Ok(Self {
            near,
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

    /// Where it is served as fast as HTTP allows.
    pub(crate) fn url(&self) -> String {
        self.near.url()
    }

    pub(crate) fn near(&self) -> &Replay {
        &self.near
    }

    /// The same chain served once more, under conditions of its own.
    pub(crate) async fn serve(&self, conditions: Conditions) -> anyhow::Result<Replay> {
        Replay::start(Arc::clone(&self.recording), self.chain.clone(), conditions).await
    }

    /// Mines one more block with at least so many transactions, and tells its number. It is not part of the recording.
    pub(crate) async fn grow(&self, transactions: usize) -> anyhow::Result<u64> {
        let (chain, traffic) = (self.chain.clone(), Arc::clone(&self.traffic));
        tokio::task::spawn_blocking(move || {
            traffic.lock().unwrap_or_else(PoisonError::into_inner).send(transactions)?;
            Ok(chain.mine(None).number)
        })
        .await?
    }

    /// Creates a contract in a block of its own, and tells its address and the block.
    pub(crate) async fn deploy(&self, code: Vec<u8>) -> anyhow::Result<(Address, u64)> {
        let chain = self.chain.clone();
        tokio::task::spawn_blocking(move || {
            let creator = chain.accounts().first().context("a chain without accounts")?.address();
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

    /// How many transactions there are up to a block, that one included.
    pub(crate) fn transactions_up_to(&self, block: u64) -> u64 {
        self.tally.transactions_up_to(block)
    }

    /// The first block with which at least this share of all transactions is reached.
    pub(crate) fn block_at(&self, share: f64) -> u64 {
        self.tally.block_at(share)
    }

    pub(crate) fn describe(&self) -> String {
        let Self { head, transactions, busiest: (_, entries), .. } = self;
        let blocks = head + 1;
        format!(
            "Chain: {transactions} transactions in {blocks} blocks, {:.2} token transfers a transaction, {} addresses, \
             {entries} transactions of the busiest one; {:.0} bytes of JSON a transaction. {}\n",
            self.tally.transfers() as f64 / *transactions as f64,
            self.tally.addresses(),
            self.recording.bytes() as f64 / *transactions as f64,
            self.making,
        )
    }
}

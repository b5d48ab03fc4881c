//! The public handle of the dev chain.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use alloy_consensus::{
    TxEnvelope,
    transaction::{Recovered, SignerRecoverable},
};
use alloy_eips::{BlockId, BlockNumberOrTag, eip2718::Decodable2718};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
    time::MissedTickBehavior,
};
use tokio_util::sync::CancellationToken;

use crate::{
    archive::ArchiveError,
    block::{BlockSummary, Inclusion, MinedBlock},
    builder::{self, BlockBuilder, BlockPlan},
    call::{Call, CallError, Simulation},
    config::DevChainConfig,
    keys,
    ledger::{BlockInput, HistoryLimit, Ledger, Snapshot, StateUnavailable},
    pool::{Pool, SubmitError},
    reorg::{ReorgError, ReorgedTransactions, Replay},
    signer::Signer,
    state::{Account, WorldState},
};

/// Block subscribers that lag by more than this miss blocks.
const BLOCK_FEED_CAPACITY: usize = 1_024;

/// An in-process EVM chain. Clones share the same chain.
#[derive(Debug, Clone)]
pub struct DevChain {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: DevChainConfig,
    signers: Vec<Signer>,
    coinbases: Vec<Address>,
    chain: RwLock<Chain>,
    sending: Mutex<()>,
    head: watch::Sender<BlockSummary>,
    blocks: broadcast::Sender<Arc<MinedBlock>>,
}

/// State that changes atomically, under one lock.
#[derive(Debug)]
struct Chain {
    ledger: Ledger,
    pool: Pool,
    /// Number of reorgs, so that blocks of different branches differ.
    branch: u64,
}

impl DevChain {
    pub fn new(config: DevChainConfig) -> Self {
        let signers = keys::signers(config.seed, config.accounts);
        let world = WorldState::with_accounts(
            signers.iter().map(|signer| (signer.address(), Account::funded(config.account_balance))),
        );
        let genesis = builder::genesis(&config, &world);
        let (head, _) = watch::channel(genesis.summary());
        let (blocks, _) = broadcast::channel(BLOCK_FEED_CAPACITY);
        Self {
            shared: Arc::new(Shared {
                coinbases: keys::coinbases(config.seed),
                chain: RwLock::new(Chain {
                    ledger: Ledger::new(genesis, world, HistoryLimit::new(&config)),
                    pool: Pool::default(),
                    branch: 0,
                }),
                sending: Mutex::default(),
                config,
                signers,
                head,
                blocks,
            }),
        }
    }

    pub fn chain_id(&self) -> u64 {
        self.shared.config.chain_id
    }

    pub fn block_gas_limit(&self) -> u64 {
        self.shared.config.block_gas_limit
    }

    /// The funded signers derived from the seed.
    pub fn accounts(&self) -> &[Signer] {
        &self.shared.signers
    }

    /// What accounts have in the first block.
    pub fn genesis_balances(&self) -> impl Iterator<Item = (Address, U256)> {
        self.accounts().iter().map(move |signer| (signer.address(), self.shared.config.account_balance))
    }

    /// The beneficiaries of blocks, used round-robin.
    pub fn coinbases(&self) -> &[Address] {
        &self.shared.coinbases
    }

    /// Validates a transaction and adds it to the pool.
    pub fn submit(&self, transaction: TxEnvelope) -> Result<B256, SubmitError> {
        let transaction = transaction.try_into_recovered().map_err(|_| SubmitError::BadSignature)?;
        self.submit_recovered(transaction)
    }

    /// Like [`DevChain::submit`], for an encoded transaction.
    pub(crate) fn submit_raw(&self, bytes: &[u8]) -> Result<B256, SubmitError> {
        self.submit(TxEnvelope::decode_2718_exact(bytes)?)
    }

    /// Adds a transaction whose sender is already known.
    pub(crate) fn submit_recovered(&self, transaction: Recovered<TxEnvelope>) -> Result<B256, SubmitError> {
        let mut chain = self.write();
        let Chain { ledger, pool, .. } = &mut *chain;
        pool.submit(transaction, ledger.world(), &self.shared.config)
    }

    /// Mines a block from the pool; the default time is the block interval after its parent.
    ///
    /// A time that is not after the parent's is set to the second after it.
    pub fn mine(&self, timestamp: Option<u64>) -> BlockSummary {
        let mut chain = self.write();
        let summary = self.mine_on(&mut chain, timestamp, |pool, block| pool.fill(block));
        self.shared.head.send_replace(summary);
        summary
    }

    /// Replaces the last `depth` blocks by `new_blocks` others, possibly fewer or none.
    pub fn reorg(
        &self,
        depth: u64,
        new_blocks: u64,
        transactions: ReorgedTransactions,
    ) -> Result<BlockSummary, ReorgError> {
        let mut chain = self.write();
        let kept = chain.ledger.max_reorg_depth();
        let depth = match usize::try_from(depth) {
            Ok(0) => return Err(ReorgError::NothingToReplace),
            Ok(depth) if depth <= kept => depth,
            _ => {
                let kept = kept as u64;
                return Err(ReorgError::TooDeep { depth, kept });
            }
        };
        let removed = chain.ledger.truncate(depth);
        chain.branch += 1;
        let mut replay = Replay::new(match transactions {
            ReorgedTransactions::Drop => Vec::new(),
            ReorgedTransactions::Replay => {
                removed.iter().flat_map(|block| &block.transactions).map(|mined| mined.transaction.clone()).collect()
            }
        });
        for index in 0..new_blocks {
            // The new branch reuses the timestamps of the old one.
            let timestamp =
                usize::try_from(index).ok().and_then(|index| removed.get(index)).map(|block| block.header.timestamp);
            self.mine_on(&mut chain, timestamp, |_, block| {
                replay.fill(block, new_blocks - index);
            });
        }
        for transaction in replay.into_remaining() {
            chain.pool.insert(transaction);
        }
        let summary = chain.ledger.head().summary();
        self.shared.head.send_replace(summary);
        Ok(summary)
    }

    /// Mines at an interval, with wall-clock timestamps, until cancelled.
    pub fn mine_every(&self, interval: Duration, cancel: CancellationToken) -> JoinHandle<()> {
        let chain = self.clone();
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks.tick().await;
            loop {
                tokio::select! {
                    () = cancel.cancelled() => return,
                    _ = ticks.tick() => chain.mine(Some(unix_time::seconds())),
                };
            }
        })
    }

    pub fn head(&self) -> BlockSummary {
        self.read().ledger.head().summary()
    }

    /// Receives every new head; a slow subscriber sees only the newest.
    pub fn subscribe_heads(&self) -> watch::Receiver<BlockSummary> {
        self.shared.head.subscribe()
    }

    /// Receives every block that is added to the chain, including those of a reorg.
    pub(crate) fn subscribe_blocks(&self) -> broadcast::Receiver<Arc<MinedBlock>> {
        self.shared.blocks.subscribe()
    }

    /// A block of the canonical chain.
    pub fn find_block(&self, id: impl Into<BlockId>) -> Result<Option<Arc<MinedBlock>>, ArchiveError> {
        self.read().ledger.find(id.into())
    }

    /// A mined transaction with its receipt.
    pub(crate) fn find_receipt(&self, transaction: B256) -> Result<Option<Inclusion>, ArchiveError> {
        self.read().ledger.find_inclusion(&transaction)
    }

    /// [`DevChain::find_block`] for callers that cannot do anything about an error: it is logged.
    pub fn block(&self, id: impl Into<BlockId>) -> Option<Arc<MinedBlock>> {
        self.find_block(id).unwrap_or_else(logged)
    }

    /// [`DevChain::find_receipt`] for callers that cannot do anything about an error: it is logged.
    pub fn receipt(&self, transaction: B256) -> Option<Inclusion> {
        self.find_receipt(transaction).unwrap_or_else(logged)
    }

    /// A pending transaction.
    pub fn pending(&self, transaction: B256) -> Option<Recovered<TxEnvelope>> {
        self.read().pool.get(&transaction).cloned()
    }

    /// The number of pending transactions.
    pub fn pool_size(&self) -> usize {
        self.read().pool.len()
    }

    /// Executes a call on the latest state, without fees and without changing it.
    pub fn call(&self, call: &Call) -> Result<Bytes, CallError> {
        self.call_at(call, BlockNumberOrTag::Latest)
    }

    /// Executes a call on the state after a block.
    pub fn call_at(&self, call: &Call, at: impl Into<BlockId>) -> Result<Bytes, CallError> {
        self.simulation(call, at)?.output()
    }

    /// The smallest gas limit with which the call succeeds on the state after a block.
    pub(crate) fn estimate_gas_at(&self, call: &Call, at: impl Into<BlockId>) -> Result<u64, CallError> {
        self.simulation(call, at)?.estimate()
    }

    pub(crate) fn gas_used_by(&self, call: &Call) -> Result<u64, CallError> {
        self.simulation(call, BlockNumberOrTag::Latest)?.gas_used()
    }

    /// The balance in the latest state.
    pub fn balance(&self, address: Address) -> U256 {
        self.latest(address, |account| account.balance)
    }

    /// The number of transactions mined from an address.
    pub fn nonce(&self, address: Address) -> u64 {
        self.latest(address, |account| account.nonce)
    }

    /// The code in the latest state; empty if there is none.
    pub fn code(&self, address: Address) -> Bytes {
        self.latest(address, |account| account.code().original_bytes())
    }

    /// A storage slot in the latest state.
    pub fn storage(&self, address: Address, slot: U256) -> U256 {
        self.latest(address, |account| account.storage(slot))
    }

    /// The nonce for the next transaction of an address, including pending ones.
    pub fn next_nonce(&self, address: Address) -> u64 {
        let chain = self.read();
        chain.pool.next_nonce(address, chain.ledger.world())
    }

    /// The base fee of the next block.
    pub fn next_base_fee(&self) -> u64 {
        builder::next_base_fee(&self.read().ledger.head().header, &self.shared.config)
    }

    /// A block with the state after it.
    pub(crate) fn snapshot(&self, at: impl Into<BlockId>) -> Result<Snapshot, StateUnavailable> {
        self.read().ledger.snapshot(at.into())
    }

    /// A block with the state before it.
    pub(crate) fn block_input(&self, id: impl Into<BlockId>) -> Result<BlockInput, StateUnavailable> {
        self.read().ledger.input_of(id.into())
    }

    pub(crate) fn offers_traces(&self) -> bool {
        self.shared.config.traces
    }

    /// The base fee of the block after the given one.
    pub(crate) fn base_fee_after(&self, block: &MinedBlock) -> u64 {
        builder::next_base_fee(&block.header, &self.shared.config)
    }

    /// Locks the choice of nonces while the guard is held.
    pub(crate) fn sending(&self) -> MutexGuard<'_, ()> {
        self.shared.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn simulation<'a>(&self, call: &'a Call, at: impl Into<BlockId>) -> Result<Simulation<'a>, StateUnavailable> {
        Ok(Simulation { chain_id: self.chain_id(), snapshot: self.snapshot(at)?, call })
    }

    fn latest<T: Default>(&self, address: Address, of: impl FnOnce(&Account) -> T) -> T {
        self.read().ledger.world().account(address).map(of).unwrap_or_default()
    }

    fn mine_on(
        &self,
        chain: &mut Chain,
        timestamp: Option<u64>,
        fill: impl FnOnce(&mut Pool, &mut BlockBuilder),
    ) -> BlockSummary {
        let config = &self.shared.config;
        let parent = Arc::clone(chain.ledger.head());
        let number = parent.number() + 1;
        let earliest = parent.header.timestamp + 1;
        let plan = BlockPlan {
            timestamp: timestamp.unwrap_or(parent.header.timestamp + config.block_seconds).max(earliest),
            beneficiary: self.coinbase_of(number, chain.branch),
            randomness: keccak256([parent.hash(), keys::derive(config.seed, "randomness", number)].concat()),
            extra_data: format!("devchain/{}", chain.branch).into_bytes().into(),
        };
        let world = chain.ledger.world().clone();
        let ancestors = chain.ledger.next_ancestors();
        let mut block = BlockBuilder::on(&parent, world, ancestors, plan, config);
        fill(&mut chain.pool, &mut block);
        let (block, world) = block.seal();
        chain.pool.remove_stale(&world);
        let block = chain.ledger.append(block, world);
        let summary = block.summary();
        // Fails only without subscribers.
        let _ = self.shared.blocks.send(block);
        summary
    }

    #[expect(clippy::indexing_slicing, reason = "the index is a remainder of their number, which is not 0")]
    fn coinbase_of(&self, number: u64, branch: u64) -> Address {
        let coinbases = &self.shared.coinbases;
        let index = usize::try_from(number.wrapping_add(branch)).unwrap_or_default();
        coinbases[index % coinbases.len()]
    }

    fn read(&self) -> RwLockReadGuard<'_, Chain> {
        self.shared.chain.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Chain> {
        self.shared.chain.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn logged<T>(error: ArchiveError) -> Option<T> {
    tracing::error!(%error, "old block unavailable");
    None
}

//! The dev chain as its users hold it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use alloy_consensus::{
    TxEnvelope,
    transaction::{Recovered, SignerRecoverable},
};
use alloy_eips::{BlockId, BlockNumberOrTag, eip2718::Decodable2718};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_signer_local::PrivateKeySigner;
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
    time::MissedTickBehavior,
};
use tokio_util::sync::CancellationToken;

use crate::{
    block::{BlockSummary, Inclusion, MinedBlock},
    builder::{self, BlockBuilder, BlockPlan},
    call::{Call, CallError, Simulation},
    config::{DevChainConfig, LEAST_HISTORY},
    keys,
    ledger::{Ledger, Snapshot, StateUnavailable},
    pool::{Pool, SubmitError},
    reorg::{ReorgError, ReorgedTransactions, Replay},
    state::{Account, WorldState},
};

/// Followers of single blocks that fall further behind than this miss some.
const BLOCK_FEED_CAPACITY: usize = 1_024;

/// An EVM chain inside the process. Clones share the same chain.
#[derive(Debug, Clone)]
pub struct DevChain {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: DevChainConfig,
    signers: Vec<PrivateKeySigner>,
    coinbases: Vec<Address>,
    chain: RwLock<Chain>,
    sending: Mutex<()>,
    head: watch::Sender<BlockSummary>,
    blocks: broadcast::Sender<Arc<MinedBlock>>,
}

/// What changes together, under one lock.
#[derive(Debug)]
struct Chain {
    ledger: Ledger,
    pool: Pool,
    /// Counts the reorganisations, so that no two branches have equal blocks.
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
        let history = config.history.max(LEAST_HISTORY);
        Self {
            shared: Arc::new(Shared {
                coinbases: keys::coinbases(config.seed),
                chain: RwLock::new(Chain {
                    ledger: Ledger::new(genesis, world, history),
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

    /// The funded signers of the chain's seed.
    pub fn accounts(&self) -> &[PrivateKeySigner] {
        &self.shared.signers
    }

    /// The addresses that take turns in earning the fees.
    pub fn coinbases(&self) -> &[Address] {
        &self.shared.coinbases
    }

    /// Checks a transaction and puts it into the pool.
    pub fn submit(&self, transaction: TxEnvelope) -> Result<B256, SubmitError> {
        let transaction = transaction.try_into_recovered().map_err(|_| SubmitError::BadSignature)?;
        self.admit(transaction)
    }

    /// Like [`DevChain::submit`], from the bytes a wallet sends.
    pub fn submit_raw(&self, bytes: &[u8]) -> Result<B256, SubmitError> {
        self.submit(TxEnvelope::decode_2718_exact(bytes)?)
    }

    /// Takes a transaction whose sender is known for sure.
    pub(crate) fn admit(&self, transaction: Recovered<TxEnvelope>) -> Result<B256, SubmitError> {
        let mut chain = self.write();
        let Chain { ledger, pool, .. } = &mut *chain;
        pool.submit(transaction, ledger.world(), &self.shared.config)
    }

    /// Mines a block from the pool; without a time, the usual interval after its parent.
    ///
    /// A time that is not after the parent's is moved up to the second after it.
    pub fn mine(&self, timestamp: Option<u64>) -> BlockSummary {
        let mut chain = self.write();
        let summary = self.mine_on(&mut chain, timestamp, |pool, block| pool.fill(block));
        self.shared.head.send_replace(summary);
        summary
    }

    /// Replaces the last `depth` blocks by `new_blocks` others, which may be fewer or none.
    pub fn reorg(
        &self,
        depth: u64,
        new_blocks: u64,
        transactions: ReorgedTransactions,
    ) -> Result<BlockSummary, ReorgError> {
        let mut chain = self.write();
        let kept = chain.ledger.reorganisable();
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
        for done in 0..new_blocks {
            // The new branch keeps the times of the old one as far as that goes.
            let timestamp =
                usize::try_from(done).ok().and_then(|done| removed.get(done)).map(|block| block.header.timestamp);
            self.mine_on(&mut chain, timestamp, |_, block| {
                replay.fill(block, new_blocks - done);
            });
        }
        for transaction in replay.into_left() {
            chain.pool.keep(transaction);
        }
        let summary = chain.ledger.head().summary();
        self.shared.head.send_replace(summary);
        Ok(summary)
    }

    /// Mines at an interval, with the time of the clock, until told to stop.
    pub fn mine_every(&self, interval: Duration, cancel: CancellationToken) -> JoinHandle<()> {
        let chain = self.clone();
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks.tick().await;
            loop {
                tokio::select! {
                    () = cancel.cancelled() => return,
                    _ = ticks.tick() => chain.mine(Some(seconds_now())),
                };
            }
        })
    }

    pub fn head(&self) -> BlockSummary {
        self.read().ledger.head().summary()
    }

    /// Tells of every new head; a slow follower sees the newest only.
    pub fn subscribe_heads(&self) -> watch::Receiver<BlockSummary> {
        self.shared.head.subscribe()
    }

    /// Tells of every block as it joins the chain, those of a new branch included.
    pub fn subscribe_blocks(&self) -> broadcast::Receiver<Arc<MinedBlock>> {
        self.shared.blocks.subscribe()
    }

    /// A block of the canonical chain.
    pub fn block(&self, id: impl Into<BlockId>) -> Option<Arc<MinedBlock>> {
        self.read().ledger.by_id(id.into()).cloned()
    }

    /// A mined transaction with its receipt.
    pub fn receipt(&self, transaction: B256) -> Option<Inclusion> {
        self.read().ledger.inclusion(&transaction)
    }

    /// A transaction that waits for a block.
    pub fn pending(&self, transaction: B256) -> Option<Recovered<TxEnvelope>> {
        self.read().pool.get(&transaction).cloned()
    }

    /// Gives back the memory of the transactions below a block, for chains that are longer than memory.
    ///
    /// Their blocks remain with their headers, and can still be reorganised no further than before.
    pub fn forget_transactions_below(&self, number: u64) {
        self.write().ledger.forget_transactions_below(number);
    }

    /// How many transactions wait for a block.
    pub fn pool_size(&self) -> usize {
        self.read().pool.len()
    }

    /// Executes a call on the newest state, for nothing and without a trace.
    pub fn call(&self, call: &Call) -> Result<Bytes, CallError> {
        self.call_at(call, BlockNumberOrTag::Latest)
    }

    /// Executes a call on the state after a block.
    pub fn call_at(&self, call: &Call, at: impl Into<BlockId>) -> Result<Bytes, CallError> {
        self.simulation(call, at)?.output()
    }

    /// The smallest gas limit with which the call succeeds on the newest state.
    pub fn estimate_gas(&self, call: &Call) -> Result<u64, CallError> {
        self.estimate_gas_at(call, BlockNumberOrTag::Latest)
    }

    pub fn estimate_gas_at(&self, call: &Call, at: impl Into<BlockId>) -> Result<u64, CallError> {
        self.simulation(call, at)?.estimate()
    }

    pub(crate) fn gas_used_by(&self, call: &Call) -> Result<u64, CallError> {
        self.simulation(call, BlockNumberOrTag::Latest)?.gas_used()
    }

    /// The balance on the newest state.
    pub fn balance(&self, address: Address) -> U256 {
        self.latest(address, |account| account.balance)
    }

    /// The number of transactions mined from an address.
    pub fn nonce(&self, address: Address) -> u64 {
        self.latest(address, |account| account.nonce)
    }

    /// The code on the newest state, empty where there is none.
    pub fn code(&self, address: Address) -> Bytes {
        self.latest(address, |account| account.code().original_bytes())
    }

    /// A storage slot on the newest state.
    pub fn storage(&self, address: Address, slot: U256) -> U256 {
        self.latest(address, |account| account.storage(slot))
    }

    /// The nonce for an address's next transaction, with those in the pool counted in.
    pub fn next_nonce(&self, address: Address) -> u64 {
        let chain = self.read();
        chain.pool.next_nonce(address, chain.ledger.world())
    }

    /// The base fee of the block that would be mined now.
    pub fn next_base_fee(&self) -> u64 {
        builder::next_base_fee(&self.read().ledger.head().header, &self.shared.config)
    }

    /// A block with the state after it.
    pub(crate) fn snapshot(&self, at: impl Into<BlockId>) -> Result<Snapshot, StateUnavailable> {
        self.read().ledger.snapshot(at.into())
    }

    /// The base fee of the block after the given one.
    pub(crate) fn base_fee_after(&self, block: &MinedBlock) -> u64 {
        builder::next_base_fee(&block.header, &self.shared.config)
    }

    /// Keeps others from choosing a nonce for as long as the answer is held.
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
        let ancestors = chain.ledger.ancestors_of(number);
        let mut block = BlockBuilder::on(&parent, world, ancestors, plan, config);
        fill(&mut chain.pool, &mut block);
        let (block, world) = block.seal();
        chain.pool.forget_stale(&world);
        let block = chain.ledger.append(block, world);
        let summary = block.summary();
        // Fails only where nobody listens.
        let _ = self.shared.blocks.send(block);
        summary
    }

    fn coinbase_of(&self, number: u64, branch: u64) -> Address {
        let coinbases = &self.shared.coinbases;
        let turn = usize::try_from(number.wrapping_add(branch)).unwrap_or_default();
        coinbases[turn % coinbases.len()]
    }

    fn read(&self) -> RwLockReadGuard<'_, Chain> {
        self.shared.chain.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Chain> {
        self.shared.chain.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|elapsed| elapsed.as_secs()).unwrap_or_default()
}

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use domain::{
    Address, AuditResult, AuditSample, B256, BalanceKey, BlockChanges, BlockNumber, BlockRef, Bytes, ChainIdentity,
    InternalBlock, InternalFrontier, PendingToken, TokenMetadata, U256,
};
use store::{ChainWriter, ContractDataWriter, InternalWriter, StoreError, Undo};

use crate::{
    blocking::run_blocking,
    engine::Engine,
    keys::{Key, Table},
    meta,
    read::ReadCaches,
    rows::BlockRow,
    undo,
    verified_contracts::Listing,
    write::WriteState,
};

/// The writers that were taken from a store. Only the newest may write.
#[derive(Debug, Default)]
pub(crate) struct Writers {
    newest: AtomicU64,
    /// Locked while a writer works, so that its successor sees what it wrote.
    working: Mutex<()>,
}

/// The writer of an embedded store, until another one is taken.
#[derive(Debug)]
pub struct EmbeddedWriter {
    engine: Engine,
    /// Locked only by this writer's own blocking work, so there is never contention.
    state: Arc<Mutex<WriteState>>,
    writers: Arc<Writers>,
    read_caches: Arc<ReadCaches>,
    number: u64,
}

impl EmbeddedWriter {
    /// Replaces the writer before.
    pub(crate) fn new(
        engine: Engine,
        writers: Arc<Writers>,
        read_caches: Arc<ReadCaches>,
        cache_entries: usize,
        listing: Arc<Listing>,
    ) -> Self {
        let number = writers.newest.fetch_add(1, Ordering::AcqRel) + 1;
        let state = Arc::new(Mutex::new(WriteState::new(cache_entries, listing)));
        Self { engine, state, writers, read_caches, number }
    }

    /// Commits are slow and write to the disk, so they run on the blocking pool. Reads too: they wait until the writer
    /// before has ended its work.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine, &mut WriteState) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (engine, state) = (self.engine.clone(), Arc::clone(&self.state));
        let (writers, number) = (Arc::clone(&self.writers), self.number);
        run_blocking(move || {
            let _working = writers.working.lock().unwrap_or_else(PoisonError::into_inner);
            if writers.newest.load(Ordering::Acquire) != number {
                return Err(StoreError::WriterReplaced);
            }
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            work(&engine, &mut state)
        })
        .await
    }
}

#[async_trait]
impl ChainWriter for EmbeddedWriter {
    async fn tip(&self) -> Result<Option<BlockRef>, StoreError> {
        self.work(|engine, _| Ok(meta::find_tip(&engine.view())?.map(|tip| tip.block))).await
    }

    async fn find_block_hash(&self, number: BlockNumber) -> Result<Option<B256>, StoreError> {
        self.work(move |engine, _| {
            let row = engine.view().get(Table::Block, &Key::block(number))?;
            row.map(|row| BlockRow::from_row(&row).map(|row| row.hash)).transpose()
        })
        .await
    }

    async fn oldest_revertible(&self) -> Result<Option<BlockNumber>, StoreError> {
        self.work(|engine, _| {
            let view = engine.view();
            let Some(tip) = meta::find_tip(&view)? else { return Ok(None) };
            undo::oldest_revertible(&view, &tip).map(Some)
        })
        .await
    }

    async fn commit(&mut self, blocks: Vec<BlockChanges>, undo: Undo) -> Result<(), StoreError> {
        self.work(move |engine, state| state.commit(engine, &blocks, undo)).await
    }

    async fn revert_to(&mut self, number: BlockNumber) -> Result<(), StoreError> {
        self.work(move |engine, state| state.revert_to(engine, number)).await
    }

    async fn start_over(&mut self, chain: ChainIdentity) -> Result<(), StoreError> {
        let caches = Arc::clone(&self.read_caches);
        self.work(move |engine, state| {
            state.start_over(engine, chain)?;
            caches.start_over();
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl ContractDataWriter for EmbeddedWriter {
    async fn list_pending_tokens(&self, limit: usize) -> Result<Vec<PendingToken>, StoreError> {
        self.work(move |engine, state| state.list_pending_tokens(engine, limit)).await
    }

    async fn save_token_metadata(&mut self, metadata: Vec<(Address, TokenMetadata)>) -> Result<(), StoreError> {
        self.work(move |engine, _| WriteState::save_token_metadata(engine, &metadata)).await
    }

    async fn list_audits(&self, limit: usize) -> Result<Vec<AuditSample>, StoreError> {
        self.work(move |engine, _| WriteState::list_audits(engine, limit)).await
    }

    async fn save_audits(&mut self, verdicts: Vec<(Address, AuditResult)>, at: BlockNumber) -> Result<(), StoreError> {
        self.work(move |engine, _| WriteState::save_audits(engine, &verdicts, at)).await
    }

    async fn list_pending_balances(&mut self, limit: usize) -> Result<Vec<BalanceKey>, StoreError> {
        self.work(move |engine, _| WriteState::list_pending_balances(engine, limit)).await
    }

    async fn save_balances(&mut self, balances: Vec<(BalanceKey, U256)>, at: BlockNumber) -> Result<(), StoreError> {
        self.work(move |engine, _| WriteState::save_balances(engine, &balances, at)).await
    }

    async fn list_pending_codes(&self, limit: usize) -> Result<Vec<Address>, StoreError> {
        self.work(move |engine, _| WriteState::list_pending_codes(engine, limit)).await
    }

    async fn save_codes(&mut self, codes: Vec<(Address, Bytes)>, at: BlockNumber) -> Result<(), StoreError> {
        self.work(move |engine, state| state.save_codes(engine, &codes, at)).await
    }

    async fn rank_holders(&mut self, limit: usize) -> Result<usize, StoreError> {
        self.work(move |engine, _| WriteState::rank_holders(engine, limit)).await
    }
}

#[async_trait]
impl InternalWriter for EmbeddedWriter {
    async fn internal_frontier(&self) -> Result<Option<InternalFrontier>, StoreError> {
        self.work(|engine, _| WriteState::internal_frontier(engine)).await
    }

    async fn save_internal(&mut self, blocks: Vec<InternalBlock>) -> Result<usize, StoreError> {
        self.work(move |engine, _| WriteState::save_internal(engine, &blocks)).await
    }

    async fn skip_internal(&mut self, last: BlockNumber) -> Result<(), StoreError> {
        self.work(move |engine, _| WriteState::skip_internal(engine, last)).await
    }
}

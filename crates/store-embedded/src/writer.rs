use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::{
    Address, AuditResult, AuditSample, B256, BalanceQuestion, BlockChanges, BlockNumber, BlockRef, Bytes, TokenFacts,
    TokenQuestion, U256,
};
use store::{ChainWriter, StoreError, Undo};

use crate::{
    blocking::run_blocking,
    engine::Engine,
    keys::{Key, Table},
    meta,
    rows::BlockRow,
    undo,
    verified_contracts::Listing,
    write::WriteState,
};

/// The only writer of an embedded store.
#[derive(Debug)]
pub struct EmbeddedWriter {
    engine: Engine,
    /// Locked only by this writer's own blocking work, so there is never contention.
    state: Arc<Mutex<WriteState>>,
}

impl EmbeddedWriter {
    pub(crate) fn new(engine: Engine, cache_entries: usize, listing: Arc<Listing>) -> Self {
        Self { engine, state: Arc::new(Mutex::new(WriteState::new(cache_entries, listing))) }
    }

    /// Commits are slow and write to the disk, so they run on the blocking pool.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine, &mut WriteState) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (engine, state) = (self.engine.clone(), Arc::clone(&self.state));
        run_blocking(move || {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            work(&engine, &mut state)
        })
        .await
    }
}

#[async_trait]
impl ChainWriter for EmbeddedWriter {
    async fn tip(&self) -> Result<Option<BlockRef>, StoreError> {
        Ok(meta::find_tip(&self.engine.view())?.map(|tip| tip.block))
    }

    async fn find_block_hash(&self, number: BlockNumber) -> Result<Option<B256>, StoreError> {
        let row = self.engine.view().get(Table::Block, &Key::block(number))?;
        row.map(|row| BlockRow::from_row(&row).map(|row| row.hash)).transpose()
    }

    async fn oldest_revertible(&self) -> Result<Option<BlockNumber>, StoreError> {
        let view = self.engine.view();
        let Some(tip) = meta::find_tip(&view)? else { return Ok(None) };
        let oldest = undo::oldest_undo(&view, 0)?.map_or(tip.block.number, |oldest| oldest.saturating_sub(1));
        Ok(Some(oldest.max(tip.start_block)))
    }

    async fn commit(&mut self, blocks: Vec<BlockChanges>, undo: Undo) -> Result<(), StoreError> {
        self.work(move |engine, state| state.commit(engine, &blocks, undo)).await
    }

    async fn revert_to(&mut self, number: BlockNumber) -> Result<(), StoreError> {
        self.work(move |engine, state| state.revert_to(engine, number)).await
    }

    async fn list_token_questions(&self, limit: usize) -> Result<Vec<TokenQuestion>, StoreError> {
        self.work(move |engine, state| state.list_token_questions(engine, limit)).await
    }

    async fn keep_token_facts(&mut self, facts: Vec<(Address, TokenFacts)>) -> Result<(), StoreError> {
        self.work(move |engine, _| WriteState::keep_token_facts(engine, &facts)).await
    }

    async fn list_audits(&self, limit: usize) -> Result<Vec<AuditSample>, StoreError> {
        self.work(move |engine, _| WriteState::list_audits(engine, limit)).await
    }

    async fn keep_audits(&mut self, verdicts: Vec<(Address, AuditResult)>, at: BlockNumber) -> Result<(), StoreError> {
        self.work(move |engine, _| WriteState::keep_audits(engine, &verdicts, at)).await
    }

    async fn list_balance_questions(&mut self, limit: usize) -> Result<Vec<BalanceQuestion>, StoreError> {
        self.work(move |engine, _| WriteState::list_balance_questions(engine, limit)).await
    }

    async fn keep_balances(
        &mut self,
        balances: Vec<(BalanceQuestion, U256)>,
        at: BlockNumber,
    ) -> Result<(), StoreError> {
        self.work(move |engine, _| WriteState::keep_balances(engine, &balances, at)).await
    }

    async fn list_code_questions(&self, limit: usize) -> Result<Vec<Address>, StoreError> {
        self.work(move |engine, _| WriteState::list_code_questions(engine, limit)).await
    }

    async fn keep_codes(&mut self, codes: Vec<(Address, Bytes)>, at: BlockNumber) -> Result<(), StoreError> {
        self.work(move |engine, state| state.keep_codes(engine, &codes, at)).await
    }

    async fn rank_holders(&mut self, limit: usize) -> Result<usize, StoreError> {
        self.work(move |engine, _| WriteState::rank_holders(engine, limit)).await
    }
}

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Account, Address, B256, BlockGasPrice, BlockRef, Coverage, DayFigures, NftMetadata, Stats, TransactionFailure, U256,
};
use metrics::Histogram;
use store::{CachedAccounts, CachedFailures, CachedNftMetadata, ChainReader, StateVersion, StoreError};

use crate::{
    blocking::{ReadSlots, run_blocking},
    engine::Engine,
    keys::{Key, Table},
    meta::Tip,
    read::{LongWalk, ReadCaches, ReadError, ReadSnapshot},
    rows::{
        account_from_row, account_to_row, failure_from_row, failure_to_row, nft_metadata_from_row, nft_metadata_to_row,
    },
    shared_work::Cancelled,
};

/// Reads an embedded store. Cheap to clone; never blocks the writer.
#[derive(Debug, Clone)]
pub struct EmbeddedReader {
    engine: Engine,
    caches: Arc<ReadCaches>,
    read_slots: Arc<ReadSlots>,
    read_times: Arc<Histogram>,
}

impl EmbeddedReader {
    pub(crate) fn new(
        engine: Engine,
        caches: Arc<ReadCaches>,
        read_slots: Arc<ReadSlots>,
        read_times: Arc<Histogram>,
    ) -> Self {
        Self { engine, caches, read_slots, read_times }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The tip, from memory if it was read since the last change.
    async fn tip(&self) -> Result<Option<Tip>, StoreError> {
        match self.engine.state().and_then(|version| self.caches.tip_of(version)) {
            Some(tip) => Ok(tip),
            None => self.read(|index| Ok(index.tip().copied())).await,
        }
    }

    /// Runs one query on one snapshot of the index. Nearly always its data is in memory, and moving it to another
    /// thread would cost more than running it; so it runs here while a read slot is free, and otherwise on the blocking
    /// pool, since the reads that hold the slots may be waiting for the disk.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&ReadSnapshot) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // A request of many reads that need no wait would have its turn for as long as they take.
        tokio::task::coop::consume_budget().await;
        let _timer = self.read_times.start_timer();
        if let Some(_slot) = self.read_slots.take() {
            return query(&ReadSnapshot::open(&self.engine, Arc::clone(&self.caches))?);
        }
        let (engine, caches) = (self.engine.clone(), Arc::clone(&self.caches));
        run_blocking(move || query(&ReadSnapshot::open(&engine, caches)?)).await
    }

    /// Like [`Self::read`], for a query that may need a long walk first. The walk runs separately, and then the query
    /// is retried.
    pub(crate) async fn read_list<T: Send + 'static>(
        &self,
        query: impl Fn(&ReadSnapshot) -> Result<T, ReadError> + Clone + Send + 'static,
    ) -> Result<T, StoreError> {
        loop {
            let query = query.clone();
            // Repeats after every reorg that drops checkpoints in the meantime.
            let walk = match self.read(move |index| split(query(index))).await? {
                Ok(result) => return Ok(result),
                Err(walk) => walk,
            };
            let (engine, caches) = (self.engine.clone(), Arc::clone(&self.caches));
            let key = walk.conditions.clone();
            let work = move |cancelled: &Cancelled| ReadSnapshot::open(&engine, caches)?.walk(&walk, cancelled);
            self.caches.walks.run(&key, work).await?;
        }
    }
}

fn split<T>(result: Result<T, ReadError>) -> Result<Result<T, LongWalk>, StoreError> {
    match result {
        Ok(result) => Ok(Ok(result)),
        Err(ReadError::NeedsWalk(walk)) => Ok(Err(walk)),
        Err(ReadError::Store(error)) => Err(error),
    }
}

#[async_trait]
impl ChainReader for EmbeddedReader {
    fn state(&self) -> Option<StateVersion> {
        self.engine.state()
    }

    async fn find_tip(&self) -> Result<Option<BlockRef>, StoreError> {
        Ok(self.tip().await?.map(|tip| tip.block))
    }

    async fn coverage(&self) -> Result<Coverage, StoreError> {
        Ok(Coverage { first_block: self.tip().await?.map(|tip| tip.start_block) })
    }

    async fn stats(&self) -> Result<Stats, StoreError> {
        self.read(ReadSnapshot::stats).await
    }

    async fn list_gas_prices(&self, blocks: u32) -> Result<Vec<BlockGasPrice>, StoreError> {
        self.read(move |index| index.list_gas_prices(blocks)).await
    }

    async fn list_days(&self, count: u32) -> Result<Vec<DayFigures>, StoreError> {
        self.read(move |index| index.list_days(count)).await
    }
}

#[async_trait]
impl CachedAccounts for EmbeddedReader {
    async fn find_account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        self.read(move |index| {
            let row = index.view().get(Table::Account, &Key::address(&address))?;
            row.map(|row| account_from_row(&row)).transpose()
        })
        .await
    }

    async fn save_account(&self, address: Address, account: Account) -> Result<(), StoreError> {
        let mut batch = self.engine.batch();
        batch.put(Table::Account, &Key::address(&address), account_to_row(&account));
        run_blocking(move || batch.commit()).await
    }
}

#[async_trait]
impl CachedNftMetadata for EmbeddedReader {
    async fn find_nft_metadata(&self, token: Address, id: U256) -> Result<Option<NftMetadata>, StoreError> {
        self.read(move |index| {
            let row = index.view().get(Table::NftMetadata, &Key::nft_metadata(&token, &id))?;
            row.map(|row| nft_metadata_from_row(&row)).transpose()
        })
        .await
    }

    async fn save_nft_metadata(&self, token: Address, id: U256, metadata: NftMetadata) -> Result<(), StoreError> {
        let mut batch = self.engine.batch();
        batch.put(Table::NftMetadata, &Key::nft_metadata(&token, &id), nft_metadata_to_row(&metadata));
        run_blocking(move || batch.commit()).await
    }
}

#[async_trait]
impl CachedFailures for EmbeddedReader {
    async fn find_failure(&self, transaction: B256, block: B256) -> Result<Option<TransactionFailure>, StoreError> {
        self.read(move |index| {
            let Some(row) = index.view().get(Table::Failure, &Key::hash(&transaction))? else { return Ok(None) };
            let (of, failure) = failure_from_row(&row)?;
            Ok((of == block).then_some(failure))
        })
        .await
    }

    async fn save_failure(
        &self,
        transaction: B256,
        block: B256,
        failure: TransactionFailure,
    ) -> Result<(), StoreError> {
        let mut batch = self.engine.batch();
        batch.put(Table::Failure, &Key::hash(&transaction), failure_to_row(&block, &failure));
        run_blocking(move || batch.commit()).await
    }
}

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Account, Address, AddressFacts, AddressOrigin, AddressOverview, AddressSummary, Approval, B256, BalanceKey, Block,
    BlockGasPrice, BlockId, BlockNumber, BlockRange, BlockRef, Bytes, Coverage, DayFigures, HeldNft, Holder,
    InternalFilter, InternalPage, ListedAddresses, LogFilter, LogPage, Nft, NftMetadata, Page, PageRequest, Pool,
    Stats, Token, TokenBalance, TokenBalanceAt, Trade, TradeFilter, Transaction, TransactionEvents, TransactionFailure,
    TransactionFilter, Transfer, TransferFilter, U256,
};
use metrics::Histogram;
use store::{CachedAccounts, CachedFailures, CachedNftMetadata, ChainReader, StateVersion, StoreError};

use crate::{
    blocking::{ReadSlots, run_blocking},
    engine::Engine,
    keys::{Key, Table},
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

    /// Runs one query on one snapshot of the index. Nearly always its data is in memory, and moving it to another
    /// thread would cost more than running it; so it runs here while a read slot is free, and otherwise on the blocking
    /// pool, since the reads that hold the slots may be waiting for the disk.
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&ReadSnapshot) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _timer = self.read_times.start_timer();
        if let Some(_slot) = self.read_slots.take() {
            return query(&ReadSnapshot::open(&self.engine, Arc::clone(&self.caches))?);
        }
        let (engine, caches) = (self.engine.clone(), Arc::clone(&self.caches));
        run_blocking(move || query(&ReadSnapshot::open(&engine, caches)?)).await
    }

    /// Like [`Self::read`], for a query that may need a long walk first. The walk runs separately, and then the query
    /// is retried.
    async fn read_list<T: Send + 'static>(
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
        self.read(|index| Ok(index.tip().map(|tip| tip.block))).await
    }

    async fn coverage(&self) -> Result<Coverage, StoreError> {
        self.read(|index| Ok(Coverage { first_block: index.tip().map(|tip| tip.start_block) })).await
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

    async fn find_block(&self, id: BlockId) -> Result<Option<Block>, StoreError> {
        self.read(move |index| index.find_block(id)).await
    }

    async fn list_blocks(&self, range: BlockRange, page: PageRequest) -> Result<Page<Block>, StoreError> {
        self.read(move |index| index.list_blocks(range, page)).await
    }

    async fn list_mined_blocks(
        &self,
        miner: Address,
        range: BlockRange,
        page: PageRequest,
    ) -> Result<Page<Block>, StoreError> {
        self.read(move |index| index.list_mined_blocks(miner, range, page)).await
    }

    async fn find_transaction(&self, hash: B256) -> Result<Option<Transaction>, StoreError> {
        self.read(move |index| index.find_transaction(hash)).await
    }

    async fn list_transactions(
        &self,
        filter: &TransactionFilter,
        page: PageRequest,
    ) -> Result<Page<Transaction>, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_transactions(&filter, page)).await
    }

    async fn find_transaction_events(
        &self,
        hash: B256,
        offset: u64,
        limit: u32,
    ) -> Result<Option<TransactionEvents>, StoreError> {
        self.read(move |index| index.find_transaction_events(hash, offset, limit)).await
    }

    async fn find_address(&self, address: Address) -> Result<Option<AddressSummary>, StoreError> {
        self.read(move |index| index.find_address(address)).await
    }

    async fn find_address_overview(
        &self,
        address: Address,
        recent: u32,
    ) -> Result<Option<AddressOverview>, StoreError> {
        self.read_list(move |index| index.find_address_overview(address, recent)).await
    }

    async fn describe_addresses(&self, addresses: &[Address]) -> Result<Vec<AddressFacts>, StoreError> {
        let addresses = addresses.to_vec();
        self.read(move |index| addresses.iter().map(|address| index.describe_address(address)).collect()).await
    }

    async fn list_known_addresses(
        &self,
        origin: AddressOrigin,
        from: u64,
        limit: u32,
    ) -> Result<ListedAddresses, StoreError> {
        self.read(move |index| index.list_known_addresses(origin, from, limit)).await
    }

    async fn find_address_position(&self, block: BlockNumber) -> Result<Option<u64>, StoreError> {
        self.read(move |index| index.find_address_position(block)).await
    }

    async fn count_transactions(&self, addresses: &[Address]) -> Result<Vec<u64>, StoreError> {
        let addresses = addresses.to_vec();
        self.read(move |index| addresses.iter().map(|address| index.count_transactions(address)).collect()).await
    }

    async fn find_code_hash(&self, address: Address) -> Result<Option<B256>, StoreError> {
        self.read(move |index| index.find_code_hash(address)).await
    }

    async fn find_code(&self, code_hash: B256) -> Result<Option<Bytes>, StoreError> {
        self.read(move |index| index.find_code(code_hash)).await
    }

    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError> {
        self.read(move |index| index.list_tokens(page)).await
    }

    async fn find_token(&self, address: Address) -> Result<Option<Token>, StoreError> {
        self.read(move |index| index.find_token(address)).await
    }

    async fn search_tokens(&self, beginning: &str, limit: usize) -> Result<Vec<Token>, StoreError> {
        let beginning = beginning.to_owned();
        self.read(move |index| index.search_tokens(&beginning, limit)).await
    }

    async fn list_internal_transactions(
        &self,
        filter: &InternalFilter,
        page: PageRequest,
    ) -> Result<InternalPage, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_internal_transactions(&filter, page)).await
    }

    async fn list_transfers(&self, filter: &TransferFilter, page: PageRequest) -> Result<Page<Transfer>, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_transfers(&filter, page)).await
    }

    async fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Result<Page<Trade>, StoreError> {
        let filter = filter.clone();
        self.read_list(move |index| index.list_trades(&filter, page)).await
    }

    async fn list_logs(&self, filter: &LogFilter, page: PageRequest) -> Result<LogPage, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_logs(&filter, page)).await
    }

    async fn find_pool(&self, address: Address) -> Result<Option<Pool>, StoreError> {
        self.read(move |index| index.find_pool(address)).await
    }

    async fn list_holders(&self, token: Address, page: PageRequest) -> Result<Option<Page<Holder>>, StoreError> {
        self.read(move |index| index.list_holders(token, page)).await
    }

    async fn list_address_tokens(&self, address: Address, page: PageRequest) -> Result<Page<TokenBalance>, StoreError> {
        self.read(move |index| index.list_address_tokens(address, page)).await
    }

    async fn find_token_balance(&self, key: BalanceKey) -> Result<Option<TokenBalanceAt>, StoreError> {
        self.read(move |index| index.find_token_balance(key)).await
    }

    async fn list_nfts(&self, token: Address, page: PageRequest) -> Result<Option<Page<Nft>>, StoreError> {
        self.read(move |index| index.list_nfts(token, page)).await
    }

    async fn find_nft(&self, token: Address, id: U256) -> Result<Option<Nft>, StoreError> {
        self.read(move |index| index.find_nft(token, id)).await
    }

    async fn list_nft_holders(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Holder>>, StoreError> {
        self.read(move |index| index.list_nft_holders(token, id, page)).await
    }

    async fn list_nft_transfers(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Transfer>>, StoreError> {
        self.read(move |index| index.list_nft_transfers(token, id, page)).await
    }

    async fn list_approvals(&self, owner: Address, page: PageRequest) -> Result<Page<Approval>, StoreError> {
        self.read(move |index| index.list_approvals(owner, page)).await
    }

    async fn list_held_nfts(&self, address: Address, page: PageRequest) -> Result<Page<HeldNft>, StoreError> {
        self.read(move |index| index.list_held_nfts(address, page)).await
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

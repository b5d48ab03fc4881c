use async_trait::async_trait;
use domain::{
    Address, AddressFacts, AddressOrigin, AddressOverview, AddressSummary, Approval, B256, BalanceKey, Block,
    BlockGasPrice, BlockId, BlockNumber, BlockRange, BlockRef, Bytes, Coverage, Credit, CreditFilter, DayFigures,
    HeldNft, Holder, InternalFilter, InternalPage, ListedAddresses, LogFilter, LogPage, Nft, Page, PageRequest, Pool,
    Stats, Token, TokenBalance, TokenBalanceAt, Trade, TradeFilter, Transaction, TransactionEvents, TransactionFilter,
    Transfer, TransferFilter, U256,
};

use crate::StoreError;

/// A version of the data that a store serves. Every change makes a new version; a version is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateVersion(pub u64);

/// Queries on the index. Each call reads one consistent snapshot. Those on one kind of data are in a trait of their own, which a store
/// implements beside its queries.
#[async_trait]
pub trait ChainReader:
    BlockReader
    + TransactionReader
    + AddressReader
    + KnownAddressReader
    + TokenReader
    + TransferReader
    + TradeReader
    + CreditReader
    + InternalReader
    + LogReader
    + NftReader
    + ApprovalReader
{
    /// The version that a query started now reads. As long as it is the same, so is every result. None while a change
    /// is in progress.
    fn state(&self) -> Option<StateVersion>;

    async fn find_tip(&self) -> Result<Option<BlockRef>, StoreError>;

    /// The tip, for a caller that needs at least a block. A store with copies looks for it where it may be, and from then on reads
    /// nothing older than what it has found.
    async fn find_tip_at_least(&self, _block: BlockNumber) -> Result<Option<BlockRef>, StoreError> {
        self.find_tip().await
    }

    /// A tip below which all answers so far are: no call that has returned shows a newer block.
    async fn find_shown_tip(&self) -> Result<Option<BlockNumber>, StoreError> {
        Ok(self.find_tip().await?.map(|tip| tip.number))
    }

    /// Which part of the chain the index has.
    async fn coverage(&self) -> Result<Coverage, StoreError>;

    async fn stats(&self) -> Result<Stats, StoreError>;

    /// Gas prices of the newest blocks, the newest first.
    async fn list_gas_prices(&self, blocks: u32) -> Result<Vec<BlockGasPrice>, StoreError>;

    /// Figures of the latest days up to that of the tip, the oldest first.
    async fn list_days(&self, count: u32) -> Result<Vec<DayFigures>, StoreError>;
}

/// Blocks.
#[async_trait]
pub trait BlockReader: Send + Sync {
    async fn find_block(&self, id: BlockId) -> Result<Option<Block>, StoreError>;

    async fn list_blocks(&self, range: BlockRange, page: PageRequest) -> Result<Page<Block>, StoreError>;

    /// Blocks that an address produced.
    async fn list_mined_blocks(
        &self,
        miner: Address,
        range: BlockRange,
        page: PageRequest,
    ) -> Result<Page<Block>, StoreError>;
}

/// Transactions.
#[async_trait]
pub trait TransactionReader: Send + Sync {
    async fn find_transaction(&self, hash: B256) -> Result<Option<Transaction>, StoreError>;

    async fn list_transactions(
        &self,
        filter: &TransactionFilter,
        page: PageRequest,
    ) -> Result<Page<Transaction>, StoreError>;

    /// Transfers and trades of a transaction in log order, the same part of both; None if the transaction is unknown.
    async fn find_transaction_events(
        &self,
        hash: B256,
        offset: u64,
        limit: u32,
    ) -> Result<Option<TransactionEvents>, StoreError>;
}

/// Addresses and the code at them.
#[async_trait]
pub trait AddressReader: Send + Sync {
    async fn find_address(&self, address: Address) -> Result<Option<AddressSummary>, StoreError>;

    /// The address with up to `recent` of its newest transactions, all from one snapshot.
    async fn find_address_overview(&self, address: Address, recent: u32)
    -> Result<Option<AddressOverview>, StoreError>;

    /// What there is to name addresses by, in their order. May lag behind the tip.
    async fn describe_addresses(&self, addresses: &[Address]) -> Result<Vec<AddressFacts>, StoreError>;

    /// The hash of the contract code at an address; None if there is none or it has not been fetched yet. May lag
    /// behind the tip.
    async fn find_code_hash(&self, address: Address) -> Result<Option<B256>, StoreError>;

    /// The code with this hash, if a contract of the index has it.
    async fn find_code(&self, code_hash: B256) -> Result<Option<Bytes>, StoreError>;
}

/// All addresses of the index.
#[async_trait]
pub trait KnownAddressReader: Send + Sync {
    /// Up to `limit` addresses from a position on, fewer if some of them are known from blocks as well. The first position is 0.
    async fn list_known_addresses(
        &self,
        origin: AddressOrigin,
        from: u64,
        limit: u32,
    ) -> Result<ListedAddresses, StoreError>;

    /// The position after the addresses of [`AddressOrigin::Blocks`] that were known at a block; None if it is not indexed.
    async fn find_address_position(&self, block: BlockNumber) -> Result<Option<u64>, StoreError>;

    /// The numbers of transactions from or to addresses, in their order.
    async fn count_transactions(&self, addresses: &[Address]) -> Result<Vec<u64>, StoreError>;
}

/// Tokens and their holders.
#[async_trait]
pub trait TokenReader: Send + Sync {
    /// Sorted by number of holders, descending, then by address; the request's order reverses it.
    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError>;

    async fn find_token(&self, address: Address) -> Result<Option<Token>, StoreError>;

    /// Tokens whose name or symbol starts with `beginning`, ignoring case: exact matches first, then by number of
    /// holders. If very many match, only some of them are considered.
    async fn search_tokens(&self, beginning: &str, limit: usize) -> Result<Vec<Token>, StoreError>;

    /// Holders of a token, the largest balance first; None if the token is unknown. May lag behind the tip.
    async fn list_holders(&self, token: Address, page: PageRequest) -> Result<Option<Page<Holder>>, StoreError>;

    /// Tokens that an address holds, in the order in which they were first seen. May lag behind the tip.
    async fn list_address_tokens(&self, address: Address, page: PageRequest) -> Result<Page<TokenBalance>, StoreError>;

    /// The balance of an address in a token at the tip, zero if it holds none; None if the token is unknown. Nothing is
    /// counted for the zero address.
    async fn find_token_balance(&self, key: BalanceKey) -> Result<Option<TokenBalanceAt>, StoreError>;
}

/// Token transfers.
#[async_trait]
pub trait TransferReader: Send + Sync {
    async fn list_transfers(&self, filter: &TransferFilter, page: PageRequest) -> Result<Page<Transfer>, StoreError>;
}

/// Trades and their pools.
#[async_trait]
pub trait TradeReader: Send + Sync {
    async fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Result<Page<Trade>, StoreError>;

    async fn find_pool(&self, address: Address) -> Result<Option<Pool>, StoreError>;
}

/// What the protocol paid.
#[async_trait]
pub trait CreditReader: Send + Sync {
    /// In the order of the chain.
    async fn list_credits(&self, filter: &CreditFilter, page: PageRequest) -> Result<Page<Credit>, StoreError>;
}

/// Internal transactions.
#[async_trait]
pub trait InternalReader: Send + Sync {
    async fn list_internal_transactions(
        &self,
        filter: &InternalFilter,
        page: PageRequest,
    ) -> Result<InternalPage, StoreError>;
}

/// Logs.
#[async_trait]
pub trait LogReader: Send + Sync {
    async fn list_logs(&self, filter: &LogFilter, page: PageRequest) -> Result<LogPage, StoreError>;
}

/// Ids of tokens and their holders.
#[async_trait]
pub trait NftReader: Send + Sync {
    /// Every id that a token ever transferred, the newest first; None if the token is unknown.
    async fn list_nfts(&self, token: Address, page: PageRequest) -> Result<Option<Page<Nft>>, StoreError>;

    /// None if the token never transferred the id.
    async fn find_nft(&self, token: Address, id: U256) -> Result<Option<Nft>, StoreError>;

    /// Holders of an id, the largest amount first; None if the token never transferred the id.
    async fn list_nft_holders(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Holder>>, StoreError>;

    /// Transfers of an id; None if the token never transferred it.
    async fn list_nft_transfers(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Transfer>>, StoreError>;

    /// Ids that an address holds, those that were first transferred last come first.
    async fn list_held_nfts(&self, address: Address, page: PageRequest) -> Result<Page<HeldNft>, StoreError>;
}

/// Approvals.
#[async_trait]
pub trait ApprovalReader: Send + Sync {
    /// Approvals that an address gave and that are not revoked, those first given last come first.
    async fn list_approvals(&self, owner: Address, page: PageRequest) -> Result<Page<Approval>, StoreError>;
}

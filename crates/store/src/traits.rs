use async_trait::async_trait;
use domain::{
    Account, Address, AddressFacts, AddressOverview, AuditResult, AuditSample, B256, BalanceQuestion, Block,
    BlockChanges, BlockGasPrice, BlockId, BlockNumber, BlockRange, BlockRef, Bytes, Holder, Page, PageRequest, Pool,
    Stats, Token, TokenBalance, TokenFacts, TokenQuestion, Trade, TradeFilter, Transaction, TransactionEvents,
    TransactionFilter, Transfer, TransferFilter, U256,
};

use crate::StoreError;

/// Whether the blocks of a commit may have to be taken back one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// Keep what [`ChainWriter::revert_to`] needs to go back to `down_to`, and nothing for older blocks.
    Keep { down_to: BlockNumber },
    /// The blocks are final: nothing is kept, and no revert goes below them.
    Discard,
}

/// The one writer of the index.
///
/// A commit and a revert each take effect wholly or not at all, and every reader sees either the state before or the
/// state after. `revert_to(n)` gives exactly the state that stood when `n` was the tip.
#[async_trait]
pub trait ChainWriter: Send + Sync {
    /// The newest indexed block.
    async fn tip(&self) -> Result<Option<BlockRef>, StoreError>;

    /// The hash of an indexed block, to find where two branches part.
    async fn find_block_hash(&self, number: BlockNumber) -> Result<Option<B256>, StoreError>;

    /// The lowest block that [`Self::revert_to`] can make the tip again.
    async fn oldest_revertible(&self) -> Result<Option<BlockNumber>, StoreError>;

    /// Appends blocks, each the child of the one before, in one atomic step.
    async fn commit(&mut self, blocks: Vec<BlockChanges>, undo: Undo) -> Result<(), StoreError>;

    /// Takes back every block above `number`, in one atomic step.
    async fn revert_to(&mut self, number: BlockNumber) -> Result<(), StoreError>;

    /// Tokens of which something must be asked: new ones, those whose supply may have changed, and those in use that
    /// were last asked long ago. None of the three has to wait until the others are done.
    async fn list_token_questions(&self, limit: usize) -> Result<Vec<TokenQuestion>, StoreError>;

    /// Keeps what tokens say of themselves, and takes their questions off the list.
    async fn keep_token_facts(&mut self, facts: Vec<(Address, TokenFacts)>) -> Result<(), StoreError>;

    /// Tokens whose balances are due for a comparison with the contract's word, with the newest and the first holders
    /// that transfers touched, as they stand at the tip.
    async fn list_audits(&self, limit: usize) -> Result<Vec<AuditSample>, StoreError>;

    /// Keeps how comparisons came out that were made at a block, the tip of then. A token that does not add up has its
    /// balances asked from then on.
    async fn keep_audits(&mut self, verdicts: Vec<(Address, AuditResult)>, at: BlockNumber) -> Result<(), StoreError>;

    /// Balances to ask of contracts whose events do not tell them.
    async fn list_balance_questions(&mut self, limit: usize) -> Result<Vec<BalanceQuestion>, StoreError>;

    /// Keeps balances that contracts gave at a block, and takes their questions off the list, but for those that a later
    /// block has raised again.
    async fn keep_balances(
        &mut self,
        balances: Vec<(BalanceQuestion, U256)>,
        at: BlockNumber,
    ) -> Result<(), StoreError>;

    /// Addresses at which code was met, or ought to stand since a block, and of which it has not been asked.
    async fn list_code_questions(&self, limit: usize) -> Result<Vec<Address>, StoreError>;

    /// Keeps the code that stands at addresses at a block, none where it is empty or a delegation, and takes their
    /// questions off the list, but for those that a later block has raised again. Equal code is kept once.
    async fn keep_codes(&mut self, codes: Vec<(Address, Bytes)>, at: BlockNumber) -> Result<(), StoreError>;

    /// Brings the order of some holders up to date with their balances; gives how many were looked at. When it gives 0,
    /// every list of holders is that of the tip.
    async fn rank_holders(&mut self, limit: usize) -> Result<usize, StoreError>;
}

/// One state of what can be asked of a store. Every change makes another one, which never was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateVersion(pub u64);

/// Everything the index can be asked. Each call sees one consistent state.
#[async_trait]
pub trait ChainReader: Send + Sync {
    /// The state that a question asked now would be answered from: as long as it is the same, so is every answer. None
    /// where that cannot be told just now.
    fn state(&self) -> Option<StateVersion>;

    async fn find_tip(&self) -> Result<Option<BlockRef>, StoreError>;

    async fn stats(&self) -> Result<Stats, StoreError>;

    /// What gas cost in the newest blocks, the newest first.
    async fn list_gas_prices(&self, blocks: u32) -> Result<Vec<BlockGasPrice>, StoreError>;

    async fn find_block(&self, id: BlockId) -> Result<Option<Block>, StoreError>;

    async fn list_blocks(&self, range: BlockRange, page: PageRequest) -> Result<Page<Block>, StoreError>;

    async fn find_transaction(&self, hash: B256) -> Result<Option<Transaction>, StoreError>;

    async fn list_transactions(
        &self,
        filter: &TransactionFilter,
        page: PageRequest,
    ) -> Result<Page<Transaction>, StoreError>;

    /// What moved in a transaction, in the order of its logs; None where there is no such transaction.
    async fn find_transaction_events(&self, hash: B256, limit: u32) -> Result<Option<TransactionEvents>, StoreError>;

    async fn find_address(&self, address: Address) -> Result<Option<AddressFacts>, StoreError>;

    /// The same with the newest transactions from or to the address, so many at most, all of one state.
    async fn find_address_overview(&self, address: Address, recent: u32)
    -> Result<Option<AddressOverview>, StoreError>;

    /// The hash of the contract's code at an address; None where there is none, or where it was not asked yet. Follows
    /// a moment behind the tip.
    async fn find_code_hash(&self, address: Address) -> Result<Option<B256>, StoreError>;

    /// The code with a hash, if it is that of a contract of the index.
    async fn find_code(&self, code_hash: B256) -> Result<Option<Bytes>, StoreError>;

    /// By holders, most first, then by address; the order of the request turns it round.
    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError>;

    async fn find_token(&self, address: Address) -> Result<Option<Token>, StoreError>;

    /// Tokens whose name or symbol begins so, letter case aside: those called just so first, then by holders. Of very many
    /// that begin alike, some are looked at only.
    async fn search_tokens(&self, beginning: &str, limit: usize) -> Result<Vec<Token>, StoreError>;

    async fn list_transfers(&self, filter: &TransferFilter, page: PageRequest) -> Result<Page<Transfer>, StoreError>;

    async fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Result<Page<Trade>, StoreError>;

    async fn find_pool(&self, address: Address) -> Result<Option<Pool>, StoreError>;

    /// Who holds a token, the largest balance first; None where there is no such token. Follows a moment behind the tip.
    async fn list_holders(&self, token: Address, page: PageRequest) -> Result<Option<Page<Holder>>, StoreError>;

    /// Which tokens an address holds, in the order in which they were first seen. Follows a moment behind the tip.
    async fn list_address_tokens(&self, address: Address, page: PageRequest) -> Result<Page<TokenBalance>, StoreError>;
}

/// The last answers of the node about accounts, kept for the hours when it cannot be asked.
#[async_trait]
pub trait KeptAccounts: Send + Sync {
    async fn find_account(&self, address: Address) -> Result<Option<Account>, StoreError>;

    async fn keep_account(&self, address: Address, account: Account) -> Result<(), StoreError>;
}

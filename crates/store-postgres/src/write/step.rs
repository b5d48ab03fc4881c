//! An unfinished commit: takes what the walk over its blocks finds, without the database.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    Address, B256, Balance, Block, BlockNumber, CreditEvent, LogEvent, TradeEvent, Transaction, TransferEvent,
};
use store::{
    ChainTotals, ListKey, ListKind, Party, StoreError, Undo,
    fetch_policy::KnownCode,
    rules::{
        ApprovalKey, ApprovalState, BlockSink, Creation, Exchange, LogIds, MovedTransfer, NftKey, PoolIds,
        TransactionIds, TransferIds,
    },
};

use super::{
    copy::AddressCopy, log_packs::LogPack, log_source::LogSource, pairs::Pair, prefetch::Prefetched, state::WriteState,
};
use crate::{
    lists::{AddressId, Appended, Entry},
    tables::{BlockCopy, CreditCopy, PoolCopy, TradeCopy, TransactionCopy, TransferCopy},
    tokens::TokenRow,
};

/// The first events of a commit that touched a balance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Touch {
    pub(super) first_transfer: Option<u64>,
    pub(super) first_block: Option<BlockNumber>,
}

#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Tokens with transfers.
    pub(super) tokens: BTreeSet<AddressId>,
    /// Holders whose balance may have changed.
    pub(super) pairs: BTreeMap<Pair, Touch>,
    /// Touched by other events than transfers.
    pub(super) touched: BTreeSet<(BlockNumber, Pair)>,
}

#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) addresses: Vec<AddressCopy>,
    pub(super) blocks: Vec<BlockCopy>,
    pub(super) transactions: Vec<TransactionCopy>,
    pub(super) log_packs: Vec<LogPack>,
    pub(super) log_topics: Vec<(u64, B256)>,
    pub(super) log_sources: Vec<(u64, LogSource)>,
    pub(super) transfers: Vec<TransferCopy>,
    pub(super) trades: Vec<TradeCopy>,
    pub(super) pools: Vec<PoolCopy>,
    pub(super) credits: Vec<CreditCopy>,
    /// By contract and transaction: the last one counts.
    pub(super) creations: BTreeMap<(AddressId, u64), Option<AddressId>>,
}

pub(super) struct Step<'a> {
    state: &'a mut WriteState,
    pub(super) known: Prefetched,
    /// The totals before the current block if it can be reverted, else those before the commit.
    run_floor: ChainTotals,
    run_floor_block: BlockNumber,
    undo: Undo,
    pub(super) rows: Rows,
    pub(super) appended: Appended,
    pub(super) new_addresses: Vec<(Address, AddressId)>,
    pub(super) moved: Moved,
    /// Addresses whose code has to be fetched, and since which block.
    pub(super) codes: BTreeMap<AddressId, BlockNumber>,
}

impl<'a> Step<'a> {
    pub(super) fn new(state: &'a mut WriteState, known: Prefetched, undo: Undo) -> Self {
        Self {
            state,
            known,
            run_floor: ChainTotals::default(),
            run_floor_block: 0,
            undo,
            rows: Rows::default(),
            appended: Appended::default(),
            new_addresses: Vec::new(),
            moved: Moved::default(),
            codes: BTreeMap::new(),
        }
    }
}

/// Takes the next id.
fn take(next: &mut u64) -> u64 {
    let id = *next;
    *next += 1;
    id
}

impl BlockSink for Step<'_> {
    type Token = TokenRow;

    fn put_block(&mut self, block: &Block, miner: AddressId, before: &ChainTotals) -> Result<(), StoreError> {
        if self.undo != Undo::Discard {
            (self.run_floor, self.run_floor_block) = (*before, block.number);
        }
        self.rows.blocks.push(BlockCopy { block: block.clone(), miner, before: *before });
        Ok(())
    }

    fn end_block(&mut self, number: BlockNumber) -> Result<(), StoreError> {
        self.known.approvals.end_block(number, self.undo);
        Ok(())
    }

    fn address_id(
        &mut self,
        address: Address,
        block: BlockNumber,
        next: &mut AddressId,
    ) -> Result<AddressId, StoreError> {
        if let Some(id) = self.known.addresses.get(&address) {
            return Ok(*id);
        }
        let id = take(next);
        self.known.addresses.insert(address, id);
        self.new_addresses.push((address, id));
        self.rows.addresses.push(AddressCopy { id, address, first_seen: block });
        Ok(id)
    }

    fn topic_id(&mut self, topic: B256, next: &mut u64) -> Result<u64, StoreError> {
        if let Some(id) = self.known.topics.get(&topic) {
            return Ok(*id);
        }
        let id = take(next);
        self.known.topics.insert(topic, id);
        self.rows.log_topics.push((id, topic));
        Ok(id)
    }

    fn log_source_id(&mut self, emitter: AddressId, topic: Option<u64>, next: &mut u64) -> Result<u64, StoreError> {
        let source = LogSource { emitter, topic };
        if let Some(id) = self.known.log_sources.get(&source) {
            return Ok(*id);
        }
        let id = take(next);
        self.known.log_sources.insert(source, id);
        self.rows.log_sources.push((id, source));
        Ok(id)
    }

    fn nft_id(&mut self, nft: NftKey, next: &mut u64) -> Result<u64, StoreError> {
        Ok(self.known.nfts.find_or_add(nft.token, nft.id, next))
    }

    fn append(&mut self, list: ListKey, entry: u64, party: Party) -> Result<Option<u64>, StoreError> {
        // Internal transactions are not appended here.
        let floor = list.kind.first_entry(&self.run_floor, self.run_floor_block).unwrap_or(0);
        self.appended.push(list, Entry::new(entry, party), floor);
        if list.kind != ListKind::Transactions {
            return Ok(None);
        }
        Ok(self.known.last_transactions.insert(list.owner, entry))
    }

    fn put_transaction(&mut self, id: u64, tx: &Transaction, ids: TransactionIds) -> Result<(), StoreError> {
        let TransactionIds { from, to, created } = ids;
        self.rows.transactions.push(TransactionCopy { id, tx: tx.clone(), from, to, created });
        Ok(())
    }

    fn put_creation(&mut self, created: AddressId, creation: Creation) -> Result<(), StoreError> {
        self.rows.creations.insert((created, creation.tx), creation.creator);
        Ok(())
    }

    fn put_log(&mut self, id: u64, tx: u64, event: &LogEvent, ids: LogIds<'_>) -> Result<(), StoreError> {
        let later_topics = [1, 2, 3].map(|position| ids.topics.get(position).copied());
        let mut pack = match self.rows.log_packs.pop() {
            Some(pack) if pack.takes(tx, event.log_index) => pack,
            full => {
                self.rows.log_packs.extend(full);
                LogPack::new(id, tx, event.log_index)
            }
        };
        pack.push(ids.source, later_topics, event);
        self.rows.log_packs.push(pack);
        Ok(())
    }

    fn put_transfer(
        &mut self,
        id: u64,
        tx: u64,
        transfer: MovedTransfer<'_>,
        ids: TransferIds,
    ) -> Result<(), StoreError> {
        let MovedTransfer { event, shortfall, nft_shortfall } = transfer;
        let TransferIds { token, from, to } = ids;
        self.rows.transfers.push(TransferCopy { id, tx, token, from, to, event: *event, shortfall, nft_shortfall });
        Ok(())
    }

    fn put_trade(&mut self, id: u64, tx: u64, event: &TradeEvent, pool: AddressId) -> Result<(), StoreError> {
        self.rows.trades.push(TradeCopy { id, tx, pool, event: *event });
        Ok(())
    }

    fn put_credit(
        &mut self,
        id: u64,
        block: BlockNumber,
        event: &CreditEvent,
        to: AddressId,
    ) -> Result<(), StoreError> {
        self.rows.credits.push(CreditCopy { id, block, to, event: *event });
        Ok(())
    }

    fn find_exchange(&mut self, pool: AddressId) -> Result<Option<Exchange>, StoreError> {
        Ok(self.known.pools.get(&pool).copied())
    }

    fn put_pool(&mut self, id: AddressId, pool: PoolIds, block: BlockNumber) -> Result<(), StoreError> {
        let PoolIds { exchange, token0, token1 } = pool;
        let Exchange { style, factory } = exchange;
        self.rows.pools.push(PoolCopy { id, style, factory, token0, token1, first_block: block });
        self.known.pools.insert(id, exchange);
        Ok(())
    }

    fn find_token(&mut self, id: AddressId) -> Result<Option<TokenRow>, StoreError> {
        Ok(self.known.tokens.get(&id).cloned())
    }

    fn new_token(&mut self, id: AddressId, event: &TransferEvent, block: BlockNumber) -> TokenRow {
        TokenRow { new_since: Some(block), ..TokenRow::new(id, event.token, event.kind) }
    }

    fn put_token(&mut self, id: AddressId, token: TokenRow) -> Result<(), StoreError> {
        let transfers = token.transfers + 1;
        self.known.tokens.insert(id, TokenRow { transfers, ..token });
        self.moved.tokens.insert(id);
        Ok(())
    }

    fn mark_token_pending(&mut self, token: AddressId, since: BlockNumber) -> Result<(), StoreError> {
        if let Some(token) = self.known.tokens.get_mut(&token) {
            token.mark_pending(since);
        }
        Ok(())
    }

    fn balance(&mut self, token: AddressId, holder: AddressId) -> Result<Balance, StoreError> {
        Ok(self.known.balances.get(&Pair { token, holder }).copied().unwrap_or_default())
    }

    fn put_balance(
        &mut self,
        token: AddressId,
        holder: AddressId,
        balance: Balance,
        transfer: u64,
    ) -> Result<(), StoreError> {
        let pair = Pair { token, holder };
        self.moved.pairs.entry(pair).or_default().first_transfer.get_or_insert(transfer);
        self.known.balances.insert(pair, balance);
        Ok(())
    }

    fn touch_holder(&mut self, token: AddressId, holder: AddressId, block: BlockNumber) -> Result<(), StoreError> {
        let pair = Pair { token, holder };
        self.moved.pairs.entry(pair).or_default().first_block.get_or_insert(block);
        self.moved.touched.insert((block, pair));
        Ok(())
    }

    fn nft_owner(&mut self, nft: u64) -> Result<Option<AddressId>, StoreError> {
        Ok(self.known.nfts.owner(nft))
    }

    fn put_nft_owner(&mut self, nft: u64, owner: Option<AddressId>) -> Result<(), StoreError> {
        self.known.nfts.put_owner(nft, owner);
        Ok(())
    }

    fn nft_amount(&mut self, nft: u64, holder: AddressId) -> Result<Balance, StoreError> {
        Ok(self.known.nfts.amount(nft, holder))
    }

    fn put_nft_amount(&mut self, nft: u64, holder: AddressId, amount: Balance) -> Result<(), StoreError> {
        self.known.nfts.put_amount(nft, holder, amount);
        Ok(())
    }

    fn find_approval(&mut self, key: &ApprovalKey) -> Result<Option<(u64, ApprovalState)>, StoreError> {
        Ok(self.known.approvals.find(key))
    }

    fn add_approval(&mut self, id: u64, key: &ApprovalKey, state: ApprovalState) -> Result<(), StoreError> {
        self.known.approvals.add(id, *key, state);
        Ok(())
    }

    fn change_approval(&mut self, id: u64, _: &ApprovalKey, state: ApprovalState) -> Result<(), StoreError> {
        self.known.approvals.change(id, state);
        Ok(())
    }

    fn is_code_cached(&mut self, address: AddressId) -> bool {
        self.state.known_codes.get(&address).is_some()
    }

    fn cache_code(&mut self, address: AddressId) {
        self.state.known_codes.insert(address, ());
    }

    fn known_code(&mut self, address: AddressId) -> Result<KnownCode, StoreError> {
        Ok(self.known.codes.get(&address).copied().unwrap_or(KnownCode::NotFetched))
    }

    fn mark_code_pending(&mut self, address: AddressId, since: BlockNumber) {
        self.codes.insert(address, since);
    }
}

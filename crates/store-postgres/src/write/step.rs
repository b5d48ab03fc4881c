//! Works out what a commit writes, without the database.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    Address, ApprovalEvent, B256, Balance, Block, BlockChanges, BlockNumber, Pool, TokenKind, TradeEvent,
    TransferEvent, U256,
};
use store::{
    ChainTotals, CurrentDay, StoreError, Undo,
    fetch_policy::{self, CodeEvent, KnownCode},
};

use super::{
    WriteState,
    approvals::{ApprovalKey, ApprovalState},
    copy::{AddressCopy, BlockCopy, PoolCopy, TradeCopy, TransactionCopy, TransferCopy},
    log_packs::LogPack,
    logs::LogSource,
    nfts::NftMove,
    prefetch::{KnownPool, Pair, Prefetched},
};
use crate::{
    lists::{AddressId, Appended, Entry, List, Role, exchange_owner},
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
    /// By contract and transaction: the last one counts.
    pub(super) creations: BTreeMap<(AddressId, u64), Option<AddressId>>,
}

/// An unfinished commit.
pub(super) struct Step<'a> {
    state: &'a mut WriteState,
    pub(super) known: Prefetched,
    pub(super) totals: ChainTotals,
    /// The totals before the current block if it can be reverted, else those before the commit.
    run_floor: ChainTotals,
    run_floor_block: BlockNumber,
    /// The day of the last added block.
    pub(super) day: Option<CurrentDay>,
    undo: Undo,
    pub(super) rows: Rows,
    pub(super) appended: Appended,
    pub(super) new_addresses: Vec<(Address, AddressId)>,
    pub(super) moved: Moved,
    /// Addresses whose code has to be fetched, and since which block.
    pub(super) codes: BTreeMap<AddressId, BlockNumber>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        state: &'a mut WriteState,
        known: Prefetched,
        totals: ChainTotals,
        day: Option<CurrentDay>,
        undo: Undo,
    ) -> Self {
        Self {
            state,
            known,
            totals,
            run_floor: ChainTotals::default(),
            run_floor_block: 0,
            day,
            undo,
            rows: Rows::default(),
            appended: Appended::default(),
            new_addresses: Vec::new(),
            moved: Moved::default(),
            codes: BTreeMap::new(),
        }
    }

    pub(super) fn add_block(&mut self, changes: &BlockChanges) -> Result<(), StoreError> {
        let block = &changes.block;
        let before = self.totals;
        if self.undo != Undo::Discard {
            (self.run_floor, self.run_floor_block) = (before, block.number);
        }
        let day = CurrentDay::of_next_block(self.day, block.timestamp, before.transactions);
        self.day = Some(day);
        let miner = self.address_id(block.miner, block.number);
        self.append(List::Mined, miner, block.number, Role::Any);
        for touched in &changes.touched_holders {
            self.add_touched_holder(touched, block.number);
        }
        for pool in &changes.pools {
            self.add_pool(pool, block.number);
        }
        let mut involved = changes.involved.iter().peekable();
        let mut logs = changes.logs.iter().peekable();
        let mut transfers = changes.transfers.iter().peekable();
        let mut approvals = changes.approvals.iter().peekable();
        let mut trades = changes.trades.iter().peekable();
        let mut creations = changes.inner_creations.iter().flatten().peekable();
        for tx in &changes.transactions {
            let id = self.totals.transactions;
            let maker = self.add_transaction(id, tx, day);
            while let Some(involvement) = involved.next_if(|involvement| involvement.tx_index == tx.index) {
                let owner = self.address_id(involvement.address, block.number);
                self.note_code(owner, CodeEvent::Ran, block.number);
                self.append(List::Involved, owner, id, Role::Any);
            }
            while let Some(creation) = creations.next_if(|creation| creation.tx_index == tx.index) {
                let creator = self.address_id(creation.creator, block.number);
                self.add_creation(creation.created, id, Some(creator), block.number);
            }
            while let Some(log) = logs.next_if(|log| log.tx_index == tx.index) {
                self.add_log(id, log, block.number);
            }
            while let Some(transfer) = transfers.next_if(|transfer| transfer.tx_index == tx.index) {
                // In log order: a transfer ends the approval of its id.
                while let Some(approval) = approvals.next_if(|approval| approval.log_index < transfer.log_index) {
                    self.add_approval(id, approval, block.number);
                }
                self.add_transfer(id, transfer, block.number)?;
            }
            while let Some(approval) = approvals.next_if(|approval| approval.tx_index == tx.index) {
                self.add_approval(id, approval, block.number);
            }
            while let Some(trade) = trades.next_if(|trade| trade.tx_index == tx.index) {
                self.add_trade(id, maker, trade, block.number)?;
            }
        }
        self.totals.filled_blocks += u64::from(!changes.transactions.is_empty());
        self.totals.untraced_blocks += u64::from(changes.inner_creations.is_none());
        self.totals.gas_used = self.totals.gas_used.saturating_add(block.gas_used);
        self.totals.burnt_fees += block.burnt_fees();
        self.known.approvals.end_block(block.number, self.undo);
        self.put_block(block, miner, before);
        Ok(())
    }

    fn put_block(&mut self, block: &Block, miner: AddressId, before: ChainTotals) {
        self.rows.blocks.push(BlockCopy { block: block.clone(), miner, before });
    }

    /// Returns the sender.
    fn add_transaction(&mut self, id: u64, tx: &domain::Transaction, day: CurrentDay) -> AddressId {
        let from = self.address_id(tx.from, tx.block_number);
        let to = tx.to.map(|to| self.address_id(to, tx.block_number));
        let created = tx.created.map(|created| self.address_id(created, tx.block_number));
        self.rows.transactions.push(TransactionCopy { id, tx: tx.clone(), from, to, created });
        if let Some(created) = tx.created {
            self.add_creation(created, id, None, tx.block_number);
        }
        if let Some(to) = to.filter(|_| tx.method.is_some()) {
            self.note_code(to, CodeEvent::Called, tx.block_number);
        }
        if to == Some(from) {
            self.append(List::Transactions, from, id, Role::Both);
        } else {
            self.append(List::Transactions, from, id, Role::Sender);
            if let Some(to) = to {
                self.append(List::Transactions, to, id, Role::Receiver);
            }
        }
        for party in [Some(from), to.filter(|to| *to != from)].into_iter().flatten() {
            let last = self.known.last_transactions.insert(party, id);
            self.totals.active_addresses += u64::from(day.is_first(last));
        }
        self.totals.transactions += 1;
        self.totals.gas_prices += U256::from(tx.gas_price);
        self.totals.fees += tx.fee();
        from
    }

    /// Contracts can be destroyed and created again at one address: the newest counts.
    fn add_creation(&mut self, created: Address, tx: u64, creator: Option<AddressId>, block: BlockNumber) {
        let created = self.address_id(created, block);
        self.note_code(created, CodeEvent::Created, block);
        self.totals.contracts += 1;
        self.rows.creations.insert((created, tx), creator);
    }

    /// Stores a pool, unless it is known.
    fn add_pool(&mut self, pool: &Pool, block: BlockNumber) {
        let id = self.address_id(pool.address, block);
        if self.known.pools.contains_key(&id) {
            return;
        }
        let factory = self.address_id(pool.factory, block);
        let token0 = self.address_id(pool.token0, block);
        let token1 = self.address_id(pool.token1, block);
        self.rows.pools.push(PoolCopy { id, style: pool.style, factory, token0, token1, first_block: block });
        self.known.pools.insert(id, KnownPool { style: pool.style, factory });
    }

    fn add_trade(
        &mut self,
        tx: u64,
        maker: AddressId,
        event: &TradeEvent,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        let pool = self.address_id(event.pool, block);
        let known = self.known.pools.get(&pool).copied().ok_or(StoreError::UnknownPool { pool: event.pool })?;
        let id = self.totals.trades;
        self.totals.trades += 1;
        self.rows.trades.push(TradeCopy { id, tx, pool, event: *event });
        self.append(List::MakerTrades, maker, id, Role::Any);
        self.append(List::PoolTrades, pool, id, Role::Any);
        self.append(List::ExchangeTrades, exchange_owner(known.factory, known.style), id, Role::Any);
        Ok(())
    }

    fn add_transfer(&mut self, tx: u64, event: &TransferEvent, block: BlockNumber) -> Result<(), StoreError> {
        let token = self.address_id(event.token, block);
        let from = self.address_id(event.from, block);
        let to = self.address_id(event.to, block);
        let id = self.totals.transfers;
        self.totals.transfers += 1;
        self.append(List::TokenTransfers, token, id, Role::Any);
        if from == to {
            self.append(List::Transfers, from, id, Role::Both);
        } else {
            self.append(List::Transfers, from, id, Role::Sender);
            self.append(List::Transfers, to, id, Role::Receiver);
        }
        let shortfall = self.move_balance(event, [token, from, to], id, block)?;
        if let Some(id) = event.token_id.filter(|_| event.kind == TokenKind::Bep721) {
            self.known.approvals.end(token, id, tx);
        }
        let nft_shortfall = self.move_nft(id, event, [token, from, to])?;
        self.rows.transfers.push(TransferCopy { id, tx, token, from, to, event: *event, shortfall, nft_shortfall });
        Ok(())
    }

    fn add_approval(&mut self, tx: u64, event: &ApprovalEvent, block: BlockNumber) {
        let token = self.address_id(event.token, block);
        let owner = self.address_id(event.owner, block);
        let ApprovalEvent { spender, scope, value, .. } = *event;
        let state = ApprovalState { owner, spender, value, tx };
        let key = ApprovalKey::new(token, owner, spender, scope);
        self.known.approvals.set(key, state, &mut self.totals.approvals);
    }

    /// Moves an id of a token, unless the event is of another kind than the token. Returns the part of the value that the
    /// sender did not have.
    fn move_nft(
        &mut self,
        transfer: u64,
        event: &TransferEvent,
        [token, from, to]: [AddressId; 3],
    ) -> Result<Option<Balance>, StoreError> {
        let kind = self.known.tokens.get(&token).map(|token| token.kind);
        let Some(id) = event.token_id.filter(|_| kind == Some(event.kind)) else { return Ok(None) };
        let (nft, is_new) = self.known.nfts.find_or_add(token, id, self.totals.nfts);
        if is_new {
            self.totals.nfts += 1;
            self.append(List::TokenNfts, token, nft, Role::Any);
        }
        self.append(List::NftTransfers, nft, transfer, Role::Any);
        let moved = self.known.nfts.move_nft(nft, &NftMove { event, from, to });
        if let Some(token) = self.known.tokens.get_mut(&token) {
            token.change_held(moved.before, moved.now)?;
        }
        Ok(moved.shortfall)
    }

    /// Returns the part of the value that the sender did not have.
    fn move_balance(
        &mut self,
        event: &TransferEvent,
        [token_id, from, to]: [AddressId; 3],
        transfer: u64,
        block: BlockNumber,
    ) -> Result<Option<Balance>, StoreError> {
        let is_new = !self.known.tokens.contains_key(&token_id);
        let token =
            self.known.tokens.entry(token_id).or_insert_with(|| TokenRow::new(token_id, event.token, event.kind));
        if is_new {
            self.totals.tokens += 1;
            token.new_since = Some(block);
        }
        token.transfers += 1;
        if fetch_policy::changes_supply(event) {
            token.mark_pending(block);
        }
        self.moved.tokens.insert(token_id);
        let value = Balance::from(event.value);
        let mut shortfall = None;
        let mut move_pair = |holder: AddressId| {
            let pair = Pair { token: token_id, holder };
            self.moved.pairs.entry(pair).or_default().first_transfer.get_or_insert(transfer);
            pair
        };
        if event.from != Address::ZERO {
            let balance = self.known.balances.entry(move_pair(from)).or_default();
            // A transfer to the sender does not change the balance, but the address is now known as a possible holder.
            if from != to {
                let (before, had) = (*balance, !balance.is_zero());
                shortfall = value.checked_sub(*balance).filter(|missing| !missing.is_zero());
                *balance = balance.saturating_sub(value);
                token.holders -= u64::from(had && balance.is_zero());
                token.overdrafts += u64::from(shortfall.is_some());
                count_held(token, before, *balance)?;
            }
        }
        if event.to != Address::ZERO && from != to {
            let balance = self.known.balances.entry(move_pair(to)).or_default();
            let (before, had) = (*balance, !balance.is_zero());
            // A sum that is too large leaves zero, like any other impossible change.
            *balance = balance.checked_add(value).unwrap_or(Balance::ZERO);
            token.holders += u64::from(!had && !balance.is_zero());
            count_held(token, before, *balance)?;
        }
        Ok(shortfall)
    }

    /// Records a balance that an event other than a transfer changed.
    fn add_touched_holder(&mut self, touched: &domain::TouchedHolder, block: BlockNumber) {
        if touched.holder == Address::ZERO {
            return;
        }
        let token = self.address_id(touched.token, block);
        let pair = Pair { token, holder: self.address_id(touched.holder, block) };
        self.moved.pairs.entry(pair).or_default().first_block.get_or_insert(block);
        self.moved.touched.insert((block, pair));
        if let Some(token) = self.known.tokens.get_mut(&token) {
            // A deposit to or withdrawal from a wrapper changes its supply like a mint or a burn.
            token.mark_pending(block);
        }
    }

    /// Notes that a block concerns the code at an address.
    fn note_code(&mut self, id: AddressId, event: CodeEvent, block: BlockNumber) {
        let known = match event {
            // Whatever was known is replaced.
            CodeEvent::Created => KnownCode::NotFetched,
            _ if self.state.known_codes.get(&id).is_some() => return,
            _ => self.known.codes.get(&id).copied().unwrap_or(KnownCode::NotFetched),
        };
        let is_pending = fetch_policy::is_code_pending(event, known);
        if is_pending {
            self.codes.insert(id, block);
        }
        // Not cached without code: the address may become a contract later.
        if is_pending || known == KnownCode::Contract {
            self.state.known_codes.insert(id, ());
        }
    }

    pub(super) fn append(&mut self, list: List, owner: u64, id: u64, role: Role) {
        let floor = match list {
            List::Transactions | List::Involved => self.run_floor.transactions,
            List::Mined => self.run_floor_block,
            List::Transfers | List::TokenTransfers | List::NftTransfers => self.run_floor.transfers,
            List::TokenNfts => self.run_floor.nfts,
            List::MakerTrades | List::PoolTrades | List::ExchangeTrades => self.run_floor.trades,
            List::EmitterLogs
            | List::SourceLogs
            | List::Topic0Logs
            | List::Topic1Logs
            | List::Topic2Logs
            | List::Topic3Logs => self.run_floor.logs,
            // Appended by traces only.
            List::InternalAbove | List::InternalBelow => 0,
        };
        self.appended.push(list, owner, Entry::new(id, role), floor);
    }

    /// The id of an address; a new one gets the next id.
    pub(super) fn address_id(&mut self, address: Address, block: BlockNumber) -> AddressId {
        if let Some(id) = self.known.addresses.get(&address) {
            return *id;
        }
        let id = self.totals.addresses;
        self.totals.addresses += 1;
        self.known.addresses.insert(address, id);
        self.new_addresses.push((address, id));
        self.rows.addresses.push(AddressCopy { id, address, first_seen: block });
        id
    }
}

/// Adds a change of a balance to what holders of a fungible token have. That of others follows from their ids.
pub(super) fn count_held(token: &mut TokenRow, before: Balance, now: Balance) -> Result<(), StoreError> {
    match token.kind {
        TokenKind::Bep20 => token.change_held(before, now),
        TokenKind::Bep721 | TokenKind::Bep1155 => Ok(()),
    }
}

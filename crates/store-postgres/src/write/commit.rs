use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{
    Address, Balance, BalanceSource, Block, BlockChanges, BlockNumber, Pool, TradeEvent, TransferEvent, U256,
};
use store::{
    StoreError, Undo,
    fetch_policy::{self, AuditCandidate, CodeEvent, KnownCode},
};

use super::{
    WriteState, codes,
    copy::{self, AddressCopy, BlockCopy, PoolCopy, TradeCopy, TransactionCopy, TransferCopy},
    holders::{self, Marks},
    prefetch::{KnownPool, Pair, Prefetched},
};
use crate::{
    chain::{Chain, Totals},
    database::{execute, query},
    lists::{AddressId, Appended, Entry, List, Role, Tail, exchange_owner},
    ranks::RankMoves,
    rows::{RowExt, int8},
    tokens::{self, TokenRow},
};

impl WriteState {
    /// Appends blocks.
    pub(crate) async fn commit(
        &mut self,
        tx: &Transaction<'_>,
        blocks: &[BlockChanges],
        undo: Undo,
    ) -> Result<(), StoreError> {
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(()) };
        let mut chain = Chain::read(tx).await?;
        check_order(&chain, blocks)?;
        let known = Prefetched::read(tx, self, blocks).await?;
        let tokens_before = known.tokens.clone();
        let mut step = Step::new(self, known, chain.totals, undo);
        for block in blocks {
            step.add_block(block)?;
        }
        let Step { mut known, totals, rows, appended, new_addresses, new_tokens, moved, codes, .. } = step;

        copy::addresses(tx, &rows.addresses).await?;
        copy::blocks(tx, &rows.blocks).await?;
        copy::transactions(tx, &rows.transactions).await?;
        copy::transfers(tx, &rows.transfers).await?;
        copy::trades(tx, &rows.trades).await?;
        copy::pools(tx, &rows.pools).await?;
        self.append(tx, &appended, chain.totals.addresses).await?;
        add_creations(tx, &rows.creations).await?;
        codes::mark_pending(tx, &codes).await?;

        let mut marks = Marks::default();
        let number = last.block.number;
        write_balances(tx, &moved, &known, undo).await?;
        let mut drifting = BTreeSet::new();
        for pair in moved.pairs.keys() {
            marks.unranked.insert(*pair);
            let source = known.tokens.get(&pair.token).map(TokenRow::balance_source);
            if source == Some(BalanceSource::Calls) {
                marks.pending.insert(*pair, number);
                drifting.insert(pair.token);
            }
        }
        for token in drifting {
            let token = known.tokens.get_mut(&token).ok_or(StoreError::Corrupt("a token that was just moved"))?;
            holders::mark_drifting(tx, &mut marks, token, number).await?;
        }
        for id in &moved.tokens {
            let token = known.tokens.get_mut(id).ok_or(StoreError::Corrupt("a token that was just moved"))?;
            if token.is_fetched && fetch_policy::is_metadata_old(token.requested_at, number) {
                token.mark_pending(number);
            }
            let candidate = AuditCandidate {
                token: *id,
                kind: token.kind,
                balance_source: token.balance_source(),
                transfers: token.transfers,
                audited_transfers: token.audit.map(|audit| audit.transfers),
            };
            token.is_audit_due |= fetch_policy::is_audit_due(&candidate, number);
        }
        let mut moves = RankMoves::default();
        for (id, token) in &mut known.tokens {
            let before = tokens_before.get(id);
            if fetch_policy::needs_sweep(before.map(TokenRow::source_by_events), Some(token.source_by_events())) {
                token.begin_sweep();
            }
            moves.move_token(token.address, before.map(TokenRow::holder_count), Some(token.holder_count()));
        }
        let changed = known.tokens.iter().filter(|(id, token)| tokens_before.get(*id) != Some(*token));
        tokens::save(tx, changed.map(|(_, token)| token).collect::<Vec<_>>()).await?;
        marks.write(tx).await?;
        moves.write(tx).await?;
        debug_assert!(new_tokens.iter().all(|token| known.tokens.contains_key(token)));

        let old_tip = chain.tip.map(|tip| tip.number);
        chain.first_block = chain.first_block.or(Some(first.block.number));
        chain.tip = Some(last.block.id());
        chain.totals = totals;
        chain.undo_first = undo_first(chain.undo_first, old_tip, first.block.number, undo);
        chain.write(tx).await?;
        prune(tx, chain.undo_first).await?;
        for (address, id) in new_addresses {
            self.addresses.insert(address, id);
        }
        Ok(())
    }

    /// Appends entries to lists. Owners from `new_from` on are new.
    async fn append(
        &mut self,
        tx: &Transaction<'_>,
        appended: &Appended,
        new_from: AddressId,
    ) -> Result<(), StoreError> {
        for list in List::ALL {
            let is_known = |owner: &u64| {
                let address = if list == List::ExchangeTrades { owner >> 1 } else { *owner };
                address < new_from
            };
            let mut before: BTreeMap<u64, Tail> = BTreeMap::new();
            let mut missing = Vec::new();
            for owner in appended.owners(list).filter(is_known) {
                match self.tails.get(&(list, owner)) {
                    Some(tail) => {
                        before.insert(owner, *tail);
                    }
                    None => missing.push(int8(owner)),
                }
            }
            if !missing.is_empty() {
                before.extend(tails(tx, list, &missing).await?);
            }
            let (runs, tails) = appended.runs(list, |owner| before.get(&owner).copied().unwrap_or_default());
            copy::runs(tx, list, &runs).await?;
            for (owner, tail) in tails {
                self.tails.insert((list, owner), tail);
            }
        }
        Ok(())
    }
}

async fn tails(tx: &Transaction<'_>, list: List, owners: &[i64]) -> Result<Vec<(u64, Tail)>, StoreError> {
    let sql = format!(
        "select o.owner, r.first_seq + 1 + coalesce(cardinality(r.rest), 0),
            coalesce(r.sent_before + run_count_below(r.first, r.rest, 1, 9223372036854775807), 0),
            coalesce(r.received_before + run_count_below(r.first, r.rest, 2, 9223372036854775807), 0)
        from unnest($1::int8[]) o(owner) cross join lateral (
            select * from {}_run r where r.owner = o.owner order by r.first_seq desc limit 1
        ) r",
        list.name()
    );
    let rows = query(tx, &sql, &[&owners]).await?;
    let tail = |row: &tokio_postgres::Row| {
        Ok((row.u64(0)?, Tail { total: row.u64(1)?, sent: row.u64(2)?, received: row.u64(3)? }))
    };
    rows.iter().map(tail).collect()
}

/// The first block follows the tip (or starts the index), and each further one is the child of the one before.
fn check_order(chain: &Chain, blocks: &[BlockChanges]) -> Result<(), StoreError> {
    let mut parent = chain.tip;
    if parent.is_none()
        && let (Some(start), Some(first)) = (chain.start_block, blocks.first())
        && first.block.number != start
    {
        return Err(StoreError::NotNextBlock { number: first.block.number, tip: None });
    }
    for BlockChanges { block, .. } in blocks {
        if let Some(parent) = parent {
            if block.number != parent.number + 1 {
                return Err(StoreError::NotNextBlock { number: block.number, tip: Some(parent.number) });
            }
            if block.parent_hash != parent.hash {
                return Err(StoreError::NotChildOfTip { number: block.number });
            }
        }
        parent = Some(block.id());
    }
    Ok(())
}

/// The lowest block that can be reverted after a commit.
fn undo_first(
    before: Option<BlockNumber>,
    old_tip: Option<BlockNumber>,
    first: BlockNumber,
    undo: Undo,
) -> Option<BlockNumber> {
    match undo {
        Undo::Discard => None,
        Undo::Keep { down_to } => {
            let kept = before.map(|before| before.max(down_to.saturating_add(1)));
            Some(kept.filter(|kept| old_tip.is_some_and(|tip| *kept <= tip)).unwrap_or(first))
        }
    }
}

/// Deletes what is needed only while a block can be reverted.
async fn prune(tx: &Transaction<'_>, undo_first: Option<BlockNumber>) -> Result<(), StoreError> {
    let first = undo_first.map_or(i64::MAX, int8);
    execute(tx, "delete from touched_balance where block < $1", &[&first]).await?;
    Ok(())
}

/// A contract, the transaction that created it, and the contract that did, if there is one.
type CreationRow = (AddressId, u64, Option<AddressId>);

async fn add_creations(
    tx: &Transaction<'_>,
    creations: &BTreeMap<(AddressId, u64), Option<AddressId>>,
) -> Result<(), StoreError> {
    if creations.is_empty() {
        return Ok(());
    }
    let rows = creations.iter().map(|((created, tx), creator)| (*created, *tx, *creator));
    let rows: Vec<CreationRow> = rows.collect();
    let created: Vec<i64> = rows.iter().map(|row| int8(row.0)).collect();
    let transactions: Vec<i64> = rows.iter().map(|row| int8(row.1)).collect();
    let creators: Vec<Option<i64>> = rows.iter().map(|row| row.2.map(int8)).collect();
    let sql = "insert into creation select * from unnest($1::int8[], $2::int8[], $3::int8[])";
    execute(tx, sql, &[&created, &transactions, &creators]).await?;
    Ok(())
}

async fn write_balances(tx: &Transaction<'_>, moved: &Moved, known: &Prefetched, undo: Undo) -> Result<(), StoreError> {
    if moved.pairs.is_empty() {
        return Ok(());
    }
    let (mut tokens, mut holders, mut amounts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first_transfers, mut first_touches) = (Vec::new(), Vec::new());
    for (pair, touch) in &moved.pairs {
        tokens.push(int8(pair.token));
        holders.push(int8(pair.holder));
        amounts.push(crate::numeric::Numeric(known.balances.get(pair).copied().unwrap_or_default()));
        first_transfers.push(touch.first_transfer.map(int8));
        first_touches.push(touch.first_block.map(int8));
    }
    let sql = "insert into balance as b (token, holder, amount, first_transfer, first_touch)
        select * from unnest($1::int8[], $2::int8[], $3::numeric[], $4::int8[], $5::int8[])
        on conflict (token, holder) do update set
            amount = case when excluded.first_transfer is null then b.amount else excluded.amount end,
            first_transfer = coalesce(b.first_transfer, excluded.first_transfer),
            first_touch = coalesce(b.first_touch, excluded.first_touch)";
    execute(tx, sql, &[&tokens, &holders, &amounts, &first_transfers, &first_touches]).await?;
    if undo == Undo::Discard || moved.touched.is_empty() {
        return Ok(());
    }
    let blocks: Vec<i64> = moved.touched.iter().map(|(block, _)| int8(*block)).collect();
    let (tokens, holders) = super::prefetch::split(moved.touched.iter().map(|(_, pair)| pair));
    let sql = "insert into touched_balance select * from unnest($1::int8[], $2::int8[], $3::int8[])";
    execute(tx, sql, &[&blocks, &tokens, &holders]).await?;
    Ok(())
}

/// The first events of a commit that touched a balance.
#[derive(Debug, Clone, Copy, Default)]
struct Touch {
    first_transfer: Option<u64>,
    first_block: Option<BlockNumber>,
}

#[derive(Debug, Default)]
struct Moved {
    /// Tokens with transfers.
    tokens: BTreeSet<AddressId>,
    /// Holders whose balance may have changed.
    pairs: BTreeMap<Pair, Touch>,
    /// Touched by other events than transfers.
    touched: BTreeSet<(BlockNumber, Pair)>,
}

#[derive(Debug, Default)]
struct Rows {
    addresses: Vec<AddressCopy>,
    blocks: Vec<BlockCopy>,
    transactions: Vec<TransactionCopy>,
    transfers: Vec<TransferCopy>,
    trades: Vec<TradeCopy>,
    pools: Vec<PoolCopy>,
    /// By contract and transaction: the last one counts.
    creations: BTreeMap<(AddressId, u64), Option<AddressId>>,
}

/// An unfinished commit.
struct Step<'a> {
    state: &'a mut WriteState,
    known: Prefetched,
    totals: Totals,
    /// The totals before the current block if it can be reverted, else those before the commit.
    run_floor: Totals,
    run_floor_block: BlockNumber,
    undo: Undo,
    rows: Rows,
    appended: Appended,
    new_addresses: Vec<(Address, AddressId)>,
    new_tokens: Vec<AddressId>,
    moved: Moved,
    /// Addresses whose code has to be fetched, and since which block.
    codes: BTreeMap<AddressId, BlockNumber>,
}

impl<'a> Step<'a> {
    fn new(state: &'a mut WriteState, known: Prefetched, totals: Totals, undo: Undo) -> Self {
        Self {
            state,
            known,
            totals,
            run_floor: Totals::default(),
            run_floor_block: 0,
            undo,
            rows: Rows::default(),
            appended: Appended::default(),
            new_addresses: Vec::new(),
            new_tokens: Vec::new(),
            moved: Moved::default(),
            codes: BTreeMap::new(),
        }
    }

    fn add_block(&mut self, changes: &BlockChanges) -> Result<(), StoreError> {
        let block = &changes.block;
        let before = self.totals;
        if self.undo != Undo::Discard {
            (self.run_floor, self.run_floor_block) = (before, block.number);
        }
        let miner = self.address_id(block.miner, block.number);
        self.append(List::Mined, miner, block.number, Role::Any);
        for touched in &changes.touched_holders {
            self.add_touched_holder(touched, block.number);
        }
        for pool in &changes.pools {
            self.add_pool(pool, block.number);
        }
        let mut involved = changes.involved.iter().peekable();
        let mut transfers = changes.transfers.iter().peekable();
        let mut trades = changes.trades.iter().peekable();
        let mut creations = changes.inner_creations.iter().flatten().peekable();
        for tx in &changes.transactions {
            let id = self.totals.transactions;
            let maker = self.add_transaction(id, tx);
            while let Some(involvement) = involved.next_if(|involvement| involvement.tx_index == tx.index) {
                let owner = self.address_id(involvement.address, block.number);
                self.note_code(owner, CodeEvent::Ran, block.number);
                self.append(List::Involved, owner, id, Role::Any);
            }
            while let Some(creation) = creations.next_if(|creation| creation.tx_index == tx.index) {
                let creator = self.address_id(creation.creator, block.number);
                self.add_creation(creation.created, id, Some(creator), block.number);
            }
            while let Some(transfer) = transfers.next_if(|transfer| transfer.tx_index == tx.index) {
                self.add_transfer(id, transfer, block.number);
            }
            while let Some(trade) = trades.next_if(|trade| trade.tx_index == tx.index) {
                self.add_trade(id, maker, trade, block.number)?;
            }
        }
        self.totals.filled_blocks += u64::from(!changes.transactions.is_empty());
        self.totals.untraced_blocks += u64::from(changes.inner_creations.is_none());
        self.put_block(block, miner, before);
        Ok(())
    }

    fn put_block(&mut self, block: &Block, miner: AddressId, before: Totals) {
        self.rows.blocks.push(BlockCopy { block: block.clone(), miner, before });
    }

    /// Returns the sender.
    fn add_transaction(&mut self, id: u64, tx: &domain::Transaction) -> AddressId {
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
        self.totals.transactions += 1;
        self.totals.gas_prices += U256::from(tx.gas_price);
        from
    }

    /// Contracts can be destroyed and created again at one address: the newest counts.
    fn add_creation(&mut self, created: Address, tx: u64, creator: Option<AddressId>, block: BlockNumber) {
        let created = self.address_id(created, block);
        self.note_code(created, CodeEvent::Created, block);
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

    fn add_transfer(&mut self, tx: u64, event: &TransferEvent, block: BlockNumber) {
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
        let shortfall = self.move_balance(event, [token, from, to], id, block);
        self.rows.transfers.push(TransferCopy { id, tx, token, from, to, event: *event, shortfall });
    }

    /// Returns the part of the value that the sender did not have.
    fn move_balance(
        &mut self,
        event: &TransferEvent,
        [token_id, from, to]: [AddressId; 3],
        transfer: u64,
        block: BlockNumber,
    ) -> Option<Balance> {
        let is_new = !self.known.tokens.contains_key(&token_id);
        let token =
            self.known.tokens.entry(token_id).or_insert_with(|| TokenRow::new(token_id, event.token, event.kind));
        if is_new {
            self.totals.tokens += 1;
            self.new_tokens.push(token_id);
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
                let had = !balance.is_zero();
                shortfall = value.checked_sub(*balance).filter(|missing| !missing.is_zero());
                *balance = balance.saturating_sub(value);
                token.holders -= u64::from(had && balance.is_zero());
                token.overdrafts += u64::from(shortfall.is_some());
            }
        }
        if event.to != Address::ZERO && from != to {
            let balance = self.known.balances.entry(move_pair(to)).or_default();
            let had = !balance.is_zero();
            // A sum that is too large leaves zero, like any other impossible change.
            *balance = balance.checked_add(value).unwrap_or_default();
            token.holders += u64::from(!had && !balance.is_zero());
        }
        shortfall
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

    fn append(&mut self, list: List, owner: u64, id: u64, role: Role) {
        let floor = match list {
            List::Transactions | List::Involved => self.run_floor.transactions,
            List::Mined => self.run_floor_block,
            List::Transfers | List::TokenTransfers => self.run_floor.transfers,
            List::MakerTrades | List::PoolTrades | List::ExchangeTrades => self.run_floor.trades,
        };
        self.appended.push(list, owner, Entry::new(id, role), floor);
    }

    /// The id of an address; a new one gets the next id.
    fn address_id(&mut self, address: Address, block: BlockNumber) -> AddressId {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_a_commit_can_all_be_reverted_and_older_ones_down_to_a_block() {
        let keep = |down_to| Undo::Keep { down_to };
        assert_eq!(undo_first(None, None, 0, keep(0)), Some(0));
        assert_eq!(undo_first(Some(0), Some(4), 5, keep(0)), Some(1));
        assert_eq!(undo_first(Some(0), Some(4), 5, keep(3)), Some(4));
        assert_eq!(undo_first(Some(0), Some(4), 5, keep(4)), Some(5));
        assert_eq!(undo_first(Some(0), Some(4), 5, keep(9)), Some(5), "all of this commit");
        assert_eq!(undo_first(None, Some(4), 5, keep(0)), Some(5), "those before cannot be reverted");
        assert_eq!(undo_first(Some(3), Some(4), 5, Undo::Discard), None);
    }
}

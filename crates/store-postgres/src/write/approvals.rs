//! The effect of events on approvals.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use domain::{Address, ApprovalScope, Balance, BlockChanges, BlockNumber, TokenKind};
use store::{
    ChainTotals, StoreError, Undo,
    rules::{ApprovalKey, ApprovalState},
};
use tokio_postgres::Row;

use crate::{
    database::{Connection, execute, query},
    lists::AddressId,
    numeric::Numeric,
    ranks::{RankMoves, RankedSet, id_tie},
    rows::{RowExt, int8, to_u256},
};

/// The token, the scope and the id in a row.
fn columns_of(key: &ApprovalKey) -> (i64, i16, Option<Numeric>) {
    let (scope, id) = match key.scope() {
        ApprovalScope::Amount => (0, None),
        ApprovalScope::Id(id) => (1, Some(Numeric::from(id))),
        ApprovalScope::All => (2, None),
    };
    (int8(key.token()), scope, id)
}

/// From the columns owner, spender, value and transaction.
fn state_from_row(row: &Row, first: usize) -> Result<ApprovalState, StoreError> {
    Ok(ApprovalState {
        owner: row.u64(first)?,
        spender: row.address(first + 1)?,
        value: to_u256(row.value(first + 2)?)?,
        tx: row.u64(first + 3)?,
    })
}

/// The approvals that a commit may change.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    ids: BTreeMap<ApprovalKey, u64>,
    new: Vec<(u64, ApprovalKey)>,
    before: BTreeMap<u64, ApprovalState>,
    now: BTreeMap<u64, ApprovalState>,
    /// Before the current block, of those that it changed.
    before_block: BTreeMap<u64, Option<ApprovalState>>,
    undo: Vec<(BlockNumber, u64, ApprovalState)>,
}

impl Approvals {
    /// Reads what the blocks may change. `address` finds the id of a known address.
    pub(super) async fn read(
        client: &dyn Connection,
        blocks: &[BlockChanges],
        address: impl Fn(&Address) -> Option<AddressId>,
    ) -> Result<Self, StoreError> {
        let mut keys: BTreeSet<ApprovalKey> = BTreeSet::new();
        for changes in blocks {
            keys.extend(changes.approvals.iter().filter_map(|event| {
                let (token, owner) = (address(&event.token)?, address(&event.owner));
                // The owner of an id is not part of its key.
                let owner = match event.scope {
                    ApprovalScope::Id(_) => owner.unwrap_or(0),
                    ApprovalScope::Amount | ApprovalScope::All => owner?,
                };
                Some(ApprovalKey::new(token, owner, event.spender, event.scope))
            }));
            let moved = changes.transfers.iter().filter(|event| event.kind == TokenKind::Bep721);
            keys.extend(
                moved.filter_map(|event| Some(ApprovalKey::Id { token: address(&event.token)?, id: event.token_id? })),
            );
        }
        let mut read = Self::default();
        read.read_by_spender(client, &keys).await?;
        read.read_by_id(client, &keys).await?;
        Ok(read)
    }

    async fn read_by_spender(
        &mut self,
        client: &dyn Connection,
        keys: &BTreeSet<ApprovalKey>,
    ) -> Result<(), StoreError> {
        let (mut tokens, mut owners, mut scopes, mut spenders) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for key in keys {
            let (ApprovalKey::Amount { owner, spender, .. } | ApprovalKey::All { owner, spender, .. }) = key else {
                continue;
            };
            let (token, scope, _) = columns_of(key);
            tokens.push(token);
            owners.push(int8(*owner));
            scopes.push(scope);
            spenders.push(spender.to_vec());
        }
        if tokens.is_empty() {
            return Ok(());
        }
        let sql = "select p.token, p.scope, p.id, p.owner, p.spender, p.value, p.transaction
            from unnest($1::int8[], $2::int8[], $3::int2[], $4::bytea[]) as k(token, owner, scope, spender)
            join approval p on p.token = k.token and p.owner = k.owner and p.scope = k.scope and p.spender = k.spender
            where p.scope <> 1";
        for row in query(client, sql, &[&tokens, &owners, &scopes, &spenders]).await? {
            let (token, state) = (row.u64(0)?, state_from_row(&row, 3)?);
            let scope = match row.value::<i16>(1)? {
                0 => ApprovalScope::Amount,
                2 => ApprovalScope::All,
                _ => return Err(StoreError::Corrupt("an approval of an unknown scope")),
            };
            self.learn(ApprovalKey::new(token, state.owner, state.spender, scope), row.u64(2)?, state);
        }
        Ok(())
    }

    async fn read_by_id(&mut self, client: &dyn Connection, keys: &BTreeSet<ApprovalKey>) -> Result<(), StoreError> {
        let (tokens, ids): (Vec<i64>, Vec<Numeric>) = keys
            .iter()
            .filter_map(|key| match key {
                ApprovalKey::Id { token, id } => Some((int8(*token), Numeric::from(*id))),
                ApprovalKey::Amount { .. } | ApprovalKey::All { .. } => None,
            })
            .unzip();
        if tokens.is_empty() {
            return Ok(());
        }
        let sql = "select p.token, p.token_id, p.id, p.owner, p.spender, p.value, p.transaction
            from unnest($1::int8[], $2::numeric[]) as k(token, token_id)
            join approval p on p.token = k.token and p.token_id = k.token_id where p.scope = 1";
        for row in query(client, sql, &[&tokens, &ids]).await? {
            let key = ApprovalKey::Id { token: row.u64(0)?, id: to_u256(row.value(1)?)? };
            self.learn(key, row.u64(2)?, state_from_row(&row, 3)?);
        }
        Ok(())
    }

    fn learn(&mut self, key: ApprovalKey, id: u64, state: ApprovalState) {
        self.ids.insert(key, id);
        self.before.insert(id, state);
        self.now.insert(id, state);
    }

    pub(super) fn find(&self, key: &ApprovalKey) -> Option<(u64, ApprovalState)> {
        let id = *self.ids.get(key)?;
        Some((id, *self.now.get(&id)?))
    }

    pub(super) fn add(&mut self, id: u64, key: ApprovalKey, state: ApprovalState) {
        self.ids.insert(key, id);
        self.new.push((id, key));
        self.change(id, state);
    }

    pub(super) fn change(&mut self, id: u64, state: ApprovalState) {
        let before = self.now.insert(id, state);
        self.before_block.entry(id).or_insert(before);
    }

    pub(super) fn end_block(&mut self, block: BlockNumber, undo: Undo) {
        let changed = std::mem::take(&mut self.before_block);
        if undo != Undo::Discard {
            // One that is new is deleted by its number.
            self.undo.extend(changed.into_iter().filter_map(|(id, before)| Some((block, id, before?))));
        }
    }

    pub(super) async fn write(self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        insert(tx, &self.new, &self.now).await?;
        let first_new = self.new.first().map_or(u64::MAX, |(id, _)| *id);
        let changed: BTreeMap<u64, ApprovalState> = self
            .now
            .range(..first_new)
            .filter(|(id, state)| self.before.get(id) != Some(state))
            .map(|(id, state)| (*id, *state))
            .collect();
        update(tx, &changed).await?;
        insert_undo(tx, &self.undo).await?;
        let mut moves = RankMoves::default();
        for (id, now) in &self.now {
            let before = self.before.get(id).and_then(|before| before.listed_by());
            move_listed(&mut moves, *id, before, now.listed_by());
        }
        moves.write(tx).await
    }
}

fn move_listed(moves: &mut RankMoves, id: u64, before: Option<AddressId>, now: Option<AddressId>) {
    if before == now {
        return;
    }
    if let Some(owner) = before {
        moves.remove(RankedSet::Approvals { owner }, Balance::ZERO, &id_tie(id));
    }
    if let Some(owner) = now {
        moves.insert(RankedSet::Approvals { owner }, Balance::ZERO, &id_tie(id));
    }
}

/// States as columns: owners, spenders, values and transactions.
type Columns = (Vec<i64>, Vec<Vec<u8>>, Vec<Numeric>, Vec<i64>);

fn columns<'a>(states: impl Iterator<Item = &'a ApprovalState>) -> Columns {
    let mut columns = Columns::default();
    for state in states {
        columns.0.push(int8(state.owner));
        columns.1.push(state.spender.to_vec());
        columns.2.push(Numeric::from(state.value));
        columns.3.push(int8(state.tx));
    }
    columns
}

async fn insert(
    tx: &Transaction<'_>,
    new: &[(u64, ApprovalKey)],
    states: &BTreeMap<u64, ApprovalState>,
) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = new.iter().map(|(id, _)| int8(*id)).collect();
    let (mut tokens, mut scopes, mut token_ids) = (Vec::new(), Vec::new(), Vec::new());
    for (_, key) in new {
        let (token, scope, id) = columns_of(key);
        tokens.push(token);
        scopes.push(scope);
        token_ids.push(id);
    }
    let (owners, spenders, values, transactions) = columns(new.iter().filter_map(|(id, _)| states.get(id)));
    let sql = "insert into approval select * from
        unnest($1::int8[], $2::int8[], $3::int2[], $4::numeric[], $5::int8[], $6::bytea[], $7::numeric[], $8::int8[])";
    execute(tx, sql, &[&ids, &tokens, &scopes, &token_ids, &owners, &spenders, &values, &transactions]).await?;
    Ok(())
}

async fn update(tx: &Transaction<'_>, changed: &BTreeMap<u64, ApprovalState>) -> Result<(), StoreError> {
    if changed.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = changed.keys().map(|id| int8(*id)).collect();
    let (owners, spenders, values, transactions) = columns(changed.values());
    let sql = "update approval p set owner = c.owner, spender = c.spender, value = c.value, transaction = c.transaction
        from unnest($1::int8[], $2::int8[], $3::bytea[], $4::numeric[], $5::int8[])
            as c(id, owner, spender, value, transaction) where p.id = c.id";
    execute(tx, sql, &[&ids, &owners, &spenders, &values, &transactions]).await?;
    Ok(())
}

async fn insert_undo(tx: &Transaction<'_>, undo: &[(BlockNumber, u64, ApprovalState)]) -> Result<(), StoreError> {
    if undo.is_empty() {
        return Ok(());
    }
    let blocks: Vec<i64> = undo.iter().map(|(block, ..)| int8(*block)).collect();
    let ids: Vec<i64> = undo.iter().map(|(_, id, _)| int8(*id)).collect();
    let (owners, spenders, values, transactions) = columns(undo.iter().map(|(.., state)| state));
    let sql = "insert into approval_undo select * from
        unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[], $5::numeric[], $6::int8[])";
    execute(tx, sql, &[&blocks, &ids, &owners, &spenders, &values, &transactions]).await?;
    Ok(())
}

/// Restores approvals as they were at a block.
pub(super) async fn revert(tx: &Transaction<'_>, kept: &ChainTotals, number: BlockNumber) -> Result<(), StoreError> {
    let mut moves = RankMoves::default();
    let mut restored = BTreeMap::new();
    let sql = "select distinct on (u.approval) u.approval, u.owner, u.spender, u.value, u.transaction,
            p.owner, p.spender, p.value, p.transaction
        from approval_undo u join approval p on p.id = u.approval where u.block > $1 and u.approval < $2
        order by u.approval, u.block";
    for row in query(tx, sql, &[&int8(number), &int8(kept.approvals)]).await? {
        let (id, state) = (row.u64(0)?, state_from_row(&row, 1)?);
        move_listed(&mut moves, id, state_from_row(&row, 5)?.listed_by(), state.listed_by());
        restored.insert(id, state);
    }
    let sql = "select id, owner, spender, value, transaction from approval where id >= $1";
    for row in query(tx, sql, &[&int8(kept.approvals)]).await? {
        move_listed(&mut moves, row.u64(0)?, state_from_row(&row, 1)?.listed_by(), None);
    }
    moves.write(tx).await?;
    execute(tx, "delete from approval where id >= $1", &[&int8(kept.approvals)]).await?;
    execute(tx, "delete from approval_undo where block > $1", &[&int8(number)]).await?;
    update(tx, &restored).await
}

//! What transfers do to tokens: who holds how much, how many hold any, and where a token stands among the others.

use domain::{Address, BalanceSource, TransferEvent};
use store::StoreError;

use super::commit::Step;
use super::overwrite::{Change, Overwrites};
use crate::engine::{Batch, View};
use crate::keys::{AddressId, Key, ListKind, Table, TxId, number_in_key};
use crate::lists::{Entry, Roles};
use crate::ranked::{RankMoves, RankedSet, SortKey};
use crate::rows::{AddressRow, Balance, TokenRow, TransferParties, TransferRow, balance_from_row, balance_to_row};
use crate::undo::UndoRecord;

impl Step<'_, '_> {
    pub(super) fn add_transfer(
        &mut self,
        record: &mut UndoRecord,
        tx: TxId,
        event: &TransferEvent,
        block: domain::BlockNumber,
    ) -> Result<(), StoreError> {
        let token = self.address_id(event.token, block)?;
        let from = self.address_id(event.from, block)?;
        let to = self.address_id(event.to, block)?;
        let id = self.totals.transfers;
        self.totals.transfers += 1;

        let parties = TransferParties { token, from, to };
        self.batch.put(Table::Transfer, &Key::id(id), TransferRow::new(event, tx, parties).to_row());
        self.append(record, ListKind::TokenTransfers.of(token), Entry { id, roles: Roles::NONE })?;
        self.append(record, ListKind::Transfers.of(from), Entry { id, roles: Roles { from: true, to: from == to } })?;
        if to != from {
            self.append(record, ListKind::Transfers.of(to), Entry { id, roles: Roles { from: false, to: true } })?;
        }
        self.move_balance(event, parties, block)
    }

    fn move_balance(
        &mut self,
        event: &TransferEvent,
        parties: TransferParties,
        block: domain::BlockNumber,
    ) -> Result<(), StoreError> {
        let key = Key::id(parties.token);
        let mut token = match self.overwrites.get(Table::Token, &key)? {
            Some(row) => TokenRow::from_row(row)?,
            None => {
                self.totals.tokens += 1;
                ask_about(&mut self.batch, parties.token, block);
                TokenRow::new(event.kind)
            }
        };
        if event.from == Address::ZERO || event.to == Address::ZERO {
            ask_about(&mut self.batch, parties.token, block);
        }
        if event.from != event.to {
            let value = Balance::from(event.value);
            if event.from != Address::ZERO {
                let (old, new) = self.change_balance(parties.token, parties.from, |old| old.checked_sub(value))?;
                token.holder_count -= u64::from(!old.is_zero() && new.is_none_or(|new| new.is_zero()));
                if new.is_none() {
                    // More went out than ever came in by events: they do not tell this token's balances.
                    token.balance_source = BalanceSource::Calls;
                }
            }
            if event.to != Address::ZERO {
                let (old, new) = self.change_balance(parties.token, parties.to, |old| old.checked_add(value))?;
                token.holder_count += u64::from(old.is_zero() && new.is_some_and(|new| !new.is_zero()));
            }
        }
        self.overwrites.put(Table::Token, &key, Some(token.to_row()))
    }

    /// Gives the balance before and after; a change that cannot be leaves nothing.
    fn change_balance(
        &mut self,
        token: AddressId,
        holder: AddressId,
        change: impl FnOnce(Balance) -> Option<Balance>,
    ) -> Result<(Balance, Option<Balance>), StoreError> {
        let key = Key::balance(token, holder);
        let old = match self.overwrites.get(Table::Balance, &key)? {
            Some(row) => balance_from_row(row)?,
            None => Balance::ZERO,
        };
        let new = change(old);
        self.overwrites.put(Table::Balance, &key, Some(balance_to_row(&new.unwrap_or_default())))?;
        Ok((old, new))
    }
}

/// Notes that the token's contract has something new to say since a block.
pub(super) fn ask_about(batch: &mut Batch, token: AddressId, since: domain::BlockNumber) {
    batch.put(Table::TokenQuestion, &Key::id(token), Key::block(since).as_slice());
}

/// Moves every token whose holders changed to its new place among the others.
pub(super) fn rerank(
    overwrites: &Overwrites<'_>,
    view: &View,
    batch: &mut Batch,
    new: &NewAddresses<'_>,
) -> Result<(), StoreError> {
    let mut moves = RankMoves::default();
    for (key, Change { before, now }) in overwrites.changes(Table::Token) {
        let id = number_in_key(key.as_slice(), 0);
        let address = new(id)?;
        let place = |row: &Option<Vec<u8>>| -> Result<Option<SortKey>, StoreError> {
            let Some(row) = row else { return Ok(None) };
            Ok(Some(token_place(TokenRow::from_row(row)?.holder_count, &address)))
        };
        let (before, now) = (place(before)?, place(now)?);
        if before == now {
            continue;
        }
        if let Some(before) = before {
            moves.remove(batch, RankedSet::Tokens, &before);
        }
        if let Some(now) = now {
            moves.insert(batch, RankedSet::Tokens, &now);
        }
    }
    moves.write(view, batch)
}

/// Finds the address behind an id, also one that the batch itself brings.
pub(super) type NewAddresses<'a> = dyn Fn(AddressId) -> Result<Address, StoreError> + 'a;

/// By holders, most first, then by address.
fn token_place(holders: u64, address: &Address) -> SortKey {
    let bytes = holders.to_be_bytes();
    let leading = bytes.iter().take_while(|byte| **byte == 0).count();
    SortKey::descending(&bytes[leading..], address.as_slice())
}

pub(super) fn stored_address(view: &View, id: AddressId) -> Result<Address, StoreError> {
    let row = view.get(Table::Address, &Key::id(id))?;
    Ok(AddressRow::from_row(&row.ok_or(StoreError::Corrupt("an address id without an address"))?)?.address)
}

//! The effect of transfers on tokens: balances, and the number of holders.

use domain::{Address, Balance, BlockNumber, TokenKind, TransferEvent};
use store::{StoreError, fetch_policy};

use super::commit::Step;
use crate::{
    engine::{Batch, View},
    keys::{AddressId, Key, ListKind, Pair, Table, TxId},
    lists::{Entry, Roles},
    rows::{AddressRow, TokenRow, TransferParties, TransferRow, balance_from_row, balance_to_row},
};

impl Step<'_, '_> {
    pub(super) fn add_transfer(
        &mut self,
        tx: TxId,
        event: &TransferEvent,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        let token = self.address_id(event.token, block)?;
        let from = self.address_id(event.from, block)?;
        let to = self.address_id(event.to, block)?;
        let id = self.totals.transfers;
        self.totals.transfers += 1;

        let parties = TransferParties { token, from, to };
        self.batch.put(Table::Transfer, &Key::id(id), TransferRow::new(event, tx, parties).to_row());
        self.append(ListKind::TokenTransfers.of(token), Entry { id, roles: Roles::NONE })?;
        self.append(ListKind::Transfers.of(from), Entry { id, roles: Roles { from: true, to: from == to } })?;
        if to != from {
            self.append(ListKind::Transfers.of(to), Entry { id, roles: Roles { from: false, to: true } })?;
        }
        let mut row = self.move_balance(event, parties, block)?;
        self.move_nft(id, event, parties, &mut row)?;
        self.overwrites.put(Table::Token, &Key::id(token), Some(row.to_row()))?;
        self.end_approval(tx, event, token)
    }

    /// Returns the row of the token, to be written.
    fn move_balance(
        &mut self,
        event: &TransferEvent,
        parties: TransferParties,
        block: BlockNumber,
    ) -> Result<TokenRow, StoreError> {
        let key = Key::id(parties.token);
        let mut token = match self.overwrites.get(Table::Token, &key)? {
            Some(row) => TokenRow::from_row(row)?,
            None => {
                self.totals.tokens += 1;
                self.batch.put(Table::NewToken, &key, Key::block(block).as_slice());
                TokenRow::new(event.kind)
            }
        };
        if fetch_policy::changes_supply(event) {
            mark_token_pending(&mut self.batch, parties.token, block);
        }
        self.moved_tokens.insert(parties.token);
        let value = Balance::from(event.value);
        if event.from != Address::ZERO {
            let pair = Pair { token: parties.token, holder: parties.from };
            self.moved_pairs.insert(pair);
            if event.from == event.to {
                // The balance does not change, but the address is now known as a possible holder.
                self.change_balance(pair, Some)?;
            } else {
                let (old, new) = self.change_balance(pair, |old| old.checked_sub(value))?;
                token.holder_count -= u64::from(!old.is_zero() && new.is_none_or(|new| new.is_zero()));
                if new.is_none() {
                    token.balance_source = fetch_policy::source_after_overdraft(token.kind, token.balance_source);
                }
                count_held(&mut token, old, new)?;
            }
        }
        if event.to != Address::ZERO && event.from != event.to {
            let pair = Pair { token: parties.token, holder: parties.to };
            self.moved_pairs.insert(pair);
            let (old, new) = self.change_balance(pair, |old| old.checked_add(value))?;
            token.holder_count += u64::from(old.is_zero() && new.is_some_and(|new| !new.is_zero()));
            count_held(&mut token, old, new)?;
        }
        Ok(token)
    }

    /// Returns the balance before and after; an impossible change leaves a balance of zero.
    fn change_balance(
        &mut self,
        pair: Pair,
        change: impl FnOnce(Balance) -> Option<Balance>,
    ) -> Result<(Balance, Option<Balance>), StoreError> {
        let key = Key::balance(pair);
        let old = match self.overwrites.get(Table::Balance, &key)? {
            Some(row) => balance_from_row(row)?,
            None => Balance::ZERO,
        };
        let new = change(old);
        self.overwrites.put(Table::Balance, &key, Some(balance_to_row(&new.unwrap_or(Balance::ZERO))))?;
        Ok((old, new))
    }

    /// Records a balance that an event other than a transfer changed.
    pub(super) fn add_touched_holder(
        &mut self,
        touched: &domain::TouchedHolder,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        if touched.holder == Address::ZERO {
            return Ok(());
        }
        let token = self.address_id(touched.token, block)?;
        let pair = Pair { token, holder: self.address_id(touched.holder, block)? };
        self.moved_pairs.insert(pair);
        if self.overwrites.get(Table::Token, &Key::id(token))?.is_some() {
            // A deposit to or withdrawal from a wrapper changes its supply like a mint or a burn.
            mark_token_pending(&mut self.batch, token, block);
        }
        self.overwrites.put(Table::TouchedHolder, &Key::balance(pair), Some(Key::block(block).as_slice().to_vec()))
    }
}

/// Adds a change of a balance to what holders of a fungible token have. That of others follows from their ids.
fn count_held(token: &mut TokenRow, old: Balance, new: Option<Balance>) -> Result<(), StoreError> {
    match token.kind {
        TokenKind::Bep20 => token.change_held(old, new.unwrap_or(Balance::ZERO)),
        TokenKind::Bep721 | TokenKind::Bep1155 => Ok(()),
    }
}

/// The token's metadata has to be fetched, at a block or later.
pub(super) fn mark_token_pending(batch: &mut Batch, token: AddressId, since: BlockNumber) {
    batch.put(Table::PendingToken, &Key::id(token), Key::block(since).as_slice());
}

pub(super) fn stored_address(view: &View, id: AddressId) -> Result<Address, StoreError> {
    let row = view.get(Table::Address, &Key::id(id))?;
    Ok(AddressRow::from_row(&row.ok_or(StoreError::Corrupt("an address id without an address"))?)?.address)
}

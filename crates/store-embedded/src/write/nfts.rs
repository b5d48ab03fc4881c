//! The effect of transfers on the ids of tokens: who holds them, and how much.

use domain::{Address, Balance, TokenKind, TransferEvent, U256};
use store::StoreError;

use super::{commit::Step, overwrite::Overwrites};
use crate::{
    engine::{Batch, View},
    keys::{AddressId, Key, ListKind, NftId, Table, TransferId, id_bytes, ids_in_key, number_in_key},
    lists::{Entry, Roles},
    ranked::{RankMoves, RankedSet, SortKey},
    rows::{NftRow, TokenRow, TransferParties, balance_from_row, balance_to_row},
};

impl Step<'_, '_> {
    /// Moves an id of a token, and counts what its holders have. An event of another kind than the token's does not.
    pub(super) fn move_nft(
        &mut self,
        transfer: TransferId,
        event: &TransferEvent,
        parties: TransferParties,
        token: &mut TokenRow,
    ) -> Result<(), StoreError> {
        let kind = token.kind;
        let Some(id) = event.token_id.filter(|_| event.kind == kind) else { return Ok(()) };
        let nft = self.nft_id(NftRow { token: parties.token, kind, id })?;
        self.append(ListKind::NftTransfers.of(nft), Entry { id: transfer, roles: Roles::NONE })?;
        if kind == TokenKind::Bep721 {
            // The last receiver is the owner, even if an earlier event is missing.
            let owner = (event.to != Address::ZERO).then(|| Key::id(parties.to).as_slice().to_vec());
            let exists = |owner: bool| if owner { Balance::ONE } else { Balance::ZERO };
            let had_owner = self.overwrites.get(Table::NftOwner, &Key::id(nft))?.is_some();
            token.change_held(exists(had_owner), exists(owner.is_some()))?;
            return self.overwrites.put(Table::NftOwner, &Key::id(nft), owner);
        }
        if event.from == event.to {
            return Ok(());
        }
        if event.from != Address::ZERO {
            // A sender that has less than it sends is left with zero.
            self.change_amount(nft, parties.from, token, |old, value| old.saturating_sub(value), event.value)?;
        }
        if event.to != Address::ZERO {
            // Below 2^320, since each of fewer than 2^64 transfers adds less than 2^256.
            self.change_amount(nft, parties.to, token, |old, value| old.saturating_add(value), event.value)?;
        }
        Ok(())
    }

    fn change_amount(
        &mut self,
        nft: NftId,
        holder: AddressId,
        token: &mut TokenRow,
        change: impl FnOnce(Balance, Balance) -> Balance,
        value: U256,
    ) -> Result<(), StoreError> {
        let key = Key::nft_balance(nft, holder);
        let old = self.overwrites.get(Table::NftBalance, &key)?.map_or(Ok(Balance::ZERO), balance_from_row)?;
        let new = change(old, Balance::from(value));
        token.change_held(old, new)?;
        self.overwrites.put(Table::NftBalance, &key, (!new.is_zero()).then(|| balance_to_row(&new)))
    }

    /// The NFT of an id; a new one gets the next.
    fn nft_id(&mut self, row: NftRow) -> Result<NftId, StoreError> {
        let key = Key::nft(row.token, &row.id);
        if let Some(known) = self.overwrites.get(Table::NftId, &key)? {
            return number_in_key(known, 0);
        }
        let nft = self.totals.nfts;
        self.totals.nfts += 1;
        self.overwrites.put(Table::NftId, &key, Some(Key::id(nft).as_slice().to_vec()))?;
        self.batch.put(Table::Nft, &Key::id(nft), row.to_row());
        self.append(ListKind::TokenNfts.of(row.token), Entry { id: nft, roles: Roles::NONE })?;
        Ok(nft)
    }
}

/// Updates the sorted sets of holders and of held ids to what changed.
pub(super) fn rerank_nfts(overwrites: &Overwrites<'_>, view: &View, batch: &mut Batch) -> Result<(), StoreError> {
    let mut moves = RankMoves::default();
    let held_key = |nft: NftId| SortKey::descending(&Balance::ZERO, &id_bytes(nft));
    for (key, change) in overwrites.changes(Table::NftOwner) {
        let nft = number_in_key(key.as_slice(), 0)?;
        let held = |owner: &Vec<u8>| number_in_key(owner, 0).map(|holder| RankedSet::HeldNfts { holder });
        if let Some(before) = &change.before {
            moves.remove(batch, held(before)?, &held_key(nft));
        }
        if let Some(now) = &change.now {
            moves.insert(batch, held(now)?, &held_key(nft));
        }
    }
    for (key, change) in overwrites.changes(Table::NftBalance) {
        let (nft, holder) = ids_in_key(key.as_slice())?;
        let (holders, held) = (RankedSet::NftHolders { nft }, RankedSet::HeldNfts { holder });
        let sort_key = |row: &Vec<u8>| Ok(SortKey::descending(&balance_from_row(row)?, &id_bytes(holder)));
        if let Some(before) = &change.before {
            moves.remove(batch, holders, &sort_key(before)?);
        }
        if let Some(now) = &change.now {
            moves.insert(batch, holders, &sort_key(now)?);
        }
        match (&change.before, &change.now) {
            (None, Some(_)) => moves.insert(batch, held, &held_key(nft)),
            (Some(_), None) => moves.remove(batch, held, &held_key(nft)),
            _ => {}
        }
    }
    moves.write(view, batch)
}

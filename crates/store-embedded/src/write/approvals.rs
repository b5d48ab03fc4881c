//! The effect of events on approvals.

use domain::{Address, ApprovalEvent, ApprovalScope, Balance, BlockNumber, TokenKind, TransferEvent, U256};
use store::StoreError;

use super::{commit::Step, overwrite::Overwrites};
use crate::{
    engine::{Batch, View},
    keys::{AddressId, ApprovalId, Key, Table, TxId, id_bytes, number_in_key},
    ranked::{RankMoves, RankedSet, SortKey},
    rows::ApprovalRow,
};

impl Step<'_, '_> {
    pub(super) fn add_approval(
        &mut self,
        tx: TxId,
        event: &ApprovalEvent,
        block: BlockNumber,
    ) -> Result<(), StoreError> {
        let token = self.address_id(event.token, block)?;
        let owner = self.address_id(event.owner, block)?;
        let ApprovalEvent { spender, scope, value, .. } = *event;
        let key = approval_key(token, owner, &spender, scope);
        let id = match self.overwrites.get(Table::ApprovalId, &key)? {
            Some(known) => number_in_key(known, 0)?,
            // Nothing to revoke.
            None if value.is_zero() => return Ok(()),
            None => {
                let id = self.totals.approvals;
                self.totals.approvals += 1;
                self.overwrites.put(Table::ApprovalId, &key, Some(Key::id(id).as_slice().to_vec()))?;
                id
            }
        };
        let row = ApprovalRow { token, owner, spender, scope, value, tx };
        self.overwrites.put(Table::Approval, &Key::id(id), Some(row.to_row()))
    }

    /// A BEP721 id that moves is no longer approved; the standard asks for no event.
    pub(super) fn end_approval(&mut self, tx: TxId, event: &TransferEvent, token: AddressId) -> Result<(), StoreError> {
        let Some(id) = event.token_id.filter(|_| event.kind == TokenKind::Bep721) else { return Ok(()) };
        let key = approval_key(token, 0, &Address::ZERO, ApprovalScope::Id(id));
        let approval = self.overwrites.get(Table::ApprovalId, &key)?;
        let Some(approval) = approval.map(|row| number_in_key(row, 0)).transpose()? else {
            return Ok(());
        };
        let key = Key::id(approval);
        let Some(row) = self.overwrites.get(Table::Approval, &key)?.map(ApprovalRow::from_row).transpose()? else {
            return Ok(());
        };
        if !row.is_given() {
            return Ok(());
        }
        self.overwrites.put(Table::Approval, &key, Some(ApprovalRow { value: U256::ZERO, tx, ..row }.to_row()))
    }
}

/// An id has one approval at a time, whoever owns it.
fn approval_key(token: AddressId, owner: AddressId, spender: &Address, scope: ApprovalScope) -> Key {
    match scope {
        ApprovalScope::Amount => {
            Key::EMPTY.then(&[0]).then(&id_bytes(token)).then(&id_bytes(owner)).then(spender.as_slice())
        }
        ApprovalScope::Id(id) => Key::EMPTY.then(&[1]).then(&id_bytes(token)).then(&id.to_be_bytes_trimmed_vec()),
        ApprovalScope::All => {
            Key::EMPTY.then(&[2]).then(&id_bytes(token)).then(&id_bytes(owner)).then(spender.as_slice())
        }
    }
}

/// Updates the sorted sets of approvals to what changed.
pub(super) fn rerank_approvals(overwrites: &Overwrites<'_>, view: &View, batch: &mut Batch) -> Result<(), StoreError> {
    let mut moves = RankMoves::default();
    for (key, change) in overwrites.changes(Table::Approval) {
        let id: ApprovalId = number_in_key(key.as_slice(), 0)?;
        let sort_key = SortKey::descending(&Balance::ZERO, &id_bytes(id));
        let set = |row: &Option<Vec<u8>>| -> Result<Option<RankedSet>, StoreError> {
            let row = row.as_deref().map(ApprovalRow::from_row).transpose()?;
            Ok(row.filter(ApprovalRow::is_given).map(|row| RankedSet::Approvals { owner: row.owner }))
        };
        let (before, now) = (set(&change.before)?, set(&change.now)?);
        if before == now {
            continue;
        }
        if let Some(set) = before {
            moves.remove(batch, set, &sort_key);
        }
        if let Some(set) = now {
            moves.insert(batch, set, &sort_key);
        }
    }
    moves.write(view, batch)
}

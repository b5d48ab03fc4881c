//! The keys of approvals, and their sorted sets.

use domain::Balance;
use store::{StoreError, rules::ApprovalKey};

use super::overwrite::Overwrites;
use crate::{
    engine::{Batch, View},
    keys::{ApprovalId, Key, Table, id_bytes, number_in_key},
    ranked::{RankMoves, RankedSet, SortKey},
    rows::ApprovalRow,
};

/// The key in the table of ids.
pub(super) fn table_key(key: &ApprovalKey) -> Key {
    match key {
        ApprovalKey::Amount { token, owner, spender } => {
            Key::EMPTY.then(&[0]).then(&id_bytes(*token)).then(&id_bytes(*owner)).then(spender.as_slice())
        }
        ApprovalKey::Id { token, id } => {
            Key::EMPTY.then(&[1]).then(&id_bytes(*token)).then(&id.to_be_bytes_trimmed_vec())
        }
        ApprovalKey::All { token, owner, spender } => {
            Key::EMPTY.then(&[2]).then(&id_bytes(*token)).then(&id_bytes(*owner)).then(spender.as_slice())
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

//! The sorted sets of the holders of ids, and of held ids.

use domain::Balance;
use store::StoreError;

use super::overwrite::Overwrites;
use crate::{
    engine::{Batch, View},
    keys::{NftId, Table, id_bytes, ids_in_key, number_in_key},
    ranked::{RankMoves, RankedSet, SortKey},
    rows::balance_from_row,
};

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

//! How far internal transactions are indexed, and their ids.
//!
//! Ids follow the chain: those of the upper side count up from [`FIRST_ABOVE`], those of the lower side down from it. Lists
//! of the lower side contain mirrored ids, which grow as they are traced.

use domain::BlockNumber;
use store::{InternalProgress, StoreError};

use crate::{
    codec::{RowReader, RowWriter},
    engine::{Batch, View},
    keys::{InternalId, Key, PartyId, Table, number_in_key},
};

/// In the middle of the ids that fit into a key.
pub(crate) const FIRST_ABOVE: InternalId = 1 << 39;

const PROGRESS_KEY: &str = "progress";
const PARTIES_KEY: &str = "parties";

/// The id of an entry in a list of the lower side, and the other way round.
pub(crate) fn mirrored(id: u64) -> u64 {
    FIRST_ABOVE - 1 - id
}

pub(crate) fn find_progress(view: &View) -> Result<Option<InternalProgress>, StoreError> {
    let Some(row) = view.get(Table::InternalProgress, &Key::name(PROGRESS_KEY))? else { return Ok(None) };
    let mut row = RowReader::new(&row);
    let (anchor, above) = (row.varint()?, row.varint()?);
    // Optional numbers are stored plus one.
    let below = row.varint::<u64>()?.checked_sub(1);
    let first = row.varint::<u64>()?.checked_sub(1);
    let gap = first.map(|first| Ok::<_, StoreError>((first, row.varint()?))).transpose()?;
    let (above_count, below_count) = (row.varint()?, row.varint()?);
    // Each side has half of the ids.
    if above_count > FIRST_ABOVE || below_count > FIRST_ABOVE {
        return Err(StoreError::Corrupt("more internal transactions than there are ids"));
    }
    Ok(Some(InternalProgress { anchor, above, below, gap, above_count, below_count }))
}

pub(crate) fn put_progress(batch: &mut Batch, progress: &InternalProgress) {
    let mut row = RowWriter::default();
    row.varint(progress.anchor);
    row.varint(progress.above);
    row.varint(progress.below.map_or(0, |below| below + 1));
    row.varint(progress.gap.map_or(0, |(first, _)| first + 1));
    if let Some((_, last)) = progress.gap {
        row.varint(last);
    }
    row.varint(progress.above_count);
    row.varint(progress.below_count);
    batch.put(Table::InternalProgress, &Key::name(PROGRESS_KEY), row.finish());
}

/// The next id of an address in internal transactions.
pub(crate) fn next_party(view: &View) -> Result<PartyId, StoreError> {
    let row = view.get(Table::InternalProgress, &Key::name(PARTIES_KEY))?;
    row.map_or(Ok(0), |row| number_in_key(&row, 0))
}

pub(crate) fn put_next_party(batch: &mut Batch, next: PartyId) {
    batch.put(Table::InternalProgress, &Key::name(PARTIES_KEY), Key::id(next).as_slice());
}

/// The first id of a block that was traced or given up, or the next id of the upper side.
pub(crate) fn first_id(view: &View, progress: &InternalProgress, block: BlockNumber) -> Result<InternalId, StoreError> {
    if block >= progress.above {
        return Ok(FIRST_ABOVE + progress.above_count);
    }
    let row = view.get(Table::InternalBlock, &Key::block(block))?;
    RowReader::new(&row.ok_or(StoreError::Corrupt("a traced block is missing"))?).varint()
}

pub(crate) fn put_first_id(batch: &mut Batch, block: BlockNumber, id: InternalId) {
    let mut row = RowWriter::default();
    row.varint(id);
    batch.put(Table::InternalBlock, &Key::block(block), row.finish());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EmbeddedStore, StoreOptions};

    #[tokio::test]
    async fn a_count_beyond_the_ids_of_its_side_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let reader = store.reader();
        let written = |above_count: u64, below_count: u64| {
            let mut batch = reader.engine().batch();
            let progress = InternalProgress { above_count, below_count, ..InternalProgress::start(5) };
            put_progress(&mut batch, &progress);
            batch.commit().unwrap();
            find_progress(&reader.engine().view())
        };
        assert_eq!(written(FIRST_ABOVE, 7).unwrap().unwrap().above_count, FIRST_ABOVE);
        for (above_count, below_count) in [(FIRST_ABOVE + 1, 7), (7, FIRST_ABOVE + 1), (u64::MAX, 0)] {
            let read = written(above_count, below_count);
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
        }
    }
}

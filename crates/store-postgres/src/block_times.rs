//! The times of blocks.

use domain::BlockNumber;
use store::StoreError;

use crate::{
    database::{Connection, query},
    rows::{RowExt, int8},
};

/// For each time, the first block with this time or a later one. All searches take their steps together, one query a step.
pub(crate) async fn first_blocks_since(
    client: &dyn Connection,
    times: &[u64],
    first: BlockNumber,
    end: BlockNumber,
) -> Result<Vec<BlockNumber>, StoreError> {
    let mut spans: Vec<(u64, BlockNumber, BlockNumber)> = times.iter().map(|time| (*time, first, end)).collect();
    loop {
        let middles: Vec<BlockNumber> =
            spans.iter().filter(|(_, low, high)| low < high).map(|(_, low, high)| low + (high - low) / 2).collect();
        if middles.is_empty() {
            return Ok(spans.into_iter().map(|(_, low, _)| low).collect());
        }
        let read = read_times(client, &middles).await?;
        for (time, low, high) in spans.iter_mut().filter(|(_, low, high)| low < high) {
            let middle = *low + (*high - *low) / 2;
            if find(&read, middle)? >= *time {
                *high = middle;
            } else {
                *low = middle + 1;
            }
        }
    }
}

pub(crate) async fn read_times(
    client: &dyn Connection,
    numbers: &[BlockNumber],
) -> Result<Vec<(BlockNumber, u64)>, StoreError> {
    let numbers: Vec<i64> = numbers.iter().copied().map(int8).collect();
    let rows = query(client, "select number, timestamp from block where number = any($1)", &[&numbers]).await?;
    rows.iter().map(|row| Ok((row.u64(0)?, row.u64(1)?))).collect()
}

/// What was read of a block.
pub(crate) fn find<T: Copy>(read: &[(BlockNumber, T)], number: BlockNumber) -> Result<T, StoreError> {
    const MISSING: StoreError = StoreError::Corrupt("a block is missing below the tip");
    read.iter().find(|(found, _)| *found == number).map(|(_, value)| *value).ok_or(MISSING)
}

//! How far internal transactions are indexed.

use domain::BlockNumber;
use store::{InternalProgress, StoreError};
use tokio_postgres::Row;

use crate::{
    chain::Chain,
    database::{Connection, execute, find, get},
    rows::{RowExt, both, int8},
};

pub(crate) const PROGRESS: &str = "anchor, above, below, gap_first, gap_last, above_count, below_count";

/// The number of these columns.
pub(crate) const PROGRESS_COUNT: usize = 7;

/// From the columns of [`PROGRESS`]; None before the first trace.
pub(crate) fn progress_from_row(row: &Row, first: usize) -> Result<Option<InternalProgress>, StoreError> {
    let Some((anchor, above)) = both(row.option_u64(first)?, row.option_u64(first + 1)?)? else { return Ok(None) };
    Ok(Some(InternalProgress {
        anchor,
        above,
        below: row.option_u64(first + 2)?,
        gap: both(row.option_u64(first + 3)?, row.option_u64(first + 4)?)?,
        above_count: row.u64(first + 5)?,
        below_count: row.u64(first + 6)?,
    }))
}

pub(crate) async fn find_progress(client: &dyn Connection) -> Result<Option<InternalProgress>, StoreError> {
    let row = get(client, &format!("select {PROGRESS} from internal_progress"), &[]).await?;
    progress_from_row(&row, 0)
}

/// How many internal transactions the upper side has up to a block; None before the first trace.
pub(crate) async fn count_up_to(client: &dyn Connection, block: BlockNumber) -> Result<Option<u64>, StoreError> {
    let Some(progress) = find_progress(client).await? else { return Ok(None) };
    if block + 1 >= progress.above {
        return Ok(Some(progress.above_count));
    }
    let sql = "select first_id from internal_block where number = $1";
    let row = find(client, sql, &[&int8(block + 1)]).await?;
    row.ok_or(StoreError::Corrupt("a traced block is missing"))?.u64(0).map(Some)
}

/// What was traced, or where tracing starts; None for an empty index.
pub(crate) async fn current_progress(
    client: &dyn Connection,
    chain: &Chain,
) -> Result<Option<InternalProgress>, StoreError> {
    let Some(oldest) = chain.oldest_revertible() else { return Ok(None) };
    Ok(Some(find_progress(client).await?.unwrap_or_else(|| InternalProgress::start(oldest))))
}

pub(crate) async fn write_progress(client: &dyn Connection, progress: &InternalProgress) -> Result<(), StoreError> {
    let InternalProgress { anchor, above, below, gap, above_count, below_count } = *progress;
    let sql = "update internal_progress set anchor = $1, above = $2, below = $3, gap_first = $4, gap_last = $5,
        above_count = $6, below_count = $7";
    let (gap_first, gap_last) = (gap.map(|(first, _)| int8(first)), gap.map(|(_, last)| int8(last)));
    let (anchor, above, below) = (int8(anchor), int8(above), below.map(int8));
    execute(client, sql, &[&anchor, &above, &below, &gap_first, &gap_last, &int8(above_count), &int8(below_count)])
        .await?;
    Ok(())
}

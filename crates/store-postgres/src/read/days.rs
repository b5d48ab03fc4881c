//! Figures of days. Block rows contain cumulative totals, so that those of a day are the difference between two blocks.

use domain::{BlockNumber, DAY, DayFigures};
use store::StoreError;

use crate::{
    chain::{Chain, TOTALS},
    database::{Connection, query},
    rows::{RowExt, int8},
};

/// The latest days up to that of the tip, the oldest first. Needs a snapshot.
pub(crate) async fn list_days(client: &dyn Connection, count: u32) -> Result<Vec<DayFigures>, StoreError> {
    let chain = Chain::read(client).await?;
    let (Some(tip), Some(first)) = (chain.tip, chain.first_block) else { return Ok(Vec::new()) };
    let times = read_times(client, &[first, tip.number]).await?;
    let time = |number| find(&times, number);
    let (oldest, newest) = (time(first)? / DAY, time(tip.number)? / DAY);
    let oldest = oldest.max((newest + 1).saturating_sub(u64::from(count)));
    let starts: Vec<u64> = (oldest..=newest).map(|day| day * DAY).collect();
    let bounds = first_blocks_since(client, &starts, first, tip.number + 1).await?;

    let sql = format!("select number, {TOTALS} from block where number = any($1)");
    let numbers: Vec<i64> = bounds.iter().copied().map(int8).collect();
    let mut before = Vec::new();
    for row in query(client, &sql, &[&numbers]).await? {
        before.push((row.u64(0)?, row.totals(1)?));
    }
    // The row of the first block has no totals before it, and there is no row after the tip.
    let totals = |number: BlockNumber| if number > tip.number { Ok(chain.totals) } else { find(&before, number) };
    let mut days = Vec::with_capacity(starts.len());
    for (position, start) in starts.into_iter().enumerate() {
        let Some(from) = bounds.get(position).copied() else { break };
        let to = bounds.get(position + 1).copied().unwrap_or(tip.number + 1);
        days.push(totals(to)?.figures_of_day(start, to - from, &totals(from)?));
    }
    Ok(days)
}

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

async fn read_times(client: &dyn Connection, numbers: &[BlockNumber]) -> Result<Vec<(BlockNumber, u64)>, StoreError> {
    let numbers: Vec<i64> = numbers.iter().copied().map(int8).collect();
    let rows = query(client, "select number, timestamp from block where number = any($1)", &[&numbers]).await?;
    rows.iter().map(|row| Ok((row.u64(0)?, row.u64(1)?))).collect()
}

fn find<T: Copy>(read: &[(BlockNumber, T)], number: BlockNumber) -> Result<T, StoreError> {
    const MISSING: StoreError = StoreError::Corrupt("a block is missing below the tip");
    read.iter().find(|(found, _)| *found == number).map(|(_, value)| *value).ok_or(MISSING)
}

//! Figures of days. Block rows contain cumulative totals, so that those of a day are the difference between two blocks.

use domain::{BlockNumber, DAY, DayFigures};
use store::StoreError;

use crate::{
    block_times::{find, first_blocks_since, read_times},
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

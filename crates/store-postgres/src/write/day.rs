use domain::DAY;
use store::{CurrentDay, StoreError};

use super::state::WriteState;
use crate::{
    block_times::first_blocks_since,
    chain::Chain,
    database::{Connection, get},
    rows::{RowExt, int8},
};

impl WriteState {
    /// The day of the tip, searched after a start, a revert or a failure. Not known again until a commit succeeds.
    pub(super) async fn take_day(
        &mut self,
        client: &dyn Connection,
        chain: &Chain,
    ) -> Result<Option<CurrentDay>, StoreError> {
        match self.day.take() {
            None => search_day(client, chain).await,
            day => Ok(day),
        }
    }
}

async fn search_day(client: &dyn Connection, chain: &Chain) -> Result<Option<CurrentDay>, StoreError> {
    let (Some(tip), Some(first)) = (chain.tip, chain.first_block) else { return Ok(None) };
    let sql = "select timestamp, transactions from block where number = $1";
    let timestamp = get(client, sql, &[&int8(tip.number)]).await?.u64(0)?;
    let found = first_blocks_since(client, &[timestamp - timestamp % DAY], first, tip.number).await?;
    let first_of_day = found.first().copied().unwrap_or(tip.number);
    let transactions = get(client, sql, &[&int8(first_of_day)]).await?.u64(1)?;
    Ok(Some(CurrentDay::new(timestamp, transactions)))
}

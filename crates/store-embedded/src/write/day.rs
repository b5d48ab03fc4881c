use domain::{BlockNumber, DAY};
use store::{CurrentDay, StoreError};

use super::{
    blocks::{MISSING_BLOCK, find_block},
    state::WriteState,
};
use crate::{engine::View, meta::Tip, read::first_since, rows::BlockRow};

impl WriteState {
    /// The day of the tip, searched after a start, a revert or a failure. Not known again until a commit succeeds.
    pub(super) fn take_day(&mut self, view: &View, tip: Option<&Tip>) -> Result<Option<CurrentDay>, StoreError> {
        match (self.day.take(), tip) {
            (None, Some(tip)) => search_day(view, tip).map(Some),
            (day, _) => Ok(day),
        }
    }
}

fn search_day(view: &View, tip: &Tip) -> Result<CurrentDay, StoreError> {
    let block =
        |number: BlockNumber| -> Result<BlockRow, StoreError> { find_block(view, number)?.ok_or(MISSING_BLOCK) };
    let timestamp = block(tip.block.number)?.timestamp;
    let start = timestamp - timestamp % DAY;
    let first = first_since(tip.start_block..tip.block.number, |number| Ok(block(number)?.timestamp >= start))?;
    Ok(CurrentDay::new(timestamp, block(first)?.totals.transactions))
}

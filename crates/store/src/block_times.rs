use domain::{BlockId, BlockNumber};

use crate::{ChainReader, StoreError};

/// The first indexed block with this time or a later one; the one after the tip if all are earlier. None in an empty index.
///
/// A binary search, which assumes that times do not decrease, as consensus rules demand.
pub async fn find_first_block_since(chain: &dyn ChainReader, time: u64) -> Result<Option<BlockNumber>, StoreError> {
    let (Some(mut low), Some(tip)) = (chain.coverage().await?.first_block, chain.find_tip().await?) else {
        return Ok(None);
    };
    let mut end = tip.number + 1;
    while low < end {
        let middle = low + (end - low) / 2;
        match chain.find_block(BlockId::Number(middle)).await? {
            Some(block) if block.timestamp < time => low = middle + 1,
            // A block that a reorg has removed since is above the tip.
            Some(_) | None => end = middle,
        }
    }
    Ok(Some(low))
}

use domain::{BlockChanges, BlockNumber, BlockRef};

use crate::StoreError;

/// Checks that the first block follows the tip (or starts the index), and that each further one is the child of the one
/// before.
///
/// # Errors
/// If a block has another number or another parent.
pub fn check_order(
    tip: Option<BlockRef>,
    start: Option<BlockNumber>,
    blocks: &[BlockChanges],
) -> Result<(), StoreError> {
    let mut parent = tip;
    if parent.is_none()
        && let (Some(start), Some(first)) = (start, blocks.first())
        && first.block.number != start
    {
        return Err(StoreError::NotNextBlock { number: first.block.number, tip: None });
    }
    for BlockChanges { block, .. } in blocks {
        if let Some(parent) = parent {
            if block.number != parent.number + 1 {
                return Err(StoreError::NotNextBlock { number: block.number, tip: Some(parent.number) });
            }
            if block.parent_hash != parent.hash {
                return Err(StoreError::NotChildOfTip { number: block.number });
            }
        }
        parent = Some(block.id());
    }
    Ok(())
}

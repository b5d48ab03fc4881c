use domain::{BlockNumber, BlockRange, Credit, CreditClass, CreditFilter, Order, PageRequest};

use crate::{ChainReader, StoreError};

/// Credits that are read at once: more than most blocks have.
const PART: u32 = 1_000;

/// The credits of a class in a block, in its order.
pub async fn list_block_credits(
    chain: &dyn ChainReader,
    block: BlockNumber,
    class: CreditClass,
) -> Result<Vec<Credit>, StoreError> {
    let filter = CreditFilter { of: None, blocks: BlockRange::only(block) };
    let (mut found, mut offset) = (Vec::new(), 0);
    loop {
        let page = PageRequest { offset, limit: PART, order: Order::OldestFirst };
        let part = chain.list_credits(&filter, page).await?;
        offset += part.items.len() as u64;
        let is_last = part.items.is_empty() || offset >= part.total;
        found.extend(part.items.into_iter().filter(|credit| credit.event.is_of(class)));
        if is_last {
            return Ok(found);
        }
    }
}

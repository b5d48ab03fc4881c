//! A page of several lists of logs that have no log in common, as of one list.

use domain::{BlockNumber, BlockRange, IndexedLog, LogFilter, Order, Page, PageRequest};
use futures::future::try_join_all;
use store::{ChainReader, StoreError};

pub(super) async fn merged_page(
    chain: &dyn ChainReader,
    filters: &[LogFilter],
    page: PageRequest,
) -> Result<Page<IndexedLog>, StoreError> {
    let counts = counts(chain, filters, BlockRange::ALL).await?;
    let total = counts.iter().sum();
    let used: Vec<LogFilter> =
        filters.iter().zip(&counts).filter(|(_, count)| **count > 0).map(|(filter, _)| *filter).collect();
    if let [filter] = used.as_slice() {
        return Ok(chain.list_logs(filter, page).await?.page);
    }
    if page.offset >= total || page.limit == 0 {
        return Ok(Page::empty(total));
    }
    let tip = chain.find_tip().await?.map_or(0, |tip| tip.number);
    // The blocks whose logs are all before the page, and how many these are. Counting in a range is a seek.
    let (mut low, mut high) = (0, tip.saturating_add(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if count(chain, &used, skipped(page.order, middle, tip)).await? <= page.offset {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let before = skipped(page.order, low, tip);
    let skip = page.offset - count(chain, &used, before).await?;
    let rest = rest_after(page.order, low, tip);
    let limit = u32::try_from(skip.saturating_add(page.limit.into())).unwrap_or(u32::MAX);
    let request = PageRequest { offset: 0, limit, order: page.order };
    let lists = used.iter().map(|filter| {
        let filter = LogFilter { blocks: rest, ..*filter };
        async move { Ok::<_, StoreError>(chain.list_logs(&filter, request).await?.page.items) }
    });
    let mut logs: Vec<IndexedLog> = try_join_all(lists).await?.into_iter().flatten().collect();
    logs.sort_by_key(|log| (log.block_number, log.event.log_index));
    if page.order == Order::NewestFirst {
        logs.reverse();
    }
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let items = logs.into_iter().skip(skip).take(usize::try_from(page.limit).unwrap_or(usize::MAX)).collect();
    Ok(Page { items, total })
}

/// The first so many blocks in an order.
fn skipped(order: Order, blocks: BlockNumber, tip: BlockNumber) -> BlockRange {
    if blocks == 0 {
        return BlockRange::EMPTY;
    }
    match order {
        Order::OldestFirst => BlockRange { from: None, to: Some(blocks - 1) },
        Order::NewestFirst => BlockRange { from: Some((tip + 1).saturating_sub(blocks)), to: None },
    }
}

/// The blocks after them.
fn rest_after(order: Order, blocks: BlockNumber, tip: BlockNumber) -> BlockRange {
    match order {
        Order::OldestFirst => BlockRange { from: Some(blocks), to: None },
        Order::NewestFirst => BlockRange { from: None, to: Some(tip.saturating_sub(blocks)) },
    }
}

async fn counts(chain: &dyn ChainReader, filters: &[LogFilter], blocks: BlockRange) -> Result<Vec<u64>, StoreError> {
    let count = |filter: &LogFilter| {
        let filter = LogFilter { blocks, ..*filter };
        async move { Ok::<_, StoreError>(chain.list_logs(&filter, PageRequest::newest(0)).await?.page.total) }
    };
    try_join_all(filters.iter().map(count)).await
}

async fn count(chain: &dyn ChainReader, filters: &[LogFilter], blocks: BlockRange) -> Result<u64, StoreError> {
    if blocks == BlockRange::EMPTY {
        return Ok(0);
    }
    Ok(counts(chain, filters, blocks).await?.iter().sum())
}

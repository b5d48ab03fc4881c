//! Reads whole lists, page by page.

use domain::{Order, Page, PageRequest};

use store::StoreError;

/// From the oldest first to an order.
pub(super) fn in_order<T>(mut items: Vec<T>, order: Order) -> Vec<T> {
    if order == Order::NewestFirst {
        items.reverse();
    }
    items
}

/// All pages of a list. The total is the number of entries.
pub(super) async fn walk<T>(
    order: Order,
    limit: u32,
    list: impl AsyncFn(PageRequest) -> Result<Page<T>, StoreError>,
) -> Vec<T> {
    let mut walked = Vec::new();
    loop {
        let found = list(PageRequest { offset: walked.len() as u64, limit, order }).await.expect("a page");
        if found.items.is_empty() {
            assert_eq!(walked.len() as u64, found.total, "entries and total");
            return walked;
        }
        walked.extend(found.items);
        assert!(walked.len() as u64 <= found.total, "more entries than the total");
    }
}

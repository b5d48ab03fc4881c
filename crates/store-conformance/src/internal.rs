//! Internal transactions: traced behind the tip in both directions, and compared with the model.

use domain::{Address, B256, BlockNumber, InternalBlock, InternalFilter, PageRequest};
use rand::{Rng, rngs::StdRng};

use super::{
    Model, RandomChain, Subject,
    queries::{ORDERS, page, range, some_address},
};

/// Traces some blocks in one of the directions, or gives some up.
pub(super) async fn trace_some(subject: &mut Subject, model: &mut Model, chain: &mut RandomChain, rng: &mut StdRng) {
    let frontier = model.internal_frontier();
    assert_eq!(subject.writer.internal_frontier().await.expect("frontier"), frontier);
    let (Some(frontier), Some(tip)) = (frontier, model.tip()) else { return };
    let count = rng.random_range(1..12);
    let upwards = rng.random_bool(0.6);
    if upwards && frontier.above <= tip.number && rng.random_ratio(1, 30) {
        let last = (frontier.above + count).min(tip.number);
        subject.writer.skip_internal(last).await.expect("skip");
        model.skip_internal(last);
        return;
    }
    let numbers: Vec<BlockNumber> = match frontier.below {
        Some(below) if !upwards => (0..=below).rev().take(usize::try_from(count).unwrap_or_default()).collect(),
        _ => (frontier.above..frontier.above + count).collect(),
    };
    let found: Vec<_> = numbers.iter().map_while(|number| model.find_changes(*number).cloned()).collect();
    let blocks: Vec<InternalBlock> = found.iter().map(|changes| chain.internal_block(changes)).collect();
    if let Some(first) = blocks.first() {
        reject_other_blocks(subject, first).await;
    }
    let before = subject.reader.state();
    assert_eq!(subject.writer.save_internal(blocks.clone()).await.expect("save"), blocks.len());
    assert!(blocks.is_empty() || subject.reader.state() != before, "internal transactions make a new version");
    model.save_internal(&blocks);
}

/// A block of another branch, and one that is not next.
async fn reject_other_blocks(subject: &mut Subject, next: &InternalBlock) {
    let mut other_branch = next.clone();
    other_branch.block.hash = B256::repeat_byte(0xbb);
    assert_eq!(subject.writer.save_internal(vec![other_branch, next.clone()]).await.expect("save"), 0);
    let mut far_above = next.clone();
    far_above.block.number = u64::MAX >> 1;
    assert_eq!(subject.writer.save_internal(vec![far_above]).await.expect("save"), 0);
}

pub(super) async fn internal_transactions(subject: &Subject, model: &Model, chain: &RandomChain, rng: &mut StdRng) {
    let height = model.tip().map_or(0, |tip| tip.number);
    let count = model.list_internal_transactions(&InternalFilter::default(), PageRequest::newest(1)).page.total;
    let hashes: Vec<B256> = model.transactions().map(|tx| tx.hash).collect();
    for conditions in 0..16_u8 {
        for _ in 0..5 {
            let transaction = (conditions & 8 != 0).then(|| match hashes.len() {
                0 => B256::repeat_byte(1),
                known => hashes[rng.random_range(0..known)],
            });
            let filter = InternalFilter {
                address: (conditions & 1 != 0).then(|| some_address(chain, rng)),
                from: (conditions & 2 != 0).then(|| some_address(chain, rng)),
                to: (conditions & 4 != 0).then(|| some_address(chain, rng)),
                transaction,
                blocks: range(rng, height),
            };
            compare(subject, model, &filter, page(rng, count)).await;
        }
    }
    walk_lists(subject, model, chain.addresses()[0]).await;
}

/// Pages through long lists from end to end, in both directions.
async fn walk_lists(subject: &Subject, model: &Model, busiest: Address) {
    let filters = [
        InternalFilter::default(),
        InternalFilter::touching(busiest),
        InternalFilter { from: Some(busiest), ..InternalFilter::default() },
        InternalFilter { to: Some(busiest), ..InternalFilter::default() },
    ];
    for (filter, order) in filters.iter().flat_map(|filter| ORDERS.map(|order| (filter, order))) {
        let expected = model.list_internal_transactions(filter, PageRequest { offset: 0, limit: u32::MAX, order }).page;
        let mut walked = Vec::new();
        while (walked.len() as u64) < expected.total {
            let page = PageRequest { offset: walked.len() as u64, limit: 301, order };
            let found = subject.reader.list_internal_transactions(filter, page).await.expect("list").page;
            assert_eq!(found.total, expected.total, "total of {filter:?}");
            assert!(!found.items.is_empty(), "a page of {filter:?} before its end is empty");
            walked.extend(found.items);
        }
        assert_eq!(walked, expected.items, "walk of {filter:?} {order:?}");
    }
}

async fn compare(subject: &Subject, model: &Model, filter: &InternalFilter, page: PageRequest) {
    let found = subject.reader.list_internal_transactions(filter, page).await.expect("internal transactions");
    assert_eq!(found, model.list_internal_transactions(filter, page), "internal transactions {filter:?} {page:?}");
}

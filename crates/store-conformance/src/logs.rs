//! Logs: by emitter and topics, through commits and reverts, by a scan of all of them.

use domain::{B256, BlockChanges, IndexedLog, LogEvent, LogFilter, LogPage, MAX_TOPICS, PageRequest};
use rand::{Rng, rngs::StdRng};

use super::{
    Model, RandomChain, Subject,
    model::{paginate, transaction},
    queries::{ORDERS, page, range, some_address},
};

impl Model {
    /// In chain order, with their blocks.
    pub fn logs(&self) -> impl Iterator<Item = (&BlockChanges, &LogEvent)> {
        self.blocks.iter().flat_map(|changes| changes.logs.iter().map(move |event| (changes, event)))
    }

    #[must_use]
    pub fn list_logs(&self, filter: &LogFilter, page: PageRequest) -> LogPage {
        let complete_from = self.blocks.first().map(|changes| changes.block.number);
        let found: Vec<_> =
            self.logs().filter(|(changes, event)| filter.matches(event, changes.block.number)).collect();
        let page = paginate(found, page);
        let log = |(changes, event): (&BlockChanges, &LogEvent)| IndexedLog {
            event: event.clone(),
            tx_hash: transaction(changes, event.tx_index).hash,
            block_number: changes.block.number,
            timestamp: changes.block.timestamp,
        };
        let page = domain::Page { items: page.items.into_iter().map(log).collect(), total: page.total };
        LogPage { page, complete_from }
    }
}

pub(super) async fn logs(subject: &Subject, model: &Model, chain: &RandomChain, rng: &mut StdRng) {
    let height = model.tip().map_or(0, |tip| tip.number);
    let all: Vec<&LogEvent> = model.logs().map(|(_, event)| event).collect();
    for conditions in 0..32_u8 {
        for _ in 0..3 {
            let mut filter = LogFilter { blocks: range(rng, height), ..LogFilter::default() };
            // Mostly conditions that one log satisfies, at times any.
            let sample = (!all.is_empty()).then(|| all[rng.random_range(0..all.len())]);
            if conditions & 1 != 0 {
                let address = sample.map(|log| log.address).filter(|_| rng.random_bool(0.8));
                filter.address = Some(address.unwrap_or_else(|| some_address(chain, rng)));
            }
            for (position, topic) in filter.topics.iter_mut().enumerate() {
                if conditions & 2 << position != 0 {
                    let known = sample.and_then(|log| log.topics.get(position)).copied();
                    *topic = Some(known.unwrap_or(B256::repeat_byte(0xee)));
                }
            }
            let page = page(rng, all.len() as u64);
            let found = subject.reader.list_logs(&filter, page).await.expect("logs");
            assert_eq!(found, model.list_logs(&filter, page), "logs {filter:?} {page:?}");
        }
    }
    walk_lists(subject, model, &all).await;
}

/// Pages through long lists from end to end, in both directions.
async fn walk_lists(subject: &Subject, model: &Model, all: &[&LogEvent]) {
    let Some(sample) = all.iter().find(|log| log.topics.len() == MAX_TOPICS) else { return };
    let mut topics = [None; MAX_TOPICS];
    topics[0] = sample.topics.first().copied();
    let by_event = LogFilter { topics, ..LogFilter::default() };
    let filters = [
        LogFilter::default(),
        LogFilter::of(sample.address),
        by_event,
        LogFilter { address: Some(sample.address), ..by_event },
        LogFilter { topics: [None, topics[0], None, None], ..LogFilter::default() },
    ];
    for (filter, order) in filters.iter().flat_map(|filter| ORDERS.map(|order| (filter, order))) {
        let expected = model.list_logs(filter, PageRequest { offset: 0, limit: u32::MAX, order }).page;
        let mut walked = Vec::new();
        while (walked.len() as u64) < expected.total {
            let page = PageRequest { offset: walked.len() as u64, limit: 397, order };
            let found = subject.reader.list_logs(filter, page).await.expect("logs").page;
            assert_eq!(found.total, expected.total, "total of {filter:?}");
            assert!(!found.items.is_empty(), "a page of {filter:?} before its end is empty");
            walked.extend(found.items);
        }
        assert_eq!(walked, expected.items, "walk of {filter:?} {order:?}");
    }
}

//! Logs: by emitter and topics, through commits and reverts.

use domain::{Address, B256, LogEvent, LogFilter, MAX_TOPICS, PageRequest, U256};
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::{
    Model, RandomChain, Subject,
    checks::{ORDERS, page, range, some_address},
};

/// Generates logs: a few busy events, topics that are addresses, small numbers or of one log only, transactions with very
/// many logs. Has its own random numbers, so that the rest of a chain does not depend on it.
#[derive(Debug)]
pub(super) struct RandomLogs {
    rng: StdRng,
    events: Vec<B256>,
    words: Vec<B256>,
}

impl RandomLogs {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ 0x0001_0605);
        let events = (0..5).map(|_| B256::new(rng.random())).collect();
        let accounts = (0..8).map(|_| Address::new(rng.random()).into_word());
        let words =
            [B256::ZERO, B256::with_last_byte(1), B256::repeat_byte(0xff)].into_iter().chain(accounts).collect();
        Self { rng, events, words }
    }

    /// Appends the logs of a transaction. Their positions continue those before, at times with a gap.
    pub(super) fn append(&mut self, logs: &mut Vec<LogEvent>, tx_index: u32, emitters: &[Address]) {
        if emitters.is_empty() {
            return;
        }
        let count = match self.rng.random_range(0..500) {
            0..200 => 0,
            200..499 => self.rng.random_range(1..5),
            _ => self.rng.random_range(150..400),
        };
        for _ in 0..count {
            let after = logs.last().map_or(0, |log| log.log_index + 1);
            let log_index = after + u32::from(self.rng.random_ratio(1, 20));
            let topics = (0..self.rng.random_range(0..=MAX_TOPICS)).map(|position| self.topic(position)).collect();
            let address = emitters[self.rng.random_range(0..emitters.len())];
            let (data, data_size) = self.data();
            logs.push(LogEvent { tx_index, log_index, address, topics, data, data_size });
        }
    }

    fn topic(&mut self, position: usize) -> B256 {
        match self.rng.random_range(0..12) {
            0 => B256::new(self.rng.random()),
            // The same word at another position.
            1 => self.events[0],
            _ if position == 0 => self.events[self.rng.random_range(0..self.events.len())],
            _ => self.words[self.rng.random_range(0..self.words.len())],
        }
    }

    fn data(&mut self) -> (Option<domain::Bytes>, u32) {
        if self.rng.random_ratio(1, 40) {
            return (None, 9_000);
        }
        let mut data = U256::from(self.rng.random::<u64>()).to_be_bytes_vec().repeat(self.rng.random_range(0..4));
        data.extend((0..self.rng.random_range(0..3)).map(|_| self.rng.random::<u8>()));
        let size = u32::try_from(data.len()).expect("short data");
        (Some(data.into()), size)
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

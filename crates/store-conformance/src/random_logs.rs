use domain::{Address, B256, LogEvent, MAX_TOPICS, U256};
use rand::{Rng, SeedableRng, rngs::StdRng};

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

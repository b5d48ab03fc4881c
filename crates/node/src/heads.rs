use std::time::Duration;

use domain::BlockRef;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{NodeClient, PollBounds};

/// Where announcements cannot be had, they are asked for again this often.
const RESUBSCRIBE: Duration = Duration::from_secs(2);
/// A subscription may be dead without a word: after this many block times without a head the node is asked.
const SILENT_BLOCKS: u32 = 4;
/// A block's time is asked for in so many parts: a head is known that much of a block time late at most.
const POLLS_PER_BLOCK: u32 = 8;

/// The node's newest blocks, as they come: announced by the node over WebSocket and IPC, else polled.
#[derive(Debug)]
pub struct Heads {
    client: NodeClient,
    last: Option<BlockRef>,
    announcements: Option<watch::Receiver<Option<BlockRef>>>,
    /// The endpoint that announces.
    announcer: usize,
    subscribe_at: Instant,
    poll_at: Instant,
    rhythm: Rhythm,
}

impl Heads {
    pub(crate) fn new(client: NodeClient, bounds: PollBounds) -> Self {
        let now = Instant::now();
        let rhythm = Rhythm::new(bounds);
        Self { client, last: None, announcements: None, announcer: 0, subscribe_at: now, poll_at: now, rhythm }
    }

    /// Waits for a head other than the last one given; heads in between may be passed over by one who comes late. A
    /// head may also be lower than the last one, after a reorganisation. Never ends: while the node is down it waits
    /// for the node. May be dropped and called again without losing a head.
    pub async fn next(&mut self) -> BlockRef {
        loop {
            if self.announcements.is_none() && Instant::now() >= self.subscribe_at {
                self.subscribe().await;
            }
            let found = match &mut self.announcements {
                None => {
                    sleep_until(self.poll_at).await;
                    self.poll().await
                }
                Some(announcements) => tokio::select! {
                    changed = announcements.changed() => match changed {
                        Ok(()) => *announcements.borrow_and_update(),
                        Err(_) => {
                            tracing::warn!("the node no longer announces new heads, it is asked for them");
                            self.announcements = None;
                            self.subscribe_at = Instant::now();
                            self.poll_at = Instant::now();
                            None
                        }
                    },
                    () = sleep_until(self.poll_at) => self.poll().await,
                },
            };
            if let Some(head) = found.filter(|head| Some(*head) != self.last) {
                self.rhythm.saw(head.number, Instant::now());
                self.last = Some(head);
                self.poll_at = Instant::now() + self.pause();
                return head;
            }
        }
    }

    async fn subscribe(&mut self) {
        // Set first: if this future is dropped the next call does not start over at once.
        self.subscribe_at = Instant::now() + RESUBSCRIBE;
        for index in self.client.failover().announcers() {
            if self.client.failover().admit(index).await.is_err() {
                continue;
            }
            if let Some(announcements) = self.client.failover().upstream(index).announced_heads().await {
                self.announcements = Some(announcements);
                self.announcer = index;
                // What came before the subscription is not announced.
                self.poll_at = Instant::now();
                return;
            }
        }
    }

    async fn poll(&mut self) -> Option<BlockRef> {
        let head = self.client.head_once().await;
        if self.announcements.is_some() && !self.client.failover().is_preferable(self.announcer) {
            // The endpoint that announces is not in use any more: it is down, or behind.
            self.announcements = None;
            self.subscribe_at = Instant::now();
        }
        self.poll_at = Instant::now() + self.pause();
        match head {
            Ok(head) => Some(head),
            Err(error) => {
                tracing::debug!(%error, "the node did not tell its head");
                None
            }
        }
    }

    fn pause(&self) -> Duration {
        if self.announcements.is_some() { self.rhythm.silence() } else { self.rhythm.interval() }
    }
}

/// How fast blocks come, as far as it was seen.
#[derive(Debug)]
struct Rhythm {
    bounds: PollBounds,
    block_time: Duration,
    last: Option<(u64, Instant)>,
}

impl Rhythm {
    fn new(bounds: PollBounds) -> Self {
        // A middling guess: neither a fast chain is missed nor a slow node pestered.
        let block_time = Duration::from_secs(2);
        Self { bounds, block_time, last: None }
    }

    /// Follows faster blocks at once and slower ones by and by: a pause of a chain is not its rhythm.
    fn saw(&mut self, number: u64, now: Instant) {
        if let Some((last, then)) = self.last
            && let Some(blocks) = number.checked_sub(last).and_then(|blocks| u32::try_from(blocks).ok())
            && blocks > 0
        {
            let each = now.saturating_duration_since(then) / blocks;
            self.block_time = each.min(self.block_time.mul_f64(1.5)).max(Duration::from_millis(1));
        }
        self.last = Some((number, now));
    }

    fn interval(&self) -> Duration {
        (self.block_time / POLLS_PER_BLOCK).clamp(self.bounds.shortest, self.bounds.longest.max(self.bounds.shortest))
    }

    fn silence(&self) -> Duration {
        self.interval().max(self.block_time.saturating_mul(SILENT_BLOCKS).min(Duration::from_secs(15)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polled(block_times: &[u64]) -> Duration {
        let mut rhythm = Rhythm::new(PollBounds::default());
        let mut now = Instant::now();
        for (number, millis) in (0..).zip(block_times) {
            rhythm.saw(number, now);
            now += Duration::from_millis(*millis);
        }
        rhythm.interval()
    }

    #[test]
    fn polling_follows_the_block_time_within_bounds() {
        assert_eq!(polled(&[12_000; 20]), Duration::from_millis(1_500));
        assert_eq!(polled(&[3_000; 20]), Duration::from_millis(375));
        assert_eq!(polled(&[50; 20]), Duration::from_millis(100));
        assert_eq!(polled(&[600_000; 60]), Duration::from_secs(4));
    }

    #[test]
    fn one_long_pause_hardly_slows_it_down() {
        assert_eq!(polled(&[800, 800, 800, 60_000, 800, 800]), Duration::from_millis(100));
    }

    #[test]
    fn a_head_that_jumps_by_many_blocks_counts_for_each() {
        let mut rhythm = Rhythm::new(PollBounds::default());
        let now = Instant::now();
        rhythm.saw(0, now);
        rhythm.saw(10, now + Duration::from_secs(16));
        assert_eq!(rhythm.interval(), Duration::from_millis(200));
    }
}

use std::time::Duration;

use domain::BlockRef;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{NodeClient, PollBounds};

/// Interval between attempts to subscribe to new heads.
const RESUBSCRIBE: Duration = Duration::from_secs(2);
/// A subscription may die unnoticed: the head is polled after this many block times without one.
const SILENT_BLOCKS: u32 = 4;
/// Polls per block time: bounds how late a head is noticed.
const POLLS_PER_BLOCK: u32 = 8;

/// The node's new heads: pushed over WebSocket and IPC, else polled.
#[derive(Debug)]
pub struct Heads {
    client: NodeClient,
    last: Option<BlockRef>,
    announcements: Option<watch::Receiver<Option<BlockRef>>>,
    /// The endpoint that pushes heads.
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

    /// Waits for a head other than the last one returned; a slow caller may miss heads in between. After a reorg, a head may
    /// be lower than the last one. Never ends: while the node is down it keeps waiting. Cancel safe.
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
                            tracing::warn!("the subscription to new heads ended, polling instead");
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
        // Set first: if this future is dropped, the next call does not subscribe again immediately.
        self.subscribe_at = Instant::now() + RESUBSCRIBE;
        for index in self.client.failover().announcers() {
            if self.client.failover().admit(index).await.is_err() {
                continue;
            }
            if let Some(announcements) = self.client.failover().upstream(index).announced_heads().await {
                self.announcements = Some(announcements);
                self.announcer = index;
                // Blocks from before the subscription are not pushed.
                self.poll_at = Instant::now();
                return;
            }
        }
    }

    async fn poll(&mut self) -> Option<BlockRef> {
        let head = self.client.head_once().await;
        if self.announcements.is_some() && !self.client.failover().is_preferable(self.announcer) {
            // The subscribed endpoint is no longer in use: it is down or lagging.
            self.announcements = None;
            self.subscribe_at = Instant::now();
        }
        self.poll_at = Instant::now() + self.pause();
        match head {
            Ok(head) => Some(head),
            Err(error) => {
                tracing::debug!(%error, "polling the head failed");
                None
            }
        }
    }

    fn pause(&self) -> Duration {
        if self.announcements.is_some() { self.rhythm.silence() } else { self.rhythm.interval() }
    }
}

/// Measured block time.
#[derive(Debug)]
struct Rhythm {
    bounds: PollBounds,
    block_time: Duration,
    last: Option<(u64, Instant)>,
}

impl Rhythm {
    fn new(bounds: PollBounds) -> Self {
        // A compromise between fast chains and slow nodes.
        let block_time = Duration::from_secs(2);
        Self { bounds, block_time, last: None }
    }

    /// Adapts to faster blocks immediately and to slower ones gradually: one long gap does not change the block time.
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
    fn one_long_pause_hardly_slows_polling() {
        assert_eq!(polled(&[800, 800, 800, 60_000, 800, 800]), Duration::from_millis(100));
    }

    #[test]
    fn a_jump_of_many_blocks_is_averaged() {
        let mut rhythm = Rhythm::new(PollBounds::default());
        let now = Instant::now();
        rhythm.saw(0, now);
        rhythm.saw(10, now + Duration::from_secs(16));
        assert_eq!(rhythm.interval(), Duration::from_millis(200));
    }
}

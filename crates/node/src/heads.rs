use std::time::Duration;

use domain::{B256, BlockNumber, BlockRef};
use futures::future::BoxFuture;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{client::NodeClient, config::PollBounds};

/// Interval between attempts to subscribe to new heads.
const RESUBSCRIBE: Duration = Duration::from_secs(2);
/// A subscription may die unnoticed: the head is polled after this many block times without one.
const SILENT_BLOCKS: u32 = 4;
/// A block time has this many steps: a block that is due is polled for at every step.
const STEPS: u32 = 8;
/// On a dev chain, the head is polled at least this often, also if heads are pushed: a chain that is rolled back pushes nothing.
const EAGER_WAIT: Duration = Duration::from_millis(250);
/// No wait between polls is longer, however slow the chain is.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// The newest block of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub number: BlockNumber,
    /// None if only the number was polled.
    pub hash: Option<B256>,
}

impl Head {
    /// None if its hash is unknown.
    #[must_use]
    pub fn block(self) -> Option<BlockRef> {
        self.hash.map(|hash| BlockRef { number: self.number, hash })
    }

    fn differs(self, other: Self) -> bool {
        let other_hash = self.hash.zip(other.hash).is_some_and(|(one, other)| one != other);
        self.number != other.number || other_hash
    }
}

impl From<BlockRef> for Head {
    fn from(block: BlockRef) -> Self {
        Self { number: block.number, hash: Some(block.hash) }
    }
}

/// How the head is polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polling {
    /// Its number, when the next block is due.
    Thrifty,
    /// The block, many times per block time: on a dev chain, which mines on request, and whose calls cost nothing.
    Eager,
}

/// The node's new heads: pushed over WebSocket and IPC, else polled.
#[derive(Debug)]
pub struct Heads {
    client: NodeClient,
    last: Option<Head>,
    polling: Polling,
    subscription: Option<watch::Receiver<Option<BlockRef>>>,
    /// The endpoint that pushes heads.
    subscribed_endpoint: usize,
    subscribe_at: Instant,
    poll_at: Instant,
    rhythm: Rhythm,
}

impl NodeClient {
    /// New heads from now on, starting with the current one.
    #[must_use]
    pub fn heads(&self) -> Heads {
        Heads::new(self.clone(), self.poll_bounds())
    }
}

impl Heads {
    fn new(client: NodeClient, bounds: PollBounds) -> Self {
        let now = Instant::now();
        let rhythm = Rhythm::new(bounds);
        Self {
            client,
            last: None,
            polling: Polling::Thrifty,
            subscription: None,
            subscribed_endpoint: 0,
            subscribe_at: now,
            poll_at: now,
            rhythm,
        }
    }

    pub fn set_polling(&mut self, polling: Polling) {
        self.polling = polling;
    }

    /// How long a silent chain may have another block at the height of its head: only the number is polled.
    #[must_use]
    pub fn silence(&self) -> Duration {
        self.rhythm.silence()
    }

    /// Waits for a head other than the last one returned; a slow caller may miss heads in between. After a reorg, a head may
    /// be lower than the last one. Never ends: while the node is down it keeps waiting. Cancel safe.
    #[expect(clippy::should_implement_trait, reason = "heads come later: this is no iterator")]
    pub fn next(&mut self) -> BoxFuture<'_, Head> {
        Box::pin(async move {
            loop {
                if self.subscription.is_none() && Instant::now() >= self.subscribe_at {
                    self.subscribe().await;
                }
                let found = match &mut self.subscription {
                    None => {
                        sleep_until(self.poll_at).await;
                        self.poll().await
                    }
                    Some(subscription) => tokio::select! {
                        changed = subscription.changed() => match changed {
                            Ok(()) => subscription.borrow_and_update().map(Head::from),
                            Err(_) => {
                                tracing::warn!("the subscription to new heads ended, polling instead");
                                self.subscription = None;
                                self.subscribe_at = Instant::now();
                                self.poll_at = Instant::now();
                                None
                            }
                        },
                        () = sleep_until(self.poll_at) => self.poll().await,
                    },
                };
                if let Some(head) = found.filter(|head| self.last.is_none_or(|last| head.differs(last))) {
                    let now = Instant::now();
                    self.rhythm.saw(head.number, now);
                    self.last = Some(head);
                    self.poll_at = self.next_poll(now);
                    return head;
                }
            }
        })
    }

    async fn subscribe(&mut self) {
        // Set first: if this future is dropped, the next call does not subscribe again immediately.
        self.subscribe_at = Instant::now() + RESUBSCRIBE;
        for index in self.client.failover().subscribable() {
            if self.client.failover().confirm_chain(index).await.is_err() {
                continue;
            }
            if let Some(subscription) = self.client.failover().upstream(index).subscribe_to_heads().await {
                self.subscription = Some(subscription);
                self.subscribed_endpoint = index;
                // Blocks from before the subscription are not pushed.
                self.poll_at = Instant::now();
                return;
            }
        }
    }

    async fn poll(&mut self) -> Option<Head> {
        let head = match self.polling {
            Polling::Thrifty => self.client.head_number_once().await.map(|number| Head { number, hash: None }),
            Polling::Eager => self.client.head_once().await.map(Head::from),
        };
        if self.subscription.is_some() && !self.client.failover().is_preferable(self.subscribed_endpoint) {
            // The subscribed endpoint is no longer in use: it is down or lagging.
            self.subscription = None;
            self.subscribe_at = Instant::now();
        }
        self.poll_at = self.next_poll(Instant::now());
        head.inspect_err(|error| tracing::debug!(%error, "polling the head failed")).ok()
    }

    fn next_poll(&self, now: Instant) -> Instant {
        match self.polling {
            Polling::Eager => now + self.rhythm.step().min(EAGER_WAIT),
            Polling::Thrifty if self.subscription.is_some() => now + self.rhythm.silence(),
            Polling::Thrifty => self.rhythm.next_due(now),
        }
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

    /// Adapts to faster blocks immediately and to slower ones gradually: one long gap does not change the block time. Blocks
    /// are noticed some steps late, so small differences are averaged.
    fn saw(&mut self, number: u64, now: Instant) {
        if let Some((last, then)) = self.last
            && let Some(blocks) = number.checked_sub(last).and_then(|blocks| u32::try_from(blocks).ok())
            && blocks > 0
        {
            let each = now.saturating_duration_since(then) / blocks;
            let about = self.block_time.mul_f64(0.75)..=self.block_time.mul_f64(1.5);
            let is_similar = blocks == 1 && about.contains(&each);
            let block_time = if is_similar { (self.block_time * 3 + each) / 4 } else { each.min(*about.end()) };
            self.block_time = block_time.max(Duration::from_millis(1));
        }
        self.last = Some((number, now));
    }

    /// One step before the next block is due, then at every step, and less often once it is late.
    fn next_due(&self, now: Instant) -> Instant {
        let Some((_, seen)) = self.last else { return now + self.step() };
        let waited = now.saturating_duration_since(seen);
        let due = (self.block_time - self.block_time / STEPS).min(MAX_WAIT);
        let (late, half) = (self.block_time + self.block_time / 4, self.bounded(self.block_time / 2));
        match waited {
            _ if waited < due => seen + due.max(self.bounds.shortest),
            _ if waited < late => now + self.step(),
            _ => now + half,
        }
    }

    fn step(&self) -> Duration {
        self.bounded(self.block_time / STEPS)
    }

    fn bounded(&self, wait: Duration) -> Duration {
        wait.clamp(self.bounds.shortest, self.bounds.longest.max(self.bounds.shortest))
    }

    fn silence(&self) -> Duration {
        self.step().max(self.block_time.saturating_mul(SILENT_BLOCKS).min(MAX_WAIT))
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
        rhythm.step()
    }

    #[test]
    fn polling_follows_the_block_time_within_bounds() {
        assert!(polled(&[12_000; 20]).abs_diff(Duration::from_millis(1_500)) < Duration::from_millis(5));
        assert!(polled(&[3_000; 20]).abs_diff(Duration::from_millis(375)) < Duration::from_millis(5));
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
        assert_eq!(rhythm.step(), Duration::from_millis(200));
    }

    /// Polls for each block of a chain whose blocks come this many milliseconds apart, after some blocks.
    fn polls(gaps: &[u64]) -> f64 {
        let mut rhythm = Rhythm::new(PollBounds::default());
        let (mut mined, mut polled, mut polls) = (Instant::now(), Instant::now(), 0_u32);
        for (number, gap) in (0..).zip(gaps) {
            mined += Duration::from_millis(*gap);
            while polled < mined {
                polled = rhythm.next_due(polled);
                polls += u32::from(number >= gaps.len() / 2);
            }
            rhythm.saw(number as u64, polled);
        }
        f64::from(polls) / (gaps.len() - gaps.len() / 2) as f64
    }

    #[test]
    fn a_regular_chain_is_polled_twice_per_block() {
        for gap in [450, 2_000, 3_000, 12_000] {
            let polls = polls(&[gap; 200]);
            assert!((1.0..=2.1).contains(&polls), "{polls} for blocks every {gap} ms");
        }
        let jitter: Vec<u64> = (0..400_u64).map(|number| 1_900 + number * 7_919 % 200).collect();
        assert!(polls(&jitter) <= 2.5, "{}", polls(&jitter));
    }

    #[test]
    fn a_silent_chain_is_polled_every_half_block_time() {
        let mut rhythm = Rhythm::new(PollBounds::default());
        let start = Instant::now();
        (0..20_u32).for_each(|number| rhythm.saw(number.into(), start + Duration::from_secs(2) * number));
        let late = start + Duration::from_secs(60);
        assert_eq!(rhythm.next_due(late) - late, Duration::from_secs(1));
    }
}

//! Tracks the newest block that never needs to be reverted.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::BlockNumber;
use node::NodeClient;
use tokio::{sync::Notify, time::Instant};
use tokio_util::task::AbortOnDropHandle;

use crate::IngestConfig;

/// Shortest interval between requests.
const INTERVAL: Duration = Duration::from_secs(60);
/// The same while the node has not answered any.
const UNANSWERED_INTERVAL: Duration = Duration::from_secs(2);
/// Timeout for the first response; later ones are not awaited.
const FIRST_RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// What the node has reported about finality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Known {
    /// No response so far.
    #[default]
    Nothing,
    /// The node has no notion of finality.
    NoFinality,
    /// The highest block ever reported as finalized.
    Finalized(BlockNumber),
}

/// Requests the finalized block in the background: a failed or missing response changes nothing and delays no block.
#[derive(Debug)]
pub(crate) struct Finality {
    node: NodeClient,
    shared: Arc<Shared>,
    requested_at: Option<Instant>,
    in_flight: Option<AbortOnDropHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    answered: Notify,
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Finality {
    pub(crate) fn new(node: NodeClient) -> Self {
        Self { node, shared: Arc::default(), requested_at: None, in_flight: None }
    }

    /// The highest block that the node has reported as finalized since the start.
    pub(crate) fn finalized(&self) -> Option<BlockNumber> {
        match *self.shared.known() {
            Known::Finalized(number) => Some(number),
            Known::Nothing | Known::NoFinality => None,
        }
    }

    /// Blocks above `tip` were reverted, finalized or not.
    pub(crate) fn reverted_to(&self, tip: BlockNumber) {
        let mut known = self.shared.known();
        if let Known::Finalized(number) = *known {
            *known = Known::Finalized(number.min(tip));
        }
    }

    /// The newest block that no revert needs to go below, for this head of the node.
    pub(crate) async fn horizon(&mut self, head: BlockNumber, config: &IngestConfig) -> BlockNumber {
        let is_first = self.requested_at.is_none();
        self.request();
        if is_first {
            let _ = tokio::time::timeout(FIRST_RESPONSE_TIMEOUT, self.shared.answered.notified()).await;
        }
        horizon(*self.shared.known(), head, config)
    }

    fn request(&mut self) {
        let asking = self.in_flight.as_ref().is_some_and(|task| !task.is_finished());
        let interval = if *self.shared.known() == Known::Nothing { UNANSWERED_INTERVAL } else { INTERVAL };
        if asking || self.requested_at.is_some_and(|then| then.elapsed() < interval) {
            return;
        }
        self.requested_at = Some(Instant::now());
        let (node, shared) = (self.node.clone(), Arc::clone(&self.shared));
        let task = tokio::spawn(async move {
            match node.finalized().await {
                Ok(finalized) => {
                    let mut known = shared.known();
                    *known = learn(*known, finalized);
                }
                Err(error) => tracing::debug!(%error, "requesting the finalized block failed"),
            }
            shared.answered.notify_one();
        });
        self.in_flight = Some(AbortOnDropHandle::new(task));
    }
}

/// A finalized block stays finalized, even if a lagging node reports a lower one.
fn learn(known: Known, finalized: Option<BlockNumber>) -> Known {
    match (known, finalized) {
        (Known::Finalized(before), finalized) => Known::Finalized(finalized.unwrap_or(before).max(before)),
        (_, Some(number)) => Known::Finalized(number),
        (_, None) => Known::NoFinality,
    }
}

fn horizon(known: Known, head: BlockNumber, config: &IngestConfig) -> BlockNumber {
    let deep_enough = head.saturating_sub(config.undo_depth);
    let deepest = head.saturating_sub(config.longest_undo_depth);
    match known {
        // Unneeded undo data costs some bytes; missing undo data cannot be recreated.
        Known::Nothing => deepest,
        Known::NoFinality => deep_enough,
        Known::Finalized(number) => number.min(deep_enough).max(deepest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> IngestConfig {
        IngestConfig { undo_depth: 256, longest_undo_depth: 10_000, ..IngestConfig::from_block(0) }
    }

    #[test]
    fn undo_reaches_the_finalized_block_and_the_minimum_depth() {
        assert_eq!(horizon(Known::Finalized(950), 1_000, &config()), 744);
        assert_eq!(horizon(Known::Finalized(10), 1_000, &config()), 10);
        assert_eq!(horizon(Known::Finalized(10), 50_000, &config()), 40_000);
        assert_eq!(horizon(Known::NoFinality, 1_000, &config()), 744);
        assert_eq!(horizon(Known::Nothing, 50_000, &config()), 40_000);
    }

    #[test]
    fn a_finalized_block_stays_finalized() {
        assert_eq!(learn(Known::Finalized(10), None), Known::Finalized(10));
        assert_eq!(learn(Known::Finalized(10), Some(4)), Known::Finalized(10));
        assert_eq!(learn(Known::Finalized(10), Some(14)), Known::Finalized(14));
        assert_eq!(learn(Known::Nothing, None), Known::NoFinality);
        assert_eq!(learn(Known::NoFinality, Some(4)), Known::Finalized(4));
    }
}

//! The newest block that no revert needs to go below.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::BlockNumber;
use node::NodeClient;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::IngestConfig;

/// Between two questions at least.
const INTERVAL: Duration = Duration::from_secs(1);
/// For the first answer; later ones are not waited for.
const FIRST_ANSWER: Duration = Duration::from_secs(3);

/// What the node has said about finality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Known {
    /// No answer so far.
    #[default]
    Nothing,
    /// The node knows of no finality.
    NoFinality,
    /// The highest block that was ever called finalized.
    Finalized(BlockNumber),
}

/// Asks the node for its finalized block beside the following: an answer that fails or does not come changes nothing,
/// and holds up no block.
#[derive(Debug)]
pub(crate) struct Finality {
    node: NodeClient,
    shared: Arc<Shared>,
    asked_at: Option<Instant>,
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
        Self { node, shared: Arc::default(), asked_at: None, in_flight: None }
    }

    /// The highest block that the node has called finalized since the start.
    pub(crate) fn finalized(&self) -> Option<BlockNumber> {
        match *self.shared.known() {
            Known::Finalized(number) => Some(number),
            Known::Nothing | Known::NoFinality => None,
        }
    }

    /// Blocks above `tip` are gone, finalized or not.
    pub(crate) fn reverted_to(&self, tip: BlockNumber) {
        let mut known = self.shared.known();
        if let Known::Finalized(number) = *known {
            *known = Known::Finalized(number.min(tip));
        }
    }

    /// The newest block that no revert needs to go below, with the node's head there.
    pub(crate) async fn horizon(&mut self, head: BlockNumber, config: &IngestConfig) -> BlockNumber {
        self.ask();
        if *self.shared.known() == Known::Nothing {
            let _ = tokio::time::timeout(FIRST_ANSWER, self.shared.answered.notified()).await;
        }
        horizon(*self.shared.known(), head, config)
    }

    fn ask(&mut self) {
        let asking = self.in_flight.as_ref().is_some_and(|task| !task.is_finished());
        if asking || self.asked_at.is_some_and(|then| then.elapsed() < INTERVAL) {
            return;
        }
        self.asked_at = Some(Instant::now());
        let (node, shared) = (self.node.clone(), Arc::clone(&self.shared));
        let task = tokio::spawn(async move {
            match node.finalized().await {
                Ok(finalized) => {
                    let mut known = shared.known();
                    *known = learn(*known, finalized);
                }
                Err(error) => tracing::debug!(%error, "the node did not tell its finalized block"),
            }
            shared.answered.notify_one();
        });
        self.in_flight = Some(AbortOnDropHandle::new(task));
    }
}

/// A finalized block stays finalized, whatever a node that is behind says.
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
        // Undo that is not needed costs some bytes; undo that is missing cannot be made up for.
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
    fn undo_reaches_to_the_finalized_block_and_at_least_so_deep() {
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

//! The heads of all endpoints at one moment.

use std::time::Duration;

use domain::BlockRef;
use futures::future::join_all;

use crate::failover::Failover;

/// For one endpoint's head.
const PATIENCE: Duration = Duration::from_secs(3);
/// An endpoint this many blocks below the best one is a moment late at most; beyond, it is behind.
const TOLERANCE: u64 = 8;

/// What all endpoints say about the head of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadSurvey {
    /// The highest; None where no endpoint told.
    pub best: Option<BlockRef>,
    /// Whether every endpoint of this chain told.
    pub is_complete: bool,
}

impl Failover {
    /// Asks every endpoint for its head, and passes over those that are behind from now on.
    pub(crate) async fn survey(&self) -> HeadSurvey {
        // On the heap, since each is large: whoever waits for them would have them all on the stack.
        let heads = join_all((0..self.len()).map(|index| Box::pin(self.head_of(index)))).await;
        let best = heads.iter().flatten().copied().max_by_key(|head| head.number);
        let mut is_complete = true;
        for (index, head) in heads.iter().enumerate() {
            let mut standing = self.standing(index);
            match (head, best) {
                (Some(head), Some(best)) => {
                    let behind = head.number.saturating_add(TOLERANCE) < best.number;
                    if behind != standing.behind {
                        let endpoint = self.upstream(index).name();
                        if behind {
                            tracing::warn!(endpoint, head = head.number, best = best.number, "an endpoint is behind");
                        } else {
                            tracing::info!(endpoint, head = head.number, "an endpoint has caught up");
                        }
                    }
                    standing.behind = behind;
                }
                _ => is_complete &= standing.foreign,
            }
        }
        HeadSurvey { best, is_complete }
    }

    async fn head_of(&self, index: usize) -> Option<BlockRef> {
        let head = async {
            self.admit(index).await?;
            self.upstream(index).head().await
        };
        let told = tokio::time::timeout(PATIENCE, head).await.ok()?;
        told.inspect_err(|error| tracing::debug!(%error, "an endpoint did not tell its head")).ok()
    }
}

//! Compares the heads of all endpoints.

use std::time::Duration;

use domain::BlockRef;
use futures::future::join_all;

use crate::endpoint::failover::Failover;

/// Timeout for one endpoint's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(3);
/// An endpoint more than this many blocks below the highest head counts as lagging.
const TOLERANCE: u64 = 8;

/// The heads of all endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadSurvey {
    /// The highest; None if no endpoint answered.
    pub best: Option<BlockRef>,
    /// Whether every endpoint of this chain answered.
    pub is_complete: bool,
}

impl Failover {
    /// Requests the head of every endpoint, and avoids those that lag from now on.
    pub(crate) async fn survey(&self) -> HeadSurvey {
        // Boxed, since these futures are large.
        let heads = join_all((0..self.len()).map(|index| Box::pin(self.head_of(index)))).await;
        let best = heads.iter().flatten().copied().max_by_key(|head| head.number);
        let mut is_complete = true;
        for (index, head) in heads.iter().enumerate() {
            let mut health = self.health(index);
            match (head, best) {
                (Some(head), Some(best)) => {
                    let behind = head.number.saturating_add(TOLERANCE) < best.number;
                    if behind != health.behind {
                        let endpoint = self.upstream(index).name();
                        if behind {
                            tracing::warn!(endpoint, head = head.number, best = best.number, "endpoint lags behind");
                        } else {
                            tracing::info!(endpoint, head = head.number, "endpoint has caught up");
                        }
                    }
                    health.behind = behind;
                }
                _ => is_complete &= health.is_refused(),
            }
        }
        HeadSurvey { best, is_complete }
    }

    async fn head_of(&self, index: usize) -> Option<BlockRef> {
        let head = async {
            self.confirm_chain(index).await?;
            self.upstream(index).head().await
        };
        let response = tokio::time::timeout(HEAD_TIMEOUT, head).await.ok()?;
        response.inspect_err(|error| tracing::debug!(%error, "requesting the head of an endpoint failed")).ok()
    }
}

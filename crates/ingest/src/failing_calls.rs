//! Contract calls that fail while the node answers everything else: blocks wait for them only briefly.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use domain::BlockRef;
use metrics::Counter;
use node::{NodeClient, NodeError};
use tokio::time::Instant;
use tracing::warn;

use crate::follow_error::FollowError;

/// How long blocks wait for contract calls that fail.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// After this long without a failure, the next one is the first of its kind.
const FORGET: Duration = Duration::from_secs(60);

/// Decides when a block continues without the contract calls that it needs.
#[derive(Debug, Default)]
pub(crate) struct FailingCalls {
    outage: Mutex<Option<Outage>>,
    given_up: Counter,
}

#[derive(Debug, Clone, Copy)]
struct Outage {
    since: Instant,
    last: Instant,
    is_reported: bool,
}

impl FailingCalls {
    /// None if the calls fail and the block continues without their result.
    pub(crate) async fn unless_they_fail<T>(
        &self,
        outcome: Result<T, FollowError>,
        node: &NodeClient,
        block: BlockRef,
    ) -> Result<Option<T>, FollowError> {
        let error = match outcome {
            Ok(result) => return Ok(Some(result)),
            Err(FollowError::Node(error)) if is_of_calls(&error) => error,
            Err(error) => return Err(error),
        };
        let is_over = self.failed_at(Instant::now()) >= MAX_WAIT || error.lacks_method();
        // If the node fails as a whole, blocks wait for it anyway.
        if !is_over || !matches!(node.find_block_ref(block.number).await, Ok(Some(_))) {
            return Err(error.into());
        }
        self.given_up.increment();
        if self.is_first_report() {
            warn!(
                block = block.number,
                %error,
                "contract calls fail: trades of new pools are omitted, and new tokens whose standard only a call tells are indexed as BEP20"
            );
        }
        Ok(None)
    }

    /// Lookups without a result.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up.get()
    }

    /// How long calls have been failing.
    fn failed_at(&self, now: Instant) -> Duration {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = outage.filter(|outage| now.duration_since(outage.last) < FORGET);
        let current = begun.unwrap_or(Outage { since: now, last: now, is_reported: false });
        *outage = Some(Outage { last: now, ..current });
        now.duration_since(current.since)
    }

    fn is_first_report(&self) -> bool {
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        outage.as_mut().is_some_and(|outage| !std::mem::replace(&mut outage.is_reported, true))
    }
}

/// Whether the calls failed, and not the connection to the node.
fn is_of_calls(error: &NodeError) -> bool {
    match error {
        NodeError::TimedOut { .. }
        | NodeError::HttpStatus { .. }
        | NodeError::Rpc { .. }
        | NodeError::InvalidResponse { .. } => true,
        // What has a limit works later.
        NodeError::Limited { .. }
        | NodeError::Unreachable { .. }
        | NodeError::Dropped { .. }
        | NodeError::Silent { .. }
        | NodeError::InvalidBlock { .. }
        | NodeError::WrongChain { .. }
        | NodeError::WrongBlock { .. }
        | NodeError::OtherGenesis { .. }
        | NodeError::NoEndpoint
        | NodeError::Setup { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_lasts_until_calls_have_not_failed_for_a_while() {
        let calls = FailingCalls::default();
        let second = Duration::from_secs(1);
        assert_eq!(calls.failed_at(Instant::now()), Duration::ZERO);
        tokio::time::advance(second * 50).await;
        assert_eq!(calls.failed_at(Instant::now()), second * 50);
        assert!(calls.is_first_report() && !calls.is_first_report());
        tokio::time::advance(second * 59).await;
        assert_eq!(calls.failed_at(Instant::now()), second * 109);
        tokio::time::advance(second * 60).await;
        assert_eq!(calls.failed_at(Instant::now()), Duration::ZERO);
        assert!(calls.is_first_report());
    }
}

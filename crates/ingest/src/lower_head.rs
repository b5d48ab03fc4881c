//! Decides what to do if the node's head is below our tip on our own branch.

use std::time::Duration;

use domain::{BlockNumber, BlockRef};
use node::{HeadSurvey, NodeClient};
use tokio::time::Instant;

/// Interval between warnings in the log.
const REPORT_EVERY: Duration = Duration::from_secs(60);
const MIN_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// A developer who rolls a chain back waits for the index.
const ON_DEV_CHAINS: Duration = Duration::from_millis(200);

/// How to handle a lower head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The node lags: it will catch up or be replaced by another.
    Wait,
    /// The chain has become shorter: revert the blocks above the head.
    Revert,
}

/// Tracks a head below our tip. By itself it only shows that a node lags: behind a load balancer, during a resync, after
/// a failover. A chain that was really rolled back either continues with other blocks, which is proof, or is a dev
/// chain.
#[derive(Debug)]
pub(crate) struct LowerHead {
    /// How long the head must stay lower, except on a dev chain.
    after: Duration,
    since: Option<Instant>,
    reported_at: Option<Instant>,
    is_dev_chain: Option<bool>,
}

/// Facts at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observation {
    pub(crate) head: BlockRef,
    pub(crate) tip: BlockRef,
    /// The highest block ever reported as finalized.
    pub(crate) finalized: Option<BlockNumber>,
    pub(crate) survey: HeadSurvey,
    /// Whether the node still has our tip although its head is lower.
    pub(crate) has_tip: bool,
}

impl LowerHead {
    pub(crate) fn new(after: Duration) -> Self {
        Self { after, since: None, reported_at: None, is_dev_chain: None }
    }

    /// The node is level, ahead or on another branch.
    pub(crate) fn reset(&mut self) {
        self.since = None;
        self.reported_at = None;
    }

    /// Detected once: a dev chain stays a dev chain.
    pub(crate) async fn detect_dev_chain(&mut self, node: &NodeClient) {
        if self.is_dev_chain.is_none() {
            self.is_dev_chain = node.is_dev_chain().await.ok();
        }
    }

    pub(crate) fn decide(&mut self, seen: Observation, now: Instant) -> Decision {
        let since = *self.since.get_or_insert(now);
        let is_dev_chain = self.is_dev_chain();
        let wait = if is_dev_chain { ON_DEV_CHAINS } else { self.after };
        let reason_to_wait = reason_to_wait(seen, is_dev_chain);
        if reason_to_wait.is_none() && now.duration_since(since) >= wait {
            return Decision::Revert;
        }
        if self.reported_at.is_none_or(|then| now.duration_since(then) >= REPORT_EVERY) {
            let (head, tip) = (seen.head.number, seen.tip.number);
            let reason = reason_to_wait.unwrap_or("it may catch up");
            tracing::warn!(head, tip, reason, "the node is behind the index, keeping the indexed blocks");
            self.reported_at = Some(now);
        }
        Decision::Wait
    }

    pub(crate) fn is_dev_chain(&self) -> bool {
        self.is_dev_chain == Some(true)
    }

    /// Interval until the next check, which grows with the duration.
    pub(crate) fn pause(&self, now: Instant) -> Duration {
        let lasted = self.since.map_or(Duration::ZERO, |since| now.duration_since(since));
        (lasted / 8).clamp(MIN_PAUSE, MAX_PAUSE)
    }
}

/// Why a lower head is not followed, however long it persists.
fn reason_to_wait(seen: Observation, is_dev_chain: bool) -> Option<&'static str> {
    if !seen.survey.is_complete {
        return Some("another endpoint does not answer");
    }
    if seen.survey.best.is_some_and(|best| best.number > seen.head.number) {
        return Some("another endpoint is ahead");
    }
    if seen.has_tip {
        return Some("the node still has our newest block");
    }
    match seen.finalized {
        _ if is_dev_chain => None,
        None => Some("no finalized block is known yet"),
        Some(finalized) if seen.head.number < finalized => Some("the node's head is below the finalized block"),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use domain::B256;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn block(number: u64) -> BlockRef {
        BlockRef { number, hash: B256::with_last_byte(7) }
    }

    fn seen(head: u64) -> Observation {
        let survey = HeadSurvey { best: Some(block(head)), is_complete: true };
        Observation { head: block(head), tip: block(320), finalized: Some(256), survey, has_tip: false }
    }

    fn decision_after(wait: Duration, mut lower: LowerHead, seen: Observation) -> Decision {
        let now = Instant::now();
        assert_eq!(lower.decide(seen, now), Decision::Wait);
        lower.decide(seen, now + wait)
    }

    fn live_chain() -> LowerHead {
        LowerHead { is_dev_chain: Some(false), ..LowerHead::new(LONG) }
    }

    fn dev_chain() -> LowerHead {
        LowerHead { is_dev_chain: Some(true), ..LowerHead::new(LONG) }
    }

    #[test]
    fn a_lagging_node_does_not_revert_blocks() {
        assert_eq!(decision_after(LONG / 2, live_chain(), seen(300)), Decision::Wait);
        assert_eq!(decision_after(LONG, live_chain(), seen(300)), Decision::Revert);
        assert_eq!(decision_after(LONG, live_chain(), seen(256)), Decision::Revert, "the finalized block stays");
    }

    #[test]
    fn finalized_blocks_are_not_reverted() {
        assert_eq!(decision_after(LONG, live_chain(), seen(255)), Decision::Wait);
        let unknown = Observation { finalized: None, ..seen(300) };
        assert_eq!(decision_after(LONG, live_chain(), unknown), Decision::Wait);
    }

    #[test]
    fn blocks_are_kept_while_another_endpoint_may_have_them() {
        let ahead = HeadSurvey { best: Some(block(310)), is_complete: true };
        let away = HeadSurvey { best: Some(block(300)), is_complete: false };
        for survey in [ahead, away] {
            assert_eq!(decision_after(LONG, live_chain(), Observation { survey, ..seen(300) }), Decision::Wait);
        }
        assert_eq!(decision_after(LONG, live_chain(), Observation { has_tip: true, ..seen(300) }), Decision::Wait);
    }

    #[test]
    fn a_dev_chain_is_reverted_soon_and_below_its_finalized_block() {
        assert_eq!(decision_after(ON_DEV_CHAINS, dev_chain(), seen(100)), Decision::Revert);
        assert_eq!(decision_after(ON_DEV_CHAINS / 2, dev_chain(), seen(100)), Decision::Wait);
    }
}

//! What to make of a node whose head is below our tip, on our own branch.

use std::time::Duration;

use domain::{BlockNumber, BlockRef};
use node::{HeadSurvey, NodeClient};
use tokio::time::Instant;

/// Between two reports in the log.
const REPORT_EVERY: Duration = Duration::from_secs(60);
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// On a chain that somebody cuts back by hand, he waits for the index.
const ON_DEV_CHAINS: Duration = Duration::from_secs(3);
/// How programs that run chains for development name themselves.
const DEV_CHAINS: [&str; 6] = ["anvil", "hardhat", "ganache", "testrpc", "devchain", "foundry"];

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The node is behind: it will catch up, or another one takes its place.
    Wait,
    /// The chain has become shorter.
    Shorter,
}

/// Watches a head that is below ours. By itself it says no more than that a node is late: behind a load balancer, while
/// a node syncs again, after a fail-over. A chain that was really cut back either goes on with other blocks, which is
/// proof, or is a chain for development.
#[derive(Debug)]
pub(crate) struct LowerHead {
    /// How long it must stay lower; None: as long as suits the chain.
    after: Option<Duration>,
    default_after: Duration,
    since: Option<Instant>,
    reported_at: Option<Instant>,
    is_dev_chain: Option<bool>,
}

/// What is known at one look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) head: BlockRef,
    pub(crate) tip: BlockRef,
    /// The highest block ever called finalized, where the node had our tip.
    pub(crate) finalized: Option<BlockNumber>,
    pub(crate) survey: HeadSurvey,
    /// Whether the node still has our tip, though its head is below.
    pub(crate) has_tip: bool,
}

impl LowerHead {
    pub(crate) fn new(after: Option<Duration>, default_after: Duration) -> Self {
        Self { after, default_after, since: None, reported_at: None, is_dev_chain: None }
    }

    /// The node is level with us, or ahead, or on another branch.
    pub(crate) fn is_over(&mut self) {
        self.since = None;
        self.reported_at = None;
    }

    /// Asked once: a chain for development does not become another one.
    pub(crate) async fn ask_what_chain(&mut self, node: &NodeClient) {
        if self.is_dev_chain.is_none() {
            self.is_dev_chain = node.client_version().await.ok().map(|version| is_dev_chain(&version));
        }
    }

    pub(crate) fn judge(&mut self, look: Look, now: Instant) -> Verdict {
        let since = *self.since.get_or_insert(now);
        let is_dev_chain = self.is_dev_chain();
        let wait = self.after.unwrap_or(if is_dev_chain { ON_DEV_CHAINS } else { self.default_after });
        let objection = objection(look, is_dev_chain);
        if objection.is_none() && now.duration_since(since) >= wait {
            return Verdict::Shorter;
        }
        if self.reported_at.is_none_or(|then| now.duration_since(then) >= REPORT_EVERY) {
            let (head, tip) = (look.head.number, look.tip.number);
            let reason = objection.unwrap_or("it may catch up");
            tracing::warn!(head, tip, reason, "the node is behind the index: no block is reverted for that");
            self.reported_at = Some(now);
        }
        Verdict::Wait
    }

    pub(crate) fn is_dev_chain(&self) -> bool {
        self.is_dev_chain == Some(true)
    }

    /// How soon to look again: the longer it has lasted, the later.
    pub(crate) fn pause(&self, now: Instant) -> Duration {
        let lasted = self.since.map_or(Duration::ZERO, |since| now.duration_since(since));
        (lasted / 8).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
    }
}

/// Why a lower head is not followed, however long it stays.
fn objection(look: Look, is_dev_chain: bool) -> Option<&'static str> {
    if !look.survey.is_complete {
        return Some("another endpoint does not answer");
    }
    if look.survey.best.is_some_and(|best| best.number > look.head.number) {
        return Some("another endpoint is ahead");
    }
    if look.has_tip {
        return Some("it still has our newest block");
    }
    match look.finalized {
        _ if is_dev_chain => None,
        None => Some("no finalized block is known yet"),
        Some(finalized) if look.head.number < finalized => Some("its head is below the finalized block"),
        Some(_) => None,
    }
}

fn is_dev_chain(client_version: &str) -> bool {
    let name = client_version.to_ascii_lowercase();
    DEV_CHAINS.iter().any(|dev_chain| name.contains(dev_chain))
}

#[cfg(test)]
mod tests {
    use domain::B256;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn block(number: u64) -> BlockRef {
        BlockRef { number, hash: B256::with_last_byte(7) }
    }

    fn look(head: u64) -> Look {
        let survey = HeadSurvey { best: Some(block(head)), is_complete: true };
        Look { head: block(head), tip: block(320), finalized: Some(256), survey, has_tip: false }
    }

    fn judged_after(wait: Duration, mut lower: LowerHead, look: Look) -> Verdict {
        let now = Instant::now();
        assert_eq!(lower.judge(look, now), Verdict::Wait);
        lower.judge(look, now + wait)
    }

    fn of_a_live_chain() -> LowerHead {
        LowerHead { is_dev_chain: Some(false), ..LowerHead::new(None, LONG) }
    }

    fn of_a_dev_chain() -> LowerHead {
        LowerHead { is_dev_chain: Some(true), ..LowerHead::new(None, LONG) }
    }

    #[test]
    fn a_node_that_is_late_is_waited_for() {
        assert_eq!(judged_after(LONG / 2, of_a_live_chain(), look(300)), Verdict::Wait);
        assert_eq!(judged_after(LONG, of_a_live_chain(), look(300)), Verdict::Shorter);
        let configured = LowerHead { after: Some(Duration::from_secs(1)), ..of_a_live_chain() };
        assert_eq!(judged_after(Duration::from_secs(1), configured, look(300)), Verdict::Shorter);
    }

    #[test]
    fn nothing_finalized_is_reverted() {
        assert_eq!(judged_after(LONG, of_a_live_chain(), look(255)), Verdict::Wait);
        let unknown = Look { finalized: None, ..look(300) };
        assert_eq!(judged_after(LONG, of_a_live_chain(), unknown), Verdict::Wait);
    }

    #[test]
    fn as_long_as_somebody_may_know_better_it_waits() {
        let ahead = HeadSurvey { best: Some(block(310)), is_complete: true };
        let away = HeadSurvey { best: Some(block(300)), is_complete: false };
        for survey in [ahead, away] {
            assert_eq!(judged_after(LONG, of_a_live_chain(), Look { survey, ..look(300) }), Verdict::Wait);
        }
        assert_eq!(judged_after(LONG, of_a_live_chain(), Look { has_tip: true, ..look(300) }), Verdict::Wait);
    }

    #[test]
    fn a_dev_chain_is_followed_soon_and_below_what_it_calls_finalized() {
        assert_eq!(judged_after(ON_DEV_CHAINS, of_a_dev_chain(), look(100)), Verdict::Shorter);
        assert_eq!(judged_after(ON_DEV_CHAINS / 2, of_a_dev_chain(), look(100)), Verdict::Wait);
    }

    #[test]
    fn dev_chains_are_known_by_their_names() {
        for name in ["anvil/v1.4.0", "HardhatNetwork/2.22.1/@nomicfoundation", "Ganache/v7.9.1", "devchain/v0.1.0/rust"]
        {
            assert!(is_dev_chain(name), "{name}");
        }
        for name in ["Geth/v1.16.7-stable/linux-amd64/go1.25.1", "reth/v1.9.0", "erigon/3.2.0", "Nethermind/v1.34"] {
            assert!(!is_dev_chain(name), "{name}");
        }
    }
}

use std::time::{Duration, Instant};

use crate::{BlockNumber, BlockRef, ChainIdentity};

/// The state of the index and of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncStatus {
    pub phase: SyncPhase,
    /// The chain of the index; None until it is known.
    pub chain: Option<ChainIdentity>,
    /// The chain that the node serves, if it is another one.
    pub other_chain: Option<ChainIdentity>,
    /// Whether the index was filled from a chain for development: its state changes without blocks, and it may be reset.
    pub is_dev_chain: bool,
    /// The latest indexed block.
    pub tip: Option<BlockRef>,
    /// Its time, unix seconds.
    pub tip_timestamp: Option<u64>,
    /// The latest block that a reorg can no longer revert; None until it is known.
    pub settled: Option<BlockNumber>,
    /// Without a new block until then, the chain counts as stalled, judged by its block interval; None if that is unknown.
    pub quiet_from: Option<Instant>,
    /// The latest block of the node.
    pub node_head: Option<BlockNumber>,
    /// How many blocks the index was behind the node when that was last known; None while [`Self::lag`] tells it.
    pub last_lag: Option<u64>,
    /// Whether the last request to the node succeeded.
    pub node_reachable: bool,
    /// Why the next block is not indexed, while that is tried again.
    pub block_waits_for: Option<String>,
    /// Why contract data is not read, while that is tried again. Blocks do not wait for it.
    pub contract_data_waits_for: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncPhase {
    Starting,
    /// Far behind the node's head: blocks are committed in batches.
    Backfilling,
    /// At the head: blocks are committed one by one.
    Following,
    /// The index cannot be written, for example because the disk is full; writes are retried.
    Waiting {
        reason: String,
    },
    /// Stopped by a fatal error that the operator has to fix.
    Halted {
        reason: String,
    },
}

impl SyncStatus {
    #[must_use]
    pub fn starting() -> Self {
        Self {
            phase: SyncPhase::Starting,
            chain: None,
            other_chain: None,
            is_dev_chain: false,
            tip: None,
            tip_timestamp: None,
            settled: None,
            quiet_from: None,
            node_head: None,
            last_lag: None,
            node_reachable: false,
            block_waits_for: None,
            contract_data_waits_for: None,
        }
    }

    /// What is tried again, the most important first.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        match &self.phase {
            SyncPhase::Waiting { reason } => Some(reason.clone()),
            // For the operator: the log has it.
            SyncPhase::Halted { .. } => None,
            SyncPhase::Starting | SyncPhase::Backfilling | SyncPhase::Following => {
                let of_data = || self.contract_data_waits_for.as_ref().map(|reason| format!("contract data: {reason}"));
                self.block_waits_for.clone().or_else(of_data)
            }
        }
    }

    /// How many blocks the index is behind the node's head; None while that is unknown.
    #[must_use]
    pub fn lag(&self) -> Option<u64> {
        let head = self.node_head?;
        Some(self.tip.map_or(head.saturating_add(1), |tip| head.saturating_sub(tip.number)))
    }

    /// The same when nobody tells where the node is: blocks that were missing then still are.
    #[must_use]
    pub fn without_node(self) -> Self {
        Self { last_lag: self.lag().or(self.last_lag), node_head: None, node_reachable: false, ..self }
    }

    /// How many blocks the node is behind the index.
    #[must_use]
    pub fn node_lag(&self) -> u64 {
        self.tip.zip(self.node_head).map_or(0, |(tip, head)| tip.number.saturating_sub(head))
    }

    /// Whether something that was read at this time is fresh enough. On a chain for development, whose state also changes without
    /// a block, that is only for a moment.
    #[must_use]
    pub fn is_fresh(&self, read_at: Instant, cached_for: Duration) -> bool {
        read_at.elapsed() < if self.is_dev_chain { DEV_CHAIN_CACHED_FOR } else { cached_for }
    }

    /// Whether no block has arrived for much longer than the block interval.
    #[must_use]
    pub fn is_chain_quiet(&self, now: Instant) -> bool {
        self.quiet_from.is_some_and(|from| from <= now)
    }

    /// The status in a few words, as pages show it before the newest block and its age.
    #[must_use]
    pub fn line(&self, now: Instant) -> StatusLine {
        let (is_ok, text) = match &self.phase {
            _ if self.other_chain.is_some() => (false, "The node serves another chain than the indexed one".to_owned()),
            SyncPhase::Halted { .. } => (false, "Halted: see /health".to_owned()),
            SyncPhase::Waiting { reason } => (false, format!("Waiting: {reason}")),
            _ if !self.node_reachable => (false, "The node does not respond".to_owned()),
            _ if self.node_lag() > MAX_NODE_LAG => (false, "The node lags behind the index".to_owned()),
            _ if self.is_chain_quiet(now) => (false, "No new block for a long time".to_owned()),
            SyncPhase::Starting => (true, "Starting".to_owned()),
            SyncPhase::Backfilling => {
                let blocks = match (self.tip, self.node_head) {
                    (Some(tip), Some(head)) => format!(": block {} of {}", grouped(tip.number), grouped(head)),
                    (Some(tip), None) => format!(": block {}", grouped(tip.number)),
                    (None, Some(head)) => format!(": no block of {}", grouped(head)),
                    (None, None) => String::new(),
                };
                (true, format!("Catching up{blocks}"))
            }
            SyncPhase::Following => (true, "Synced".to_owned()),
        };
        StatusLine { is_ok, text }
    }
}

/// How long something is cached on a chain for development.
const DEV_CHAIN_CACHED_FOR: Duration = Duration::from_millis(400);
/// More blocks than this are a fault of the node.
const MAX_NODE_LAG: u64 = 10;

/// What a reader needs to know about the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLine {
    pub is_ok: bool,
    pub text: String,
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::B256;

    fn following() -> SyncStatus {
        let tip = Some(BlockRef { number: 1_234_567, hash: B256::repeat_byte(7) });
        SyncStatus { phase: SyncPhase::Following, tip, node_reachable: true, ..SyncStatus::starting() }
    }

    fn line(status: &SyncStatus) -> (bool, String) {
        let StatusLine { is_ok, text } = status.line(Instant::now());
        (is_ok, text)
    }

    #[test]
    fn what_blocks_wait_for_comes_before_contract_data() {
        let mut status = following();
        assert_eq!(status.waits_for(), None);
        status.contract_data_waits_for = Some("eth_call failed".to_owned());
        assert_eq!(status.waits_for().as_deref(), Some("contract data: eth_call failed"));
        status.block_waits_for = Some("block 7: no receipts".to_owned());
        assert_eq!(status.waits_for().as_deref(), Some("block 7: no receipts"));
        status.phase = SyncPhase::Waiting { reason: "no space left on device".to_owned() };
        assert_eq!(status.waits_for().as_deref(), Some("no space left on device"));
    }

    #[test]
    fn a_number_that_is_not_known_is_not_shown() {
        let backfilling = SyncStatus { phase: SyncPhase::Backfilling, ..following() };
        assert_eq!(line(&backfilling).1, "Catching up: block 1,234,567");
        assert_eq!(line(&SyncStatus { tip: None, ..backfilling.clone() }).1, "Catching up");
        let empty = SyncStatus { tip: None, node_head: Some(9_999_999), ..backfilling };
        assert_eq!(line(&empty).1, "Catching up: no block of 9,999,999");
    }

    #[test]
    fn an_empty_index_is_not_level_with_the_largest_head() {
        let empty = SyncStatus { tip: None, node_head: Some(u64::MAX), ..following() };
        assert_eq!(empty.lag(), Some(u64::MAX));
        assert_eq!(SyncStatus { node_head: Some(4), ..empty }.lag(), Some(5));
    }

    #[test]
    fn a_lag_that_nobody_tells_any_more_is_unknown() {
        let told = SyncStatus { node_head: Some(1_234_569), ..following() };
        let silent = told.without_node();
        assert_eq!((silent.lag(), silent.last_lag, silent.node_reachable), (None, Some(2), false));
        assert_eq!(silent.without_node().last_lag, Some(2));
        assert_eq!(following().without_node().last_lag, None, "it was never known");
    }

    #[test]
    fn every_state_has_words_of_its_own() {
        let chain = ChainIdentity { chain_id: 5, genesis_hash: B256::ZERO };
        let waiting = SyncPhase::Waiting { reason: "no space left on device".to_owned() };
        let backfilling = SyncStatus { phase: SyncPhase::Backfilling, node_head: Some(9_999_999), ..following() };
        for (status, is_ok, words) in [
            (following(), true, "Synced"),
            (SyncStatus { node_reachable: false, ..following() }, false, "does not respond"),
            (SyncStatus { other_chain: Some(chain), node_reachable: false, ..following() }, false, "another chain"),
            (backfilling, true, "Catching up: block 1,234,567 of 9,999,999"),
            (SyncStatus { phase: waiting, ..following() }, false, "Waiting: no space left on device"),
            (SyncStatus { node_head: Some(1_234_556), ..following() }, false, "lags"),
            (SyncStatus { quiet_from: Some(Instant::now()), ..following() }, false, "No new block"),
        ] {
            let (shown, text) = line(&status);
            assert!(shown == is_ok && text.contains(words), "{text:?} instead of {words:?}");
        }
    }
}

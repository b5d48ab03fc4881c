use domain::{SyncPhase, SyncStatus};
use serde::Serialize;
use utoipa::ToSchema;

use super::Hash;

/// Blocks that the index may be behind the node's head and still count as ready. A few are normal: blocks come in
/// bursts, and a commit takes a moment.
const READY_LAG: u64 = 10;

/// How the service is doing.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    pub status: HealthStatus,
    /// Whether the process answers: always true in an answer.
    pub live: bool,
    /// Whether the index is complete enough to serve: it has a block, is not halted, and is at most 10 blocks behind.
    pub ready: bool,
    pub phase: Phase,
    /// Why the index waits, such as `no space left on device`; null in every other phase.
    #[schema(required = true)]
    pub waiting_for: Option<String>,
    /// The newest indexed block, or null.
    #[schema(required = true)]
    pub tip: Option<BlockTip>,
    /// The newest block the node has told of, or null.
    #[schema(required = true, example = 21_000_001)]
    pub node_head: Option<u64>,
    /// Blocks between the two; null while either end is unknown.
    #[schema(required = true, example = 1)]
    pub lag: Option<u64>,
    /// Whether the node answered when it was last asked.
    pub node_reachable: bool,
}

/// The gist of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// Ready, and the node answers.
    Ok,
    /// Still behind, without a node, or waiting for the disk.
    Degraded,
    /// Indexing stopped for a reason that a person must mend.
    Halted,
}

/// What the indexing is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Starting,
    Backfilling,
    Following,
    /// The index cannot be written now; it goes on by itself once it can be.
    Waiting,
    Halted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockTip {
    #[schema(example = 21_000_000)]
    pub number: u64,
    pub hash: Hash,
}

impl From<&SyncStatus> for Health {
    fn from(sync: &SyncStatus) -> Self {
        let phase = Phase::from(&sync.phase);
        let lag = sync.lag();
        // An unknown lag is not ready: right after a start nobody can tell how old the index is.
        let ready = sync.tip.is_some() && phase != Phase::Halted && lag.is_some_and(|lag| lag <= READY_LAG);
        let status = match phase {
            Phase::Halted => HealthStatus::Halted,
            Phase::Waiting => HealthStatus::Degraded,
            _ if ready && sync.node_reachable => HealthStatus::Ok,
            _ => HealthStatus::Degraded,
        };
        Self {
            status,
            live: true,
            ready,
            phase,
            waiting_for: match &sync.phase {
                SyncPhase::Waiting { reason } => Some(reason.clone()),
                _ => None,
            },
            tip: sync.tip.map(|tip| BlockTip { number: tip.number, hash: tip.hash.into() }),
            node_head: sync.node_head,
            lag,
            node_reachable: sync.node_reachable,
        }
    }
}

impl From<&SyncPhase> for Phase {
    fn from(phase: &SyncPhase) -> Self {
        match phase {
            SyncPhase::Starting => Self::Starting,
            SyncPhase::Backfilling => Self::Backfilling,
            SyncPhase::Following => Self::Following,
            SyncPhase::Waiting { .. } => Self::Waiting,
            SyncPhase::Halted { .. } => Self::Halted,
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{B256, BlockRef};

    use super::*;

    fn following(tip: u64, head: u64) -> SyncStatus {
        SyncStatus {
            phase: SyncPhase::Following,
            tip: Some(BlockRef { number: tip, hash: B256::repeat_byte(7) }),
            node_head: Some(head),
            node_reachable: true,
        }
    }

    #[test]
    fn health_has_the_documented_names_and_types() {
        insta::assert_json_snapshot!(Health::from(&following(99, 100)));
        insta::assert_json_snapshot!(Health::from(&SyncStatus::starting()));
    }

    #[test]
    fn a_few_blocks_behind_is_ready_and_more_is_not() {
        assert!(Health::from(&following(90, 100)).ready);
        assert!(!Health::from(&following(89, 100)).ready);
    }

    #[test]
    fn a_node_that_is_down_degrades_but_leaves_the_index_ready() {
        let health = Health::from(&SyncStatus { node_reachable: false, ..following(100, 100) });
        assert!(health.ready);
        assert_eq!(health.status, HealthStatus::Degraded);
    }

    #[test]
    fn an_unknown_head_is_not_ready() {
        assert!(!Health::from(&SyncStatus { node_head: None, ..following(100, 100) }).ready);
    }

    #[test]
    fn an_index_that_waits_for_the_disk_says_why_and_stays_ready_while_it_is_fresh() {
        let reason = "no space left on device".to_owned();
        let waiting = |tip| SyncStatus { phase: SyncPhase::Waiting { reason: reason.clone() }, ..following(tip, 100) };
        let health = Health::from(&waiting(98));
        assert_eq!((health.status, health.phase, health.ready), (HealthStatus::Degraded, Phase::Waiting, true));
        assert_eq!(health.waiting_for.as_ref(), Some(&reason));
        assert!(!Health::from(&waiting(80)).ready);
    }

    #[test]
    fn a_halted_index_is_not_ready_and_keeps_its_reason_to_itself() {
        let reason = "a private detail".to_owned();
        let health = Health::from(&SyncStatus { phase: SyncPhase::Halted { reason }, ..following(100, 100) });
        assert!(!health.ready);
        assert_eq!(health.status, HealthStatus::Halted);
        assert!(!serde_json::to_string(&health).unwrap().contains("private"));
    }
}

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
    /// The block that was refused because it did not pass a check, until a node gives it as it ought to be; or null.
    #[schema(required = true)]
    pub refused_block: Option<RefusedBlock>,
}

/// A block that is not indexed, since what the node gave contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedBlock {
    #[schema(example = 21_000_001)]
    pub number: u64,
    /// Which check it did not pass.
    #[schema(example = "transactions root")]
    pub check: String,
}

/// The gist of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// Ready, and the node answers.
    Ok,
    /// Still behind, without a node, or with a node whose blocks are refused.
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
    Halted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockTip {
    #[schema(example = 21_000_000)]
    pub number: u64,
    pub hash: Hash,
}

impl Health {
    /// With what the node gave and was not believed.
    #[must_use]
    pub fn refusing(mut self, refused: Option<node::RefusedBlock>) -> Self {
        self.refused_block =
            refused.map(|refused| RefusedBlock { number: refused.number, check: refused.check.to_string() });
        if self.refused_block.is_some() && self.status == HealthStatus::Ok {
            self.status = HealthStatus::Degraded;
        }
        self
    }
}

impl From<&SyncStatus> for Health {
    fn from(sync: &SyncStatus) -> Self {
        let phase = Phase::from(&sync.phase);
        let lag = sync.lag();
        // An unknown lag is not ready: right after a start nobody can tell how old the index is.
        let ready = sync.tip.is_some() && phase != Phase::Halted && lag.is_some_and(|lag| lag <= READY_LAG);
        let status = match phase {
            Phase::Halted => HealthStatus::Halted,
            _ if ready && sync.node_reachable => HealthStatus::Ok,
            _ => HealthStatus::Degraded,
        };
        Self {
            status,
            live: true,
            ready,
            phase,
            tip: sync.tip.map(|tip| BlockTip { number: tip.number, hash: tip.hash.into() }),
            node_head: sync.node_head,
            lag,
            node_reachable: sync.node_reachable,
            refused_block: None,
        }
    }
}

impl From<&SyncPhase> for Phase {
    fn from(phase: &SyncPhase) -> Self {
        match phase {
            SyncPhase::Starting => Self::Starting,
            SyncPhase::Backfilling => Self::Backfilling,
            SyncPhase::Following => Self::Following,
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
    fn a_refused_block_degrades_and_is_named() {
        let refused = node::RefusedBlock { number: 101, check: node::BlockCheck::TransactionsRoot };
        let health = Health::from(&following(100, 101)).refusing(Some(refused));
        assert_eq!(health.status, HealthStatus::Degraded);
        let expected = RefusedBlock { number: 101, check: "transactions root".to_owned() };
        assert_eq!(health.refused_block, Some(expected));
        assert_eq!(Health::from(&following(100, 101)).refusing(None).status, HealthStatus::Ok);
    }

    #[test]
    fn an_unknown_head_is_not_ready() {
        assert!(!Health::from(&SyncStatus { node_head: None, ..following(100, 100) }).ready);
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

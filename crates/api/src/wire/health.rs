use std::time::{Duration, Instant};

use domain::{SyncPhase, SyncStatus, TaskStatus};
use serde::Serialize;
use store::WebhookTotals;
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
    /// Seconds since the time of that block, or null.
    #[schema(required = true, example = 2)]
    pub tip_age: Option<u64>,
    /// Whether no block has come for longer than the chain's own rhythm explains.
    pub chain_quiet: bool,
    /// The newest block the node has told of, or null.
    #[schema(required = true, example = 21_000_001)]
    pub node_head: Option<u64>,
    /// Blocks between the two; null while either end is unknown.
    #[schema(required = true, example = 1)]
    pub lag: Option<u64>,
    /// Whether the node answered when it was last asked.
    pub node_reachable: bool,
    /// The tasks in the background, by name.
    pub tasks: Vec<BackgroundTask>,
    pub webhooks: WebhookFigures,
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

/// A task in the background.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundTask {
    #[schema(example = "webhook-dispatcher")]
    pub name: &'static str,
    pub state: TaskState,
    /// How often it failed and was started again.
    #[schema(example = 0)]
    pub restarts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Running,
    /// It failed, and is about to be started again.
    Restarting,
}

impl From<&TaskStatus> for BackgroundTask {
    fn from(task: &TaskStatus) -> Self {
        let state = match task.state {
            domain::TaskState::Running => TaskState::Running,
            domain::TaskState::Restarting => TaskState::Restarting,
        };
        Self { name: task.name, state, restarts: task.restarts }
    }
}

/// Webhooks and their messages, over all owners.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookFigures {
    /// Webhooks there are.
    #[schema(example = 120)]
    pub count: u64,
    /// Messages that wait to be sent, for the first time or again.
    #[schema(example = 3)]
    pub pending: u64,
    /// Messages dropped since the start because too many were pending.
    #[schema(example = 0)]
    pub dropped: u64,
}

impl From<WebhookTotals> for WebhookFigures {
    fn from(totals: WebhookTotals) -> Self {
        Self { count: totals.webhooks, pending: totals.pending, dropped: totals.dropped }
    }
}

/// The gist of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// Ready, the node answers and has our newest blocks, blocks come as they usually do, and every task runs.
    Ok,
    /// Still behind, waiting for the disk, without a node or with one that is more than 10 blocks behind the index, on a
    /// chain that has been quiet for too long, without one of the tasks, or with a node whose blocks are refused.
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

impl Health {
    /// `since_1970` is the time of day, `now` the same moment on the clock by which pauses are measured.
    #[must_use]
    pub fn new(sync: &SyncStatus, now: Instant, since_1970: Duration) -> Self {
        let phase = Phase::from(&sync.phase);
        let lag = sync.lag();
        // An unknown lag is not ready: right after a start nobody can tell how old the index is.
        let ready = sync.tip.is_some() && phase != Phase::Halted && lag.is_some_and(|lag| lag <= READY_LAG);
        let chain_quiet = sync.is_chain_quiet(now);
        let is_well = ready && sync.node_reachable && sync.node_lag() <= READY_LAG && !chain_quiet;
        let status = match phase {
            Phase::Halted => HealthStatus::Halted,
            Phase::Waiting => HealthStatus::Degraded,
            _ if is_well => HealthStatus::Ok,
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
            tip_age: sync.tip_timestamp.map(|timestamp| since_1970.as_secs().saturating_sub(timestamp)),
            chain_quiet,
            node_head: sync.node_head,
            lag,
            node_reachable: sync.node_reachable,
            tasks: Vec::new(),
            webhooks: WebhookTotals::default().into(),
            refused_block: None,
        }
    }
}

impl Health {
    /// With the tasks in the background.
    #[must_use]
    pub fn with_tasks(mut self, tasks: &[TaskStatus]) -> Self {
        self.tasks = tasks.iter().map(BackgroundTask::from).collect();
        let all_run = tasks.iter().all(|task| task.state == domain::TaskState::Running);
        self.degraded_unless(all_run)
    }

    #[must_use]
    pub fn with_webhooks(self, totals: WebhookTotals) -> Self {
        Self { webhooks: totals.into(), ..self }
    }

    /// With what the node gave and was not believed.
    #[must_use]
    pub fn refusing(mut self, refused: Option<node::RefusedBlock>) -> Self {
        self.refused_block =
            refused.map(|refused| RefusedBlock { number: refused.number, check: refused.check.to_string() });
        let none_refused = self.refused_block.is_none();
        self.degraded_unless(none_refused)
    }

    fn degraded_unless(mut self, is_well: bool) -> Self {
        if !is_well && self.status == HealthStatus::Ok {
            self.status = HealthStatus::Degraded;
        }
        self
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
            tip_timestamp: Some(1_794_700_800),
            settled: None,
            quiet_from: None,
            node_head: Some(head),
            node_reachable: true,
        }
    }

    fn health(sync: &SyncStatus) -> Health {
        let task = TaskStatus { name: "matcher", state: domain::TaskState::Running, restarts: 0 };
        Health::new(sync, Instant::now(), Duration::from_secs(1_794_700_812))
            .with_tasks(&[task])
            .with_webhooks(WebhookTotals { webhooks: 2, pending: 3, dropped: 4 })
    }

    #[test]
    fn a_node_that_is_far_behind_the_index_degrades() {
        assert_eq!(health(&following(100, 90)).status, HealthStatus::Ok);
        assert_eq!(health(&following(100, 89)).status, HealthStatus::Degraded);
        assert!(health(&following(100, 89)).ready);
    }

    #[test]
    fn a_chain_that_is_quiet_for_too_long_degrades() {
        let now = Instant::now();
        let since_1970 = Duration::from_secs(1_794_700_860);
        let quiet = SyncStatus { quiet_from: Some(now), ..following(100, 100) };
        let health = Health::new(&quiet, now, since_1970);
        assert_eq!((health.status, health.chain_quiet, health.tip_age), (HealthStatus::Degraded, true, Some(60)));
        let not_yet = SyncStatus { quiet_from: Some(now + Duration::from_secs(1)), ..following(100, 100) };
        assert_eq!(Health::new(&not_yet, now, since_1970).status, HealthStatus::Ok);
    }

    #[test]
    fn health_has_the_documented_names_and_types() {
        insta::assert_json_snapshot!(health(&following(99, 100)));
        insta::assert_json_snapshot!(health(&SyncStatus::starting()));
    }

    #[test]
    fn a_few_blocks_behind_is_ready_and_more_is_not() {
        assert!(health(&following(90, 100)).ready);
        assert!(!health(&following(89, 100)).ready);
    }

    #[test]
    fn a_node_that_is_down_degrades_but_leaves_the_index_ready() {
        let health = health(&SyncStatus { node_reachable: false, ..following(100, 100) });
        assert!(health.ready);
        assert_eq!(health.status, HealthStatus::Degraded);
    }

    #[test]
    fn a_task_that_is_down_degrades_but_leaves_the_index_ready() {
        let task = TaskStatus { name: "matcher", state: domain::TaskState::Restarting, restarts: 2 };
        let degraded = health(&following(100, 100)).with_tasks(&[task]);
        assert!(degraded.ready);
        assert_eq!(degraded.status, HealthStatus::Degraded);
        insta::assert_json_snapshot!(degraded.tasks, @r#"
        [
          {
            "name": "matcher",
            "state": "restarting",
            "restarts": 2
          }
        ]
        "#);
    }

    #[test]
    fn a_refused_block_degrades_and_is_named() {
        let refused = node::RefusedBlock { number: 101, check: node::BlockCheck::TransactionsRoot };
        let refusing = health(&following(100, 101)).refusing(Some(refused));
        assert_eq!(refusing.status, HealthStatus::Degraded);
        let expected = RefusedBlock { number: 101, check: "transactions root".to_owned() };
        assert_eq!(refusing.refused_block, Some(expected));
        assert_eq!(health(&following(100, 101)).refusing(None).status, HealthStatus::Ok);
    }

    #[test]
    fn an_unknown_head_is_not_ready() {
        assert!(!health(&SyncStatus { node_head: None, ..following(100, 100) }).ready);
    }

    #[test]
    fn an_index_that_waits_for_the_disk_says_why_and_stays_ready_while_it_is_fresh() {
        let reason = "no space left on device".to_owned();
        let waiting = |tip| SyncStatus { phase: SyncPhase::Waiting { reason: reason.clone() }, ..following(tip, 100) };
        let fresh = health(&waiting(98));
        assert_eq!((fresh.status, fresh.phase, fresh.ready), (HealthStatus::Degraded, Phase::Waiting, true));
        assert_eq!(fresh.waiting_for.as_ref(), Some(&reason));
        assert!(!health(&waiting(80)).ready);
    }

    #[test]
    fn a_halted_index_is_not_ready_and_keeps_its_reason_to_itself() {
        let reason = "a private detail".to_owned();
        let health = health(&SyncStatus { phase: SyncPhase::Halted { reason }, ..following(100, 100) });
        assert!(!health.ready);
        assert_eq!(health.status, HealthStatus::Halted);
        assert!(!serde_json::to_string(&health).unwrap().contains("private"));
    }
}

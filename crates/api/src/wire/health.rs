use std::time::{Duration, Instant};

use domain::{ChainIdentity, DatabaseStatus, ReplicaStatus, StatusLine, SyncPhase, SyncStatus, TaskStatus};
use serde::Serialize;
use store::WebhookTotals;
use utoipa::ToSchema;

use super::Hash;

/// Maximum lag behind the node's head to be ready. A few blocks are normal: blocks arrive in bursts, and a commit takes a
/// moment.
const READY_LAG: u64 = 10;

/// A standby that is further behind counts as a fault.
const READ_LAG_SECONDS: f64 = 10.0;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    pub status: HealthStatus,
    /// Always true.
    pub live: bool,
    /// Whether this process could answer now: the index has a block, is not halted, and is at most 10 blocks behind; the database
    /// answers, or a standby that is read. While nobody indexes, this says what was true when somebody did: `lag` is null, and
    /// `reportAge` tells how old answers are.
    pub ready: bool,
    pub phase: Phase,
    /// What is tried again until it works, such as `no space left on device`, the error of a node that keeps the next block from being
    /// indexed, or that of contract data, for which no block waits; null if there is nothing, and in the phase `halted`.
    #[schema(required = true)]
    pub waiting_for: Option<String>,
    /// The newest indexed block, or null.
    #[schema(required = true)]
    pub tip: Option<BlockTip>,
    /// Age of `tip` in seconds, or null.
    #[schema(required = true)]
    pub tip_age: Option<u64>,
    /// For how many seconds this process has not heard from one that indexes: `tip` was the newest indexed block then. 0 without a
    /// database; null if none is known to have indexed.
    #[schema(required = true)]
    pub report_age: Option<u64>,
    /// Whether there has been no new block for much longer than the chain's block time.
    pub chain_quiet: bool,
    /// The node's newest block, or null.
    #[schema(required = true)]
    pub node_head: Option<u64>,
    /// Blocks between `tip` and `nodeHead`; null if either is unknown.
    #[schema(required = true)]
    pub lag: Option<u64>,
    /// Whether the node responded to the last call.
    pub node_reachable: bool,
    /// Whether the node serves another chain than the indexed one. On a chain for development the index then starts over, on any
    /// other it waits for the operator.
    pub chain_changed: bool,
    /// The indexed chain, or null before the first start.
    #[schema(required = true)]
    pub chain: Option<IndexedChain>,
    /// The database that processes share, or null.
    #[schema(required = true)]
    pub database: Option<SharedDatabase>,
    /// The standby that answers reads (`--read-database`), or null.
    #[schema(required = true)]
    pub read_database: Option<ReadDatabase>,
    pub tasks: Vec<BackgroundTask>,
    pub webhooks: WebhookFigures,
    /// The block that failed a check and is not indexed until a node returns a valid one; or null.
    #[schema(required = true)]
    pub rejected_block: Option<RejectedBlock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexedChain {
    pub id: u64,
    pub genesis_hash: Hash,
}

impl From<ChainIdentity> for IndexedChain {
    fn from(chain: ChainIdentity) -> Self {
        Self { id: chain.chain_id, genesis_hash: chain.genesis_hash.into() }
    }
}

/// The state of the index in short, as the stream sends it; `/health` has the details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexState {
    /// Whether nothing is wrong with the index and its node.
    pub ok: bool,
    pub text: String,
    pub phase: Phase,
    pub node_reachable: bool,
    pub chain_changed: bool,
    pub chain: Option<IndexedChain>,
}

impl IndexState {
    #[must_use]
    pub fn new(sync: &SyncStatus, now: Instant) -> Self {
        let StatusLine { is_ok, text } = sync.line(now);
        Self {
            ok: is_ok,
            text,
            phase: (&sync.phase).into(),
            node_reachable: sync.node_reachable,
            chain_changed: sync.other_chain.is_some(),
            chain: sync.chain.map(IndexedChain::from),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedDatabase {
    /// Whether it answered the last query, less than 5 seconds ago.
    pub reachable: bool,
    /// Since it last answered; null if it has not yet.
    #[schema(required = true)]
    pub seconds_silent: Option<f64>,
    /// Whether another server of `--database` can be written, too, though it is behind: the primary before a failover. It is not used; the
    /// operator must stop it.
    pub old_primary: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadDatabase {
    /// Whether reads use it now; otherwise they use the database itself.
    pub used: bool,
    /// For how long it has lacked a change that the database has, in seconds.
    pub seconds_behind: f64,
    /// Why it cannot be read; null if it can.
    #[schema(required = true)]
    pub failure: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedBlock {
    pub number: u64,
    #[schema(example = "transactions root")]
    pub check: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundTask {
    #[schema(example = "webhook-dispatcher")]
    pub name: &'static str,
    pub state: TaskState,
    /// How often it failed and was restarted.
    pub restarts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Running,
    /// It failed and will be restarted.
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

/// Of all owners.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookFigures {
    pub count: u64,
    /// Messages waiting to be sent or retried.
    pub pending: u64,
    /// Messages dropped since the start because too many were pending.
    pub dropped: u64,
}

impl From<WebhookTotals> for WebhookFigures {
    fn from(totals: WebhookTotals) -> Self {
        Self { count: totals.webhooks, pending: totals.pending, dropped: totals.dropped }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// Ready; the node responds and does not lag; the chain is not quiet; all tasks are running.
    Ok,
    /// One of these: the index lags, waits for the disk, or rejects a block; the node is unreachable or more than 10 blocks
    /// behind the index; the chain is quiet; a task is restarting; the database does not answer, or an old primary
    /// does; the database for reads fails or is 10 seconds behind.
    Degraded,
    /// Indexing stopped: the operator must act.
    Halted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Starting,
    Backfilling,
    Following,
    /// The index cannot be written now; indexing resumes on its own.
    Waiting,
    Halted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockTip {
    pub number: u64,
    pub hash: Hash,
}

impl Health {
    /// `now` and `since_1970` are the same moment on the monotonic and on the wall clock.
    #[must_use]
    pub fn new(sync: &SyncStatus, now: Instant, since_1970: Duration) -> Self {
        let phase = Phase::from(&sync.phase);
        let lag = sync.lag();
        // Not ready if the lag is unknown: right after a start the index may be old.
        let is_complete = lag.or(sync.last_lag).is_some_and(|lag| lag <= READY_LAG);
        let ready = sync.tip.is_some() && phase != Phase::Halted && is_complete;
        let chain_quiet = sync.is_chain_quiet(now);
        let is_ok = ready && sync.node_reachable && sync.node_lag() <= READY_LAG && !chain_quiet;
        let status = match phase {
            Phase::Halted => HealthStatus::Halted,
            Phase::Waiting => HealthStatus::Degraded,
            Phase::Starting | Phase::Backfilling | Phase::Following if is_ok => HealthStatus::Ok,
            Phase::Starting | Phase::Backfilling | Phase::Following => HealthStatus::Degraded,
        };
        Self {
            status,
            live: true,
            ready,
            phase,
            waiting_for: sync.waits_for(),
            tip: sync.tip.map(|tip| BlockTip { number: tip.number, hash: tip.hash.into() }),
            report_age: Some(0),
            tip_age: sync.tip_timestamp.map(|timestamp| since_1970.as_secs().saturating_sub(timestamp)),
            chain_quiet,
            node_head: sync.node_head,
            lag,
            node_reachable: sync.node_reachable,
            chain_changed: sync.other_chain.is_some(),
            chain: sync.chain.map(IndexedChain::from),
            tasks: Vec::new(),
            webhooks: WebhookTotals::default().into(),
            database: None,
            read_database: None,
            rejected_block: None,
        }
    }
}

impl Health {
    #[must_use]
    pub(crate) fn with_tasks(mut self, tasks: &[TaskStatus]) -> Self {
        self.tasks = tasks.iter().map(BackgroundTask::from).collect();
        let all_run = tasks.iter().all(|task| task.state == domain::TaskState::Running);
        self.degraded_unless(all_run)
    }

    #[must_use]
    pub(crate) fn with_replica(mut self, replica: Option<ReplicaStatus>) -> Self {
        self.read_database = replica.map(|ReplicaStatus { is_used, behind, failure }| ReadDatabase {
            used: is_used,
            seconds_behind: seconds(behind),
            failure,
        });
        let is_ok = self
            .read_database
            .as_ref()
            .is_none_or(|database| database.failure.is_none() && database.seconds_behind < READ_LAG_SECONDS);
        self.degraded_unless(is_ok)
    }

    /// After [`Self::with_replica`]: a standby answers without the database.
    #[must_use]
    pub(crate) fn with_database(mut self, status: Option<DatabaseStatus>, now: Instant) -> Self {
        let Some(status) = status else { return self };
        let reachable = status.is_reachable(now);
        self.ready &= reachable || self.read_database.as_ref().is_some_and(|standby| standby.used);
        self.report_age = status.report.map(|report| report.at(now).as_secs());
        let seconds_silent = status.answered_at.map(|at| seconds(now.saturating_duration_since(at)));
        let old_primary = status.has_old_primary;
        self.database = Some(SharedDatabase { reachable, seconds_silent, old_primary });
        self.degraded_unless(reachable && !old_primary)
    }

    #[must_use]
    pub(crate) fn with_webhooks(self, totals: WebhookTotals) -> Self {
        Self { webhooks: totals.into(), ..self }
    }

    #[must_use]
    pub(crate) fn with_rejected_block(mut self, rejected: Option<node::RejectedBlock>) -> Self {
        self.rejected_block =
            rejected.map(|rejected| RejectedBlock { number: rejected.number, check: rejected.check.to_string() });
        let none_rejected = self.rejected_block.is_none();
        self.degraded_unless(none_rejected)
    }

    fn degraded_unless(mut self, is_ok: bool) -> Self {
        if !is_ok && self.status == HealthStatus::Ok {
            self.status = HealthStatus::Degraded;
        }
        self
    }
}

/// With two digits.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
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
    use domain::{B256, BlockRef, ReportAge};

    use super::*;

    fn following(tip: u64, head: u64) -> SyncStatus {
        SyncStatus {
            phase: SyncPhase::Following,
            chain: Some(ChainIdentity { chain_id: 5, genesis_hash: B256::repeat_byte(3) }),
            tip: Some(BlockRef { number: tip, hash: B256::repeat_byte(7) }),
            tip_timestamp: Some(1_794_700_800),
            node_head: Some(head),
            node_reachable: true,
            ..SyncStatus::starting()
        }
    }

    fn health(sync: &SyncStatus) -> Health {
        let task = TaskStatus { name: "matcher", state: domain::TaskState::Running, restarts: 0 };
        Health::new(sync, Instant::now(), Duration::from_secs(1_794_700_812))
            .with_tasks(&[task])
            .with_webhooks(WebhookTotals { webhooks: 2, pending: 3, dropped: 4 })
    }

    #[test]
    fn a_lagging_node_is_degraded() {
        assert_eq!(health(&following(100, 90)).status, HealthStatus::Ok);
        assert_eq!(health(&following(100, 89)).status, HealthStatus::Degraded);
        assert!(health(&following(100, 89)).ready);
    }

    #[test]
    fn a_quiet_chain_is_degraded() {
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
    fn a_small_lag_is_ready_and_a_larger_one_is_not() {
        assert!(health(&following(90, 100)).ready);
        assert!(!health(&following(89, 100)).ready);
    }

    #[test]
    fn without_an_indexer_a_complete_index_is_ready_and_its_lag_is_unknown() {
        let silent = health(&following(90, 100).without_node());
        assert!(silent.ready && silent.lag.is_none() && silent.node_head.is_none());
        assert_eq!(silent.status, HealthStatus::Degraded);
        assert!(!health(&following(89, 100).without_node()).ready, "it was not complete");
    }

    #[test]
    fn a_database_that_does_not_answer_is_not_ready_unless_a_standby_is_read() {
        let now = Instant::now();
        let report = Some(ReportAge { age: Duration::from_secs(3), read_at: now });
        let answering = DatabaseStatus { answered_at: Some(now), report, ..DatabaseStatus::default() };
        let later = now + Duration::from_millis(2_500);
        let answers = health(&following(100, 100)).with_database(Some(answering), later);
        assert!(answers.ready && answers.status == HealthStatus::Ok);
        assert_eq!(answers.report_age, Some(5));
        let state = SharedDatabase { reachable: true, seconds_silent: Some(2.5), old_primary: false };
        assert_eq!(answers.database, Some(state));
        let split = DatabaseStatus { has_old_primary: true, ..answering };
        let warned = health(&following(100, 100)).with_database(Some(split), now);
        assert!(warned.ready && warned.status == HealthStatus::Degraded);

        let failing = DatabaseStatus { has_failed: true, ..answering };
        let fails = |replica| health(&following(100, 100)).with_replica(replica).with_database(Some(failing), now);
        assert!(!fails(None).ready && fails(None).status == HealthStatus::Degraded);
        let standby = |is_used| Some(ReplicaStatus { is_used, ..ReplicaStatus::default() });
        assert!(!fails(standby(false)).ready && fails(standby(true)).ready);
        assert_eq!(fails(standby(true)).status, HealthStatus::Degraded);
    }

    #[test]
    fn a_changed_chain_is_halted_and_not_unreachable() {
        let other = Some(ChainIdentity { chain_id: 5, genesis_hash: B256::repeat_byte(4) });
        let phase = SyncPhase::Halted { reason: "another chain".to_owned() };
        let health = health(&SyncStatus { phase, other_chain: other, ..following(100, 100) });
        assert!(health.chain_changed && health.node_reachable && !health.ready);
        assert_eq!(health.status, HealthStatus::Halted);
        assert_eq!(health.chain.map(|chain| chain.genesis_hash), Some(B256::repeat_byte(3).into()), "the indexed one");
    }

    #[test]
    fn an_unreachable_node_is_degraded_but_ready() {
        let health = health(&SyncStatus { node_reachable: false, ..following(100, 100) });
        assert!(health.ready);
        assert_eq!(health.status, HealthStatus::Degraded);
    }

    #[test]
    fn a_restarting_task_is_degraded_but_ready() {
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
    fn a_rejected_block_is_degraded_and_shown() {
        let rejected = node::RejectedBlock { number: 101, check: node::BlockCheck::TransactionsRoot };
        let degraded = health(&following(100, 101)).with_rejected_block(Some(rejected));
        assert_eq!(degraded.status, HealthStatus::Degraded);
        let expected = RejectedBlock { number: 101, check: "transactions root".to_owned() };
        assert_eq!(degraded.rejected_block, Some(expected));
        assert_eq!(health(&following(100, 101)).with_rejected_block(None).status, HealthStatus::Ok);
    }

    #[test]
    fn an_unknown_head_is_not_ready() {
        assert!(!health(&SyncStatus { node_head: None, ..following(100, 100) }).ready);
    }

    #[test]
    fn an_index_that_waits_for_the_disk_is_ready_while_its_lag_is_small() {
        let reason = "no space left on device".to_owned();
        let waiting = |tip| SyncStatus { phase: SyncPhase::Waiting { reason: reason.clone() }, ..following(tip, 100) };
        let fresh = health(&waiting(98));
        assert_eq!((fresh.status, fresh.phase, fresh.ready), (HealthStatus::Degraded, Phase::Waiting, true));
        assert_eq!(fresh.waiting_for.as_ref(), Some(&reason));
        assert!(!health(&waiting(80)).ready);
    }

    #[test]
    fn a_halted_index_is_not_ready_and_does_not_show_the_reason() {
        let reason = "a private detail".to_owned();
        let health = health(&SyncStatus { phase: SyncPhase::Halted { reason }, ..following(100, 100) });
        assert!(!health.ready);
        assert_eq!(health.status, HealthStatus::Halted);
        assert!(!serde_json::to_string(&health).unwrap().contains("private"));
    }
}

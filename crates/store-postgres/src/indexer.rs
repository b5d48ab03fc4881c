//! The status of following: written by the process that follows, read by the others.

use std::time::{Duration, Instant};

use domain::{BlockRef, ReportAge, SyncPhase, SyncStatus};
use store::StoreError;

use crate::{
    database::{Connection, execute, get},
    rows::{RowExt, int8},
};

/// Without a report for this long, the process that followed counts as gone.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);
const NO_INDEXER: &str = "no process indexes";

pub(crate) async fn report(client: &dyn Connection, status: &SyncStatus, now: Instant) -> Result<(), StoreError> {
    let (phase, reason): (i16, _) = match &status.phase {
        SyncPhase::Starting => (0, None),
        SyncPhase::Backfilling => (1, None),
        SyncPhase::Following => (2, None),
        SyncPhase::Waiting { reason } => (3, Some(reason.as_bytes())),
        SyncPhase::Halted { reason } => (4, Some(reason.as_bytes())),
    };
    let quiet_in = status.quiet_from.map(|from| from.saturating_duration_since(now).as_millis());
    let quiet_in = quiet_in.map(|millis| i64::try_from(millis).unwrap_or(i64::MAX));
    let sql =
        "insert into indexer (reported_at, phase, reason, settled, quiet_in, node_head, node_reachable, other_chain_id,
            other_genesis_hash)
        values (clock_timestamp(), $1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (is_only) do update set reported_at = excluded.reported_at, phase = excluded.phase,
            reason = excluded.reason, settled = excluded.settled, quiet_in = excluded.quiet_in,
            node_head = excluded.node_head, node_reachable = excluded.node_reachable,
            other_chain_id = excluded.other_chain_id, other_genesis_hash = excluded.other_genesis_hash";
    let (settled, head) = (status.settled.map(int8), status.node_head.map(int8));
    let other = status.other_chain.map(|other| (int8(other.chain_id), other.genesis_hash.to_vec()));
    let (other_id, other_hash) = other.unzip();
    let reachable = status.node_reachable;
    execute(client, sql, &[&phase, &reason, &settled, &quiet_in, &head, &reachable, &other_id, &other_hash]).await?;
    Ok(())
}

/// The sync status of the indexing process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncReport {
    /// With the tip of the index when it was read.
    pub status: SyncStatus,
    /// The latest block that no reorg reverts; None if it is unknown or not indexed.
    pub settled: Option<BlockRef>,
    /// Of what the process that indexes last reported; None if none ever did.
    pub age: Option<ReportAge>,
}

pub(crate) async fn read(client: &dyn Connection, now: Instant) -> Result<SyncReport, StoreError> {
    let sql = "select c.tip_number, c.tip_hash, b.timestamp, i.phase, i.reason, i.settled, i.quiet_in, i.node_head,
            i.node_reachable, (extract(epoch from clock_timestamp() - i.reported_at) * 1000)::int8,
            c.chain_id, c.genesis_hash, c.is_dev_chain, i.other_chain_id, i.other_genesis_hash, s.number, s.hash
        from chain c left join block b on b.number = c.tip_number left join indexer i on true
            left join block s on s.number = i.settled";
    let row = get(client, sql, &[]).await?;
    let (tip, tip_timestamp) = (row.option_block(0)?, row.option_u64(2)?);
    let chain = row.option_chain(10)?;
    let is_dev_chain = row.value(12)?;
    let status = SyncStatus { chain, is_dev_chain, tip, tip_timestamp, ..SyncStatus::starting() };
    let silent = || SyncPhase::Waiting { reason: NO_INDEXER.to_owned() };
    let Some(phase) = row.value::<Option<i16>>(3)? else {
        return Ok(SyncReport { status: SyncStatus { phase: silent(), ..status }, settled: None, age: None });
    };
    // Below zero after the clock of the database was set back: it has just reported.
    let age = Duration::from_millis(row.value::<i64>(9)?.try_into().unwrap_or(0));
    let reason = || row.option_text(4)?.ok_or(StoreError::Corrupt("a phase of the indexer without its reason"));
    let is_silent = age > REPORT_TIMEOUT;
    let quiet_in = row.option_u64(6)?.map(Duration::from_millis);
    let status = SyncStatus {
        phase: match phase {
            _ if is_silent => silent(),
            0 => SyncPhase::Starting,
            1 => SyncPhase::Backfilling,
            2 => SyncPhase::Following,
            3 => SyncPhase::Waiting { reason: reason()? },
            4 => SyncPhase::Halted { reason: reason()? },
            _ => return Err(StoreError::Corrupt("an unknown phase of the indexer")),
        },
        other_chain: row.option_chain(13)?,
        settled: row.option_u64(5)?,
        quiet_from: quiet_in.and_then(|quiet_in| now.checked_sub(age)?.checked_add(quiet_in)),
        node_head: row.option_u64(7)?,
        node_reachable: row.value::<bool>(8)?,
        ..status
    };
    let status = if is_silent { status.without_node() } else { status };
    Ok(SyncReport { status, settled: row.option_block(15)?, age: Some(ReportAge { age, read_at: now }) })
}

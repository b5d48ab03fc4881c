//! How far the index is.

use domain::{Stats, SyncPhase, SyncStatus};
use ingest::Progress;
use metrics::Text;

const PHASES: [&str; 5] = ["starting", "backfilling", "following", "waiting", "halted"];

pub(super) fn write(text: &mut Text, sync: &SyncStatus, stats: Option<&Stats>, progress: &Progress) {
    text.gauge("explorer_index_tip_block", "The newest indexed block.").value(sync.tip.map(|tip| tip.number));
    text.gauge("explorer_index_tip_timestamp_seconds", "The time of the newest indexed block.")
        .value(sync.tip_timestamp);
    let age = sync.tip_timestamp.map(|timestamp| unix_time::seconds().saturating_sub(timestamp));
    text.gauge("explorer_index_tip_age_seconds", "The age of the newest indexed block.").value(age);
    text.gauge("explorer_node_head_block", "The newest block of the node.").value(sync.node_head);
    text.gauge("explorer_node_reachable", "Whether the node answered the last request: 1 or 0.")
        .value(sync.node_reachable);
    let lag = sync.lag();
    text.gauge("explorer_index_lag_blocks", "Blocks of the node that are not indexed.").value(lag);
    text.gauge(
        "explorer_index_lag_seconds",
        "The age of the newest indexed block while the node has newer ones, else 0.",
    )
    .value(lag.and_then(|lag| if lag == 0 { Some(0) } else { age }));
    let mut phases = text.gauge("explorer_index_phase", "Whether indexing is in a phase: 1 or 0.");
    for phase in PHASES {
        phases.sample(&[("phase", phase)], phase == name_of(&sync.phase));
    }
    text.gauge("explorer_index_transactions", "Transactions in the index.")
        .value(stats.map(|stats| stats.total_transactions));
    text.gauge("explorer_index_tokens", "Tokens in the index.").value(stats.map(|stats| stats.total_tokens));
    text.counter("explorer_indexed_blocks_total", "Blocks that this process has indexed, with those reverted later.")
        .value(progress.blocks());
    text.counter(
        "explorer_indexed_transactions_total",
        "Transactions that this process has indexed, with those reverted later.",
    )
    .value(progress.transactions());
    text.histogram("explorer_reorg_depth_blocks", "Blocks that a reorg has reverted; the count is that of the reorgs.")
        .buckets(&[], &progress.reorg_depths);
    text.counter(
        "explorer_contract_lookups_given_up_total",
        "Lookups of pools and token standards that blocks went on without, since contract calls failed.",
    )
    .value(progress.lookups_given_up());
    text.counter(
        "explorer_native_log_disagreements_total",
        "Blocks whose trace moved other coins than their logs (EIP-7708) say.",
    )
    .value(progress.native_disagreements());
}

fn name_of(phase: &SyncPhase) -> &'static str {
    match phase {
        SyncPhase::Starting => "starting",
        SyncPhase::Backfilling => "backfilling",
        SyncPhase::Following => "following",
        SyncPhase::Waiting { .. } => "waiting",
        SyncPhase::Halted { .. } => "halted",
    }
}

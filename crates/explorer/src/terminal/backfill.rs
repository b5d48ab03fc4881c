//! Shows the progress of the backfill: a bar on a terminal, otherwise regular log lines.

use std::{
    io::IsTerminal,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{SyncPhase, SyncStatus};
use ingest::Progress;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::progress_bar::{self, ProgressBar, Unit};

const REDRAW: Duration = Duration::from_millis(250);
const LOG_EVERY: Duration = Duration::from_secs(5);
/// Smoothing factor of the rates, so that they reflect the last seconds.
const SMOOTHING: f64 = 0.2;

pub(crate) async fn show(sync: watch::Receiver<SyncStatus>, progress: Arc<Progress>, cancel: CancellationToken) {
    let on_terminal = std::io::stderr().is_terminal();
    let mut bar = None;
    let mut rates = Rates::new(&progress, Instant::now());
    let mut ticks = tokio::time::interval(if on_terminal { REDRAW } else { LOG_EVERY });
    while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
        rates.update(&progress, Instant::now());
        let status = sync.borrow().clone();
        if status.phase != SyncPhase::Backfilling {
            if let Some(bar) = bar.take() {
                ProgressBar::finish_and_clear(&bar);
            }
            continue;
        }
        let (Some(tip), Some(head)) = (status.tip, status.node_head) else { continue };
        let eta = rates.time_for(head.saturating_sub(tip.number));
        if on_terminal {
            let bar = bar.get_or_insert_with(|| ProgressBar::new(head, Unit::Things("blocks")));
            bar.set_length(head);
            bar.set_position(tip.number);
            bar.set_message(format!("{:.0} blocks/s, {:.0} tx/s, {eta} left", rates.blocks, rates.transactions));
        } else {
            tracing::info!(
                block = tip.number,
                head,
                blocks_per_second = rates.blocks.round(),
                transactions_per_second = rates.transactions.round(),
                left = %eta,
                "backfilling"
            );
        }
    }
}

struct Rates {
    since: Instant,
    counted: (u64, u64),
    blocks: f64,
    transactions: f64,
}

impl Rates {
    fn new(progress: &Progress, now: Instant) -> Self {
        Self { since: now, counted: (progress.blocks(), progress.transactions()), blocks: 0.0, transactions: 0.0 }
    }

    fn update(&mut self, progress: &Progress, now: Instant) {
        let seconds = now.duration_since(self.since).as_secs_f64();
        if seconds < 0.1 {
            return;
        }
        let counted = (progress.blocks(), progress.transactions());
        let blend = |old: f64, before: u64, after: u64| {
            let fresh = (after - before) as f64 / seconds;
            if old == 0.0 { fresh } else { old + SMOOTHING * (fresh - old) }
        };
        self.blocks = blend(self.blocks, self.counted.0, counted.0);
        self.transactions = blend(self.transactions, self.counted.1, counted.1);
        (self.since, self.counted) = (now, counted);
    }

    fn time_for(&self, blocks: u64) -> String {
        if self.blocks < 0.01 {
            return "unknown".to_owned();
        }
        progress_bar::duration(Duration::from_secs_f64((blocks as f64 / self.blocks).min(1e9)))
    }
}

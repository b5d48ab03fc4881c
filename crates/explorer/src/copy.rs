//! `explorer copy`: copies all records of users from one store to another.

mod options;
mod report;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{anyhow, bail};
use domain::UnixMillis;
use store::{RecordCopy, Store, StoreError, TransferError};
use tokio_util::sync::CancellationToken;

pub(crate) use self::options::CopyOptions;
use crate::{
    config::{Location, LogConfig},
    logging::{self, LogFormat},
    progress_bar::{ProgressBar, Unit},
    shutdown,
    stores::{self, OpenStore},
};

const LOG_EVERY: Duration = Duration::from_secs(5);
/// How long a process that has just ended may still be seen by a database.
const FAREWELL: Duration = Duration::from_secs(5);
const FAREWELL_POLL: Duration = Duration::from_millis(200);

pub(crate) async fn run(options: CopyOptions) -> anyhow::Result<()> {
    logging::start(&LogConfig { filter: "warn,explorer=info".to_owned(), format: LogFormat::Text })?;
    let CopyOptions { from, to } = options;
    if is_same_folder(&from, &to) {
        bail!("--from and --to are the same data folder {from}: give another one with --to");
    }
    let cancel = shutdown::on_signal()?;
    let source = open(&from, stores::open_to_copy(&from).await).await?;
    let target = open(&to, stores::create_copy(&to).await).await?;
    bind(source.as_ref(), target.as_ref(), &to).await?;

    let (reading, writing) = (source.record_transfer(), target.record_transfer());
    let id = format!("{:032x}", rand::random::<u128>());
    let begun = RecordCopy::begin(&*reading, &*writing, &from.to_string(), id).await;
    let mut copy = begun.map_err(|error| explain(error, &from, &to))?;
    if copy.copied() > 0 {
        tracing::info!(records = copy.copied(), "going on with the copy");
    }
    copy_all(&mut copy, reading.count_records().await?, &cancel).await.map_err(|error| match error {
        Interrupted::Stopped => anyhow!("stopped before the end: run the same command again to go on"),
        Interrupted::Failed(error) => explain(error, &from, &to),
    })?;
    target.sync().await?;
    logging::print(&report::report(&copy, source.as_ref(), target.as_ref(), &from, &to).await?);
    Ok(())
}

fn is_same_folder(from: &Location, to: &Location) -> bool {
    match (from, to) {
        (Location::Folder(from), Location::Folder(to)) => {
            from.canonicalize().is_ok_and(|from| to.canonicalize().is_ok_and(|to| from == to))
        }
        _ => false,
    }
}

/// Checks that nothing else uses the store: what it changes during the copy would be missing in it.
pub(crate) async fn open(location: &Location, opened: anyhow::Result<OpenStore>) -> anyhow::Result<Arc<dyn Store>> {
    let in_use = || format!("an explorer has {location} open: stop it, then run the same command again");
    let OpenStore { store, shared } = match opened {
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::InUse)) => return Err(error.context(in_use())),
        opened => opened?,
    };
    if let Some(shared) = shared {
        let begun = Instant::now();
        while shared.is_used_elsewhere().await? {
            if begun.elapsed() > FAREWELL {
                bail!(in_use());
            }
            tokio::time::sleep(FAREWELL_POLL).await;
        }
    }
    Ok(store)
}

/// Binds the target to the chain of the source, from the same first block on.
async fn bind(source: &dyn Store, target: &dyn Store, to: &Location) -> anyhow::Result<()> {
    let Some(identity) = source.identity().await? else { return Ok(()) };
    let start = source.bind(identity, None).await?;
    target.bind(identity, Some(start)).await.map_err(|error| {
        let advice = match &error {
            StoreError::OtherChain { .. } => format!("{to} holds another chain than the source"),
            StoreError::OtherStart { stored, .. } => {
                format!("{to} begins at block {stored}, but the source at block {start}")
            }
            _ => return anyhow!(error).context(format!("cannot use {to}")),
        };
        anyhow!(error).context(format!("{advice}: give an empty store with --to"))
    })?;
    Ok(())
}

fn explain(error: TransferError, from: &Location, to: &Location) -> anyhow::Error {
    let advice = match &error {
        TransferError::SameStore => format!("{from} and {to} are the same store: give another one with --to"),
        TransferError::HasRecords => {
            format!("{to} has keys, webhooks or verified contracts of its own: give an empty store with --to")
        }
        TransferError::OtherSource { source_name } => {
            format!("{to} has an unfinished copy: go on with `--from {source_name}`, or give an empty store with --to")
        }
        TransferError::SourceUsed => {
            format!("something else opened {from} during the copy: stop it, then run the same command again")
        }
        TransferError::IncompleteSource => {
            format!("{from} is an unfinished copy itself: finish it first, or copy from its source")
        }
        TransferError::Store(_) => {
            format!("cannot copy from {from} to {to}: once that is solved, run the same command again to go on")
        }
    };
    anyhow!(error).context(advice)
}

enum Interrupted {
    Stopped,
    Failed(TransferError),
}

async fn copy_all(copy: &mut RecordCopy<'_>, total: u64, cancel: &CancellationToken) -> Result<(), Interrupted> {
    let bar = progress_bar(total);
    let mut logged_at = Instant::now();
    while !copy.is_complete() {
        if cancel.is_cancelled() {
            return Err(Interrupted::Stopped);
        }
        copy.step(now()).await.map_err(Interrupted::Failed)?;
        bar.set_position(copy.copied());
        if bar.is_hidden() && logged_at.elapsed() >= LOG_EVERY {
            tracing::info!(records = copy.copied(), total, "copying");
            logged_at = Instant::now();
        }
    }
    bar.finish_and_clear();
    Ok(())
}

pub(crate) fn progress_bar(records: u64) -> ProgressBar {
    ProgressBar::new(records, Unit::Things("records"))
}

pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

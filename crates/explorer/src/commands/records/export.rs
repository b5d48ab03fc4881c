//! Writes records to a file: those of a store that nothing else uses, or of a running service.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::json;
use store::RecordImport;
use tokio_util::sync::CancellationToken;

use super::{exclusive::open_exclusively, files::Output, progress::Progress};
use crate::{
    admin::{client::AdminClient, paths},
    config::location::Location,
    operations::records::write_lines,
    stores::{Create, OlderIndex},
};

/// The first and the last line are no records.
const OTHER_LINES: u64 = 2;

/// Exports the records of a store that nothing else uses.
pub(super) async fn export(location: &Location, file: &Path, cancel: &CancellationToken) -> anyhow::Result<()> {
    let store = open_exclusively(location, Create::No, OlderIndex::Leave).await?;
    let raw = store.raw_records();
    if let Some(RecordImport { is_complete: false, source, .. }) = raw.find_import().await? {
        bail!("{location} has only a part of the records of {source}: complete that import first");
    }
    let mut to = Output::create(file)?;
    let (mut progress, mut lines) = (Progress::new(Some(raw.count_records().await?)), 0);
    let records = write_lines(store.as_ref(), raw.as_ref(), |line| {
        if cancel.is_cancelled() {
            bail!("stopped before the end: {} is not complete", file.display());
        }
        lines += 1;
        progress.set(lines);
        to.write(line.as_bytes())
    })
    .await?;
    to.finish()?;
    drop(progress);
    report(records);
    Ok(())
}

/// Asks a running service for its records.
pub(super) async fn receive(client: AdminClient, file: &Path, cancel: &CancellationToken) -> anyhow::Result<()> {
    let (mut to, mut lines) = (Output::create(file)?, 0);
    let mut progress = Progress::new(None);
    let nothing = json!({});
    let receiving = client.post_to(paths::RECORDS, &nothing, |bytes, _| {
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        progress.set(lines);
        to.write(bytes)
    });
    let received = cancel.run_until_cancelled(receiving).await;
    let incomplete = || format!("{} is not complete", file.display());
    received.context("stopped before the end").flatten().with_context(incomplete)?;
    to.finish()?;
    drop(progress);
    report(lines.saturating_sub(OTHER_LINES));
    Ok(())
}

fn report(records: u64) {
    tracing::info!(
        records,
        "exported all records; the file contains digests of keys and encrypted secrets: keep it private"
    );
}

//! Writes records to a file: those of a store that nothing else uses, or of a running service.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, Seek, Write},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail};
use serde_json::json;
use store::{FileChain, Line, RecordFileHeader, RecordImport, RecordKind, RecordTransfer, Store};
use tokio_util::sync::CancellationToken;

use super::{BATCH, alone, files::Output, progress::Progress};
use crate::{
    admin::{self, AdminClient},
    config::Location,
    stores,
};

/// Has a name for a moment only.
const EXPORTED: &str = "export.tmp";
/// The first and the last line are no records.
const OTHER_LINES: u64 = 2;

/// Exports the records of a store that nothing else uses.
pub(super) async fn export(location: &Location, file: &Path, cancel: &CancellationToken) -> anyhow::Result<()> {
    let store = alone(location, stores::open_to_export(location).await).await?;
    let transfer = store.record_transfer();
    if let Some(RecordImport { is_complete: false, source, .. }) = transfer.find_import().await? {
        bail!("{location} has only a part of the records of {source}: complete that import first");
    }
    let mut to = Output::create(file)?;
    let (mut progress, mut lines) = (Progress::new(Some(transfer.count_records().await?)), 0);
    let records = write_lines(store.as_ref(), transfer.as_ref(), |line| {
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
    let receiving = client.post_to(admin::RECORDS, &nothing, |bytes, _| {
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

/// Exports the records of a store in use, as they are now, to a file without a name. They are pinned only until it is written,
/// however slowly it is read.
pub(crate) async fn export_pinned(store: &dyn Store, data: &Path) -> anyhow::Result<File> {
    let Some(transfer) = store.record_transfer().pinned() else {
        bail!("the records of a database are exported while no explorer uses it: stop all, and give it with --database")
    };
    let path = data.join(EXPORTED);
    let created = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
    let created = created.and_then(|file| fs::remove_file(&path).map(|()| file));
    let cannot_write = || format!("cannot write records to {}", data.display());
    let mut file = created.with_context(cannot_write)?;
    let mut to = BufWriter::new(&mut file);
    write_lines(store, transfer.as_ref(), |line| to.write_all(line.as_bytes()).with_context(cannot_write)).await?;
    to.flush().with_context(cannot_write)?;
    drop(to);
    file.rewind()?;
    Ok(file)
}

/// Writes all lines of a file. Returns the number of records.
async fn write_lines(
    store: &dyn Store,
    transfer: &dyn RecordTransfer,
    mut write: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let mut line = |mut line: String| {
        line.push('\n');
        write(&line)
    };
    let header = RecordFileHeader::new(format!("{:032x}", rand::random::<u128>()), chain(store).await?);
    line(header.to_json()?)?;
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis())?;
    let mut records = 0;
    for kind in RecordKind::ALL {
        let mut after = None;
        loop {
            let batch = transfer.read_records(kind, after, BATCH, now).await?;
            let Some(last) = batch.last() else { break };
            after = Some(last.position());
            for record in batch {
                line(Line::Record(Box::new(record)).to_json()?)?;
                records += 1;
            }
        }
    }
    line(Line::End { records }.to_json()?)?;
    Ok(records)
}

async fn chain(store: &dyn Store) -> anyhow::Result<Option<FileChain>> {
    let Some(identity) = store.identity().await? else { return Ok(None) };
    let start_block = store.bind(identity, None).await?;
    Ok(Some(FileChain { chain_id: identity.chain_id, genesis_hash: identity.genesis_hash, start_block }))
}

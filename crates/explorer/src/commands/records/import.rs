//! Reads records from a file into a store without records, which nothing else uses.

mod report;

use std::path::Path;

use anyhow::{anyhow, bail};
use store::{FileChain, Line, RawRecords, RecordFileHeader, RecordImport, Store, StoreError};
use tokio_util::sync::CancellationToken;

use super::{exclusive::open_exclusively, files::Input, progress::Progress};
use crate::{
    config::location::Location,
    operations::records::BATCH,
    stores::{Create, OlderIndex},
    terminal::print,
};

pub(super) async fn import(location: &Location, file: &Path, cancel: &CancellationToken) -> anyhow::Result<()> {
    let mut from = Input::open(file)?;
    let first = from.next()?.unwrap_or_default();
    let header = RecordFileHeader::from_json(&first).map_err(|error| anyhow!(from.at(&error.to_string())))?;
    let store = open_exclusively(location, Create::IfMissing, OlderIndex::Refuse).await?;
    if let Some(chain) = &header.chain {
        bind(store.as_ref(), chain, location).await?;
    }
    let raw = store.raw_records();
    let mut state = RecordImport { id: header.id, source: from.name.clone(), is_complete: false };
    if !begin(raw.as_ref(), &state, location).await? {
        print(&format!("{location} has all records of {} already.\n", from.name));
        return Ok(());
    }
    let mut progress = Progress::new(None);
    let (mut batch, mut seen) = (Vec::with_capacity(BATCH), 0);
    loop {
        if cancel.is_cancelled() {
            bail!("stopped before the end: run the same command again");
        }
        let Some(line) = from.next()? else {
            bail!(from.at("the file was cut short: its last line is missing"));
        };
        match Line::from_json(&line).map_err(|error| anyhow!(from.at(&error.to_string())))? {
            Line::End { records } if records != seen => {
                bail!(from.at(&format!("the file has {seen} records, but should have {records}")));
            }
            Line::End { .. } => break,
            Line::Record(record) => {
                seen += 1;
                batch.push(*record);
            }
        }
        if batch.len() == BATCH {
            raw.write_records(std::mem::take(&mut batch)).await?;
            progress.set(seen);
        }
    }
    if !batch.is_empty() {
        raw.write_records(batch).await?;
    }
    state.is_complete = true;
    raw.save_import(Some(state)).await?;
    store.sync().await?;
    drop(progress);
    print(&report::report(store.as_ref(), &from.name, seen, location).await?);
    Ok(())
}

/// Binds the store to the chain of the records, from the same first block on.
async fn bind(store: &dyn Store, chain: &FileChain, to: &Location) -> anyhow::Result<()> {
    store.bind(chain.identity(), Some(chain.start_block)).await.map_err(|error| {
        let advice = match &error {
            StoreError::OtherChain { .. } => format!("{to} holds another chain than the records"),
            StoreError::OtherStart { stored, .. } => {
                format!("{to} begins at block {stored}, but the chain of the records at block {}", chain.start_block)
            }
            _ => return anyhow!(error).context(format!("cannot use {to}")),
        };
        anyhow!(error).context(format!("{advice}: give an empty folder or database"))
    })?;
    Ok(())
}

/// Begins an import. One that was interrupted, of this file or another, starts over; false if this one is complete.
async fn begin(raw: &dyn RawRecords, new: &RecordImport, location: &Location) -> anyhow::Result<bool> {
    match raw.find_import().await? {
        Some(before) if before.is_complete && before.id == new.id => return Ok(false),
        Some(before) if !before.is_complete => {}
        _ if raw.has_records().await? => {
            bail!("{location} has keys, webhooks or verified contracts of its own: give an empty folder or database")
        }
        _ => {}
    }
    raw.save_import(Some(new.clone())).await?;
    raw.delete_records().await?;
    Ok(true)
}

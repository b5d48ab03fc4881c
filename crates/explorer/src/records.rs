//! `explorer records`: all records of a store in a file, and back.

mod export;
mod files;

use std::{path::Path, sync::Arc};

use anyhow::{Context, anyhow, bail};
use store::{Line, Record, RecordFileHeader, RecordTransfer, StoreError, Transfer, TransferTarget};
use tokio_util::sync::CancellationToken;

pub(crate) use self::export::export_pinned;
use self::files::Input;
use crate::{
    cli::{RecordsCommand, RecordsOptions},
    config::{self, Location, LogConfig, Target},
    copy::{self, progress_bar},
    logging::{self, LogFormat},
    shutdown,
    stores::{self, FROM_FILE},
};

/// Records of one read or write.
const BATCH: usize = 1_000;

pub(crate) async fn run(options: RecordsOptions) -> anyhow::Result<()> {
    logging::start(&LogConfig { filter: "warn,explorer=info".to_owned(), format: LogFormat::Text })?;
    let cancel = shutdown::on_signal()?;
    match options.command {
        RecordsCommand::Export { file } => match config::target(options.target).await? {
            Target::Running(client) => export::receive(client, &file, &cancel).await,
            Target::Stored(location) => export::export(&location, &file, &cancel).await,
        },
        RecordsCommand::Import { file } => {
            let location = config::location(options.target.data, options.target.database)?;
            import(&location, &file, &cancel).await
        }
    }
}

async fn import(location: &Location, file: &Path, cancel: &CancellationToken) -> anyhow::Result<()> {
    let mut from = Input::open(file)?;
    let first = from.next()?.unwrap_or_default();
    let header = RecordFileHeader::from_json(&first).map_err(|error| anyhow!(from.at(&error.to_string())))?;
    let store = copy::open(location, stores::create_copy(location).await).await?;
    if let Some(chain) = &header.chain {
        let bound = store.bind(chain.identity(), Some(chain.start_block)).await;
        bound.with_context(|| format!("{location} cannot take the records of {}: give an empty one", from.name))?;
    }
    let transfer = store.record_transfer();
    let Some(mut state) = begin(&transfer, &header, &from.name, location).await? else {
        logging::print(&format!("{location} has all records of {} already.\n", from.name));
        return Ok(());
    };
    let bar = progress_bar(0);
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
            write(&transfer, &mut state, &mut batch).await?;
            bar.set_position(state.copied);
        }
    }
    write(&transfer, &mut state, &mut batch).await?;
    state.is_complete = true;
    transfer.save_transfer(Some(Transfer::Target(state))).await?;
    store.sync().await?;
    bar.finish_and_clear();
    logging::print(&format!(
        "Imported all {seen} records of {} to {location}.\nThe secrets of webhooks stay encrypted: use the same \
         webhook-secrets.key or --webhook-encryption-key as before.\n",
        from.name
    ));
    Ok(())
}

async fn write(
    transfer: &Arc<dyn RecordTransfer>,
    state: &mut TransferTarget,
    batch: &mut Vec<Record>,
) -> Result<(), StoreError> {
    let Some(last) = batch.last() else { return Ok(()) };
    state.position = Some(last.position());
    state.copied += batch.len() as u64;
    transfer.write_records(std::mem::take(batch), Transfer::Target(state.clone())).await
}

/// Begins an import, also after one that was interrupted; None if it is complete.
async fn begin(
    transfer: &Arc<dyn RecordTransfer>,
    header: &RecordFileHeader,
    name: &str,
    location: &Location,
) -> anyhow::Result<Option<TransferTarget>> {
    match transfer.find_transfer().await? {
        Some(Transfer::Target(state)) if state.id == header.id && state.is_complete => return Ok(None),
        Some(Transfer::Target(state)) if state.id == header.id => {}
        Some(Transfer::Target(TransferTarget { is_complete: false, source, .. })) => {
            bail!("{location} has an unfinished copy of {source}: finish it first, or give an empty one")
        }
        _ if transfer.has_records().await? => {
            bail!("{location} has keys, webhooks or verified contracts of its own: give an empty one")
        }
        _ => {}
    }
    let (id, source) = (header.id.clone(), format!("{FROM_FILE}{name}"));
    let state = TransferTarget { id, source, position: None, copied: 0, is_complete: false };
    transfer.save_transfer(Some(Transfer::Target(state.clone()))).await?;
    transfer.delete_records().await?;
    Ok(Some(state))
}

//! `explorer records`: all records of a store in a file, and back.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::Path,
    sync::Arc,
};

use anyhow::{Context, anyhow, bail};
use store::{
    FileChain, Line, Record, RecordFileHeader, RecordKind, RecordTransfer, Store, StoreError, Transfer, TransferTarget,
};
use tokio_util::sync::CancellationToken;

use crate::{
    cli::{RecordsCommand, RecordsOptions},
    config::{self, Location, LogConfig},
    copy::{self, now, progress_bar},
    logging::{self, LogFormat},
    shutdown,
    stores::{self, FROM_FILE},
};

/// Records of one read or write.
const BATCH: usize = 1_000;
/// Longer lines are no records: sources of a contract are smaller.
const MAX_LINE_BYTES: u64 = 256 << 20;
const STANDARD: &str = "-";

pub(crate) async fn run(options: RecordsOptions) -> anyhow::Result<()> {
    logging::start(&LogConfig { filter: "warn,explorer=info".to_owned(), format: LogFormat::Text })?;
    let location = config::location(options.data, options.database)?;
    let cancel = shutdown::on_signal()?;
    match options.command {
        RecordsCommand::Export { file } => export(&location, &file, &cancel).await,
        RecordsCommand::Import { file } => import(&location, &file, &cancel).await,
    }
}

async fn export(location: &Location, file: &Path, cancel: &CancellationToken) -> anyhow::Result<()> {
    let store = copy::open(location, stores::open_to_export(location).await).await?;
    let transfer = store.record_transfer();
    if let Some(Transfer::Target(TransferTarget { is_complete: false, .. })) = transfer.find_transfer().await? {
        bail!("{location} has only a part of the records of another store: finish that copy or import first");
    }
    let mut to = Output::create(file)?;
    let header = RecordFileHeader::new(format!("{:032x}", rand::random::<u128>()), chain(store.as_ref()).await?);
    to.line(&header.to_json()?)?;
    let (bar, mut records) = (progress_bar(transfer.count_records().await?), 0);
    for kind in RecordKind::ALL {
        let mut after = None;
        loop {
            if cancel.is_cancelled() {
                bail!("stopped before the end: {} is not complete", file.display());
            }
            let batch = transfer.read_records(kind, after, BATCH, now()).await?;
            let Some(last) = batch.last() else { break };
            after = Some(last.position());
            for record in batch {
                to.line(&Line::Record(Box::new(record)).to_json()?)?;
                records += 1;
            }
            bar.set_position(records);
        }
    }
    to.line(&Line::End { records }.to_json()?)?;
    to.finish()?;
    bar.finish_and_clear();
    tracing::info!(
        records,
        "exported all records; the file contains digests of keys and encrypted secrets: keep it private"
    );
    Ok(())
}

async fn chain(store: &dyn Store) -> anyhow::Result<Option<FileChain>> {
    let Some(identity) = store.identity().await? else { return Ok(None) };
    let start_block = store.bind(identity, None).await?;
    Ok(Some(FileChain { chain_id: identity.chain_id, genesis_hash: identity.genesis_hash, start_block }))
}

/// A new file that only its owner can read, or standard output.
struct Output {
    name: String,
    to: Box<dyn Write>,
    file: Option<File>,
}

impl Output {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        if name == STANDARD {
            return Ok(Self { name, to: Box::new(BufWriter::new(io::stdout())), file: None });
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).with_context(|| format!("cannot create {name}: give the name of a new file"))?;
        let to = Box::new(BufWriter::new(file.try_clone()?));
        Ok(Self { name, to, file: Some(file) })
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.to, "{line}").with_context(|| format!("cannot write to {}", self.name))
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let written = self.to.flush().and_then(|()| self.file.map_or(Ok(()), |file| file.sync_all()));
        written.with_context(|| format!("cannot write to {}", self.name))
    }
}

/// The lines of a file, with their numbers for messages.
struct Input {
    name: String,
    from: Box<dyn BufRead>,
    number: u64,
}

impl Input {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let from: Box<dyn BufRead> = if name == STANDARD {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(path).with_context(|| format!("cannot open {name}"))?))
        };
        Ok(Self { name, from, number: 0 })
    }

    fn next(&mut self) -> anyhow::Result<Option<String>> {
        let mut line = String::new();
        self.number += 1;
        let read = io::Read::take(&mut self.from, MAX_LINE_BYTES).read_line(&mut line);
        read.with_context(|| self.at("it cannot be read"))?;
        if line.len() as u64 == MAX_LINE_BYTES {
            bail!(self.at("it is too long"));
        }
        let line = line.trim_end();
        Ok((!line.is_empty()).then(|| line.to_owned()))
    }

    fn at(&self, what: &str) -> String {
        format!("{}, line {}: {what}", self.name, self.number)
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

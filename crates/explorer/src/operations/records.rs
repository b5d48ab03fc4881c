//! Writes the records of a store as lines of text.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, Seek, Write},
    path::Path,
};

use anyhow::{Context, bail};
use store::{FileChain, Line, RawRecords, RecordFileHeader, RecordKind, Store};

/// Has a name for a moment only.
const EXPORTED: &str = "export.tmp";
/// Records of one read or write.
pub(crate) const BATCH: usize = 1_000;

/// Exports the records of a store in use, as they are now, to a file without a name. They are pinned only until it is written,
/// however slowly it is read.
pub(crate) async fn export_pinned(store: &dyn Store, data: &Path) -> anyhow::Result<File> {
    let Some(raw) = store.raw_records().pinned() else {
        bail!("the records of a database are exported while no explorer uses it: stop all, and give it with --database")
    };
    let path = data.join(EXPORTED);
    let created = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
    let created = created.and_then(|file| fs::remove_file(&path).map(|()| file));
    let cannot_write = || format!("cannot write records to {}", data.display());
    let mut file = created.with_context(cannot_write)?;
    let mut to = BufWriter::new(&mut file);
    write_lines(store, raw.as_ref(), |line| to.write_all(line.as_bytes()).with_context(cannot_write)).await?;
    to.flush().with_context(cannot_write)?;
    drop(to);
    file.rewind()?;
    Ok(file)
}

/// Writes all lines of a file. Returns the number of records.
pub(crate) async fn write_lines(
    store: &dyn Store,
    raw: &dyn RawRecords,
    mut write: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let mut line = |mut line: String| {
        line.push('\n');
        write(&line)
    };
    let header = RecordFileHeader::new(format!("{:032x}", rand::random::<u128>()), chain(store).await?);
    line(header.to_json()?)?;
    let now = unix_time::millis();
    let mut records = 0;
    for kind in RecordKind::ALL {
        let mut after = None;
        loop {
            let batch = raw.read_records(kind, after, BATCH, now).await?;
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

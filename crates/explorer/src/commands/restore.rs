//! `explorer restore`: copies a snapshot to an empty data folder.

use std::{
    io::{self, BufReader, Read},
    path::Path,
};

use anyhow::Context;

use crate::{
    cli::RestoreOptions,
    config::location,
    operations::snapshot::extract::{extract, open},
    stores,
    terminal::print,
};

/// In place of a path.
const STANDARD: &str = "-";

pub(crate) async fn run(options: RestoreOptions) -> anyhow::Result<()> {
    let (data, snapshot) = (location::data_folder(options.data)?, options.snapshot);
    let (from, to) = (snapshot.clone(), data.clone());
    tokio::task::spawn_blocking(move || restore_from(&from, &to)).await??;
    print(&format!(
        "Restored {} to {}.\nMessages of webhooks that were sent after the snapshot are sent again, with the same ids.\n\
         Next: explorer run --rpc <your node> --data {}\n",
        snapshot.display(),
        data.display(),
        data.display()
    ));
    Ok(())
}

fn restore_from(snapshot: &Path, data: &Path) -> anyhow::Result<()> {
    let mut from: Box<dyn Read> = if snapshot.as_os_str() == STANDARD {
        Box::new(io::stdin())
    } else if snapshot.is_dir() {
        return stores::restore(snapshot, data);
    } else {
        Box::new(BufReader::new(open(snapshot)?))
    };
    let restoration = stores::begin_restoration(data)?;
    let refused = || format!("{} was not restored", snapshot.display());
    extract(&mut from, restoration.folder()).with_context(refused)?;
    let files = restoration.folder().to_owned();
    stores::finish_restoration(restoration, &files).with_context(refused)
}

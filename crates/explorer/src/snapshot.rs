//! `explorer snapshot` and `explorer restore`: copies of a data folder, of a running service or of a stopped one, as a folder or as
//! one file.

mod archive;
mod extract;
mod folder;
mod manifest;
mod output;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use store::SnapshotContent;

use self::output::Output;
pub(crate) use self::{
    archive::{Archive, ArchiveCommand},
    extract::{Extracted, extract},
    folder::{SnapshotCommand, execute},
    manifest::hex,
};
use crate::{
    admin,
    cli::{RestoreOptions, SnapshotOptions},
    config::{self, Location, Target},
    logging, stores,
};

/// A database is no folder.
const OF_A_DATABASE: &str = "a database is backed up by its server: use pg_basebackup or pg_dump, and keep the key of webhook \
    secrets";
/// Standard output or input.
const STANDARD: &str = "-";

/// What a snapshot contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Content {
    Everything,
    /// Without a trace of users: to be published.
    Index,
}

impl Content {
    /// What to tell about its secrets; None if it is not known whether the key file is in it.
    fn secrecy(self, has_key: Option<bool>) -> &'static str {
        match self {
            Self::Index => {
                "It contains nothing but the index: keys, webhooks and verified contracts are not part of it."
            }
            Self::Everything => match has_key {
                Some(true) => {
                    "It contains keys, webhooks and the key of their secrets: keep it as private as the data folder."
                }
                Some(false) => "The key of webhook secrets is not in the data folder: keep a copy of it, too.",
                None => {
                    "It contains keys, webhooks and, if it is in the data folder, the key of their secrets: keep it as private as \
                     the data folder."
                }
            },
        }
    }
}

impl From<Content> for SnapshotContent {
    fn from(content: Content) -> Self {
        match content {
            Content::Everything => Self::Everything,
            Content::Index => Self::Index,
        }
    }
}

pub(crate) async fn take(options: SnapshotOptions) -> anyhow::Result<()> {
    let content = if options.index_only { Content::Index } else { Content::Everything };
    let from = config::target(options.from).await?;
    if options.target.as_os_str() == STANDARD || is_archive(&options.target) {
        return take_archive(from, &options.target, content).await;
    }
    let target = std::path::absolute(&options.target).context("invalid TARGET")?;
    let command = SnapshotCommand { target, content };
    let text = match from {
        Target::Running(client) => client.post(admin::SNAPSHOT, &command).await?,
        Target::Stored(Location::Database { .. }) => bail!(OF_A_DATABASE),
        Target::Stored(Location::Folder(data)) => {
            execute(stores::open_to_snapshot(&data)?.as_ref(), &data, command).await?
        }
    };
    logging::print(&text);
    Ok(())
}

async fn take_archive(from: Target, target: &Path, content: Content) -> anyhow::Result<()> {
    let mut to = Output::create(target)?;
    match from {
        Target::Running(client) => {
            let command = ArchiveCommand { content };
            client.post_to(admin::ARCHIVE, &command, |bytes, total| to.write_part(bytes, total)).await?;
        }
        Target::Stored(Location::Database { .. }) => bail!(OF_A_DATABASE),
        Target::Stored(Location::Folder(data)) => {
            let store = stores::open_to_snapshot(&data)?;
            let archive = Archive::prepare(store.as_ref(), &data, content).await?;
            to.expect(archive.bytes());
            to = tokio::task::spawn_blocking(move || archive.write_to(&mut to).map(|()| to)).await??;
        }
    }
    let text = format!("{}{}\n", to.finish()?, content.secrecy(None));
    let print = if target.as_os_str() == STANDARD { logging::print_note } else { logging::print };
    print(&text);
    Ok(())
}

pub(crate) async fn restore(options: RestoreOptions) -> anyhow::Result<()> {
    let (data, snapshot) = (config::data_folder(options.data)?, options.snapshot);
    let (from, to) = (snapshot.clone(), data.clone());
    tokio::task::spawn_blocking(move || restore_from(&from, &to)).await??;
    logging::print(&format!(
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

pub(crate) fn open(file: &Path) -> anyhow::Result<File> {
    File::open(file).with_context(|| format!("cannot open {}", file.display()))
}

fn is_archive(target: &Path) -> bool {
    target.extension().is_some_and(|extension| extension == "tar")
}

/// The name of a snapshot until it is complete.
fn unfinished(target: &Path) -> anyhow::Result<PathBuf> {
    let Some(name) = target.file_name() else { bail!("{} cannot be created: give a new name", target.display()) };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".unfinished-snapshot");
    Ok(target.with_file_name(hidden))
}

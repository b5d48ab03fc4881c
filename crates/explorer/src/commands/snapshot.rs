//! `explorer snapshot`: copies the data folder of a running service or of a stopped one.

mod output;

use std::{path::Path, sync::Arc};

use anyhow::{Context, bail};
use store::Store;

use self::output::{Output, STANDARD};
use super::target::{self, Target};
use crate::{
    admin::paths,
    cli::SnapshotOptions,
    config::location::Location,
    operations::snapshot::{Archive, ArchiveCommand, Content, OF_A_DATABASE, SnapshotCommand, execute},
    stores::{Create, OlderIndex, Opening, Purpose},
    terminal::{print, print_note},
};

pub(crate) async fn run(options: SnapshotOptions) -> anyhow::Result<()> {
    let content = if options.index_only { Content::Index } else { Content::Everything };
    let from = target::find(options.from).await?;
    if options.target.as_os_str() == STANDARD || is_archive(&options.target) {
        return take_archive(from, &options.target, content).await;
    }
    let target = std::path::absolute(&options.target).context("invalid TARGET")?;
    let command = SnapshotCommand { target, content };
    let text = match from {
        Target::Running(client) => client.post(paths::SNAPSHOT, &command).await?,
        Target::Stored(Location::Database { .. }) => bail!(OF_A_DATABASE),
        Target::Stored(Location::Folder(data)) => execute(open(&data).await?.as_ref(), &data, command).await?,
    };
    print(&text);
    Ok(())
}

async fn take_archive(from: Target, target: &Path, content: Content) -> anyhow::Result<()> {
    let mut to = Output::create(target)?;
    match from {
        Target::Running(client) => {
            let command = ArchiveCommand { content };
            client.post_to(paths::ARCHIVE, &command, |bytes, total| to.write_part(bytes, total)).await?;
        }
        Target::Stored(Location::Database { .. }) => bail!(OF_A_DATABASE),
        Target::Stored(Location::Folder(data)) => {
            let store = open(&data).await?;
            let archive = Archive::prepare(store.as_ref(), &data, content).await?;
            to.expect(archive.bytes());
            to = tokio::task::spawn_blocking(move || archive.write_to(&mut to).map(|()| to)).await??;
        }
    }
    let text = format!("{}{}\n", to.finish()?, content.secrecy(None));
    let print = if target.as_os_str() == STANDARD { print_note } else { print };
    print(&text);
    Ok(())
}

async fn open(data: &Path) -> anyhow::Result<Arc<dyn Store>> {
    let opening = Opening {
        location: &Location::Folder(data.to_owned()),
        create: Create::No,
        older_index: OlderIndex::Leave,
        purpose: Purpose::Snapshot,
    };
    Ok(opening.open().await?.store)
}

fn is_archive(target: &Path) -> bool {
    target.extension().is_some_and(|extension| extension == "tar")
}

//! `explorer run --bootstrap`: begins with an index that somebody has published, once it was compared with the node.

mod compare;
mod download;

use std::{
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};
use node::{BlockChecks, NodeClient, NodeConfig};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{
        bootstrap::{Bootstrap, Source},
        location::Location,
        service_config::ServiceConfig,
    },
    operations::snapshot::{
        Content,
        extract::{self, Extracted, extract},
    },
    stores::{self, Restoration},
};

/// In the folder of the restoration.
const RECEIVED: &str = "received";
const WITHOUT_RECORDS: &str = "index-only";
/// Fills a data folder without an index. Interrupted, it leaves nothing, and the next start begins again.
pub(crate) async fn prepare(config: &ServiceConfig, cancel: &CancellationToken) -> anyhow::Result<()> {
    let (Some(bootstrap), Location::Folder(data)) = (&config.indexing.bootstrap, &config.location) else {
        return Ok(());
    };
    if stores::has_index(data) {
        tracing::info!("the data folder has an index: --bootstrap is ignored");
        return Ok(());
    }
    let preparing = fill(bootstrap, config, data, cancel);
    preparing.await.with_context(|| format!("cannot begin with the snapshot {}", bootstrap.source))
}

async fn fill(
    bootstrap: &Bootstrap,
    config: &ServiceConfig,
    data: &Path,
    cancel: &CancellationToken,
) -> anyhow::Result<()> {
    let restoration = stores::begin_bootstrap(data)?;
    tracing::info!(source = %bootstrap.source, "the data folder is empty: beginning with a snapshot");
    let from: Box<dyn Read + Send> = match &bootstrap.source {
        Source::Url(url) => Box::new(download::start(url.clone(), bootstrap.sha256.is_some(), cancel.clone())?),
        Source::File(path) => Box::new(BufReader::new(extract::open(path)?)),
    };
    let from = UntilCancelled { from, cancel: cancel.clone() };
    let (restoration, files) = receive(restoration, from, bootstrap.sha256.clone()).await?;
    let store = stores::open_bootstrapped(&files)?;
    // The index is compared with the node's data, which must be checked itself.
    let node = NodeClient::new(NodeConfig { verify_blocks: BlockChecks::Full, ..config.node.clone() })?;
    let comparing = compare::compare_sample(store.as_ref(), &node, config.indexing.start_block);
    let compared = cancel.run_until_cancelled(comparing).await.context("stopped")??;
    drop(store);
    tokio::task::spawn_blocking(move || stores::finish_restoration(restoration, &files)).await??;
    tracing::info!(
        tip = compared.tip.number,
        blocks_compared = compared.equal,
        blocks_missing_at_node = compared.missing,
        "the snapshot agrees with the node: indexing continues from it"
    );
    Ok(())
}

/// Reads the archive, and returns the folder with its index, without any records.
async fn receive(
    restoration: Restoration,
    mut from: UntilCancelled,
    sha256: Option<String>,
) -> anyhow::Result<(Restoration, PathBuf)> {
    let receiving = move || {
        let received = restoration.folder().join(RECEIVED);
        let Extracted { manifest, found, sha256: actual } = extract(&mut from, &received)?;
        if let Some(expected) = sha256 {
            ensure!(actual == expected, "its SHA-256 is {actual}, and not that of --bootstrap");
        }
        ensure!(
            manifest.index_version == stores::VERSIONS.0,
            "an older explorer has written it, and its index would be filled again: use a newer snapshot, or leave --bootstrap out"
        );
        if manifest.content == Content::Index && !found.has_private_rows {
            return Ok((restoration, received));
        }
        tracing::warn!("the snapshot has records of its publisher, such as API keys: only its index is used");
        let stripped = restoration.folder().join(WITHOUT_RECORDS);
        stores::copy_index(&received, &stripped)?;
        Ok((restoration, stripped))
    };
    tokio::task::spawn_blocking(receiving).await?
}

/// Ends with an error when the process is to stop.
struct UntilCancelled {
    from: Box<dyn Read + Send>,
    cancel: CancellationToken,
}

impl Read for UntilCancelled {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        self.from.read(into)
    }
}

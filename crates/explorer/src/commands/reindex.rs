//! `explorer reindex`: fills a new index beside the one that an explorer serves, which takes its place at the next start.

use std::{sync::Arc, time::Duration};

use anyhow::{anyhow, bail};
use domain::{BlockNumber, ChainTokenPrefix, SyncPhase, SyncStatus};
use ingest::Progress;
use node::NodeClient;
use store::{Store, StoreError};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    cli::ReindexOptions,
    config::{
        file,
        indexing::{IndexingConfig, OnNewChain},
        location::Location,
        service_config::ServiceConfig,
    },
    logging,
    process::shutdown,
    service::{background::Background, following::Following},
    stores::{self, Reindex},
    terminal::{backfill, print},
};

const POLL: Duration = Duration::from_millis(100);

/// Fills the index until it is stopped; with `--until-ready`, until it is at the head of the chain.
pub(crate) async fn run(options: ReindexOptions) -> anyhow::Result<()> {
    let (until_ready, from_scratch) = (options.until_ready, options.from_scratch);
    let options = file::with_file(options.into())?;
    logging::start(&options.log.config())?;
    let config = ServiceConfig::new(options)?;
    let Location::Folder(data) = &config.location else {
        bail!(
            "a new index is filled beside that of a data folder: for a database, index into a second one with `explorer run`, \
             then bring the records there with `explorer records export` and `import`"
        )
    };
    if !data.is_dir() {
        bail!("there is no data folder {}: give the right one with --data", data.display());
    }
    let cancel = shutdown::on_signal()?;
    let (data, reindex) = (data.display().to_string(), Reindex::of(data));
    if from_scratch {
        reindex.remove().map_err(|error| explain_removal(error, &reindex))?;
    }
    let store = stores::open_reindex(&reindex, config.memory)?;

    let (background, progress) = (Background::start()?, Arc::new(Progress::default()));
    let (status, sync) = watch::channel(SyncStatus::starting());
    let following = following(config, &reindex, Arc::clone(&store), status, Arc::clone(&progress))?;
    let mut following = background.handle().spawn(following.run(cancel.clone()));
    let shown = tokio::spawn(backfill::show(sync.clone(), Arc::clone(&progress), cancel.clone()));
    let filled = tokio::select! {
        ended = &mut following => Err(ended_early(ended, &sync, &reindex, &cancel)),
        block = caught_up(sync.clone(), Arc::clone(&progress)) => Ok(block),
    };
    let is_ready = match filled {
        Ok(block) => {
            store.sync().await?;
            reindex.mark_ready()?;
            print(&format!(
                "Ready: the new index is at block {block}. Stop {}the explorer that serves {data}, then start `explorer run` of \
                 this version: it continues with the new index.\n",
                if until_ready { "" } else { "this command and " }
            ));
            if !until_ready {
                wait(&mut following, &sync, &reindex, &cancel).await?;
            }
            true
        }
        Err(Ended::Stopped) => false,
        Err(Ended::Failed(error)) => return Err(error),
    };
    cancel.cancel();
    if !following.is_finished() {
        let _ = following.await;
    }
    shown.abort();
    store.sync().await?;
    if until_ready && !is_ready {
        bail!("stopped before the new index was ready: run the same command again to continue");
    }
    Ok(())
}

fn following(
    config: ServiceConfig,
    reindex: &Reindex,
    store: Arc<dyn Store>,
    status: watch::Sender<SyncStatus>,
    progress: Arc<Progress>,
) -> anyhow::Result<Following> {
    Ok(Following {
        node: NodeClient::new(config.node.clone())?,
        node_config: config.node,
        // The served index is of the chain that the new one was begun with.
        indexing: IndexingConfig { on_new_chain: OnNewChain::Halt, ..config.indexing },
        store,
        is_shared: false,
        location: Location::Folder(reindex.folder().to_owned()),
        // Nothing is served.
        page_prefix: ChainTokenPrefix::default(),
        waiting_blocks: config.memory.waiting_blocks(),
        status,
        progress,
        requests: Arc::default(),
    })
}

/// The number of the newest block, once the index has it and the data of contracts that it needs.
async fn caught_up(sync: watch::Receiver<SyncStatus>, progress: Arc<Progress>) -> BlockNumber {
    loop {
        let status = sync.borrow().clone();
        if let (SyncPhase::Following, Some(0), Some(tip), true) =
            (&status.phase, status.lag(), status.tip, progress.has_contract_data())
        {
            return tip.number;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Why nothing more is indexed.
enum Ended {
    Stopped,
    Failed(anyhow::Error),
}

async fn wait(
    following: &mut JoinHandle<anyhow::Result<()>>,
    sync: &watch::Receiver<SyncStatus>,
    reindex: &Reindex,
    cancel: &CancellationToken,
) -> anyhow::Result<()> {
    match ended_early(following.await, sync, reindex, cancel) {
        Ended::Stopped => Ok(()),
        Ended::Failed(error) => Err(error),
    }
}

fn ended_early(
    ended: Result<anyhow::Result<()>, tokio::task::JoinError>,
    sync: &watch::Receiver<SyncStatus>,
    reindex: &Reindex,
    cancel: &CancellationToken,
) -> Ended {
    match ended.map_err(anyhow::Error::from).flatten() {
        Ok(()) if cancel.is_cancelled() => Ended::Stopped,
        Ok(()) => Ended::Failed(match &sync.borrow().phase {
            SyncPhase::Halted { reason } => anyhow!("indexing stopped: {reason}"),
            _ => anyhow!("indexing stopped"),
        }),
        Err(error) => Ended::Failed(explain_binding(error, reindex)),
    }
}

fn explain_binding(error: anyhow::Error, reindex: &Reindex) -> anyhow::Error {
    let folder = reindex.folder().display();
    let advice = match error.downcast_ref() {
        Some(StoreError::OtherChain { .. }) => {
            format!(
                "{folder} was filled from another chain: point --rpc at the right node, or begin again with --from-scratch"
            )
        }
        Some(StoreError::OtherStart { stored, .. }) => {
            format!("{folder} begins at block {stored}: leave --start-block out, or begin again with --from-scratch")
        }
        _ => return error,
    };
    anyhow!(advice)
}

fn explain_removal(error: StoreError, reindex: &Reindex) -> anyhow::Error {
    let folder = reindex.folder().display();
    let advice = match &error {
        StoreError::InUse => format!("another `explorer reindex` fills {folder}: stop it first"),
        _ => format!("cannot remove {folder}"),
    };
    anyhow!(error).context(advice)
}

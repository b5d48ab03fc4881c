//! `explorer records`: all records of a store in a file, and back.

mod export;
mod files;
mod import;
mod progress;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::bail;
use store::{Store, StoreError};

pub(crate) use self::export::export_pinned;
use crate::{
    cli::{RecordsCommand, RecordsOptions},
    config::{self, Location, LogConfig, Target},
    logging::{self, LogFormat},
    shutdown,
    stores::OpenStore,
};

/// Records of one read or write.
const BATCH: usize = 1_000;
/// How long a process that has just ended may still be seen by a database.
const FAREWELL: Duration = Duration::from_secs(5);
const FAREWELL_POLL: Duration = Duration::from_millis(200);

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
            import::import(&location, &file, &cancel).await
        }
    }
}

/// Checks that nothing else uses the store: what it changes meanwhile would be lost.
async fn alone(location: &Location, opened: anyhow::Result<OpenStore>) -> anyhow::Result<Arc<dyn Store>> {
    let in_use = || format!("an explorer has {location} open: stop it, then run the same command again");
    let OpenStore { store, shared } = match opened {
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::InUse)) => return Err(error.context(in_use())),
        opened => opened?,
    };
    if let Some(shared) = shared {
        let begun = Instant::now();
        while shared.is_used_elsewhere().await? {
            if begun.elapsed() > FAREWELL {
                bail!(in_use());
            }
            tokio::time::sleep(FAREWELL_POLL).await;
        }
    }
    Ok(store)
}

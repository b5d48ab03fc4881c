//! `explorer run`: follows a node and serves its chain.

mod bootstrap;
mod greeting;

use std::io::IsTerminal;

use tokio::signal::unix::{SignalKind, signal};

use self::greeting::Greeting;
use crate::{
    admin::names::NameReloader,
    config::{file, run_options::RunOptions, service_config::ServiceConfig},
    logging,
    process::shutdown,
    service::Service,
    terminal::{backfill, print},
};

/// Follows a node and serves its chain until cancelled.
pub(crate) async fn run(options: RunOptions) -> anyhow::Result<()> {
    let options = file::with_file(options)?;
    let log = logging::start(&options.log.config())?;
    let config = ServiceConfig::new(options)?;
    let cancel = shutdown::on_signal()?;

    bootstrap::prepare(&config, &cancel).await?;
    let greeting = Greeting::new(&config);
    let service = Service::start(config, log, cancel.clone()).await?;
    tokio::spawn(reload_on_hangup(service.names()));
    if let Some(address) = service.local_addr() {
        print(&greeting.text(address));
    }
    let progress = tokio::spawn(backfill::show(service.sync(), service.progress(), cancel));
    let result = service.finish().await;
    progress.abort();
    result
}

/// Reads names again on SIGHUP. A process that was started from a terminal ends with it instead.
async fn reload_on_hangup(names: NameReloader) {
    if std::io::stdin().is_terminal() {
        return;
    }
    let Ok(mut hangups) = signal(SignalKind::hangup()) else { return };
    while hangups.recv().await.is_some() {
        if let Err(error) = names.reload() {
            tracing::error!(error = format!("{error:#}"), "cannot reload names; the old ones stay");
        }
    }
}

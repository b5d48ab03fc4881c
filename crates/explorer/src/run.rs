use crate::{cli::RunOptions, config, logging, progress, service::Service, shutdown};

/// Follows a node and serves its chain until cancelled.
pub(crate) async fn run(options: RunOptions) -> anyhow::Result<()> {
    let options = config::with_file(options)?;
    logging::start(&config::log_config(&options))?;
    let config = config::service_config(options)?;
    let cancel = shutdown::on_signal()?;

    let service = Service::start(config, cancel.clone()).await?;
    if let Some(address) = service.local_addr() {
        logging::print(&format!("Listening on http://{address}\n"));
    }
    let progress = tokio::spawn(progress::show(service.sync(), service.progress(), cancel));
    let result = service.finish().await;
    progress.abort();
    result
}

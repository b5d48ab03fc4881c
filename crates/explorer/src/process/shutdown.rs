use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first SIGINT or SIGTERM. A second one ends the process at once.
pub(crate) fn on_signal() -> anyhow::Result<CancellationToken> {
    let cancel = CancellationToken::new();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stopping = cancel.clone();
    tokio::spawn(async move {
        for second in [false, true] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if second {
                std::process::exit(130);
            }
            tracing::info!("stopping");
            stopping.cancel();
        }
    });
    Ok(cancel)
}

//! Connections of a pool, which outlive the runtime that asked for them.

use deadpool_postgres::Connect;
use futures::future::BoxFuture;
use tokio::{runtime::Handle, task::JoinHandle};
use tokio_postgres::{Client, Config, Error};

use crate::tls::Tls;

/// Connects on one runtime, whichever one asks. A socket lives only as long as the runtime that opened it, and the pool would
/// pass on connections of a runtime that has ended.
pub(crate) struct Connector {
    tls: Tls,
    runtime: Handle,
}

impl Connector {
    /// On the current runtime.
    pub(crate) fn new(tls: Tls) -> Self {
        Self { tls, runtime: Handle::current() }
    }
}

impl Connect for Connector {
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let (config, tls) = (config.clone(), self.tls.clone());
        let connecting = self.runtime.spawn(async move {
            let (client, connection) = config.connect(tls).await?;
            let connected = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the database ended");
                }
            });
            Ok((client, connected))
        });
        Box::pin(async move {
            match connecting.await {
                Ok(connected) => connected,
                // The runtime ends: nobody waits for the connection any more.
                Err(_) => std::future::pending().await,
            }
        })
    }
}

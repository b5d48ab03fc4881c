//! Connections of a pool, which outlive the runtime that asked for them.

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use deadpool_postgres::ClientWrapper;
use store::StoreError;
use tokio::runtime::Handle;

use crate::database_url::DatabaseUrl;

/// Connects on one runtime, whichever one asks. A socket lives only as long as the runtime that opened it, and the pool would
/// pass on connections of a runtime that has ended.
pub(crate) struct Connector {
    url: DatabaseUrl,
    runtime: Handle,
}

impl Connector {
    /// On the current runtime.
    pub(crate) fn new(url: DatabaseUrl) -> Self {
        Self { url, runtime: Handle::current() }
    }
}

impl Manager for Connector {
    type Type = ClientWrapper;
    type Error = StoreError;

    async fn create(&self) -> Result<ClientWrapper, StoreError> {
        let url = self.url.clone();
        let connecting = self.runtime.spawn(async move {
            let (client, connection) = url.connect().await?;
            Ok(ClientWrapper::new(client, tokio::spawn(connection.run())))
        });
        match connecting.await {
            Ok(connected) => connected,
            // The runtime ends: nobody waits for the connection any more.
            Err(_) => std::future::pending().await,
        }
    }

    async fn recycle(&self, client: &mut ClientWrapper, _: &Metrics) -> RecycleResult<StoreError> {
        if client.is_closed() { Err(RecycleError::message("it is closed")) } else { Ok(()) }
    }
}

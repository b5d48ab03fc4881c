//! One process sends webhooks: so the order of messages and the number of requests in flight to a receiver hold.

use store::StoreError;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::{database_url::DatabaseUrl, error::store_error, locks};

/// The right to send webhooks. It ends with its connection, or when it is dropped.
#[derive(Debug)]
pub struct DeliveryLock {
    /// Closes the connection when it is dropped.
    _client: Client,
    connection: JoinHandle<()>,
}

impl DeliveryLock {
    /// None if another process has it.
    pub(crate) async fn acquire(url: &DatabaseUrl) -> Result<Option<Self>, StoreError> {
        let (client, connection) = url.connect().await.map_err(store_error)?;
        let connection = tokio::spawn(async move {
            // However it ends, the lock is lost.
            let _ = connection.await;
        });
        let row =
            client.query_one("select pg_try_advisory_lock($1)", &[&locks::DELIVERIES]).await.map_err(store_error)?;
        let is_acquired = row.try_get(0).map_err(store_error)?;
        Ok(if is_acquired { Some(Self { _client: client, connection }) } else { None })
    }

    /// Returns when the connection is lost, and so is the lock.
    pub async fn lost(&mut self) {
        let _ = (&mut self.connection).await;
    }
}

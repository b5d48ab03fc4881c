//! One process matches blocks with webhooks, so that messages are queued in the order of blocks.

use futures::future::BoxFuture;
use store::StoreError;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::{database_url::DatabaseUrl, error::store_error, locks};

/// The right to match blocks with webhooks. It ends with its connection, or when it is dropped.
#[derive(Debug)]
pub struct MatchingLock {
    /// Closes the connection when it is dropped.
    client: Client,
    connection: JoinHandle<()>,
}

impl MatchingLock {
    /// None if another process has it.
    pub(crate) async fn acquire(url: &DatabaseUrl) -> Result<Option<Self>, StoreError> {
        let (client, connection) = url.connect().await?;
        // However it ends, the lock is lost.
        let connection = tokio::spawn(connection.run());
        let row =
            client.query_one("select pg_try_advisory_lock($1)", &[&locks::MATCHING]).await.map_err(store_error)?;
        if row.try_get(0).map_err(store_error)? {
            locks::write_heartbeat(&client, locks::MATCHING).await?;
            return Ok(Some(Self { client, connection }));
        }
        locks::end_silent_holder(&client, locks::MATCHING).await?;
        Ok(None)
    }

    /// Returns when the connection is lost, and so is the lock. Must be polled continuously: otherwise another process
    /// takes over.
    pub fn hold_until_lost(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Self { client, connection } = self;
            let beating = async {
                while locks::write_heartbeat(client, locks::MATCHING).await.is_ok() {
                    tokio::time::sleep(locks::HEARTBEAT_INTERVAL).await;
                }
            };
            tokio::select! {
                () = beating => {}
                _ = connection => {}
            }
        })
    }
}

use std::sync::Arc;

use store::StoreError;
use tokio::task::AbortHandle;

use crate::{database::Database, locks, writer::Writers};

/// Shows that this process runs, while it has the writer.
#[derive(Debug)]
pub(crate) struct WriterHeartbeat(AbortHandle);

impl WriterHeartbeat {
    pub(crate) fn start(database: Database, writers: Arc<Writers>) -> Self {
        let task = tokio::spawn(async move {
            loop {
                if writers.is_elected()
                    && let Err(error) = write_heartbeat(&database).await
                {
                    tracing::debug!(%error, "cannot write the heartbeat of the writer");
                }
                tokio::time::sleep(locks::HEARTBEAT_INTERVAL).await;
            }
        });
        Self(task.abort_handle())
    }
}

impl Drop for WriterHeartbeat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn write_heartbeat(database: &Database) -> Result<(), StoreError> {
    locks::write_heartbeat(&*database.connection().await?, locks::WRITER).await
}

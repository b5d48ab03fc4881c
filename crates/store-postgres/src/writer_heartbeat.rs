use std::sync::Arc;

use store::StoreError;
use tokio::task::AbortHandle;

use crate::{
    database::Database,
    locks::{HEARTBEAT, WRITER, write_heartbeat},
    writer::Writers,
};

/// Shows that this process runs, while it has the writer.
#[derive(Debug)]
pub(crate) struct WriterHeartbeat(AbortHandle);

impl WriterHeartbeat {
    pub(crate) fn start(database: Database, writers: Arc<Writers>) -> Self {
        let task = tokio::spawn(async move {
            loop {
                if writers.is_elected()
                    && let Err(error) = beat_with(&database).await
                {
                    tracing::debug!(%error, "cannot show that the writer runs");
                }
                tokio::time::sleep(HEARTBEAT).await;
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

async fn beat_with(database: &Database) -> Result<(), StoreError> {
    write_heartbeat(&*database.connection().await?, WRITER).await
}

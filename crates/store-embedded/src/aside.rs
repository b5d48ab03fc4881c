//! Work that waits for the disk, done where waiting does no harm.

use store::{BoxError, StoreError};

/// Runs something on a thread that may block.
pub(crate) async fn aside<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    tokio::task::spawn_blocking(work).await.map_err(|stopped| StoreError::Backend(BoxError::from(stopped)))?
}

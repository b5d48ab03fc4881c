use std::time::Duration;

use async_trait::async_trait;
use domain::{B256, JobId};

use crate::StoreError;

/// How long a job counts as running since its process last renewed it.
pub const JOB_LEASE: Duration = Duration::from_secs(15);

/// Which verification jobs run, over all processes that have one store. A job is known by its process's renewals alone, so
/// that one whose process ended is not waited for.
#[async_trait]
pub trait SharedJobs: Send + Sync {
    /// Registers a job as running. Returns the job of an equal request that runs already; the new one is registered as waiting
    /// for it.
    async fn begin(&self, id: JobId, request: B256) -> Result<Option<JobId>, StoreError>;

    /// To be called more often than once in [`JOB_LEASE`].
    async fn renew(&self, id: JobId) -> Result<(), StoreError>;

    async fn end(&self, id: JobId) -> Result<(), StoreError>;

    /// Whether a process runs the job, or waits for an equal one.
    async fn is_running(&self, id: JobId) -> Result<bool, StoreError>;
}

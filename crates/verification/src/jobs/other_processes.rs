//! Jobs of other processes that verify from the same store.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{B256, keccak256};
use domain::{JobId, JobResult, JobVerdict, VerificationJob};
use store::{JOB_LEASE, SharedJobs, StoreError};

use super::{Job, JobStatus, MAX_TIME, Shared};
use crate::{
    VerifyError, VerifyRequest,
    verifier::{Enqueued, VerifyStage},
};

/// How often a job of another process is polled.
const POLL: Duration = Duration::from_millis(200);

impl Shared {
    /// A job that this process does not run.
    pub(super) async fn find_stored(&self, id: JobId, max_wait: Duration) -> Result<Option<JobStatus>, StoreError> {
        let started = Instant::now();
        loop {
            // Before the job is read: it is stored before it ends.
            let is_running = match &self.shared_jobs {
                Some(shared_jobs) => shared_jobs.is_running(id).await?,
                None => false,
            };
            // A job is stored before it leaves memory.
            let Some(job) = self.records.find_job(id).await? else { return Ok(None) };
            let stage = (is_running && job.result.is_none()).then_some(VerifyStage::OtherProcess);
            if stage.is_none() || started.elapsed() >= max_wait {
                return Ok(Some(JobStatus { job, stage }));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Verifies, or takes the verdict of an equal job that another process runs.
    pub(super) async fn verify_or_wait(
        self: &Arc<Self>,
        job: &Arc<Job>,
        started: Instant,
        enqueued: Enqueued,
        request: Arc<VerifyRequest>,
    ) -> (JobResult, Option<VerifyError>) {
        let Some(shared_jobs) = &self.shared_jobs else {
            let outcome = Self::verify(Arc::clone(self), Arc::clone(job), enqueued, request).await;
            return self.verdict(job, started, outcome);
        };
        let renewing = async {
            loop {
                tokio::time::sleep(JOB_LEASE / 3).await;
                if let Err(error) = shared_jobs.renew(job.id).await {
                    tracing::debug!(%error, job = %job.id, "cannot renew a verification");
                }
            }
        };
        let verifying = async {
            match self.wait_for_equal(&**shared_jobs, job, digest(&request)).await {
                Some(result) => (result, None),
                None => {
                    let outcome = Self::verify(Arc::clone(self), Arc::clone(job), enqueued, request).await;
                    self.verdict(job, started, outcome)
                }
            }
        };
        tokio::select! {
            ended = verifying => ended,
            never = renewing => never,
        }
    }

    /// The verdict of an equal job that another process runs; None if there is none, or if it ended without a verdict.
    async fn wait_for_equal(&self, shared_jobs: &dyn SharedJobs, job: &Job, request: B256) -> Option<JobResult> {
        loop {
            let equal = shared_jobs.begin(job.id, request).await.unwrap_or_else(|error| {
                tracing::warn!(%error, job = %job.id, "cannot tell whether another process verifies the same");
                None
            })?;
            job.progress.send_modify(|progress| progress.stage = VerifyStage::OtherProcess);
            match self.find_stored(equal, MAX_TIME).await {
                Ok(Some(JobStatus { job: VerificationJob { result: Some(result), .. }, .. })) => {
                    // What failed there may work here.
                    return (!matches!(result.verdict, JobVerdict::Failed(_))).then_some(result);
                }
                // Its process ended.
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, job = %job.id, "cannot read an equal verification"),
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Equal requests have equal digests in all processes of one version. Between versions they may differ, which costs a second
/// compilation.
fn digest(request: &VerifyRequest) -> B256 {
    keccak256(format!("{request:?}"))
}

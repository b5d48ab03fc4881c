//! Verifications as jobs: they run to their end whether or not a client waits, and their results are stored.

mod metrics;
mod other_processes;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use alloy_primitives::Address;
use domain::{
    CreationCheck, JobFailure, JobId, JobRefusal, JobResult, JobVerdict, UnixMillis, VerificationJob, VerifiedContract,
};
use futures::future::BoxFuture;
use store::{SharedJobs, StoreError, VerifiedContracts};
use tokio::{sync::watch, time::timeout};

pub use self::metrics::VerificationMetrics;
use crate::{
    Refusal, VerifyClient, VerifyError, VerifyRequest,
    verifier::{Enqueued, Verdict, Verifier, VerifyStage},
};

/// Far more than the limits of a verification add up to.
const MAX_TIME: Duration = Duration::from_secs(600);
/// Ended jobs that stay in memory because they could not be stored.
const MAX_UNSTORED: usize = 1_000;

/// The service behind every way to verify a contract. Cheap to clone.
#[derive(Clone)]
pub struct VerificationJobs {
    shared: Arc<Shared>,
}

struct Shared {
    verifier: Verifier,
    records: Arc<dyn VerifiedContracts>,
    /// Set if other processes verify, too.
    shared_jobs: Option<Arc<dyn SharedJobs>>,
    active: Mutex<Active>,
    metrics: VerificationMetrics,
}

#[derive(Default)]
struct Active {
    by_id: HashMap<JobId, Arc<Job>>,
    /// Equal requests share a job. Few: the queue of verifications is bounded.
    running: Vec<(Arc<VerifyRequest>, Arc<Job>)>,
}

#[derive(Debug)]
struct Job {
    id: JobId,
    address: Address,
    submitted_at: UnixMillis,
    progress: watch::Sender<Progress>,
}

#[derive(Debug, Clone)]
struct Progress {
    stage: VerifyStage,
    /// Whether the job is in the store, so that its id is valid after a restart.
    stored: bool,
    end: Option<Arc<JobEnd>>,
}

/// How a job ended.
#[derive(Debug)]
pub struct JobEnd {
    pub result: JobResult,
    /// Set if there is no verdict.
    pub error: Option<Arc<VerifyError>>,
}

/// A submitted job.
#[derive(Debug, Clone)]
pub struct JobHandle(Arc<Job>);

/// A job as it is now.
#[derive(Debug, Clone)]
pub struct JobStatus {
    pub job: VerificationJob,
    /// What it waits for; None if it has ended, or was interrupted by the end of the process.
    pub stage: Option<VerifyStage>,
}

impl JobStatus {
    /// Whether the process ended before the job did.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.job.result.is_none() && self.stage.is_none()
    }
}

impl JobHandle {
    #[must_use]
    pub fn id(&self) -> JobId {
        self.0.id
    }

    /// Waits until the job ends. It continues if this is dropped.
    pub fn wait(&self) -> BoxFuture<'_, Arc<JobEnd>> {
        Box::pin(async move { self.wait_for(|progress| progress.end.clone()).await })
    }

    /// The job as it is now.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        let progress = self.0.progress.borrow().clone();
        let result = progress.end.map(|end| end.result.clone());
        let stage = result.is_none().then_some(progress.stage);
        JobStatus { job: VerificationJob { result, ..self.0.record() }, stage }
    }

    async fn wait_for<T>(&self, pick: impl Fn(&Progress) -> Option<T>) -> T {
        let mut progress = self.0.progress.subscribe();
        loop {
            if let Some(found) = pick(&progress.borrow_and_update()) {
                return found;
            }
            if progress.changed().await.is_err() {
                // Never: the job holds the sender.
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Job {
    fn record(&self) -> VerificationJob {
        VerificationJob { id: self.id, address: self.address, submitted_at: self.submitted_at, result: None }
    }
}

impl VerificationJobs {
    #[must_use]
    pub fn new(
        verifier: Verifier,
        records: Arc<dyn VerifiedContracts>,
        shared_jobs: Option<Arc<dyn SharedJobs>>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                verifier,
                records,
                shared_jobs,
                active: Mutex::default(),
                metrics: VerificationMetrics::default(),
            }),
        }
    }

    #[must_use]
    pub fn verifier(&self) -> &Verifier {
        &self.shared.verifier
    }

    #[must_use]
    pub fn metrics(&self) -> &VerificationMetrics {
        &self.shared.metrics
    }

    /// How many verifications run or wait.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.active().running.len()
    }

    /// Starts a verification, or joins one of an equal request. Returns when the job is stored.
    pub fn submit(
        &self,
        client: VerifyClient,
        request: VerifyRequest,
    ) -> BoxFuture<'_, Result<JobHandle, VerifyError>> {
        Box::pin(async move {
            let request = Arc::new(request);
            let handle = match self.join_or_start(client, &request)? {
                Submitted::Joined(job) => JobHandle(job),
                Submitted::Started(job, enqueued) => {
                    tokio::spawn(Arc::clone(&self.shared).run(Arc::clone(&job), enqueued, request));
                    JobHandle(job)
                }
            };
            handle.wait_for(|progress| (progress.stored || progress.end.is_some()).then_some(())).await;
            Ok(handle)
        })
    }

    fn join_or_start(&self, client: VerifyClient, request: &Arc<VerifyRequest>) -> Result<Submitted, VerifyError> {
        let mut active = self.shared.active();
        if let Some((_, job)) = active.running.iter().find(|(running, _)| running == request) {
            return Ok(Submitted::Joined(Arc::clone(job)));
        }
        let enqueued = self.shared.verifier.enqueue(client, request.address)?;
        let progress = Progress { stage: VerifyStage::Chain, stored: false, end: None };
        let job = Arc::new(Job {
            id: JobId::from_random(rand::random()),
            address: request.address,
            submitted_at: unix_time::millis(),
            progress: watch::Sender::new(progress),
        });
        active.by_id.insert(job.id, Arc::clone(&job));
        active.running.push((Arc::clone(request), Arc::clone(&job)));
        Ok(Submitted::Started(job, enqueued))
    }

    /// A job of the last week; waits for its end, but not longer than `max_wait`.
    pub fn find(&self, id: JobId, max_wait: Duration) -> BoxFuture<'_, Result<Option<JobStatus>, StoreError>> {
        Box::pin(async move {
            let active = self.shared.active().by_id.get(&id).map(Arc::clone);
            let Some(job) = active.map(JobHandle) else { return self.shared.find_stored(id, max_wait).await };
            let _ = timeout(max_wait, job.wait()).await;
            Ok(Some(job.status()))
        })
    }
}

enum Submitted {
    Joined(Arc<Job>),
    Started(Arc<Job>, Enqueued),
}

impl Shared {
    fn active(&self) -> MutexGuard<'_, Active> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: Arc<Self>, job: Arc<Job>, enqueued: Enqueued, request: Arc<VerifyRequest>) {
        let started = Instant::now();
        // Before the job is stored: another process that finds it must not take it for an interrupted one.
        if let Some(shared_jobs) = &self.shared_jobs
            && let Err(error) = shared_jobs.renew(job.id).await
        {
            tracing::warn!(%error, job = %job.id, "cannot announce a running verification to other processes");
        }
        let (result, error) = match self.records.save_job(job.record()).await {
            Err(error) => self.verdict(&job, started, (Err(error.into()), None)),
            Ok(()) => {
                job.progress.send_modify(|progress| progress.stored = true);
                self.verify_or_wait(&job, started, enqueued, request).await
            }
        };
        let ended = VerificationJob { result: Some(result.clone()), ..job.record() };
        let stored = self.records.save_job(ended).await;
        if let Err(error) = &stored {
            tracing::warn!(%error, job = %job.id, "cannot store the result of a verification");
        }
        if let Some(shared_jobs) = &self.shared_jobs
            && let Err(error) = shared_jobs.end(job.id).await
        {
            tracing::debug!(%error, job = %job.id, "cannot end the lease of a verification; it counts as running until the lease expires");
        }
        let end = Arc::new(JobEnd { result, error: error.map(Arc::new) });
        job.progress.send_modify(|progress| progress.end = Some(end));
        let mut active = self.active();
        active.running.retain(|(_, running)| running.id != job.id);
        if stored.is_ok() || active.by_id.len() > MAX_UNSTORED {
            active.by_id.remove(&job.id);
        }
    }

    fn verdict(
        &self,
        job: &Job,
        started: Instant,
        (outcome, compiling_since): Outcome,
    ) -> (JobResult, Option<VerifyError>) {
        log_outcome(job, &outcome);
        let (verdict, message) = describe_outcome(&outcome);
        self.metrics.record(&verdict, started.elapsed());
        let result = JobResult {
            finished_at: job.submitted_at.saturating_add(millis(started.elapsed())),
            compilation_millis: compiling_since.map(|since| millis(since.elapsed())),
            verdict,
            message,
        };
        (result, outcome.err())
    }

    /// The verdict, and when the compilations began. In a task of its own, so that a panic ends only this job.
    async fn verify(self: Arc<Self>, job: Arc<Job>, enqueued: Enqueued, request: Arc<VerifyRequest>) -> Outcome {
        let compiling_since = Arc::new(Mutex::new(None));
        let began = Arc::clone(&compiling_since);
        let task = tokio::spawn(async move {
            let report = |stage: VerifyStage| {
                if stage == VerifyStage::Compilation {
                    *began.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                }
                job.progress.send_modify(|progress| progress.stage = stage);
            };
            let verified = self.verifier.verify(enqueued, &request, job.submitted_at, &report);
            timeout(MAX_TIME, verified).await.unwrap_or(Err(VerifyError::TimedOut))
        });
        let outcome = task.await.unwrap_or_else(|error| Err(VerifyError::Panicked(error.to_string())));
        let compiling_since = *compiling_since.lock().unwrap_or_else(PoisonError::into_inner);
        (outcome, compiling_since)
    }
}

/// The verdict, and when the compilations began.
type Outcome = (Result<Verdict, VerifyError>, Option<Instant>);

fn log_outcome(job: &Job, outcome: &Result<Verdict, VerifyError>) {
    let address = job.address;
    match outcome {
        Ok(Verdict::Verified { contract, kept, .. }) => {
            tracing::info!(%address, name = contract.code.name, ?kept, "contract verified");
        }
        Ok(Verdict::Refused(_)) => {}
        Err(error) => {
            let error: &dyn std::error::Error = error;
            tracing::info!(error, %address, "verification ended without a verdict");
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn describe_outcome(outcome: &Result<Verdict, VerifyError>) -> (JobVerdict, String) {
    match outcome {
        Ok(verdict) => (describe_verdict(verdict), verdict.message()),
        Err(error) => {
            let failure = failure(error);
            // The cause of other failures is for the log only.
            let message = match failure {
                JobFailure::NoCode | JobFailure::CompilerVersion => error.to_string(),
                JobFailure::CompilerUnavailable => match error {
                    VerifyError::NoCompiler(text) => text.clone(),
                    _ => "the compiler cannot be downloaded or run now: try again shortly".to_owned(),
                },
                JobFailure::NodeUnavailable => "the node is unavailable: try again shortly".to_owned(),
                JobFailure::StoreUnavailable => "the index is unavailable: try again shortly".to_owned(),
                JobFailure::Internal => "the verification failed with an internal error".to_owned(),
            };
            (JobVerdict::Failed(failure), message)
        }
    }
}

fn describe_verdict(verdict: &Verdict) -> JobVerdict {
    match verdict {
        Verdict::Verified { contract, .. } => JobVerdict::Verified {
            name: contract.code.name.clone(),
            runtime_match: contract.code.runtime_match,
            creation: creation_check(contract),
        },
        Verdict::Refused(refusal) => JobVerdict::Refused {
            reason: match refusal {
                Refusal::Source(_) | Refusal::Compiler(_) | Refusal::Internal(_) => JobRefusal::Compilation,
                Refusal::OtherCompiler { .. }
                | Refusal::MinimalProxy { .. }
                | Refusal::NoContract { .. }
                | Refusal::Closest { .. }
                | Refusal::ClosestVyper { .. }
                | Refusal::NothingCompared(_)
                | Refusal::CreationOnly { .. }
                | Refusal::Library { .. }
                | Refusal::ConstructorArguments => JobRefusal::NoMatch,
            },
            creation_match: match refusal {
                Refusal::CreationOnly { kind, .. } => Some(*kind),
                _ => None,
            },
        },
    }
}

fn creation_check(contract: &VerifiedContract) -> CreationCheck {
    match (contract.creation_match(), &contract.deployment) {
        (Some(kind), _) => CreationCheck::Matches(kind),
        (None, Some(_)) => CreationCheck::Differs,
        (None, None) => CreationCheck::Unknown,
    }
}

fn failure(error: &VerifyError) -> JobFailure {
    match error {
        VerifyError::NoCode => JobFailure::NoCode,
        VerifyError::Version(_) => JobFailure::CompilerVersion,
        VerifyError::NoCompiler(_) | VerifyError::Compilers(_) => JobFailure::CompilerUnavailable,
        VerifyError::Node(_) => JobFailure::NodeUnavailable,
        VerifyError::Store(_) => JobFailure::StoreUnavailable,
        VerifyError::AlreadyRunning
        | VerifyError::ClientLimitReached
        | VerifyError::Busy
        | VerifyError::TimedOut
        | VerifyError::Panicked(_) => JobFailure::Internal,
    }
}

impl std::fmt::Debug for VerificationJobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerificationJobs").field("verifier", &self.shared.verifier).finish_non_exhaustive()
    }
}

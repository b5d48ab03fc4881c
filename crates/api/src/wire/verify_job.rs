use domain::{JobFailure, JobVerdict};
use serde::Serialize;
use utoipa::ToSchema;
use verification::JobStatus;

use super::{Address, ProblemCode, Timestamp, VerifyResponse};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyJob {
    #[schema(format = "uuid", example = "9f4c2a77-52c1-4d0e-8a4e-0d3f8a0b6c11")]
    pub id: String,
    pub address: Address,
    pub status: VerifyJobStatus,
    /// Null once the job has ended.
    #[schema(required = true, example = "other verifications to finish")]
    pub waits_for: Option<String>,
    pub submitted_at: Timestamp,
    #[schema(required = true)]
    pub finished_at: Option<Timestamp>,
    /// Null unless `finished`.
    #[schema(required = true)]
    pub answer: Option<VerifyResponse>,
    /// Why there is no verdict; null unless `failed`.
    #[schema(required = true)]
    pub failure: Option<VerifyJobFailure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerifyJobStatus {
    /// It waits or runs.
    Pending,
    /// There is a verdict in `answer`.
    Finished,
    /// There is no verdict: `failure` says why.
    Failed,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct VerifyJobFailure {
    pub code: ProblemCode,
    pub detail: String,
}

impl From<JobStatus> for VerifyJob {
    fn from(status: JobStatus) -> Self {
        let interrupted = status.is_interrupted().then(|| VerifyJobFailure {
            code: ProblemCode::VerificationInterrupted,
            detail: "the server was restarted before the verification ended: submit it again".to_owned(),
        });
        let job = status.job;
        let result = job.result.as_ref();
        let (answer, failure) = match result.map(|result| (result, &result.verdict)) {
            None => (None, interrupted),
            Some((result, JobVerdict::Failed(failure))) => {
                (None, Some(VerifyJobFailure { code: code(*failure), detail: result.message.clone() }))
            }
            Some((result, JobVerdict::Verified { .. } | JobVerdict::Refused { .. })) => {
                (Some(VerifyResponse::new(job.address, result)), None)
            }
        };
        Self {
            id: job.id.to_string(),
            address: job.address.into(),
            status: match (&answer, &failure) {
                (Some(_), _) => VerifyJobStatus::Finished,
                (None, Some(_)) => VerifyJobStatus::Failed,
                (None, None) => VerifyJobStatus::Pending,
            },
            waits_for: status.stage.map(|stage| stage.to_string()),
            submitted_at: Timestamp::from_unix_millis(job.submitted_at),
            finished_at: result.map(|result| Timestamp::from_unix_millis(result.finished_at)),
            answer,
            failure,
        }
    }
}

fn code(failure: JobFailure) -> ProblemCode {
    match failure {
        JobFailure::NoCode => ProblemCode::CodeNotFound,
        JobFailure::CompilerVersion => ProblemCode::InvalidParameter,
        JobFailure::CompilerUnavailable => ProblemCode::CompilerUnavailable,
        JobFailure::NodeUnavailable => ProblemCode::NodeUnavailable,
        JobFailure::StoreUnavailable => ProblemCode::StoreUnavailable,
        JobFailure::Internal => ProblemCode::InternalError,
    }
}

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::Redirect,
};
use domain::{JobFailure, JobId, JobRefusal, JobVerdict, UtcTime};
use serde::Serialize;
use serde_json::{Map, Value};
use verification::JobStatus;

use super::{
    contract::Match,
    error::{ErrorBody, SourcifyError},
};
use crate::app::App;

/// A poll waits this long for the end of its job.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// `GET v2/verify/{verificationId}`.
pub(super) async fn get_job(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<JobBody>, SourcifyError> {
    let status = find(&app, &id, MAX_WAIT).await?;
    let chain_id = app.chain_id().await?;
    describe(&app, chain_id, status).await.map(Json)
}

/// Where tools send people: our page of the job.
pub(super) async fn show_job(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Redirect, SourcifyError> {
    let status = find(&app, &id, Duration::ZERO).await?;
    Ok(Redirect::to(&format!("/verify-ui/jobs/{}", status.job.id)))
}

async fn find(app: &App, id: &str, max_wait: Duration) -> Result<JobStatus, SourcifyError> {
    let unknown = || SourcifyError::new(StatusCode::NOT_FOUND, "job_not_found", "No verification job with this id");
    let id: JobId = id.parse().map_err(|_| unknown())?;
    app.services.jobs.find(id, max_wait).await?.ok_or_else(unknown)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobBody {
    is_job_completed: bool,
    verification_id: String,
    job_start_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_finish_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compilation_time: Option<String>,
    contract: Map<String, Value>,
    /// Absent unless the job failed: clients take null for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
}

async fn describe(app: &App, chain_id: u64, status: JobStatus) -> Result<JobBody, SourcifyError> {
    let is_interrupted = status.is_interrupted();
    let job = status.job;
    let mut shown = Match::none(job.address);
    if let Some(JobVerdict::Verified { runtime_match, creation, .. }) =
        job.result.as_ref().map(|result| &result.verdict)
    {
        (shown.runtime, shown.creation) = (Some(*runtime_match), creation.kind());
        shown.verified =
            app.find_contract(job.address).await?.map(|contract| (contract.code.verified_at, contract.code.code_hash));
    }
    let time = |millis| UtcTime::from_unix_millis(millis).to_string();
    let result = job.result.as_ref();
    let body = JobBody {
        is_job_completed: result.is_some() || is_interrupted,
        verification_id: job.id.to_string(),
        job_start_time: time(job.submitted_at),
        job_finish_time: result.map(|result| time(result.finished_at)),
        compilation_time: result.and_then(|result| result.compilation_millis).map(|millis| millis.to_string()),
        contract: shown.to_json(chain_id),
        error: None,
    };
    let error = match job.result {
        None if is_interrupted => Some(ErrorBody::new(
            "internal_error",
            "The server was restarted before the verification ended: submit it again",
        )),
        None => None,
        Some(result) => error_code(&result.verdict).map(|code| ErrorBody::new(code, result.message)),
    };
    Ok(JobBody { error, ..body })
}

fn error_code(verdict: &JobVerdict) -> Option<&'static str> {
    Some(match verdict {
        JobVerdict::Verified { .. } => return None,
        JobVerdict::Refused { reason: JobRefusal::Compilation, .. } => "compiler_error",
        JobVerdict::Refused { reason: JobRefusal::NoMatch, .. } => "no_match",
        JobVerdict::Failed(JobFailure::NoCode) => "contract_not_deployed",
        JobVerdict::Failed(JobFailure::CompilerVersion) => "invalid_parameter",
        JobVerdict::Failed(JobFailure::NodeUnavailable) => "cannot_fetch_bytecode",
        JobVerdict::Failed(JobFailure::CompilerUnavailable | JobFailure::StoreUnavailable | JobFailure::Internal) => {
            "internal_error"
        }
    })
}

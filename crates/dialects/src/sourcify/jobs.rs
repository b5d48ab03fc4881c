use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::Redirect,
};
use contracts::JobStatus;
use domain::{JobFailure, JobId, JobRefusal, JobVerdict, UtcTime};
use serde_json::{Value, json};

use super::{
    contract::Match,
    error::{ErrorBody, SourcifyError},
};
use crate::app::App;

/// A poll waits this long for the end of its job.
const PATIENCE: Duration = Duration::from_secs(2);

/// `GET v2/verify/{verificationId}`.
pub(super) async fn get_job(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Json<Value>, SourcifyError> {
    let status = find(&app, &id, PATIENCE).await?;
    let chain_id = app.chain_id().await?;
    describe(&app, chain_id, status).await.map(Json)
}

/// Where tools send people: our page of the job.
pub(super) async fn show_job(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Redirect, SourcifyError> {
    let status = find(&app, &id, Duration::ZERO).await?;
    Ok(Redirect::to(&format!("/verify-ui/jobs/{}", status.job.id)))
}

async fn find(app: &App, id: &str, patience: Duration) -> Result<JobStatus, SourcifyError> {
    let unknown = || SourcifyError::new(StatusCode::NOT_FOUND, "job_not_found", "No verification job with this id");
    let id: JobId = id.parse().map_err(|_| unknown())?;
    app.services.jobs.find(id, patience).await?.ok_or_else(unknown)
}

async fn describe(app: &App, chain_id: u64, status: JobStatus) -> Result<Value, SourcifyError> {
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
    let mut body = json!({
        "isJobCompleted": job.result.is_some() || is_interrupted,
        "verificationId": job.id.to_string(),
        "jobStartTime": UtcTime::from_unix_millis(job.submitted_at).to_string(),
        "contract": shown.to_json(chain_id),
    });
    if let Some(result) = &job.result {
        body["jobFinishTime"] = UtcTime::from_unix_millis(result.finished_at).to_string().into();
        if let Some(millis) = result.compilation_millis {
            body["compilationTime"] = millis.to_string().into();
        }
    }
    // Absent unless the job failed: clients take null for a failure.
    let error = match job.result {
        None if is_interrupted => Some(ErrorBody::new(
            "internal_error",
            "The server was restarted before the verification ended: submit it again",
        )),
        None => None,
        Some(result) => error_code(&result.verdict).map(|code| ErrorBody::new(code, result.message)),
    };
    if let Some(error) = error {
        body["error"] = serde_json::to_value(error).unwrap_or_default();
    }
    Ok(body)
}

fn error_code(verdict: &JobVerdict) -> Option<&'static str> {
    Some(match verdict {
        JobVerdict::Verified { .. } => return None,
        JobVerdict::Refused { reason: JobRefusal::Compilation, .. } => "compiler_error",
        JobVerdict::Refused { reason: JobRefusal::NoMatch, .. } => "no_match",
        JobVerdict::Failed(JobFailure::NoCode) => "contract_not_deployed",
        JobVerdict::Failed(JobFailure::CompilerVersion) => "invalid_parameter",
        JobVerdict::Failed(JobFailure::NodeUnavailable) => "cannot_fetch_bytecode",
        JobVerdict::Failed(_) => "internal_error",
    })
}

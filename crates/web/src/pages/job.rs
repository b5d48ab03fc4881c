//! A verification job.

use std::time::Duration;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use domain::{JobId, JobVerdict};
use verification::JobStatus;

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{AddressLink, Moment},
};

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    frame: Frame,
    id: String,
    contract: AddressLink,
    code: String,
    submitted: Moment,
    progress: Progress,
}

enum Progress {
    /// What the job waits for.
    Pending(String),
    Verified(String),
    Failed(String),
}

impl Progress {
    fn of(status: &JobStatus) -> Self {
        match (&status.job.result, &status.stage) {
            (Some(result), _) => match result.verdict {
                JobVerdict::Verified { .. } => Self::Verified(result.message.clone()),
                JobVerdict::Refused { .. } | JobVerdict::Failed(_) => Self::Failed(result.message.clone()),
            },
            (None, Some(stage)) => Self::Pending(stage.to_string()),
            (None, None) => {
                Self::Failed("The server was restarted before the verification ended: submit it again.".to_owned())
            }
        }
    }
}

pub(super) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let job = match id.parse::<JobId>() {
        Ok(id) => app.jobs.find(id, Duration::ZERO).await?,
        Err(_) => None,
    };
    let Some(status) = job else {
        return app.not_found("No such verification", "Verifications are kept for a week.").await;
    };
    app.page(
        names,
        &JobPage {
            frame: app.frame("Verification", Section::Contracts).await,
            id: status.job.id.to_string(),
            contract: names.address(status.job.address),
            code: format!("/address/{}?tab=contract#code", status.job.address.to_checksum(None)),
            submitted: Moment::of(status.job.submitted_at / 1000),
            progress: Progress::of(&status),
        },
    )
    .await
}

use api::wire::{Problem, ProblemCode};
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::CACHE_CONTROL},
    response::{IntoResponse, Response},
};
use contracts::calls::CallError;
use domain::JobId;
use enrichment::AccountError;
use node::NodeError;
use serde::Serialize;
use store::StoreError;
use verification::VerifyError;

use crate::error::DialectError;

/// An error with Sourcify's code.
#[derive(Debug)]
pub(super) struct SourcifyError {
    status: StatusCode,
    code: &'static str,
    message: String,
}

/// The body of an error.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErrorBody {
    custom_code: &'static str,
    message: String,
    error_id: String,
}

impl ErrorBody {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        let id = JobId::from_random(rand::random());
        Self { custom_code: code, message: message.into(), error_id: id.to_string() }
    }
}

impl SourcifyError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_parameter", message)
    }

    pub(super) fn of_problem(problem: &Problem) -> Self {
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let code = match problem.code {
            ProblemCode::RouteNotFound | ProblemCode::MethodNotAllowed => "route_not_found",
            ProblemCode::RateLimited => "too_many_requests",
            ProblemCode::MalformedBody => "invalid_json",
            _ if status.is_server_error() => "internal_error",
            _ => "invalid_parameter",
        };
        Self::new(status, code, problem.detail.clone())
    }

    pub(super) fn of_verify(error: VerifyError) -> Self {
        match error {
            VerifyError::NoCode => {
                Self::new(StatusCode::NOT_FOUND, "contract_not_deployed", "There is no contract at this address")
            }
            VerifyError::AlreadyRunning => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "duplicate_verification_request", error.to_string())
            }
            VerifyError::ClientLimitReached => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", error.to_string())
            }
            VerifyError::Busy => Self::new(StatusCode::SERVICE_UNAVAILABLE, "internal_error", error.to_string()),
            VerifyError::Version(error) => Self::invalid(format!("compilerVersion {error}")),
            VerifyError::Node(error) => DialectError::from(error).into(),
            VerifyError::Store(error) => DialectError::from(error).into(),
            error => Self::new(StatusCode::SERVICE_UNAVAILABLE, "internal_error", error.to_string()),
        }
    }
}

impl IntoResponse for SourcifyError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ErrorBody::new(self.code, self.message))).into_response();
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl From<DialectError> for SourcifyError {
    fn from(error: DialectError) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "internal_error", error.report())
    }
}

macro_rules! errors_of_services {
    ($($error:ty),+) => {
        $(
            impl From<$error> for SourcifyError {
                fn from(error: $error) -> Self {
                    DialectError::from(error).into()
                }
            }
        )+
    };
}

errors_of_services!(StoreError, NodeError, AccountError, CallError);

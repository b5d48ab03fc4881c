use axum::{
    body::Body,
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use contracts::calls::CallError;
use enrichment::AccountError;
use node::NodeError;
use serde::Serialize;
use serde_json::{Value, json};
use store::StoreError;

use crate::error::DialectError;

/// Clients compare this text.
pub(super) const NOT_VERIFIED: &str = "Contract source code not verified";

/// A successful answer.
pub(super) enum Answer {
    /// In an envelope with the status `1`.
    Result(Value),
    /// A complete body.
    Body(String),
    /// A body in an envelope, as it is produced.
    Stream(Body),
}

/// An answer with the status `0`: a refusal, or an empty list.
#[derive(Debug)]
pub(super) struct Failure {
    message: &'static str,
    result: Value,
}

#[derive(Serialize)]
struct Envelope<'a> {
    status: &'a str,
    message: &'a str,
    result: &'a Value,
}

impl Answer {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Result(Value::String(text.into()))
    }
}

impl Failure {
    pub(super) fn result(&self) -> &Value {
        &self.result
    }

    pub(super) fn text(reason: impl Into<String>) -> Self {
        Self { message: "NOTOK", result: Value::String(reason.into()) }
    }

    pub(super) fn unknown_action() -> Self {
        Self::text("Error! Missing Or invalid Action name")
    }

    /// A parameter has an invalid value.
    pub(super) fn invalid(name: &str, rule: &str) -> Self {
        Self::text(format!("Error! Invalid {name}: it {rule}"))
    }

    /// There are no entries.
    pub(super) fn empty(message: &'static str) -> Self {
        Self { message, result: json!([]) }
    }

    /// There is nothing.
    pub(super) fn nothing(message: &'static str) -> Self {
        Self { message, result: Value::Null }
    }
}

impl From<DialectError> for Failure {
    fn from(error: DialectError) -> Self {
        Self::text(format!("Error! {}", error.report()))
    }
}

macro_rules! failures_of_services {
    ($($error:ty),+) => {
        $(
            impl From<$error> for Failure {
                fn from(error: $error) -> Self {
                    DialectError::from(error).into()
                }
            }
        )+
    };
}

failures_of_services!(StoreError, NodeError, AccountError, CallError);

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        match self {
            Self::Result(result) => write("1", "OK", &result),
            Self::Body(body) => json_response(Body::from(body)),
            Self::Stream(body) => json_response(body),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        write("0", self.message, &self.result)
    }
}

fn write(status: &str, message: &str, result: &Value) -> Response {
    // Strings and numbers only: serialization cannot fail.
    let body = serde_json::to_vec(&Envelope { status, message, result }).unwrap_or_default();
    json_response(Body::from(body))
}

fn json_response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

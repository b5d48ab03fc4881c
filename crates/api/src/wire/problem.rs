use std::borrow::Cow;

use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, ProblemCode};

/// A problem document (RFC 9457), with `error` and `message` for clients that expect these names.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// A URI for the type of problem, one per code.
    #[serde(rename = "type")]
    #[schema(example = "urn:explorer:problem:invalid_parameter")]
    pub kind: String,
    /// A short name of the problem type.
    #[schema(example = "Invalid parameter")]
    pub title: &'static str,
    /// The HTTP status.
    #[schema(example = 400)]
    pub status: u16,
    /// What went wrong in this request.
    #[schema(example = "limit must be a whole number of at least 1")]
    pub detail: Cow<'static, str>,
    pub code: ProblemCode,
    /// The same as `code`.
    #[schema(value_type = String, example = "invalid_parameter")]
    pub error: ProblemCode,
    /// The same as `detail`.
    #[schema(example = "limit must be a whole number of at least 1")]
    pub message: Cow<'static, str>,
    /// The invalid input, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "limit")]
    pub field: Option<Cow<'static, str>>,
    /// False, if there is no bytecode that a source could be compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = false)]
    pub success: Option<bool>,
    /// Where that bytecode was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub address: Option<Address>,
}

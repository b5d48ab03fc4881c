use std::borrow::Cow;

use serde::Serialize;
use utoipa::ToSchema;

use super::ProblemCode;

/// A problem document (RFC 9457).
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
    /// The invalid input, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "limit")]
    pub field: Option<Cow<'static, str>>,
}

use std::borrow::Cow;

use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, ProblemCode};

/// A problem document (RFC 9457), with `error` and `message` for clients that expect these names.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// One per code.
    #[serde(rename = "type")]
    #[schema(example = "urn:explorer:problem:invalid_parameter")]
    pub kind: String,
    #[schema(example = "Invalid parameter")]
    pub title: &'static str,
    #[schema(example = 400)]
    pub status: u16,
    #[schema(example = "limit must be a whole number of at least 1")]
    pub detail: Cow<'static, str>,
    pub code: ProblemCode,
    /// The same as `code`.
    #[schema(value_type = String)]
    pub error: ProblemCode,
    /// The same as `detail`.
    pub message: Cow<'static, str>,
    /// The invalid input, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "limit")]
    pub field: Option<Cow<'static, str>>,
    /// False, if there is no bytecode that a source could be compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub success: Option<bool>,
    /// Where that bytecode was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub address: Option<Address>,
}

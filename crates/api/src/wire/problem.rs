use std::borrow::Cow;

use serde::Serialize;
use utoipa::ToSchema;

use super::ProblemCode;

/// An error, as RFC 9457 describes it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// A URI that stands for the kind of problem: one for each code.
    #[serde(rename = "type")]
    #[schema(example = "urn:explorer:problem:invalid_parameter")]
    pub kind: String,
    /// What the kind of problem is, in a few words.
    #[schema(example = "Invalid parameter")]
    pub title: &'static str,
    /// The HTTP status of the answer.
    #[schema(example = 400)]
    pub status: u16,
    /// What went wrong this time.
    #[schema(example = "limit must be a whole number of at least 1")]
    pub detail: Cow<'static, str>,
    pub code: ProblemCode,
    /// The input at fault, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "limit")]
    pub field: Option<Cow<'static, str>>,
}

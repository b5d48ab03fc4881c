use std::borrow::Cow;

use serde::Serialize;
use utoipa::ToSchema;

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

/// Every problem the API tells of. Codes are stable: a client may switch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// A parameter has a value that it cannot have.
    InvalidParameter,
    /// A parameter or a member of the body is given more than once.
    RepeatedParameter,
    /// The URL is not properly percent-encoded UTF-8.
    MalformedUrl,
    /// The body is not a JSON object.
    MalformedBody,
    /// The body has a member that nobody knows.
    UnknownField,
    /// The entity cannot be filtered by this.
    FilterNotOffered,
    /// No such path.
    RouteNotFound,
    /// No such block is indexed.
    BlockNotFound,
    /// No such transaction is indexed.
    TransactionNotFound,
    /// The address took no part in any indexed block.
    AddressNotFound,
    /// No transfer of such a token is indexed.
    TokenNotFound,
    /// The path is known, but not with this method.
    MethodNotAllowed,
    /// The body is larger than 65536 bytes.
    BodyTooLarge,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    /// The URL is longer than 8192 bytes.
    UriTooLong,
    /// A fault of the service.
    InternalError,
    /// The index cannot answer now.
    StoreUnavailable,
    /// The node cannot answer now, and nothing was kept of an earlier answer.
    NodeUnavailable,
    /// The answer was not ready in time.
    DeadlineExceeded,
}

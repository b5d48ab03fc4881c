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
    /// A field or parameter that is needed is not there.
    MissingField,
    /// The signature has a form that no wallet's key makes, and there is no contract that could understand it.
    InvalidSignature,
    /// The signature is not the owner's over the expected text.
    SignatureMismatch,
    /// The signature is the altered twin of another one: its s is too high.
    SignatureNotCanonical,
    /// The time that was signed lies more than 5 minutes in the past.
    ProofExpired,
    /// The time that was signed lies more than 5 minutes in the future.
    ProofNotYetValid,
    /// An API key of the owner must be sent.
    KeyRequired,
    /// What was sent in X-API-Key is not a key of this service.
    InvalidKey,
    /// The key in X-API-Key is no longer in use.
    RevokedKey,
    /// The key in X-API-Key belongs to another owner.
    NotOwner,
    /// The owner has no such key.
    KeyNotFound,
    /// The owner has no such webhook.
    WebhookNotFound,
    /// The webhook has no such delivery.
    DeliveryNotFound,
    /// The webhook is not active, so nothing is sent to it.
    WebhookInactive,
    /// What the delivery tells of has left the chain.
    DeliveryCancelled,
    /// The owner has as many webhooks as one may have.
    WebhookQuotaReached,
    /// The body did not arrive in time.
    BodyTooSlow,
    /// The owner has used a proof with this timestamp before.
    ProofUsed,
    /// The owner has as many active keys as one may have.
    KeyQuotaReached,
    /// The body is longer than allowed.
    BodyTooLarge,
    /// The body is not sent as JSON.
    UnsupportedMediaType,
    /// The limit is reached; Retry-After tells when to ask again.
    RateLimited,
    /// The path is known, but not with this method.
    MethodNotAllowed,
    /// The URL is longer than 8192 bytes.
    UriTooLong,
    /// There is no contract at the address.
    CodeNotFound,
    /// No source code is known of the contract.
    ContractNotVerified,
    /// The contract is being verified already.
    VerificationUnderWay,
    /// Too many verifications are waiting.
    VerifierBusy,
    /// The compiler cannot be got or run.
    CompilerUnavailable,
    /// The contract reverted the call.
    CallReverted,
    /// The contract gave nothing that can be told.
    CallFailed,
    /// A fault of the service.
    InternalError,
    /// The index cannot answer now.
    StoreUnavailable,
    /// The node cannot answer now, and nothing was kept of an earlier answer.
    NodeUnavailable,
    /// The answer was not ready in time.
    DeadlineExceeded,
}

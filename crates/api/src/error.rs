mod problem_code;

use std::{borrow::Cow, sync::Arc};

use axum::{
    http::{
        HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use contracts::calls::CallError;
use domain::{Address, BlockNumber};
use egress::UrlFault;
use enrichment::{AccountError, AccountUnavailable, HistoryError, ImageUnavailable, TraceUnavailable};
use node::NodeError;
pub use problem_code::ProblemCode;
use store::{ACTIVE_KEYS_PER_OWNER, AddKeyError, StoreError, WEBHOOKS_PER_OWNER};
use verification::VerifyError;
use webhooks::{RegistryError, VaultError};

use crate::{
    keys::ProofError,
    params::{BODY_TIMEOUT, BodyError},
    wire::Problem,
};

/// `Retry-After` of a 503: a store or node that is unavailable rarely recovers within a second.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("5");
/// For a block that another process has indexed already, or that is about to arrive.
const NEXT_BLOCK_SECONDS: HeaderValue = HeaderValue::from_static("1");
/// `Retry-After` if too many verifications are running: most take less.
const VERIFICATION_SECONDS: HeaderValue = HeaderValue::from_static("10");
/// `WWW-Authenticate` of a 401: API keys have no registered scheme.
const CHALLENGE: HeaderValue = HeaderValue::from_static("ApiKey header=\"X-API-Key\"");

/// Why a request failed.
///
/// The only place that chooses status, code and text. The cause of a 5xx is logged here, once, and never sent to the client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("{field} {rule}")]
    InvalidParameter { field: &'static str, rule: &'static str },
    #[error("{field} is given more than once")]
    RepeatedParameter { field: &'static str },
    #[error("the URL is not properly percent-encoded UTF-8")]
    MalformedUrl { field: Option<String> },
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("{field} is missing")]
    MissingField { field: &'static str },
    #[error("the body must be JSON, sent with Content-Type: application/json")]
    UnsupportedMediaType,
    #[error("the body is longer than {max} bytes")]
    BodyTooLarge { max: usize },
    #[error("the body did not arrive within {} seconds", BODY_TIMEOUT.as_secs())]
    BodyTooSlow,
    #[error(transparent)]
    Proof(#[from] ProofError),
    #[error("this proof was already used: sign a message with a new timestamp")]
    ProofUsed,
    #[error("the owner already has {ACTIVE_KEYS_PER_OWNER} active keys: revoke one with DELETE /api/v1/keys/{{id}}")]
    KeyQuotaReached,
    #[error(
        "send an API key of the owner in X-API-Key; to get one, sign a message with the owner's wallet and send it to POST /api/v1/keys"
    )]
    KeyRequired,
    #[error("the value of X-API-Key is not a key of this service")]
    InvalidKey,
    #[error("the key in X-API-Key has been revoked")]
    RevokedKey,
    #[error("the key in X-API-Key belongs to another owner")]
    NotOwner,
    #[error("the owner has no such key")]
    KeyNotFound,
    #[error("url {fault}{}", hint_of(.0), fault = .0)]
    RejectedUrl(UrlFault),
    #[error("the owner has no such webhook")]
    WebhookNotFound,
    #[error("the webhook has no such delivery")]
    DeliveryNotFound,
    #[error("the webhook is not active: activate it with PATCH /api/v1/webhooks/{{id}}")]
    WebhookInactive,
    #[error("the event of this delivery was reverted by a reorg")]
    DeliveryCancelled,
    #[error("the owner already has {WEBHOOKS_PER_OWNER} webhooks: delete one with DELETE /api/v1/webhooks/{{id}}")]
    WebhookQuotaReached,
    #[error("the address is already watched by the maximum number of webhooks")]
    WatchedAddressFull,
    #[error("this service has the maximum number of webhooks: try again later")]
    WebhooksFull,
    #[error("cannot encrypt or decrypt the secret of a webhook")]
    Vault(#[source] VaultError),
    #[error("too many requests: {reason}; try again in {retry_after} s{advice}")]
    RateLimited { retry_after: u64, reason: String, advice: &'static str },
    #[error("there is nothing at this path")]
    RouteNotFound,
    #[error("no such block is indexed")]
    BlockNotFound,
    #[error("block {wanted} is not indexed yet: try again shortly")]
    BlockNotReached { wanted: BlockNumber },
    #[error("no such transaction is indexed")]
    TransactionNotFound,
    #[error("the node does not trace transactions in this way, or does not have this one")]
    NotTraced,
    #[error("the node did not trace the transaction")]
    TraceUnavailable(#[source] TraceUnavailable),
    #[error("no indexed block contains the address, and the node knows nothing about it")]
    AddressNotFound,
    #[error("no transfer of such a token is indexed")]
    TokenNotFound,
    #[error("no transfer of this id of a token is indexed")]
    TokenIdNotFound,
    #[error("this id has no image: {0}")]
    NoImage(String),
    #[error("the image is being fetched: try again shortly")]
    ImagePending,
    #[error("this explorer does not list top accounts: its operator can turn that on with --top-accounts on")]
    TopAccountsOff,
    #[error("the contract at this address is not verified: verify it with POST /api/v1/verify")]
    ContractNotVerified,
    #[error("this contract has no {artifact}: {reason}")]
    NoArtifact { artifact: &'static str, reason: &'static str },
    #[error("{field} {rule}")]
    InvalidContractField { field: &'static str, rule: String },
    #[error(transparent)]
    Verify(Arc<VerifyError>),
    #[error("{}", VerifyError::NoCode)]
    NoBytecode { address: Address },
    #[error("there is no such verification job: jobs are kept for a week")]
    JobNotFound,
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("this path does not support the method of the request; see the Allow header")]
    MethodNotAllowed,
    #[error("the URL is longer than 8192 bytes")]
    UriTooLong,
    #[error("a handler panicked: {message}")]
    Panicked { message: String },
    #[error("cannot serialize a response")]
    Serialization(#[from] serde_json::Error),
    #[error("cannot compress a response")]
    Compression(#[source] axum::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("blocks were reverted again and again while they were read")]
    Reorg,
    #[error("the node did not return the account, and no earlier response is stored")]
    NodeUnavailable(#[source] AccountUnavailable),
    #[error("the node did not answer whether it has the transaction")]
    PoolUnavailable(#[source] Option<NodeError>),
    #[error("the node could not check whether a contract at the owner's address accepts the signature")]
    WalletUnavailable(#[source] NodeError),
    #[error("the request took too long")]
    DeadlineExceeded,
}

impl From<VerifyError> for ApiError {
    fn from(error: VerifyError) -> Self {
        Self::Verify(Arc::new(error))
    }
}

impl From<TraceUnavailable> for ApiError {
    fn from(error: TraceUnavailable) -> Self {
        match error {
            TraceUnavailable::NotSupported => Self::NotTraced,
            TraceUnavailable::Timeout | TraceUnavailable::Node(_) => Self::TraceUnavailable(error),
        }
    }
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Unavailable(cause) => Self::NodeUnavailable(cause),
            AccountError::Store(error) => error.into(),
        }
    }
}

impl From<HistoryError> for ApiError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::NodeUnavailable(cause) => Self::NodeUnavailable(cause),
            HistoryError::Reorg => Self::Reorg,
            HistoryError::Store(error) => error.into(),
        }
    }
}

impl ApiError {
    pub(crate) fn code(&self) -> ProblemCode {
        match self {
            Self::InvalidParameter { .. } => ProblemCode::InvalidParameter,
            Self::RepeatedParameter { .. } => ProblemCode::RepeatedParameter,
            Self::MalformedUrl { .. } => ProblemCode::MalformedUrl,
            Self::Body(error) => error.code(),
            Self::MissingField { .. } => ProblemCode::MissingField,
            Self::UnsupportedMediaType => ProblemCode::UnsupportedMediaType,
            Self::BodyTooLarge { .. } => ProblemCode::BodyTooLarge,
            Self::BodyTooSlow => ProblemCode::BodyTooSlow,
            Self::Proof(error) => proof_code(*error),
            Self::ProofUsed => ProblemCode::ProofUsed,
            Self::KeyQuotaReached => ProblemCode::KeyQuotaReached,
            Self::KeyRequired => ProblemCode::KeyRequired,
            Self::InvalidKey => ProblemCode::InvalidKey,
            Self::RevokedKey => ProblemCode::RevokedKey,
            Self::NotOwner => ProblemCode::NotOwner,
            Self::KeyNotFound => ProblemCode::KeyNotFound,
            Self::RejectedUrl(_) => ProblemCode::InvalidParameter,
            Self::WebhookNotFound => ProblemCode::WebhookNotFound,
            Self::DeliveryNotFound => ProblemCode::DeliveryNotFound,
            Self::WebhookInactive => ProblemCode::WebhookInactive,
            Self::DeliveryCancelled => ProblemCode::DeliveryCancelled,
            Self::WebhookQuotaReached => ProblemCode::WebhookQuotaReached,
            Self::WatchedAddressFull => ProblemCode::WatchedAddressFull,
            Self::WebhooksFull => ProblemCode::WebhooksFull,
            Self::RateLimited { .. } => ProblemCode::RateLimited,
            Self::RouteNotFound => ProblemCode::RouteNotFound,
            Self::BlockNotFound => ProblemCode::BlockNotFound,
            Self::BlockNotReached { .. } => ProblemCode::BlockNotReached,
            Self::TransactionNotFound => ProblemCode::TransactionNotFound,
            Self::NotTraced => ProblemCode::NotTraced,
            Self::AddressNotFound => ProblemCode::AddressNotFound,
            Self::TokenNotFound => ProblemCode::TokenNotFound,
            Self::TokenIdNotFound => ProblemCode::TokenIdNotFound,
            Self::NoImage(_) => ProblemCode::ImageNotAvailable,
            Self::ImagePending => ProblemCode::ImagePending,
            Self::TopAccountsOff => ProblemCode::TopAccountsOff,
            Self::ContractNotVerified => ProblemCode::ContractNotVerified,
            Self::NoArtifact { .. } => ProblemCode::ArtifactNotAvailable,
            Self::InvalidContractField { .. } => ProblemCode::InvalidParameter,
            Self::Verify(error) => verify_code(error),
            Self::NoBytecode { .. } => verify_code(&VerifyError::NoCode),
            Self::JobNotFound => ProblemCode::JobNotFound,
            Self::Call(error) => call_code(error),
            Self::MethodNotAllowed => ProblemCode::MethodNotAllowed,
            Self::UriTooLong => ProblemCode::UriTooLong,
            Self::Panicked { .. } | Self::Serialization(_) | Self::Compression(_) | Self::Vault(_) => {
                ProblemCode::InternalError
            }
            Self::Store(_) | Self::Reorg => ProblemCode::StoreUnavailable,
            Self::NodeUnavailable(_)
            | Self::PoolUnavailable(_)
            | Self::TraceUnavailable(_)
            | Self::WalletUnavailable(_) => ProblemCode::NodeUnavailable,
            Self::DeadlineExceeded => ProblemCode::DeadlineExceeded,
        }
    }

    pub(crate) fn problem(&self) -> Problem {
        let (code, detail) = (self.code(), self.detail());
        let unverified = match self {
            Self::NoBytecode { address } => Some(*address),
            _ => None,
        };
        Problem {
            kind: format!("urn:explorer:problem:{}", code.text()),
            title: code.title(),
            status: code.status().as_u16(),
            message: detail.clone(),
            detail,
            code,
            error: code,
            field: self.field(),
            success: unverified.map(|_| false),
            address: unverified.map(Into::into),
        }
    }

    fn detail(&self) -> Cow<'static, str> {
        match self.code() {
            ProblemCode::InternalError => "Internal error. It has been logged.".into(),
            ProblemCode::StoreUnavailable => "The index is unavailable. Try again shortly.".into(),
            ProblemCode::NodeUnavailable => "The node is unavailable. Try again shortly.".into(),
            // A missing compiler runtime is shown: the operator needs to know, and it reveals nothing sensitive.
            ProblemCode::CompilerUnavailable if !self.names_missing_compiler() => {
                "The compiler cannot be downloaded or run now. Try again shortly.".into()
            }
            ProblemCode::DeadlineExceeded => "The request took too long. Try again shortly.".into(),
            _ => self.to_string().into(),
        }
    }

    fn field(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::InvalidParameter { field, .. } | Self::RepeatedParameter { field } | Self::MissingField { field } => {
                Some((*field).into())
            }
            Self::Proof(ProofError::Seconds | ProofError::Expired | ProofError::InFuture) | Self::ProofUsed => {
                Some("timestamp".into())
            }
            Self::Proof(_) => Some("signature".into()),
            Self::InvalidContractField { field, .. } => Some((*field).into()),
            Self::Verify(error) if matches!(**error, VerifyError::Version(_)) => Some("compilerVersion".into()),
            Self::Call(CallError::Argument { .. } | CallError::ArgumentCount { .. }) => Some("args".into()),
            Self::Call(error) if call_code(error) == ProblemCode::InvalidParameter => Some("functionName".into()),
            Self::RejectedUrl(_) => Some("url".into()),
            Self::KeyRequired | Self::InvalidKey | Self::RevokedKey => Some("X-API-Key".into()),
            Self::MalformedUrl { field } => field.clone().map(Cow::from),
            Self::Body(error) => error.field(),
            _ => None,
        }
    }

    fn names_missing_compiler(&self) -> bool {
        matches!(self, Self::Verify(error) if matches!(**error, VerifyError::NoCompiler(_)))
    }

    fn log(&self) {
        let status = self.code().status();
        if status.is_server_error() && !matches!(self, Self::BlockNotReached { .. } | Self::ImagePending) {
            let error: &dyn std::error::Error = self;
            tracing::error!(error, status = status.as_u16(), "request failed");
        }
    }
}

fn proof_code(error: ProofError) -> ProblemCode {
    match error {
        ProofError::Seconds | ProofError::NotHex | ProofError::TooLong { .. } => ProblemCode::InvalidParameter,
        ProofError::Expired => ProblemCode::ProofExpired,
        ProofError::InFuture => ProblemCode::ProofNotYetValid,
        ProofError::Length { .. } | ProofError::RecoveryByte(_) | ProofError::Scalars => ProblemCode::InvalidSignature,
        ProofError::HighS => ProblemCode::SignatureNotCanonical,
        ProofError::OtherSigner { .. }
        | ProofError::WrongText(_)
        | ProofError::RejectedByContract
        | ProofError::NotDeployable => ProblemCode::SignatureMismatch,
    }
}

fn verify_code(error: &VerifyError) -> ProblemCode {
    match error {
        VerifyError::NoCode => ProblemCode::CodeNotFound,
        VerifyError::Version(_) => ProblemCode::InvalidParameter,
        VerifyError::AlreadyRunning => ProblemCode::VerificationUnderWay,
        VerifyError::ClientLimitReached => ProblemCode::TooManyVerifications,
        VerifyError::Busy => ProblemCode::VerifierBusy,
        VerifyError::NoCompiler(_) | VerifyError::Compilers(_) => ProblemCode::CompilerUnavailable,
        VerifyError::Node(_) => ProblemCode::NodeUnavailable,
        VerifyError::Store(_) => ProblemCode::StoreUnavailable,
        VerifyError::TimedOut => ProblemCode::DeadlineExceeded,
        VerifyError::Panicked(_) => ProblemCode::InternalError,
    }
}

fn call_code(error: &CallError) -> ProblemCode {
    match error {
        CallError::NotVerified | CallError::NoCode => ProblemCode::ContractNotVerified,
        CallError::UnknownFunction { .. }
        | CallError::Ambiguous { .. }
        | CallError::NotView { .. }
        | CallError::ArgumentCount { .. }
        | CallError::Argument { .. } => ProblemCode::InvalidParameter,
        CallError::Reverted(_) => ProblemCode::CallReverted,
        CallError::UndecodableOutput { .. }
        | CallError::OutputTooLong { .. }
        | CallError::StateGone
        | CallError::Interface(_) => ProblemCode::CallFailed,
        CallError::Node(_) => ProblemCode::NodeUnavailable,
        CallError::Store(_) => ProblemCode::StoreUnavailable,
    }
}

impl From<ImageUnavailable> for ApiError {
    fn from(error: ImageUnavailable) -> Self {
        match error {
            ImageUnavailable::Store(error) => error.into(),
            ImageUnavailable::Pending => Self::ImagePending,
            ImageUnavailable::NoImage(reason) => Self::NoImage(reason),
        }
    }
}

impl From<AddKeyError> for ApiError {
    fn from(error: AddKeyError) -> Self {
        match error {
            AddKeyError::ProofUsed => Self::ProofUsed,
            AddKeyError::QuotaReached => Self::KeyQuotaReached,
            AddKeyError::Store(error) => Self::Store(error),
        }
    }
}

/// How to test with a receiver on the own machine.
fn hint_of(fault: &UrlFault) -> &'static str {
    match fault {
        UrlFault::NotHttps | UrlFault::NotPublic => {
            "; for tests, the operator can permit http and receivers on the same machine with --webhook-allow-insecure"
        }
        UrlFault::TooLong
        | UrlFault::Malformed
        | UrlFault::Credentials
        | UrlFault::Host
        | UrlFault::PortZero
        | UrlFault::Port(_) => "",
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Url(error) => Self::RejectedUrl(error),
            RegistryError::QuotaReached => Self::WebhookQuotaReached,
            RegistryError::AddressFull => Self::WatchedAddressFull,
            RegistryError::Full => Self::WebhooksFull,
            RegistryError::NoSuchWebhook => Self::WebhookNotFound,
            RegistryError::NoSuchDelivery => Self::DeliveryNotFound,
            RegistryError::Inactive => Self::WebhookInactive,
            RegistryError::Cancelled => Self::DeliveryCancelled,
            RegistryError::Vault(error) => Self::Vault(error),
            RegistryError::Store(error) => Self::Store(error),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let status = self.code().status();
        let problem = self.problem();
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (status, body).into_response();
        // For dialects, which write it in another format.
        response.extensions_mut().insert(problem);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        // A missing resource may exist with the next block.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match (status, self) {
            (_, Self::BlockNotReached { .. }) => headers.insert(RETRY_AFTER, NEXT_BLOCK_SECONDS),
            (StatusCode::SERVICE_UNAVAILABLE, _) => headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS),
            (_, Self::RateLimited { retry_after, .. }) => headers.insert(RETRY_AFTER, retry_after.into()),
            (StatusCode::TOO_MANY_REQUESTS, _) => headers.insert(RETRY_AFTER, VERIFICATION_SECONDS),
            (StatusCode::UNAUTHORIZED, _) => headers.insert(WWW_AUTHENTICATE, CHALLENGE),
            _ => None,
        };
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_the_invalid_field() {
        let error = ApiError::InvalidParameter { field: "page", rule: "must be a whole number of at least 1" };
        insta::assert_json_snapshot!(error.problem(), @r#"
        {
          "type": "urn:explorer:problem:invalid_parameter",
          "title": "Invalid parameter",
          "status": 400,
          "detail": "page must be a whole number of at least 1",
          "code": "invalid_parameter",
          "error": "invalid_parameter",
          "message": "page must be a whole number of at least 1",
          "field": "page"
        }
        "#);
    }

    #[test]
    fn a_verification_without_bytecode_fails_as_one_with_another_does() {
        let problem = ApiError::NoBytecode { address: Address::repeat_byte(0xaa) }.problem();
        insta::assert_json_snapshot!(problem, @r#"
        {
          "type": "urn:explorer:problem:code_not_found",
          "title": "No contract",
          "status": 404,
          "detail": "no bytecode is indexed at this address: there is no contract on the chain",
          "code": "code_not_found",
          "error": "code_not_found",
          "message": "no bytecode is indexed at this address: there is no contract on the chain",
          "success": false,
          "address": "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        }
        "#);
    }

    #[test]
    fn the_cause_of_a_5xx_is_not_shown() {
        let cause = StoreError::Backend("disk /secret is full".into());
        let response = ApiError::Store(cause).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "5");

        for error in
            [ApiError::Store(StoreError::Backend("secret".into())), ApiError::Panicked { message: "secret".to_owned() }]
        {
            let shown = serde_json::to_string(&error.problem()).unwrap();
            assert!(!shown.contains("secret"), "{shown}");
            assert!(!shown.contains("field"), "{shown}");
        }
    }
}

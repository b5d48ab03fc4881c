//! Every code that a problem may have, in one table: what clients see, the status it comes with, and its title.

use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

macro_rules! problem_codes {
    ($($(#[$doc:meta])+ $code:ident = $text:ident, $status:ident, $title:literal;)+) => {
        /// Every problem the API tells of. Codes are stable: a client may switch on them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ProblemCode {
            $($(#[$doc])+ $code,)+
        }

        impl ProblemCode {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$code),+];

            pub(crate) fn status(self) -> StatusCode {
                match self {
                    $(Self::$code => StatusCode::$status,)+
                }
            }

            pub(crate) fn title(self) -> &'static str {
                match self {
                    $(Self::$code => $title,)+
                }
            }

            /// The code as clients see it.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$code => stringify!($text),)+
                }
            }
        }
    };
}

problem_codes! {
    /// A parameter has a value that it cannot have.
    InvalidParameter = invalid_parameter, BAD_REQUEST, "Invalid parameter";
    /// A parameter or a member of the body is given more than once.
    RepeatedParameter = repeated_parameter, BAD_REQUEST, "Repeated parameter";
    /// The URL is not properly percent-encoded UTF-8.
    MalformedUrl = malformed_url, BAD_REQUEST, "Malformed URL";
    /// The body is not a JSON object.
    MalformedBody = malformed_body, BAD_REQUEST, "Malformed body";
    /// The body has a member that nobody knows.
    UnknownField = unknown_field, BAD_REQUEST, "Unknown field";
    /// The entity cannot be filtered by this.
    FilterNotOffered = filter_not_offered, BAD_REQUEST, "Filter not offered";
    /// No such path.
    RouteNotFound = route_not_found, NOT_FOUND, "Path not found";
    /// No such block is indexed.
    BlockNotFound = block_not_found, NOT_FOUND, "Block not found";
    /// No such transaction is indexed.
    TransactionNotFound = transaction_not_found, NOT_FOUND, "Transaction not found";
    /// The address took no part in any indexed block.
    AddressNotFound = address_not_found, NOT_FOUND, "Address not found";
    /// No transfer of such a token is indexed.
    TokenNotFound = token_not_found, NOT_FOUND, "Token not found";
    /// A field or parameter that is needed is not there.
    MissingField = missing_field, BAD_REQUEST, "Missing field";
    /// The signature has a form that no wallet's key makes, and there is no contract that could understand it.
    InvalidSignature = invalid_signature, UNAUTHORIZED, "Invalid signature";
    /// The signature is not the owner's over the expected text.
    SignatureMismatch = signature_mismatch, UNAUTHORIZED, "Signature does not match";
    /// The signature is the altered twin of another one: its s is too high.
    SignatureNotCanonical = signature_not_canonical, UNAUTHORIZED, "Signature not canonical";
    /// The time that was signed lies more than 5 minutes in the past.
    ProofExpired = proof_expired, UNAUTHORIZED, "Proof expired";
    /// The time that was signed lies more than 5 minutes in the future.
    ProofNotYetValid = proof_not_yet_valid, UNAUTHORIZED, "Proof not yet valid";
    /// An API key of the owner must be sent.
    KeyRequired = key_required, UNAUTHORIZED, "API key required";
    /// What was sent in X-API-Key is not a key of this service.
    InvalidKey = invalid_key, UNAUTHORIZED, "Invalid API key";
    /// The key in X-API-Key is no longer in use.
    RevokedKey = revoked_key, UNAUTHORIZED, "API key revoked";
    /// The key in X-API-Key belongs to another owner.
    NotOwner = not_owner, FORBIDDEN, "Not yours";
    /// The owner has no such key.
    KeyNotFound = key_not_found, NOT_FOUND, "API key not found";
    /// The owner has no such webhook.
    WebhookNotFound = webhook_not_found, NOT_FOUND, "Webhook not found";
    /// The webhook has no such delivery.
    DeliveryNotFound = delivery_not_found, NOT_FOUND, "Delivery not found";
    /// The webhook is not active, so nothing is sent to it.
    WebhookInactive = webhook_inactive, CONFLICT, "Webhook not active";
    /// What the delivery tells of has left the chain.
    DeliveryCancelled = delivery_cancelled, CONFLICT, "Delivery cancelled";
    /// The owner has as many webhooks as one may have.
    WebhookQuotaReached = webhook_quota_reached, CONFLICT, "Too many webhooks";
    /// As many webhooks watch the address as may watch one.
    WatchedAddressFull = watched_address_full, CONFLICT, "Address watched by too many";
    /// There are as many webhooks as there may be.
    WebhooksFull = webhooks_full, SERVICE_UNAVAILABLE, "No room for webhooks";
    /// The body did not arrive in time.
    BodyTooSlow = body_too_slow, REQUEST_TIMEOUT, "Body too slow";
    /// The owner has used a proof with this timestamp before.
    ProofUsed = proof_used, CONFLICT, "Proof already used";
    /// The owner has as many active keys as one may have.
    KeyQuotaReached = key_quota_reached, CONFLICT, "Too many API keys";
    /// The body is longer than allowed.
    BodyTooLarge = body_too_large, PAYLOAD_TOO_LARGE, "Body too large";
    /// The body is not sent as JSON.
    UnsupportedMediaType = unsupported_media_type, UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
    /// The limit is reached; Retry-After tells when to ask again.
    RateLimited = rate_limited, TOO_MANY_REQUESTS, "Too many requests";
    /// The path is known, but not with this method.
    MethodNotAllowed = method_not_allowed, METHOD_NOT_ALLOWED, "Method not allowed";
    /// The URL is longer than 8192 bytes.
    UriTooLong = uri_too_long, URI_TOO_LONG, "URL too long";
    /// There is no contract at the address.
    CodeNotFound = code_not_found, NOT_FOUND, "No contract";
    /// No source code is known of the contract.
    ContractNotVerified = contract_not_verified, NOT_FOUND, "Contract not verified";
    /// The contract is verified, and its compiler did not give what is asked for.
    ArtifactNotAvailable = artifact_not_available, NOT_FOUND, "Artifact not available";
    /// The contract is being verified already.
    VerificationUnderWay = verification_under_way, CONFLICT, "Verification under way";
    /// The client has as many verifications running and waiting as one may have.
    TooManyVerifications = too_many_verifications, TOO_MANY_REQUESTS, "Too many verifications of one client";
    /// Too many verifications are waiting.
    VerifierBusy = verifier_busy, SERVICE_UNAVAILABLE, "Too many verifications";
    /// The compiler cannot be got or run.
    CompilerUnavailable = compiler_unavailable, SERVICE_UNAVAILABLE, "Compiler unavailable";
    /// The contract reverted the call.
    CallReverted = call_reverted, UNPROCESSABLE_ENTITY, "Call reverted";
    /// The contract gave nothing that can be told.
    CallFailed = call_failed, UNPROCESSABLE_ENTITY, "Call failed";
    /// A fault of the service.
    InternalError = internal_error, INTERNAL_SERVER_ERROR, "Internal error";
    /// The index cannot answer now.
    StoreUnavailable = store_unavailable, SERVICE_UNAVAILABLE, "Index unavailable";
    /// The node cannot answer now, and nothing was kept of an earlier answer.
    NodeUnavailable = node_unavailable, SERVICE_UNAVAILABLE, "Node unavailable";
    /// The answer was not ready in time.
    DeadlineExceeded = deadline_exceeded, SERVICE_UNAVAILABLE, "Deadline exceeded";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_written_as_it_is_called() {
        for code in ProblemCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.text());
        }
    }
}

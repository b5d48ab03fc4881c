//! All problem codes in one table, with their HTTP status and title.

use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

macro_rules! problem_codes {
    ($($(#[$doc:meta])+ $code:ident = $text:ident, $status:ident, $title:literal;)+) => {
        /// All problem codes of the API. Codes are stable: clients may depend on them.
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
    /// A parameter has an invalid value.
    InvalidParameter = invalid_parameter, BAD_REQUEST, "Invalid parameter";
    /// A parameter or a field of the body is given more than once.
    RepeatedParameter = repeated_parameter, BAD_REQUEST, "Repeated parameter";
    /// The URL is not properly percent-encoded UTF-8.
    MalformedUrl = malformed_url, BAD_REQUEST, "Malformed URL";
    /// The body is not a JSON object.
    MalformedBody = malformed_body, BAD_REQUEST, "Malformed body";
    /// The body has an unknown field.
    UnknownField = unknown_field, BAD_REQUEST, "Unknown field";
    /// The entity does not have this filter.
    FilterNotOffered = filter_not_offered, BAD_REQUEST, "Filter not offered";
    /// No such path.
    RouteNotFound = route_not_found, NOT_FOUND, "Path not found";
    /// No such block is indexed.
    BlockNotFound = block_not_found, NOT_FOUND, "Block not found";
    /// The block in X-Explorer-Min-Block is not indexed yet.
    BlockNotReached = block_not_reached, SERVICE_UNAVAILABLE, "Block not indexed yet";
    /// No such transaction is indexed.
    TransactionNotFound = transaction_not_found, NOT_FOUND, "Transaction not found";
    /// The node does not trace transactions in this way.
    NotTraced = not_traced, NOT_FOUND, "Not traced";
    /// The address took no part in any indexed block.
    AddressNotFound = address_not_found, NOT_FOUND, "Address not found";
    /// No transfer of such a token is indexed.
    TokenNotFound = token_not_found, NOT_FOUND, "Token not found";
    /// No transfer of this id of a token is indexed.
    TokenIdNotFound = token_id_not_found, NOT_FOUND, "Token id not found";
    /// The id has no image that is shown.
    ImageNotAvailable = image_not_available, NOT_FOUND, "Image not available";
    /// The image of the id is being fetched.
    ImagePending = image_pending, SERVICE_UNAVAILABLE, "Image not fetched yet";
    /// The operator did not turn on the list of top accounts.
    TopAccountsOff = top_accounts_off, NOT_FOUND, "Top accounts not offered";
    /// A required field or parameter is missing.
    MissingField = missing_field, BAD_REQUEST, "Missing field";
    /// The signature is malformed, and there is no contract that could check it.
    InvalidSignature = invalid_signature, UNAUTHORIZED, "Invalid signature";
    /// The signature is not by the owner, or not of the expected text.
    SignatureMismatch = signature_mismatch, UNAUTHORIZED, "Signature does not match";
    /// The signature is not canonical: its s is too high.
    SignatureNotCanonical = signature_not_canonical, UNAUTHORIZED, "Signature not canonical";
    /// The signed time is more than 5 minutes in the past.
    ProofExpired = proof_expired, UNAUTHORIZED, "Proof expired";
    /// The signed time is more than 5 minutes in the future.
    ProofNotYetValid = proof_not_yet_valid, UNAUTHORIZED, "Proof not yet valid";
    /// An API key of the owner is required.
    KeyRequired = key_required, UNAUTHORIZED, "API key required";
    /// The value of X-API-Key is not a key of this service.
    InvalidKey = invalid_key, UNAUTHORIZED, "Invalid API key";
    /// The key in X-API-Key has been revoked.
    RevokedKey = revoked_key, UNAUTHORIZED, "API key revoked";
    /// The key in X-API-Key belongs to another owner.
    NotOwner = not_owner, FORBIDDEN, "Not the owner";
    /// The owner has no such key.
    KeyNotFound = key_not_found, NOT_FOUND, "API key not found";
    /// The owner has no such webhook.
    WebhookNotFound = webhook_not_found, NOT_FOUND, "Webhook not found";
    /// The webhook has no such delivery.
    DeliveryNotFound = delivery_not_found, NOT_FOUND, "Delivery not found";
    /// The webhook is not active, so nothing is sent to it.
    WebhookInactive = webhook_inactive, CONFLICT, "Webhook not active";
    /// The event of the delivery was reverted by a reorg.
    DeliveryCancelled = delivery_cancelled, CONFLICT, "Delivery cancelled";
    /// The owner has the maximum number of webhooks.
    WebhookQuotaReached = webhook_quota_reached, CONFLICT, "Too many webhooks";
    /// The address is watched by the maximum number of webhooks.
    WatchedAddressFull = watched_address_full, CONFLICT, "Too many webhooks for the address";
    /// The service has the maximum number of webhooks.
    WebhooksFull = webhooks_full, SERVICE_UNAVAILABLE, "Too many webhooks in the service";
    /// The body did not arrive in time.
    BodyTooSlow = body_too_slow, REQUEST_TIMEOUT, "Body too slow";
    /// The owner has already used a proof with this timestamp.
    ProofUsed = proof_used, CONFLICT, "Proof already used";
    /// The owner has the maximum number of active keys.
    KeyQuotaReached = key_quota_reached, CONFLICT, "Too many API keys";
    /// The body is longer than allowed.
    BodyTooLarge = body_too_large, PAYLOAD_TOO_LARGE, "Body too large";
    /// The body is not sent as JSON.
    UnsupportedMediaType = unsupported_media_type, UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
    /// The rate limit is exceeded; Retry-After has the time to wait.
    RateLimited = rate_limited, TOO_MANY_REQUESTS, "Too many requests";
    /// The path exists, but not for this method.
    MethodNotAllowed = method_not_allowed, METHOD_NOT_ALLOWED, "Method not allowed";
    /// The URL is longer than 8192 bytes.
    UriTooLong = uri_too_long, URI_TOO_LONG, "URL too long";
    /// There is no contract at the address.
    CodeNotFound = code_not_found, NOT_FOUND, "No contract";
    /// The contract is not verified.
    ContractNotVerified = contract_not_verified, NOT_FOUND, "Contract not verified";
    /// The contract is verified, but its compiler does not provide this artifact.
    ArtifactNotAvailable = artifact_not_available, NOT_FOUND, "Artifact not available";
    /// The contract is already being verified.
    VerificationUnderWay = verification_under_way, CONFLICT, "Verification in progress";
    /// The server was restarted before the verification ended. Only in verification jobs.
    VerificationInterrupted = verification_interrupted, SERVICE_UNAVAILABLE, "Verification interrupted";
    /// There is no such verification job, or it was submitted more than a week ago.
    JobNotFound = job_not_found, NOT_FOUND, "Verification job not found";
    /// The client has the maximum number of running and queued verifications.
    TooManyVerifications = too_many_verifications, TOO_MANY_REQUESTS, "Too many verifications from one client";
    /// The verification queue is full.
    VerifierBusy = verifier_busy, SERVICE_UNAVAILABLE, "Too many verifications";
    /// The compiler cannot be downloaded or run.
    CompilerUnavailable = compiler_unavailable, SERVICE_UNAVAILABLE, "Compiler unavailable";
    /// The contract reverted the call.
    CallReverted = call_reverted, UNPROCESSABLE_ENTITY, "Call reverted";
    /// The call did not return a valid result.
    CallFailed = call_failed, UNPROCESSABLE_ENTITY, "Call failed";
    /// An internal error of the service.
    InternalError = internal_error, INTERNAL_SERVER_ERROR, "Internal error";
    /// The index is unavailable.
    StoreUnavailable = store_unavailable, SERVICE_UNAVAILABLE, "Index unavailable";
    /// The node is unavailable, and no earlier response is stored.
    NodeUnavailable = node_unavailable, SERVICE_UNAVAILABLE, "Node unavailable";
    /// The request took too long.
    DeadlineExceeded = deadline_exceeded, SERVICE_UNAVAILABLE, "Deadline exceeded";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_serialized_as_their_text() {
        for code in ProblemCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.text());
        }
    }
}

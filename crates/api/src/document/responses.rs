//! The problem responses. Each is a component of the document, and operations refer to it by its type.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use utoipa::{
    IntoResponses,
    openapi::{ContentBuilder, Header, HeaderBuilder, Object, Ref, RefOr, Response, ResponseBuilder, Type},
};

use crate::error::ProblemCode;

type Responses = BTreeMap<String, RefOr<Response>>;

/// Declares problem responses: what each is about, and its codes, which have the same status.
macro_rules! problem_responses {
    ($($name:ident: $description:literal, [$first:ident $(, $code:ident)* $(,)?];)+) => {
        $(
            pub(crate) struct $name;

            impl IntoResponses for $name {
                fn responses() -> Responses {
                    let status = ProblemCode::$first.status().as_u16();
                    BTreeMap::from([(status.to_string(), Ref::from_response_name(stringify!($name)).into())])
                }
            }
        )+

        fn declared() -> Vec<(&'static str, &'static str, Vec<ProblemCode>)> {
            vec![$((stringify!($name), $description, vec![ProblemCode::$first $(, ProblemCode::$code)*])),+]
        }
    };
}

problem_responses! {
    BadParameter: "A parameter is invalid; `field` names it", [InvalidParameter, RepeatedParameter, MalformedUrl];
    BadQuery: "The body is invalid; `field` says where", [
        InvalidParameter, RepeatedParameter, MalformedBody, UnknownField, FilterNotOffered,
    ];
    BadBody: "The body is invalid; `field` says where", [
        InvalidParameter, RepeatedParameter, MalformedBody, MissingField, UnknownField,
    ];
    BadCall: "The function or an argument is invalid; `field` names which", [
        InvalidParameter, RepeatedParameter, MalformedUrl, MalformedBody, MissingField, UnknownField,
    ];
    BadProof: "The signature does not prove that the sender owns the address, or the API key is invalid", [
        InvalidSignature, SignatureMismatch, SignatureNotCanonical, ProofExpired, ProofNotYetValid, InvalidKey, RevokedKey,
    ];
    NeedsKey: "An API key of the owner is required", [KeyRequired, InvalidKey, RevokedKey];
    NotOwner: "The API key belongs to another owner", [NotOwner];
    NoSuchBlock: "No such block is indexed", [BlockNotFound];
    NoSuchTransaction: "No such transaction is indexed", [TransactionNotFound];
    NotTraced: "No such transaction is indexed, or the node does not trace", [TransactionNotFound, NotTraced];
    NoSuchToken: "No transfer of such a token is indexed", [TokenNotFound];
    NoSuchTokenId: "No transfer of this id of a token is indexed", [TokenIdNotFound];
    NoImage: "No transfer of this id of a token is indexed, or it has no image that can be shown", [
        TokenIdNotFound, ImageNotAvailable,
    ];
    TopAccountsOff: "The operator did not turn on the list of top accounts", [TopAccountsOff];
    NoSuchAddress: "No indexed block contains the address, and the node knows nothing about it", [AddressNotFound];
    NoSuchAddressOrToken: "Nothing is known about the address, or no transfer of such a token is indexed", [
        AddressNotFound, TokenNotFound,
    ];
    NoCode: "No bytecode is indexed at the address", [CodeNotFound];
    NotVerified: "There is no contract, it is not verified, or the block is not indexed", [ContractNotVerified, BlockNotFound];
    NoArtifact: "There is no contract, it is not verified, or its compiler does not provide this artifact", [
        ContractNotVerified, ArtifactNotAvailable,
    ];
    NoSuchJob: "There is no such job, or it was submitted more than a week ago", [JobNotFound];
    NoSuchKey: "The owner has no such key", [KeyNotFound];
    NoSuchWebhook: "The owner has no such webhook", [WebhookNotFound];
    NoSuchDelivery: "There is no such webhook or delivery", [WebhookNotFound, DeliveryNotFound];
    BodyTooSlow: "The body did not arrive in time", [BodyTooSlow];
    InProgress: "The contract is already being verified", [VerificationUnderWay];
    KeyConflict: "The proof was already used, or the owner has too many keys", [ProofUsed, KeyQuotaReached];
    WebhookConflict: "The webhook is not active, or the event was reverted", [WebhookInactive, DeliveryCancelled];
    WebhookQuota: "The owner has too many webhooks, or too many watch the address", [WebhookQuotaReached, WatchedAddressFull];
    BodyTooLarge: "The body is too long", [BodyTooLarge];
    NotJson: "The body is not sent as JSON", [UnsupportedMediaType];
    CallFailed: "The contract reverts the call, or the call returns no valid result", [CallReverted, CallFailed];
    TooManyVerifications: "The rate limit is exceeded, or the client has too many running and queued verifications", [
        RateLimited, TooManyVerifications,
    ];
    Unavailable: "The index or the node is unavailable", [StoreUnavailable, NodeUnavailable, DeadlineExceeded];
    ImagePending: "The image is being fetched, or the index is unavailable", [ImagePending, StoreUnavailable, DeadlineExceeded];
    NoList: "The list of compilers is unavailable", [CompilerUnavailable, DeadlineExceeded];
    CompilersUnavailable: "The compiler, the node or the index is unavailable", [
        CompilerUnavailable, VerifierBusy, NodeUnavailable, StoreUnavailable, DeadlineExceeded,
    ];
    TooManyWebhooks: "The service has too many webhooks, or the index is unavailable", [
        WebhooksFull, StoreUnavailable, DeadlineExceeded,
    ];
}

/// The `default` response of operations that accept a key and are limited.
pub(super) const OTHER_PROBLEM: &str = "Other";
/// The `default` response of all other operations.
pub(super) const OTHER_FAILURE: &str = "OtherFailure";

/// All problem responses by name.
pub(super) fn components() -> Responses {
    let declared = declared().into_iter().map(|(name, description, codes)| (name, problem(description, &codes)));
    let others = [(OTHER_PROBLEM, other_problem()), (OTHER_FAILURE, other_failure())];
    declared.chain(others).map(|(name, response)| (name.to_owned(), response.build().into())).collect()
}

const PROBLEM_JSON: &str = "application/problem+json";

fn problem(description: &str, codes: &[ProblemCode]) -> ResponseBuilder {
    with_headers(problem_response(format!("{description}: {}", alternatives(codes))), codes)
}

fn problem_response(description: String) -> ResponseBuilder {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(description).content(PROBLEM_JSON, content)
}

fn other_problem() -> ResponseBuilder {
    let response = any_of(&[
        ("the API key is invalid", &[ProblemCode::InvalidKey, ProblemCode::RevokedKey]),
        URL_TOO_LONG,
        ("the rate limit is exceeded", &[ProblemCode::RateLimited]),
        INTERNAL_ERROR,
        ("the index is unavailable", &[ProblemCode::StoreUnavailable, ProblemCode::DeadlineExceeded]),
    ]);
    LIMIT_HEADERS
        .into_iter()
        .fold(response, |response, (name, description, example)| response.header(name, header(description, example)))
}

fn other_failure() -> ResponseBuilder {
    any_of(&[URL_TOO_LONG, INTERNAL_ERROR])
}

/// A reason, and the codes for it, which have the same status.
type Case = (&'static str, &'static [ProblemCode]);

const URL_TOO_LONG: Case = ("the URL is longer than 8192 bytes", &[ProblemCode::UriTooLong]);
const INTERNAL_ERROR: Case = ("an internal error occurs", &[ProblemCode::InternalError]);

/// A response with one of several statuses.
fn any_of(cases: &[Case]) -> ResponseBuilder {
    let reasons = cases.iter().filter_map(|(reason, codes)| {
        let status = codes.first()?.status().as_u16();
        Some(format!("{status} if {reason}: {}", alternatives(codes)))
    });
    let reasons = reasons.collect::<Vec<_>>().join(". ");
    let codes: Vec<ProblemCode> = cases.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
    with_headers(problem_response(reasons), &codes)
}

/// Adds the headers that responses with these codes have of their own. Those that every response has are in the introduction.
///
/// They are no components: generators take a header by reference for one that is always there.
fn with_headers(response: ResponseBuilder, codes: &[ProblemCode]) -> ResponseBuilder {
    let is_any = |status| codes.iter().any(|code| code.status() == status);
    let response = match is_any(StatusCode::UNAUTHORIZED) {
        true => response.header("WWW-Authenticate", header("", "ApiKey header=\"X-API-Key\"")),
        false => response,
    };
    match is_any(StatusCode::TOO_MANY_REQUESTS) || is_any(StatusCode::SERVICE_UNAVAILABLE) {
        true => response.header("Retry-After", header("", "5")),
        false => response,
    }
}

/// Name, description and example. They are missing if the operator sets no limit.
const LIMIT_HEADERS: [(&str, &str, &str); 6] = [
    ("X-RateLimit-Cost", "What the request cost", "1"),
    ("X-RateLimit-Limit", "Cost allowed in any 60 seconds", "100"),
    ("X-RateLimit-Remaining", "Cost still allowed now", "97"),
    ("X-RateLimit-Reset", "When another request is allowed, in unix seconds", "1794700860"),
    ("RateLimit", "The same in the format of the IETF draft, for each quota", "\"key\";r=97;t=60"),
    ("RateLimit-Policy", "The applicable quotas", "\"key\";q=100;w=60"),
];

fn header(description: &str, example: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(Object::with_type(Type::String)))
        .description((!description.is_empty()).then_some(description))
        .example(Some(example.into()))
        .build()
}

/// As `a`, `b` or `c`.
fn alternatives(codes: &[ProblemCode]) -> String {
    let codes: Vec<String> = codes.iter().map(|code| format!("`{}`", code.text())).collect();
    match codes.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => codes.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_codes_of_a_response_have_its_status() {
        for (name, _, codes) in declared() {
            for code in &codes {
                assert_eq!(code.status(), codes[0].status(), "{name} {}", code.text());
            }
        }
    }
}

//! Answers that several operations share. The examples are made by the code that makes the real ones.

use std::collections::BTreeMap;

use contracts::{CompilersError, VerifyError, VersionError, calls::CallError};
use utoipa::{
    IntoResponses,
    openapi::{Content, ContentBuilder, Ref, RefOr, Response, ResponseBuilder, example::ExampleBuilder},
};

use super::header;
use crate::{
    accounts::AccountUnknown,
    error::ApiError,
    keys::{OtherText, ProofFault},
    params::BodyFault,
};

type Responses = BTreeMap<String, RefOr<Response>>;

/// Declares a type that stands for a problem answer in the `responses` of an operation.
macro_rules! problem_answers {
    ($($name:ident: $description:literal, [$($error:expr),+ $(,)?];)+) => {
        $(
            pub(crate) struct $name;

            impl IntoResponses for $name {
                fn responses() -> Responses {
                    problem($description, &[$($error),+])
                }
            }
        )+
    };
}

problem_answers! {
    BadParameter: "A parameter cannot be read; `field` names it", [
        ApiError::InvalidParameter { field: "limit", rule: "must be a whole number of at least 1" },
        ApiError::RepeatedParameter { field: "page" },
        ApiError::MalformedUrl { field: Some("page".to_owned()) },
    ];
    BadQuery: "The body cannot be read; `field` names the member at fault", [
        ApiError::Body(BodyFault::invalid("orderBy", "must be asc or desc")),
        ApiError::Body(BodyFault::Repeated { field: "limit".to_owned() }),
        ApiError::Body(BodyFault::NotAnObject),
        ApiError::Body(BodyFault::Unknown {
            field: "order".to_owned(),
            allowed: "entity, filter, orderBy, limit, offset".to_owned(),
        }),
        ApiError::Body(BodyFault::NotOffered {
            field: "filter.blockNumber".to_owned(),
            entity: "blocks",
            offered: "blockFrom, blockTo".to_owned(),
        }),
    ];
    NoSuchBlock: "No such block is indexed", [ApiError::BlockNotFound];
    NoSuchTransaction: "No such transaction is indexed", [ApiError::TransactionNotFound];
    NoSuchToken: "No transfer of such a token is indexed", [ApiError::TokenNotFound];
    NoSuchAddress: "The address was never seen on the chain", [ApiError::AddressNotFound];
    BadBody: "The body cannot be read; `field` names what is at fault in it", [
        ApiError::MissingField { field: "signature" },
        ApiError::UnknownField { field: "lable".to_owned(), known: vec!["ownerAddress", "label", "signature", "timestamp"] },
        ApiError::MalformedBody { what: "the body must be a JSON object: EOF while parsing a value at line 1 column 0".to_owned() },
        ApiError::InvalidParameter { field: "ownerAddress", rule: "must be 0x and 40 hexadecimal digits" },
        ApiError::RepeatedField { field: "label".to_owned() },
    ];
    BadSource: "The body cannot be read, or names a compiler that there is not; `field` names what is at fault in it", [
        ApiError::Verify(VerifyError::Version(VersionError::Unknown { near: vec!["0.8.36".to_owned(), "0.8.37".to_owned()] })),
        ApiError::MissingField { field: "sourceCode" },
        ApiError::UnknownField { field: "source".to_owned(), known: vec!["address", "sourceCode", "compilerVersion"] },
        ApiError::MalformedBody { what: "the body must be a JSON object: EOF while parsing a value at line 1 column 0".to_owned() },
        ApiError::RepeatedField { field: "license".to_owned() },
    ];
    NoCode: "There is no contract at the address", [ApiError::Verify(VerifyError::NoCode)];
    UnderWay: "The contract is being verified already", [ApiError::Verify(VerifyError::AlreadyRunning)];
    TooManyVerifications: "The limit is reached, or the client has as many verifications running and waiting as one may have", [
        ApiError::RateLimited { retry_after: 42, advice: ", or send an API key in X-API-Key: more may be asked with one" },
        ApiError::Verify(VerifyError::ClientLimitReached),
    ];
    NoList: "The list of compilers cannot be had now", [
        ApiError::Verify(VerifyError::Compilers(CompilersError::FetchFailed(String::new()))),
        ApiError::DeadlineExceeded,
    ];
    CompilersUnavailable: "The compiler, the node or the index cannot be used now", [
        ApiError::Verify(VerifyError::Busy),
        ApiError::Verify(VerifyError::NoCompiler("node is not installed on the server: install Node.js (20 or later)".to_owned())),
        ApiError::NodeUnavailable(AccountUnknown::TooSlow),
        ApiError::NoTip,
        ApiError::DeadlineExceeded,
    ];
    NoArtifact: "No source code is known of the contract, or there is none, or its compiler did not give this", [
        ApiError::ContractNotVerified,
        ApiError::NoArtifact { artifact: "storage layout", reason: "compilers give it from 0.5.13 on" },
    ];
    NotVerified: "No source code is known of the contract, or there is none, or no such block is indexed", [
        ApiError::ContractNotVerified,
        ApiError::BlockNotFound,
    ];
    BadCall: "The function or an argument is not what the contract has; `field` names which", [
        ApiError::Call(CallError::Argument { path: "args[0]".to_owned(), rule: "must be an address, 0x and 40 hexadecimal digits".to_owned() }),
        ApiError::MissingField { field: "functionName" },
        ApiError::UnknownField { field: "function".to_owned(), known: vec!["functionName", "args", "blockNumber"] },
        ApiError::MalformedBody { what: "the body must be a JSON object: EOF while parsing a value at line 1 column 0".to_owned() },
        ApiError::RepeatedField { field: "args".to_owned() },
        ApiError::MalformedUrl { field: Some("args".to_owned()) },
    ];
    CallRefused: "The contract reverts the call, or gives nothing that can be told", [
        ApiError::Call(CallError::Reverted("Ownable: caller is not the owner".to_owned())),
        ApiError::Call(CallError::StateGone),
    ];
    BodyTooSlow: "The body did not arrive in time", [ApiError::BodyTooSlow];
    BodyTooLarge: "The body is too long", [ApiError::BodyTooLarge { max: 64 * 1024 }];
    NotJson: "The body is not sent as JSON", [ApiError::UnsupportedMediaType];
    BadProof: "The signature does not prove that the address is the sender's, or the API key is no good", [
        ProofFault::OtherText(OtherText::MixedCaseAddress).into(),
        ProofFault::HighS.into(),
        ProofFault::RecoveryByte(37).into(),
        ProofFault::Expired.into(),
        ProofFault::FromTheFuture.into(),
        ApiError::InvalidKey,
        ApiError::RevokedKey,
    ];
    KeyConflict: "The proof was used before, or the owner has enough keys", [
        ApiError::ProofUsed,
        ApiError::KeyQuotaReached,
    ];
    NeedsKey: "An API key of the owner is needed", [ApiError::KeyRequired, ApiError::InvalidKey, ApiError::RevokedKey];
    BadKey: "The API key is no good", [ApiError::InvalidKey, ApiError::RevokedKey];
    NotYours: "The API key belongs to another owner", [ApiError::NotOwner];
    NoSuchKey: "The owner has no such key", [ApiError::KeyNotFound];
    NoSuchWebhook: "The owner has no such webhook", [ApiError::WebhookNotFound];
    NoSuchDelivery: "There is no such webhook or delivery", [ApiError::WebhookNotFound, ApiError::DeliveryNotFound];
    WebhookConflict: "Nothing can be sent", [ApiError::WebhookInactive, ApiError::DeliveryCancelled];
    WebhookQuota: "The owner has enough webhooks, or the address is watched by enough", [
        ApiError::WebhookQuotaReached,
        ApiError::WatchedAddressFull,
    ];
    NoRoomForWebhooks: "There is no room for webhooks, or the index cannot answer now", [
        ApiError::WebhooksFull,
        ApiError::NoTip,
        ApiError::DeadlineExceeded,
    ];
    TooManyRequests: "The limit is reached", [
        ApiError::RateLimited { retry_after: 42, advice: ", or send an API key in X-API-Key: more may be asked with one" },
    ];
    UrlTooLong: "The URL is longer than 8192 bytes", [ApiError::UriTooLong];
    Failed: "A fault of the service", [ApiError::Panicked { message: String::new() }];
    Unavailable: "The index cannot answer now", [ApiError::NoTip, ApiError::DeadlineExceeded];
    NodeOrIndexUnavailable: "The index or the node cannot answer now", [
        ApiError::NoTip,
        ApiError::NodeUnavailable(AccountUnknown::TooSlow),
        ApiError::DeadlineExceeded,
    ];
}

/// Stands for the answer to a tag that still holds.
pub(crate) struct NotModified;

impl IntoResponses for NotModified {
    fn responses() -> Responses {
        let response = Response::new("What the client has still holds");
        BTreeMap::from([("304".to_owned(), response.into())])
    }
}

fn problem(description: &str, errors: &[ApiError]) -> Responses {
    let mut response =
        ResponseBuilder::new().description(description).content("application/problem+json", body(errors));
    let statuses: Vec<u16> = errors.iter().map(|error| error.code().status().as_u16()).collect();
    for (status, name, example) in [
        (503, "Retry-After", "5"),
        (429, "Retry-After", "42"),
        (401, "WWW-Authenticate", "ApiKey header=\"X-API-Key\""),
    ] {
        if statuses.contains(&status) {
            let description = match name {
                "Retry-After" => "Seconds to wait before asking again",
                _ => "How to show who one is",
            };
            response = response.header(name, header(description, example));
        }
    }
    statuses.first().map(|status| (status.to_string(), response.build().into())).into_iter().collect()
}

fn body(errors: &[ApiError]) -> Content {
    let examples = errors.iter().map(|error| {
        let example = ExampleBuilder::new().value(serde_json::to_value(error.problem()).ok()).build();
        (error.code().text(), example)
    });
    ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).examples_from_iter(examples).build()
}

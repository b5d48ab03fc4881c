//! Answers that several operations share. The examples are made by the code that makes the real ones.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses,
    openapi::{Content, ContentBuilder, Ref, RefOr, Response, ResponseBuilder, example::ExampleBuilder},
};

use super::header;
use crate::{
    error::{AccountUnknown, ApiError},
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
    BadBody: "The body cannot be read; `field` names the member at fault", [
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
    BodyTooLarge: "The body is larger than 65536 bytes", [ApiError::Body(BodyFault::TooLarge)];
    NotDeclaredJson: "The body is not declared as JSON", [ApiError::Body(BodyFault::NotDeclaredJson)];
    NoSuchBlock: "No such block is indexed", [ApiError::BlockNotFound];
    NoSuchTransaction: "No such transaction is indexed", [ApiError::TransactionNotFound];
    NoSuchToken: "No transfer of such a token is indexed", [ApiError::TokenNotFound];
    NoSuchAddress: "The address was never seen on the chain", [ApiError::AddressNotFound];
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
    if statuses.contains(&503) {
        response = response.header("Retry-After", header("Seconds to wait before asking again", "5"));
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
